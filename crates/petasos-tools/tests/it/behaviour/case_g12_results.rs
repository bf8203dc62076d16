//! Case G-12: keys in what tools give back, and placeholders in what they write.

use std::sync::Arc;

use petasos_core::bounded::Cap;
use petasos_core::tool::{Fact, Outcome};
use petasos_tools::{Mask, SessionState};

use crate::say::{Room, arguments, edit, trouble};

const KEY: &str = "sk-test-abcdefghijklmnopqrstuvwx1234";
const HIDDEN: &str = "«hidden:OPENAI_API_KEY»";

fn room() -> Room {
    let mask = Mask::new([("OPENAI_API_KEY".to_owned(), KEY.to_owned())]);
    Room { session: Arc::new(SessionState::new(Arc::new(mask))), ..Room::new() }
}

#[tokio::test]
async fn case_g12_no_result_and_no_blob_holds_a_key() {
    let mut room = room();
    room.cap = Cap(2_000);
    room.put("a.txt", format!("before {KEY} after\nOPENAI_API_KEY=\n"));
    room.check(
        "read_file",
        r#"{"path":"a.txt"}"#,
        Outcome::Ok,
        &format!("before {HIDDEN} after\nOPENAI_API_KEY=\n"),
    )
    .await;
    let found = room.text("search_files", r#"{"pattern":"sk-test"}"#).await;
    assert!(found.starts_with(&format!("a.txt:1: before {HIDDEN} after\n")), "{found}");
    // Over the cut and in the blob.
    let many = arguments(&[("command", "seq 400; cat a.txt; seq 400; cat a.txt; cat nothing-here")]);
    let output = room.call("run_command", &many).await;
    let (text, whole) = (output.for_model.text(), String::from_utf8(room.blobs.only()).unwrap());
    assert!(
        !text.contains("sk-test") && whole.matches(HIDDEN).count() == 2 && !whole.contains("sk-test"),
        "{whole}"
    );
    assert_eq!(output.bytes, whole.len() as u64);
    // What failed names what it was about.
    let output = room.call("read_file", &arguments(&[("path", &format!("no-{KEY}"))])).await;
    assert!(trouble(output.for_model.text())["cause"].contains(HIDDEN), "{output:?}");
}

/// The same however the pieces come in which a command says it.
#[tokio::test]
async fn case_g12_a_key_that_comes_in_two_pieces_is_hidden() {
    let room = room();
    let (one, two) = KEY.split_at(20);
    room.put("one", one);
    room.put("two", two);
    let call = arguments(&[(
        "command",
        "cat one; sleep 0.2; cat two; echo; printf '\\033[1m'; cat one two; printf '\\033[0m\\n'",
    )]);
    room.check("run_command", &call, Outcome::Ok, &format!("exit code 0\n{HIDDEN}\n{HIDDEN}\n")).await;
}

/// Lines that come one by one, and lines that are longer than what is kept back of one.
#[tokio::test]
async fn case_g12_what_comes_in_pieces_is_hidden_as_one_text() {
    let mut room = room();
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    room.put(
        "key.pem",
        format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n", line.repeat(4)),
    );
    let call = arguments(&[("command", "head -n 3 key.pem; sleep 0.3; tail -n +4 key.pem")]);
    let told = room.text("run_command", &call).await;
    assert!(!told.contains("MIIEv") && told.ends_with("\n-----END PRIVATE KEY-----\n"), "{told}");
    room.cap = Cap(2_000);
    let before = 8_130..8_230;
    let long: String =
        before.clone().map(|before| format!("{} {KEY} {}\n", "a".repeat(before), "b".repeat(100))).collect();
    room.put("long.txt", long);
    let told = room.text("run_command", &arguments(&[("command", "cat long.txt")])).await;
    let whole = String::from_utf8(room.blobs.only()).unwrap();
    assert_eq!(whole.matches(HIDDEN).count(), before.len());
    for text in [told, whole] {
        assert!(
            !text.contains("sk-test") && !text.contains("uvwx1234") && !text.contains("ghijkl"),
            "{text}"
        );
    }
}

/// What stands for a key is not the key: written back, it would be lost.
#[tokio::test]
async fn case_g12_a_placeholder_is_never_written() {
    let room = room();
    let content = format!("A={KEY}\nB=1\n");
    let unchanged = |output: &petasos_core::tool::ToolOutput, error: &str| {
        assert_eq!(output.outcome, Outcome::Error);
        assert_eq!(trouble(output.for_model.text())["error"], error);
        assert!(matches!(&output.facts[..], [Fact::NotWritten { path }] if &**path == ".env"), "{output:?}");
        assert_eq!(room.get(".env"), content.as_bytes());
    };
    room.put(".env", &content);
    let read = room.text("read_file", r#"{"path":".env"}"#).await;
    let output = room.call("write_file", &arguments(&[("path", ".env"), ("content", &read)])).await;
    unchanged(&output, "not written");
    let output = room.call("edit_file", &edit(".env", "B=1", &format!("B={HIDDEN}"))).await;
    unchanged(&output, "not written");
    let output = room.call("edit_file", &edit(".env", "A=«hidden:OTHER»\nB=1", "B=2")).await;
    unchanged(&output, "hidden text cannot be matched");
    // Beside it all goes on.
    room.call("edit_file", &edit(".env", "B=1", "B=2")).await;
    assert_eq!(room.get(".env"), format!("A={KEY}\nB=2\n").as_bytes());
    let new =
        room.call("write_file", &arguments(&[("path", "new"), ("content", "K=«hidden:sk-…12ab»")])).await;
    assert!(new.outcome == Outcome::Error && !room.path("new").exists());
    // A text that tells of placeholders may be changed.
    room.put("doc.md", format!("shows {HIDDEN} then\n"));
    room.call("edit_file", &edit("doc.md", &format!("{HIDDEN} then"), &format!("{HIDDEN} now"))).await;
    assert_eq!(room.get("doc.md"), format!("shows {HIDDEN} now\n").as_bytes());
}

/// What stands for a key in a text to be replaced is the key: so it can be taken out, of one line and of many.
#[tokio::test]
async fn case_g12_a_key_can_be_taken_out_of_a_file() {
    let room = room();
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\r\n";
    let (other, first) = ("sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz12345", format!("A = \"{KEY}\"\r\n"));
    room.put(
        "a.py",
        format!("{first}B = \"{other}\"\r\nC = <-----BEGIN PRIVATE KEY-----\r\n{line}{line}-----END>\r\n"),
    );
    let read = room.text("read_file", r#"{"path":"a.py"}"#).await;
    let line = |at: usize| read.lines().nth(at).unwrap().to_owned();
    let private = read.split_once("C = ").unwrap().1.split_once("\n[").unwrap().0;
    for (old, new) in [(&*line(0), "A = 1"), (&*line(1), "B = 2"), (private, "3")] {
        let output = room.call("edit_file", &edit("a.py", old, new)).await;
        assert_eq!(output.outcome, Outcome::Ok, "{output:?}");
    }
    assert_eq!(room.get("a.py"), b"A = 1\r\nB = 2\r\nC = 3\r\n");
}

/// A command would get the letters of the placeholder, and write them over the key.
#[tokio::test]
async fn case_g12_no_command_is_run_with_a_placeholder() {
    let room = room();
    let call = arguments(&[("command", &format!("echo A={HIDDEN} > .env"))]);
    let output = room.call("run_command", &call).await;
    assert_eq!(trouble(output.for_model.text())["error"], "not run");
    assert!(output.outcome == Outcome::Invalid && !room.path(".env").exists());
}

/// What is told of the nearest place is cut after its keys are hidden.
#[tokio::test]
async fn case_g12_the_nearest_place_shows_no_half_of_a_key() {
    let room = room();
    for words in 70..80 {
        let text = format!("{}key = {KEY}", "word ".repeat(words));
        room.put("near.txt", format!("{text} end\n"));
        let old = format!("{}key = nothing end\n", "word ".repeat(words));
        let output = room.call("edit_file", &edit("near.txt", &old, "b")).await;
        let told = output.for_model.text();
        assert!(told.contains("the nearest is at line 1") && !told.contains("sk-"), "{told}");
    }
}

/// Names of keys, and what asks for one, are read and found as they stand.
#[tokio::test]
async fn case_g12_a_file_that_names_keys_is_shown_as_it_stands() {
    let room = room();
    let text = "export OPENAI_API_KEY=\nkey = os.getenv(\"X_API_KEY\")\ncurl -H \"Authorization: Bearer $OPENAI_API_KEY\"\n";
    room.put("a.sh", text);
    room.check("read_file", r#"{"path":"a.sh"}"#, Outcome::Ok, text).await;
}

/// A page, or what is shown of a long line, is cut out of a text in which keys are hidden already.
#[tokio::test]
async fn case_g12_a_key_is_not_cut_into_halves() {
    let mut room = room();
    room.cap = Cap(2_000);
    for before in 1_560..1_602 {
        room.put("long.txt", format!("{} {KEY} {}", "a".repeat(before), "b".repeat(3_000)));
        let (first, next) = (r#"{"path":"long.txt"}"#, r#"{"path":"long.txt","from":"1:1580"}"#);
        for call in [first, next, r#"{"path":"long.txt","from":"1:1601"}"#] {
            let page = room.text("read_file", call).await;
            assert!(
                !page.contains("sk-") && !page.contains("mnopqr") && !page.contains("1234"),
                "{before} {page}"
            );
        }
    }
    for before in 150..260 {
        room.put("long.txt", format!("needle {} {KEY} {}", "a".repeat(before), "b".repeat(300)));
        let found = room.text("search_files", r#"{"pattern":"needle|bbb"}"#).await;
        assert!(!found.contains("sk-") && !found.contains("1234"), "{before} {found}");
    }
}

/// Its first line tells that it is one, also to who begins to read behind it.
#[tokio::test]
async fn case_g12_no_page_shows_a_part_of_a_private_key() {
    let room = room();
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n", line.repeat(20));
    room.put("key.pem", &key);
    for from in 1..=22 {
        let page = room.text("read_file", &format!(r#"{{"path":"key.pem","from":{from},"lines":3}}"#)).await;
        assert!(!page.contains("MIIEv"), "{from}: {page}");
    }
    let found = room.text("search_files", r#"{"pattern":"MII|END"}"#).await;
    assert!(found.starts_with("key.pem:22: -----END PRIVATE KEY-----\n[1 match"), "{found}");
    let page = room.text("read_file", r#"{"path":"key.pem","from":22}"#).await;
    assert_eq!(page, "-----END PRIVATE KEY-----\n[lines 22–22 of 22; this is the end]");
}
