//! Row L09: what goes wrong is a result that the model can read.

use petasos_core::tool::Outcome;

use crate::say::{Room, trouble};

#[tokio::test]
async fn l09_arguments_that_do_not_fit_name_the_field_and_what_would_fit() {
    let room = Room::holding("a.txt", "x");
    let table = [
        ("read_file", "{}", "read_file needs the argument \\\"path\\\""),
        (
            "read_file",
            "{}",
            "call read_file(from?: integer|string, lines?: integer, numbers?: boolean, path: string) again",
        ),
        ("read_file", r#"{"path":"a","lines":-1}"#, "call read_file(from?: integer|string, lines?"),
        ("read_file", r#"{"path":7}"#, "path: invalid type: integer `7`, expected a string"),
        ("read_file", r#"{"path":"a.txt","form":3}"#, "use \\\"from\\\" instead of \\\"form\\\""),
        ("read_file", r#"{"path":"a.txt","from":"last"}"#, "from: invalid value: string"),
        ("read_file", r#"{"path":"a.txt","lines":-1}"#, "lines: invalid value: integer `-1`"),
        ("read_file", r#"{"path":""}"#, "names nothing"),
        ("read_file", "[]", "the arguments"),
        (
            "read_file",
            "\"a.txt\"",
            "expected an object {from?: integer|string, lines?: integer, numbers?: boolean, path: string}",
        ),
        ("read_file", r#"{"path":"#, "the arguments are no JSON"),
        ("edit_file", r#"{"path":"a.txt","edits":[]}"#, "no edits"),
        ("edit_file", r#"{"path":"a.txt","edits":[{"old":"x"}]}"#, "\\\"new\\\" of edits[0]"),
        ("edit_file", r#"{"path":"a.txt","edits":[{"old":"x","nwe":"y"}]}"#, "instead of \\\"nwe\\\""),
        ("edit_file", r#"{"path":"b.txt","edits":[{"old":"x","new":"y"}]}"#, "did you mean a.txt?"),
        (
            "run_command",
            r#"{"cmd":"ls"}"#,
            "use \\\"command\\\" instead of \\\"cmd\\\"; known here: command, cwd, timeout_s",
        ),
        ("run_command", r#"{"command":"ls","shell":true}"#, "leave it out; known here: command"),
        ("run_command", r#"{"command":" "}"#, "no command"),
        ("run_command", r#"{"command":"ls","cwd":"a.txt"}"#, "not a folder"),
        ("search_files", r#"{"pattern":"a(b"}"#, "at character 2: unclosed group"),
        ("search_files", r#"{"pattern":""}"#, "no pattern"),
        ("search_files", r#"{"pattern":"a","glob":"[z"}"#, "the glob cannot be read"),
        ("current_time", r#"{"zone":"Europe/Berln"}"#, "did you mean Europe/Berlin?"),
        ("current_time", r#"{"zone":"Shanghai"}"#, "did you mean Asia/Shanghai?"),
        ("calculate", r#"{"expression":"1/0"}"#, "division by zero"),
        ("read_file", r#"{"path":"blob:00000000"}"#, "there is no blob"),
        ("list_files", r#"{"path":"a.txt"}"#, "not a folder"),
        ("read_files", "{}", "call read_file, probably; else one of: read_file, write_file"),
        ("Red-File", "{}", "call read_file, probably"),
        ("weather", "{}", "call one of: read_file"),
    ];
    for (tool, arguments, words) in table {
        room.refused(tool, arguments, words).await;
    }
}

/// Nothing found, an empty file, an empty folder and no output are no errors, and each says why that is normal.
#[tokio::test]
async fn l09_empty_and_error_are_told_apart() {
    let room = Room::holding("a.txt", "");
    let table = [
        ("read_file", r#"{"path":"a.txt"}"#, "is empty (0 bytes)"),
        ("search_files", r#"{"pattern":"x"}"#, "nothing matches \"x\" in 1 files of the workspace"),
        ("run_command", r#"{"command":"true"}"#, "(no output)"),
    ];
    for (tool, arguments, words) in table {
        let output = room.call(tool, arguments).await;
        assert_eq!(output.outcome, Outcome::Empty);
        assert!(output.for_model.text().contains(words), "{:?}", output.for_model);
    }
}

/// An error is JSON of bounded size even if what it tells of is long.
#[tokio::test]
async fn l09_a_long_name_makes_no_long_error() {
    let mut room = Room::new();
    room.cap = petasos_core::bounded::Cap(2_000);
    let long = "北".repeat(100_000);
    for arguments in [format!(r#"{{"path":"{long}"}}"#), format!(r#"{{"{long}":1}}"#)] {
        let text = room.text("read_file", &arguments).await;
        trouble(&text);
        assert!(text.chars().count() <= 2_000, "{}", text.chars().count());
    }
}

/// What a path is made of may be six times as long in JSON. The error is whole under every cap, and nothing of it is
/// kept elsewhere: there is nothing more to it.
#[tokio::test]
async fn l09_an_error_is_whole_json_under_any_cap_and_makes_no_blob() {
    let mut room = Room::new();
    let names = ["\u{1}".repeat(900), "\"\\".repeat(450), "北".repeat(5_000), "a\u{1}b".repeat(300)];
    for cap in [200, 500, 700, 1_000, 2_000, 50_000] {
        room.cap = petasos_core::bounded::Cap(cap);
        for name in &names {
            let call = crate::say::arguments(&[("path", name), ("content", "x")]);
            for (tool, call) in
                [("read_file", crate::say::arguments(&[("path", name)])), ("write_file", call)]
            {
                let output = room.call(tool, &call).await;
                let text = output.for_model.text();
                let is_claimed = output.outcome == Outcome::Invalid;
                assert!(is_claimed || text.chars().count() <= cap, "{cap}: {}", text.chars().count());
                trouble(text);
                assert!(output.blob.is_none() && room.blobs.is_empty());
            }
        }
    }
}
