//! Row T03: what a write leaves behind, and which file it means.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};
use rustix::fs::Mode;

use crate::say::{Room, approved, arguments, edit};
#[cfg(target_os = "linux")]
use crate::say::{unprivileged, wait};

fn write(path: &str, content: &str) -> String {
    arguments(&[("path", path), ("content", content)])
}

#[tokio::test]
async fn t03_a_write_that_will_last_says_no_more() {
    let room = Room::new();
    let text = "wrote 2 bytes, 1 lines to a/b/c/new.txt (new)";
    room.check("write_file", &write("a/b/c/new.txt", "1\n"), Outcome::Ok, text).await;
    let text = "wrote 2 bytes, 1 lines to new.txt (new)";
    room.check("write_file", &write("new.txt", "1\n"), Outcome::Ok, text).await;
    room.check("edit_file", &edit("new.txt", "1", "2"), Outcome::Ok, "edited 1 place in new.txt (line 1)")
        .await;
}

#[cfg(target_os = "linux")]
#[test]
fn t03_a_folder_that_cannot_be_synced_is_told_of() {
    unprivileged(|| {
        let room = Room::new();
        room.sh("mkdir drop; chmod 300 drop");
        let text = wait(room.text("write_file", &write("drop/a.txt", "1\n")));
        // The names of folders that were made must last too, here the one of x.
        let made = wait(room.text("write_file", &write("drop/x/y/a.txt", "1\n")));
        room.sh("chmod 700 drop");
        assert!(made.contains("a.txt (new); the folder could not be synced"), "{made}");
        let told =
            "wrote 2 bytes, 1 lines to drop/a.txt (new); the folder could not be synced (Permission denied";
        assert!(text.starts_with(told), "{text}");
        assert_eq!(room.get("drop/a.txt"), b"1\n");
    });
}

/// In two containers over one folder process numbers and counters are the same.
#[tokio::test]
async fn t03_an_unfinished_file_of_another_program_is_in_nobodys_way() {
    let room = Room::new();
    let names: Vec<String> =
        (0..500).map(|number| format!(".petasos-unfinished-{}-{number}", std::process::id())).collect();
    for name in &names {
        room.put(name, "theirs");
    }
    room.check("write_file", &write("a", "x"), Outcome::Ok, "wrote 1 bytes, 1 lines to a (new)").await;
    for name in &names {
        assert_eq!(room.get(name), b"theirs", "{name}");
    }
    assert_eq!(std::fs::read_dir(room.path("")).unwrap().count(), names.len() + 1);
}

/// Its owner may only read it, whatever others may.
#[cfg(target_os = "linux")]
#[test]
fn t03_a_file_that_this_user_may_not_write_is_not_replaced() {
    unprivileged(|| {
        let room = Room::holding("a.txt", "old");
        room.sh("chmod 466 a.txt");
        wait(room.refused("write_file", &write("a.txt", "new"), "may not be written by this user"));
        wait(room.refused("edit_file", &edit("a.txt", "old", "new"), "read only"));
        assert_eq!(room.get("a.txt"), b"old");
    });
}

#[tokio::test]
async fn t03_a_new_file_has_the_mode_that_the_umask_leaves() {
    let room = Room::new();
    let before = rustix::process::umask(Mode::from_raw_mode(0o007));
    let text = room.text("write_file", &write("a.txt", "x")).await;
    rustix::process::umask(before);
    let mode = std::fs::metadata(room.path("a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o660, "{text}");
}

#[tokio::test]
async fn t03_a_path_that_means_another_file_than_was_allowed_is_not_used() {
    let room = Room::new();
    room.put("allowed.txt", "a");
    room.put("other.txt", "b");
    let calls = [
        ("write_file", write("link", "new")),
        ("edit_file", edit("link", "b", "new")),
        ("read_file", arguments(&[("path", "link")])),
        ("search_files", arguments(&[("path", "link"), ("pattern", "b")])),
    ];
    for (tool, call) in calls {
        symlink("allowed.txt", room.path("link")).unwrap();
        let allowed = approved(room.propose(tool, &call).unwrap());
        std::fs::remove_file(room.path("link")).unwrap();
        symlink("other.txt", room.path("link")).unwrap();
        let (_raise, context) = room.context();
        let output = room.tool(tool).run(&allowed, context).await;
        let text = output.for_model.text();
        assert_eq!(output.outcome, Outcome::Error, "{tool} {text}");
        assert!(text.contains("means another file now") && text.contains("other.txt"), "{tool} {text}");
        let not_written = Fact::NotWritten { path: Text::from("allowed.txt") };
        assert_eq!(output.facts.contains(&not_written), matches!(tool, "write_file" | "edit_file"), "{tool}");
        // Asked for again, it is judged for what it means now.
        let again = room.call(tool, &call).await;
        assert_eq!(again.outcome, Outcome::Ok, "{tool} {}", again.for_model.text());
        room.put("other.txt", "b");
        std::fs::remove_file(room.path("link")).unwrap();
    }
    assert_eq!(room.get("allowed.txt"), b"a");
}

#[tokio::test]
async fn t03_a_huge_file_is_replaced_without_a_look_through_all_of_it() {
    let room = Room::holding("huge.bin", "a\n");
    let has_probe = || room.propose("write_file", &write("huge.bin", "x")).unwrap().claims.probe.is_some();
    let file = std::fs::OpenOptions::new().write(true).open(room.path("huge.bin")).unwrap();
    file.set_len(64 * 1024 * 1024).unwrap();
    assert!(has_probe());
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    assert!(!has_probe());
    room.check(
        "write_file",
        &write("huge.bin", "x"),
        Outcome::Ok,
        "wrote 1 bytes, 1 lines to huge.bin (replaced)",
    )
    .await;
}

#[tokio::test]
async fn t03_line_ends_and_mark_of_a_large_file_stay() {
    let room = Room::new();
    let line = b"0123456789abcdef\r\n";
    room.put("large.txt", [&b"\xef\xbb\xbf"[..], &line.repeat(17 * 1024 * 1024 / line.len())].concat());
    let text = "wrote 9 bytes, 2 lines to large.txt (replaced, CRLF line ends kept)";
    room.check("write_file", &write("large.txt", "x\ny\n"), Outcome::Ok, text).await;
    assert_eq!(room.get("large.txt"), b"\xef\xbb\xbfx\r\ny\r\n");
}

/// 2 MB with 20,000 places, each on a line of its own.
fn many(end: &str) -> (String, String) {
    let filler = "-".repeat(90);
    let text = |word: &str| format!("{word} {filler}{end}").repeat(20_000);
    (text("old"), text("new"))
}

#[tokio::test]
async fn t03_very_many_places_are_replaced_and_counted() {
    for end in ["\n", "\r\n"] {
        let (before, after) = many(end);
        let room = Room::holding("a.txt", &before);
        room.refused("edit_file", &edit("a.txt", "old ", "new "), "is at 20000 places: lines 1, 2, 3,").await;
        let all = r#"{"path":"a.txt","edits":[{"old":"old ","new":"new ","all":true}]}"#;
        let text = room.text("edit_file", all).await;
        assert!(text.starts_with("edited 20000 places in a.txt (line 1, 2, 3, "), "{text}");
        assert!(text.ends_with(", 999, 1000, …)"), "{text}");
        assert!(room.get("a.txt") == after.as_bytes());
    }
}

#[tokio::test]
async fn t03_an_edit_that_would_fill_the_memory_is_refused() {
    let before = "a".repeat(1024 * 1024);
    let room = Room::holding("a.txt", &before);
    let new = "b".repeat(1_000_000);
    let all = format!(r#"{{"path":"a.txt","edits":[{{"old":"a","new":"{new}","all":true}}]}}"#);
    room.refused("edit_file", &all, "would be too large").await;
    assert!(room.get("a.txt") == before.as_bytes());
}

#[tokio::test]
async fn t03_what_a_whole_write_changes_beside_the_text_is_told() {
    let given = |content: &str| arguments(&[("path", "a.txt"), ("content", content)]);
    // What there was, what is given, what there is then, and what is said of it.
    let cases: [(&[u8], &str, &[u8], &str); 10] = [
        (b"a\r\nb\nc\r\n", "a\nb\n", b"a\r\nb\r\n", "replaced, all lines end with CRLF now, as most did"),
        (b"a\nb\nc\r\n", "a\nb\n", b"a\nb\n", "replaced, all lines end with LF now, as most did"),
        (b"a\r\nb\r\n", "a\nb\n", b"a\r\nb\r\n", "replaced, CRLF line ends kept"),
        (b"a\nb\n", "a\r\nb\r\n", b"a\r\nb\r\n", "replaced, its lines end with CRLF now"),
        (b"a\nb\n", "a\n", b"a\n", "replaced"),
        (b"a\r\nb\r\n", "a", b"a", "replaced"),
        (
            b"caf\xe9\n",
            "caf\u{e9}\n",
            "caf\u{e9}\n".as_bytes(),
            "replaced, UTF-8 now: its encoding was unknown",
        ),
        (b"", "\u{feff}a\n", b"\xef\xbb\xbfa\n", "replaced"),
        (b"b\n", "\u{feff}a\n", b"a\n", "replaced, without the byte-order mark that was given: it had none"),
        (b"\xef\xbb\xbfb\n", "a\n", b"\xef\xbb\xbfa\n", "replaced"),
    ];
    for (before, content, after, said) in cases {
        let room = Room::holding("a.txt", before);
        let (bytes, lines) = (after.len(), content.lines().count());
        let text = format!("wrote {bytes} bytes, {lines} lines to a.txt ({said})");
        room.check("write_file", &given(content), Outcome::Ok, &text).await;
        assert_eq!(room.get("a.txt"), after);
    }
    let room = Room::new();
    let text = "wrote 5 bytes, 1 lines to a.txt (new)";
    room.check("write_file", &given("\u{feff}a\n"), Outcome::Ok, text).await;
    assert_eq!(room.get("a.txt"), b"\xef\xbb\xbfa\n");
}
