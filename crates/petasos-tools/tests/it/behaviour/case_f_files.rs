//! Cases F-10 to F-16, E-07 and E-09: what is in files.

use std::os::unix::fs::PermissionsExt as _;

use petasos_core::tool::Outcome;

use crate::say::{Room, arguments, edit};

#[tokio::test]
async fn case_f10_line_ends_stay_as_they_are() {
    let room = Room::new();
    room.sh(r"printf 'one\r\ntwo\r\nthree\r\n' > crlf.txt; printf 'a\r\nb\nc\r\n' > mixed.txt");
    room.call("edit_file", &edit("crlf.txt", "one\ntwo", "1\n2")).await;
    assert_eq!(room.get("crlf.txt"), b"1\r\n2\r\nthree\r\n");
    room.call("edit_file", &edit("mixed.txt", "b", "B")).await;
    assert_eq!(room.get("mixed.txt"), b"a\r\nB\nc\r\n");
    let read = "1\n2\nthree\n[lines end with CRLF; edit_file and write_file keep that]";
    room.check("read_file", r#"{"path":"crlf.txt"}"#, Outcome::Ok, read).await;
    let text = "wrote 6 bytes, 2 lines to crlf.txt (replaced, CRLF line ends kept)";
    let write = arguments(&[("path", "crlf.txt"), ("content", "x\ny\n")]);
    room.check("write_file", &write, Outcome::Ok, text).await;
    assert_eq!(room.get("crlf.txt"), b"x\r\ny\r\n");
}

#[tokio::test]
async fn case_f11_a_byte_order_mark_is_there_once_and_never_seen() {
    let room = Room::new();
    room.sh(r"printf '\xef\xbb\xbfkey=1\nk2=2\n' > bom.ini");
    room.check("read_file", r#"{"path":"bom.ini"}"#, Outcome::Ok, "key=1\nk2=2\n").await;
    room.call("edit_file", &edit("bom.ini", "key=1", "key=9")).await;
    assert_eq!(room.get("bom.ini"), b"\xef\xbb\xbfkey=9\nk2=2\n");
    for content in ["key=3\n", "\u{feff}key=3\n"] {
        room.call("write_file", &arguments(&[("path", "bom.ini"), ("content", content)])).await;
        assert_eq!(room.get("bom.ini"), b"\xef\xbb\xbfkey=3\n");
    }
}

#[tokio::test]
async fn case_f12_text_that_is_only_alike_is_not_changed() {
    let room = Room::new();
    room.sh(r#"printf 'x = "Alice"\n# “quoted” — dash\xc2\xa0nbsp   \nend\n' > q.txt"#);
    let before = room.get("q.txt");
    let call = edit("q.txt", "x = “Alice”", "x = \"Bob\"");
    room.refused("edit_file", &call, "the nearest is at line 1: x = \\\"Alice\\\"").await;
    assert_eq!(room.get("q.txt"), before);
}

#[tokio::test]
async fn case_f13_bytes_that_are_no_utf8_stay() {
    let room = Room::new();
    room.sh(r"printf 'x = 1;\n// caf\xe9 \xd6\xd0\n' > legacy.c");
    room.call("edit_file", &edit("legacy.c", "x = 1;", "x = 2;")).await;
    assert_eq!(room.get("legacy.c"), b"x = 2;\n// caf\xe9 \xd6\xd0\n");
    let text = room.text("read_file", r#"{"path":"legacy.c"}"#).await;
    assert!(text.contains("not all of it is UTF-8"), "{text}");
}

#[tokio::test]
async fn case_f14_an_edit_that_is_not_clear_changes_nothing() {
    let room = Room::new();
    room.sh(r"printf 'a=1\nb=1\na=1\n' > m.txt");
    room.refused("edit_file", &edit("m.txt", "a=1", "a=2"), "at 2 places: lines 1, 3").await;
    room.refused("edit_file", &edit("m.txt", "", "x"), "old is empty").await;
    room.refused("edit_file", &edit("m.txt", "b=1", "b=1"), "no change").await;
    assert_eq!(room.get("m.txt"), b"a=1\nb=1\na=1\n");
    let all = r#"{"path":"m.txt","edits":[{"old":"a=1","new":"a=2","all":true}]}"#;
    room.check("edit_file", all, Outcome::Ok, "edited 2 places in m.txt (line 1, 3)").await;
    assert_eq!(room.get("m.txt"), b"a=2\nb=1\na=2\n");
}

#[tokio::test]
async fn case_f15_signs_of_templates_are_text() {
    let room = Room::new();
    room.sh(r#"printf 'log("done");\n' > d.js"#);
    let new = r#"log("$& $1 ${name} $$ \\1");"#;
    room.call("edit_file", &edit("d.js", r#"log("done");"#, new)).await;
    assert_eq!(room.get("d.js"), format!("{new}\n").as_bytes());
}

#[tokio::test]
async fn case_f16_mode_and_links_stay() {
    let room = Room::new();
    room.sh(r"printf '#!/bin/sh\necho 1\n' > run.sh; chmod 750 run.sh");
    room.sh(r"mkdir real; printf 'v=1\n' > real/conf; ln -s real/conf conf");
    room.call("edit_file", &edit("run.sh", "1", "2")).await;
    assert_eq!(room.get("run.sh"), b"#!/bin/sh\necho 2\n");
    assert_eq!(std::fs::metadata(room.path("run.sh")).unwrap().permissions().mode() & 0o7777, 0o750);
    room.call("write_file", &arguments(&[("path", "conf"), ("content", "v=2\n")])).await;
    assert_eq!(room.get("real/conf"), b"v=2\n");
    assert_eq!(std::fs::read_link(room.path("conf")).unwrap().to_str(), Some("real/conf"));
    // No other name is left: neither by what was written, nor by what could not be.
    room.sh("mkdir full");
    room.refused("write_file", &arguments(&[("path", "full"), ("content", "x")]), "is a folder").await;
    for (folder, count) in [("", 4), ("real", 1), ("full", 0)] {
        assert_eq!(std::fs::read_dir(room.path(folder)).unwrap().count(), count, "{folder:?}");
    }
}

#[tokio::test]
async fn t03_a_file_that_nobody_may_write_is_not_replaced() {
    let room = Room::holding("a.txt", "old");
    room.sh("chmod 444 a.txt");
    room.refused("write_file", &arguments(&[("path", "a.txt"), ("content", "new")]), "read only").await;
    room.refused("edit_file", &edit("a.txt", "old", "new"), "may be written by nobody").await;
    assert_eq!(room.get("a.txt"), b"old");
}

#[tokio::test]
async fn case_e07_one_very_long_line_is_read_in_pages_that_go_forward() {
    let room = Room::new();
    room.sh(r#"python3 -c 'print("{\"payload\":\"" + "a"*5000000 + "\"}", end="")' > big.json"#);
    let first = room.text("read_file", r#"{"path":"big.json"}"#).await;
    assert!(first.starts_with("{\"payload\":\"aaa") && first.chars().count() <= 50_000);
    let footer = "[line 1 of 1, characters 1–49600, of a file of 5000014 bytes; go on with from=\"1:49601\", or find \
                  text in it with search_files]";
    assert_eq!(first.lines().last(), Some(footer));
    let end = room.text("read_file", r#"{"path":"big.json","from":"1:5000010"}"#).await;
    assert_eq!(end.lines().next(), Some("aaa\"}"));
    let found = room.text("search_files", r#"{"pattern":"a\"\\}$"}"#).await;
    assert!(found.starts_with("big.json:1: ") && found.chars().count() < 500, "{found}");
}

#[tokio::test]
async fn case_e09_a_binary_file_is_named_and_not_shown() {
    let room = Room::new();
    room.sh(r"head -c 200000 /dev/urandom > blob.bin; printf 'a\0b\n' > nul.txt");
    room.put("blob.bin", [&[0; 4][..], &room.get("blob.bin")[4..]].concat());
    room.refused("read_file", r#"{"path":"blob.bin"}"#, "blob.bin is a binary file, 200000 bytes").await;
    room.refused("read_file", r#"{"path":"nul.txt"}"#, "nul.txt is a binary file, 4 bytes").await;
    room.put("a.png", b"\x89PNG\r\n\x1a\n");
    room.refused("read_file", r#"{"path":"a.png"}"#, "a.png is a PNG image, 8 bytes").await;
}
