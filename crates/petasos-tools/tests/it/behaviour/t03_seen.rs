//! Row T03: a file that was changed since it was read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};

use crate::say::{Room, arguments, edit, trouble, until, wait};

const BY_OTHERS: &str = "a.txt was changed by a command or another program after you read it";

fn read(path: &str) -> String {
    arguments(&[("path", path)])
}

fn write(path: &str, content: &str) -> String {
    arguments(&[("path", path), ("content", content)])
}

#[tokio::test]
async fn t03_changed_since_read_is_noticed() {
    let room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    room.put("a.txt", "one\ntheirs\n");
    let output = room.call("write_file", &write("a.txt", "mine\n")).await;
    let parts = trouble(output.for_model.text());
    assert_eq!((&*parts["error"], &*parts["cause"]), ("changed since it was read", BY_OTHERS));
    assert_eq!(output.facts, [Fact::NotWritten { path: Text::from("a.txt") }]);
    assert_eq!(room.get("a.txt"), b"one\ntheirs\n");
    // The way on that the hint names.
    room.call("read_file", &read("a.txt")).await;
    let text = "wrote 12 bytes, 2 lines to a.txt (replaced)";
    room.check("write_file", &write("a.txt", "mine\ntheirs\n"), Outcome::Ok, text).await;
}

#[tokio::test]
async fn t03_a_change_by_a_command_of_the_model_is_noticed_too() {
    let room = Room::holding("a.txt", "one\n");
    room.call("write_file", &write("a.txt", "two\n")).await;
    room.call("run_command", r#"{"command":"echo three >> a.txt"}"#).await;
    room.refused("write_file", &write("a.txt", "four\n"), BY_OTHERS).await;
    assert_eq!(room.get("a.txt"), b"two\nthree\n");
}

#[tokio::test]
async fn t03_an_edit_of_a_changed_file_is_made_and_says_so() {
    let room = Room::holding("a.txt", "one\ntwo\n");
    room.call("read_file", &read("a.txt")).await;
    room.put("a.txt", "one\ntwo\ntheirs\n");
    let text = "edited 1 place in a.txt (line 1); the file was changed by a command or another program since you read \
                it: read it again before you rely on the rest";
    room.check("edit_file", &edit("a.txt", "one", "1"), Outcome::Ok, text).await;
    assert_eq!(room.get("a.txt"), b"1\ntwo\ntheirs\n");
    // What the others wrote was still not read.
    room.refused("write_file", &write("a.txt", "mine\n"), BY_OTHERS).await;
    room.call("read_file", &read("a.txt")).await;
    let text = "edited 1 place in a.txt (line 2)";
    room.check("edit_file", &edit("a.txt", "two", "2"), Outcome::Ok, text).await;
    room.call("write_file", &write("a.txt", "mine\n")).await;
    assert_eq!(room.get("a.txt"), b"mine\n");
}

#[tokio::test]
async fn t03_own_edits_are_no_change() {
    let room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    for (old, new) in [("one", "two"), ("two", "three")] {
        let text = "edited 1 place in a.txt (line 1)";
        room.check("edit_file", &edit("a.txt", old, new), Outcome::Ok, text).await;
    }
    for content in ["four\n", "five\n"] {
        room.call("write_file", &write("a.txt", content)).await;
        assert_eq!(room.get("a.txt"), content.as_bytes());
    }
    room.call("edit_file", &edit("a.txt", "five", "six")).await;
    // An edit that was not made changes nothing of what is known.
    room.refused("edit_file", &edit("a.txt", "nowhere", "x"), "no match").await;
    room.call("write_file", &write("a.txt", "seven\n")).await;
    assert_eq!(room.get("a.txt"), b"seven\n");
}

#[tokio::test]
async fn t03_a_touch_is_no_change() {
    let room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    room.sh("touch -d 2030-01-01 a.txt; chmod 600 a.txt; ln a.txt b.txt; rm b.txt");
    let text = "wrote 4 bytes, 1 lines to a.txt (replaced)";
    room.check("write_file", &write("a.txt", "two\n"), Outcome::Ok, text).await;
}

#[tokio::test]
async fn t03_a_formatter_that_changes_nothing_is_no_change() {
    let room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    room.sh("cp a.txt b.txt; mv b.txt a.txt");
    let text = "edited 1 place in a.txt (line 1)";
    room.check("edit_file", &edit("a.txt", "one", "two"), Outcome::Ok, text).await;
    room.sh("cp a.txt b.txt; mv b.txt a.txt");
    room.check("write_file", &write("a.txt", "x"), Outcome::Ok, "wrote 1 bytes, 1 lines to a.txt (replaced)")
        .await;
}

/// After a resume nothing is known, and nothing complains.
#[tokio::test]
async fn t03_what_was_never_read_is_no_change() {
    let mut room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    room.put("a.txt", "two\n");
    room.session = Arc::default();
    let text = "edited 1 place in a.txt (line 1)";
    room.check("edit_file", &edit("a.txt", "two", "three"), Outcome::Ok, text).await;
    room.check("write_file", &write("a.txt", "x"), Outcome::Ok, "wrote 1 bytes, 1 lines to a.txt (replaced)")
        .await;
}

#[tokio::test]
async fn t03_a_file_that_was_removed_since_is_written_anew_and_told() {
    let room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    room.sh("rm a.txt");
    let text = "wrote 1 bytes, 1 lines to a.txt (new; the one that you read had been removed)";
    room.check("write_file", &write("a.txt", "x"), Outcome::Ok, text).await;
}

/// Two spellings are one file.
#[tokio::test]
async fn t03_a_change_is_noticed_by_whatever_name_it_is_read() {
    let room = Room::holding("d/a.txt", "one\n");
    room.sh("ln -s d here");
    room.call("read_file", &read("here/../d/./a.txt")).await;
    room.put("d/a.txt", "two\n");
    room.refused("write_file", &write("here/a.txt", "x"), "d/a.txt was changed by").await;
}

/// The pages that were read before may be wrong now; that is told, and no call is refused for ever.
#[tokio::test]
async fn t03_a_change_between_two_pages_is_told() {
    let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let room = Room::holding("a.txt", &text);
    let page = "line 1\nline 2\n[lines 1–2 of 20; go on with from=3]";
    room.check("read_file", r#"{"path":"a.txt","lines":2}"#, Outcome::Ok, page).await;
    room.put("a.txt", text.replace("line 1\n", "theirs\n"));
    let page = "line 3\nline 4\n[lines 3–4 of 20; go on with from=5; the file was changed since you read other parts \
                of it; they may differ now]";
    room.check("read_file", r#"{"path":"a.txt","from":3,"lines":2}"#, Outcome::Ok, page).await;
    let page = "line 5\nline 6\n[lines 5–6 of 20; go on with from=7]";
    room.check("read_file", r#"{"path":"a.txt","from":5,"lines":2}"#, Outcome::Ok, page).await;
    room.check("write_file", &write("a.txt", "x"), Outcome::Ok, "wrote 1 bytes, 1 lines to a.txt (replaced)")
        .await;
}

/// What gave no text was not read.
#[tokio::test]
async fn t03_a_read_that_failed_is_none() {
    let room = Room::holding("a.txt", "one\n");
    room.call("read_file", &read("a.txt")).await;
    room.put("a.txt", "theirs\n");
    room.refused("read_file", r#"{"path":"a.txt","from":9}"#, "there is no such line").await;
    room.refused("write_file", &write("a.txt", "x"), BY_OTHERS).await;
}

/// Too large to be looked through, it is known by its state alone.
#[tokio::test]
async fn t03_a_change_of_a_huge_file_is_noticed() {
    let room = Room::holding("a.txt", "line\n".repeat(20_000));
    let file = std::fs::OpenOptions::new().write(true).open(room.path("a.txt")).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    room.call("read_file", r#"{"path":"a.txt","lines":2}"#).await;
    file.set_len(64 * 1024 * 1024 + 2).unwrap();
    room.refused("write_file", &write("a.txt", "x"), BY_OTHERS).await;
    room.call("read_file", r#"{"path":"a.txt","lines":2}"#).await;
    room.check("write_file", &write("a.txt", "x"), Outcome::Ok, "wrote 1 bytes, 1 lines to a.txt (replaced)")
        .await;
}

/// Another program that changes the file when it sees that a new one is being written for it.
fn meddles(room: &Room, over: &AtomicBool, change: impl Fn()) {
    while !over.load(Ordering::Relaxed) {
        let mut names = std::fs::read_dir(room.path("")).unwrap().flatten();
        if names.any(|name| name.file_name().to_string_lossy().starts_with(".petasos-unfinished-")) {
            change();
        }
    }
}

/// Who only touches it changes nothing, also between look and rename.
#[test]
fn t03_a_touch_between_look_and_rename_is_no_change() {
    let room = Room::holding("a.txt", "0\n");
    let over = AtomicBool::new(false);
    let touches = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            meddles(&room, &over, || {
                let file = std::fs::File::open(room.path("a.txt")).unwrap();
                file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
                touches.fetch_add(1, Ordering::Relaxed);
            });
        });
        let _over = Over(&over);
        for round in 0_u32.. {
            let large = format!("{round}\n{}", "line\n".repeat(50_000));
            let output = wait(room.call("write_file", &write("a.txt", &large)));
            assert_eq!(output.outcome, Outcome::Ok, "{}", output.for_model.text());
            if round >= 10 && touches.load(Ordering::Relaxed) >= 10 {
                break;
            }
            assert!(round < 100_000);
        }
    });
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A call of each tool, until the change fell between its look at the file and its rename.
#[test]
fn t03_a_change_between_look_and_rename_is_left_alone() {
    let large = "line\n".repeat(200_000);
    let calls = [
        ("edit_file", "line 1\n", edit("a.txt", "line 1", &large)),
        ("write_file", "line 1\n", write("a.txt", &large)),
        ("write_file", "", write("a.txt", &large)),
    ];
    for (tool, before, call) in calls {
        let room = Room::new();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                meddles(&room, &over, || room.put("a.txt", "theirs"));
            });
            let _over = Over(&over);
            until(|| {
                if before.is_empty() {
                    std::fs::remove_file(room.path("a.txt")).ok();
                } else {
                    room.put("a.txt", before);
                }
                // Nothing is known of the round before, in which the change may have come too late.
                let (_raise, mut context) = room.context();
                context.session = Arc::default();
                let output = wait(room.call_in(tool, &call, context));
                let text = output.for_model.text();
                if output.outcome == Outcome::Ok || trouble(text)["error"] != "changed meanwhile" {
                    return false;
                }
                assert_eq!(output.facts, [Fact::NotWritten { path: Text::from("a.txt") }]);
                true
            });
        });
        assert_eq!(room.get("a.txt"), b"theirs", "{tool}");
        assert_eq!(std::fs::read_dir(room.path("")).unwrap().count(), 1, "{tool}");
    }
}
