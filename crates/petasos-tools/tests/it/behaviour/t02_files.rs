//! Files that are read, written, edited, listed and searched.

use petasos_core::bounded::Cap;
use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};

use crate::say::{Room, hash};

#[tokio::test]
async fn t02_a_small_file_is_read_as_it_is() {
    let room = Room::holding("a.txt", "one\ntwo\n你好");
    room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Ok, "one\ntwo\n你好").await;
    room.check("read_file", r#"{"path":"./x/../a.txt"}"#, Outcome::Ok, "one\ntwo\n你好").await;
}

#[tokio::test]
async fn t02_a_page_says_how_to_go_on() {
    let text: String = (1..=950).map(|line| format!("line {line}\n")).collect();
    let room = Room::holding("a.txt", text);
    let page = "line 3\nline 4\n[lines 3–4 of 950; go on with from=5]";
    room.check("read_file", r#"{"path":"a.txt","from":3,"lines":2}"#, Outcome::Ok, page).await;
    let end = "line 950\n[lines 950–950 of 950; this is the end]";
    room.check("read_file", r#"{"path":"a.txt","from":"950"}"#, Outcome::Ok, end).await;
    room.refused("read_file", r#"{"path":"a.txt","from":951}"#, "has 950 lines").await;
}

#[tokio::test]
async fn t02_an_empty_file_says_that_it_is_empty() {
    let room = Room::holding("a.txt", "");
    let text = "a.txt is empty (0 bytes): there is nothing in it to read";
    room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Empty, text).await;
}

#[tokio::test]
async fn t02_a_file_is_written_and_its_folders_are_made() {
    let room = Room::new();
    let output = room.call("write_file", r#"{"path":"a/b/c.txt","content":"one\ntwo\n"}"#).await;
    assert_eq!(&**output.for_model.text(), "wrote 8 bytes, 2 lines to a/b/c.txt (new)");
    assert_eq!(output.outcome, Outcome::Ok);
    assert_eq!(output.facts, [Fact::Wrote { path: Text::from("a/b/c.txt"), hash: hash(b"one\ntwo\n") }]);
    assert_eq!(room.get("a/b/c.txt"), b"one\ntwo\n");
    let text = "wrote 1 bytes, 1 lines to a/b/c.txt (replaced)";
    room.check("write_file", r#"{"path":"a/b/c.txt","content":"x"}"#, Outcome::Ok, text).await;
    assert_eq!(std::fs::read_dir(room.path("a/b")).unwrap().count(), 1);
}

#[tokio::test]
async fn t02_edits_are_made_in_order_and_together() {
    let room = Room::holding("a.txt", "a=1\nb=2\n");
    let edits = r#"{"path":"a.txt","edits":[{"old":"a=1","new":"a=3"},{"old":"a=3\nb=2","new":"x"}]}"#;
    let output = room.call("edit_file", edits).await;
    assert_eq!(&**output.for_model.text(), "edited 2 places in a.txt (line 1, 1)");
    assert_eq!(room.get("a.txt"), b"x\n");
    let half = r#"{"path":"a.txt","edits":[{"old":"x","new":"y"},{"old":"nowhere","new":"z"}]}"#;
    let output = room.call("edit_file", half).await;
    assert_eq!(output.outcome, Outcome::Error);
    assert_eq!(output.facts, [Fact::NotWritten { path: Text::from("a.txt") }]);
    assert_eq!(room.get("a.txt"), b"x\n");
}

#[tokio::test]
async fn t02_a_folder_is_listed_by_name_with_sizes() {
    let room = Room::holding("src/b.rs", "12345");
    room.put("a.txt", "1");
    room.put("src/deep/er/x", "");
    let text = "a.txt (1 bytes)\nsrc/\nsrc/b.rs (5 bytes)\nsrc/deep/\n";
    room.check("list_files", "{}", Outcome::Ok, text).await;
    let text = "a.txt (1 bytes)\nsrc/\n";
    room.check("list_files", r#"{"depth":1}"#, Outcome::Ok, text).await;
    let text = "src/deep/er/x (0 bytes)\n";
    room.check("list_files", r#"{"path":"src/deep/er"}"#, Outcome::Ok, text).await;
    std::fs::create_dir(room.path("none")).unwrap();
    let text = "none is an empty folder: there is nothing in it";
    room.check("list_files", r#"{"path":"none"}"#, Outcome::Empty, text).await;
}

#[tokio::test]
async fn t02_text_is_found_with_its_path_and_line() {
    let room = Room::holding("src/b.rs", "fn 你好() {}\n// needle\n");
    room.put("a.txt", "one\nneedle\nthree\n");
    let text = "a.txt:2: needle\nsrc/b.rs:2: // needle\n[2 matches in 2 files]\n";
    room.check("search_files", r#"{"pattern":"needle"}"#, Outcome::Ok, text).await;
    let text = "src/b.rs:1: fn 你好() {}\n[1 matches in 1 files]\n";
    room.check("search_files", r#"{"pattern":"你.","glob":"*.rs"}"#, Outcome::Ok, text).await;
    let text = "a.txt-1- one\na.txt:2: needle\na.txt-3- three\n[1 matches in 1 files]\n";
    room.check("search_files", r#"{"pattern":"needle","context":1,"path":"a.txt"}"#, Outcome::Ok, text).await;
    let text = "src/\nsrc/b.rs\n[2 matches in 2 files]\n";
    room.check("search_files", r#"{"pattern":"src","names":true}"#, Outcome::Ok, text).await;
}

#[tokio::test]
async fn t02_lines_have_numbers_if_they_are_asked_for() {
    let text: String = (1..=300).map(|at| format!("text {at}\n")).collect();
    let mut room = Room::holding("a.txt", &text);
    room.cap = Cap(1_000);
    let (mut whole, mut from, mut pages) = (String::new(), 1, 0);
    while from <= 300 {
        let page =
            room.text("read_file", &format!(r#"{{"path":"a.txt","from":{from},"numbers":true}}"#)).await;
        assert!(page.chars().count() <= 1_000, "{page}");
        let (lines, below) = page.rsplit_once('[').unwrap();
        for line in lines.lines() {
            let (number, line) = line.split_once('\t').unwrap();
            assert_eq!(number, from.to_string());
            whole.push_str(&format!("{line}\n"));
            from += 1;
        }
        assert!(below.contains(&format!("–{} of 300", from - 1)), "{below}");
        pages += 1;
    }
    assert!(whole == text && pages > 3, "{pages} pages: {whole}");
    let few = r#"{"path":"a.txt","from":"2:6","lines":1,"numbers":true}"#;
    let page = room.text("read_file", few).await;
    assert!(page.starts_with("2\t2\n["), "{page}");
}

#[tokio::test]
async fn t02_a_page_says_of_line_ends_and_nuls_what_is_so() {
    let room = Room::holding("a.txt", "a\r\nb\n");
    let mixed = "a\nb\n[some lines end with CRLF and some with LF; edit_file keeps that, write_file gives all lines the \
                 ends that most have]";
    room.check("read_file", r#"{"path":"a.txt"}"#, Outcome::Ok, mixed).await;
    room.put("b.txt", ["line\n".repeat(2_000).as_bytes(), b"x\0y\n"].concat());
    let page = room.text("read_file", r#"{"path":"b.txt","from":2001}"#).await;
    assert!(page.starts_with("x\u{2400}y\n[") && page.contains("NULs are shown as \u{2400}"), "{page}");
}

/// A line end of two bytes is on one page.
#[tokio::test]
async fn t02_no_page_ends_between_cr_and_lf() {
    for length in 590..=610 {
        let mut room = Room::holding("a.txt", format!("{}\r\nend\r\n", "x".repeat(length)));
        room.cap = Cap(1_000);
        let page = room.text("read_file", r#"{"path":"a.txt"}"#).await;
        assert!(!page.contains("\\u{d}"), "{length}: {page}");
    }
}
