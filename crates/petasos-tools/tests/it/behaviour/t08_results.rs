//! Row T08: results of any size.

use petasos_core::bounded::Cap;
use petasos_core::tool::Outcome;
use petasos_tools::Options;
use proptest::prelude::*;

use crate::say::{Room, arguments};

#[tokio::test]
async fn t08_every_result_keeps_to_its_cap() {
    let mut room = Room::new();
    room.sh("seq -f 'needle %g' 300 > a.txt; seq -f 'a-file-with-a-long-name-%g' 300 | xargs touch");
    for cap in [700, 2_000, 5_000] {
        room.cap = Cap(cap);
        let calls = [
            ("read_file", r#"{"path":"a.txt"}"#),
            ("list_files", "{}"),
            ("search_files", r#"{"pattern":"needle"}"#),
            ("run_command", r#"{"command":"cat a.txt a.txt"}"#),
        ];
        for (tool, call) in calls {
            let output = room.call(tool, call).await;
            let text = output.for_model.text();
            assert!(text.chars().count() <= cap, "{tool} {cap}: {}", text.chars().count());
            assert_eq!(output.outcome, Outcome::Ok);
            let is_paged = tool == "read_file";
            assert_eq!(output.blob.is_none(), is_paged || !text.contains("left out"), "{tool} {cap}: {text}");
        }
    }
}

/// The whole is kept, and can be read on from where the result was cut.
#[tokio::test]
async fn t08_a_result_of_80_kb_of_json_is_cut_and_kept() {
    let room = Room::new();
    let json = format!("{{\"rows\":[{}\"last\"]}}", "\"value 1234\",".repeat(6_200));
    assert!(json.len() > 80_000);
    room.put("big.json", &json);
    let output = room.call("run_command", r#"{"command":"cat big.json"}"#).await;
    let text = output.for_model.text();
    assert!(text.starts_with("exit code 0\n{\"rows\":["), "{text}");
    assert!(text.ends_with("\"last\"]}"), "{text}");
    assert!(text.chars().count() <= 50_000);
    assert_eq!(output.bytes, json.len() as u64);
    assert_eq!(room.blobs.only(), json.as_bytes());
    let name: String = output.blob.unwrap().hash.to_string().chars().take(8).collect();
    assert!(text.contains(&format!("the whole is in blob:{name}; read it with read_file")), "{text}");
    let first = room.text("read_file", &format!(r#"{{"path":"blob:{name}"}}"#)).await;
    let (shown, footer) = first.rsplit_once("\n[").unwrap();
    let next = footer.split("from=").nth(1).unwrap().split(',').next().unwrap();
    let second = room.text("read_file", &format!(r#"{{"path":"blob:{name}","from":{next}}}"#)).await;
    let (rest, _) = second.rsplit_once("\n[").unwrap();
    assert_eq!(format!("{shown}{rest}"), json);
}

#[tokio::test]
async fn t08_a_small_result_makes_no_blob() {
    let room = Room::new();
    room.sh("seq 1 9000 > a.txt");
    room.call("run_command", r#"{"command":"cat a.txt"}"#).await;
    room.call("read_file", r#"{"path":"a.txt"}"#).await;
    assert!(room.blobs.is_empty());
}

/// Pages, put together, are the file; whatever the size of a page.
#[tokio::test]
async fn t08_pages_together_are_the_whole() {
    let mut room = Room::new();
    let long: String = ('a'..='z').cycle().take(3_000).chain("北京".chars()).collect();
    let file = format!("first\n{long}\n\nlast {long} line\nend without newline");
    room.put("a.txt", &file);
    for cap in [900, 1_301, 4_000] {
        room.cap = Cap(cap);
        let (mut whole, mut from) = (String::new(), "1".to_owned());
        loop {
            let page = room.text("read_file", &arguments(&[("path", "a.txt"), ("from", &from)])).await;
            let (shown, footer) = page.rsplit_once("\n[").unwrap();
            whole.push_str(shown);
            let Some((_, next)) = footer.split_once("from=") else { break };
            let next = next.trim_start_matches('"');
            let next: String = next.chars().take_while(|c| c.is_ascii_digit() || *c == ':').collect();
            assert_ne!(next, from);
            if !next.contains(':') {
                whole.push('\n');
            }
            from = next;
        }
        assert_eq!(whole, file, "{cap}");
    }
}

#[tokio::test]
async fn t08_a_list_and_a_search_say_how_many_more_there_are() {
    let room = Room::new();
    room.sh("mkdir many; cd many; seq 1 1500 | xargs touch; cd ..; yes needle | head -n 500 > a.txt");
    let text = room.text("list_files", "{}").await;
    assert!(text.ends_with("… and 502 more; list a folder below, or less depth\n"), "{text}");
    let text = room.text("search_files", r#"{"pattern":"needle"}"#).await;
    assert_eq!(text.lines().count(), 201);
    assert!(text.contains("[the first 200 matches, in 1 files; more are not shown"), "{text}");
}

#[tokio::test]
async fn t08_zero_bytes_are_passed_on_as_they_come() {
    let room = Room::new();
    let output = room.call("run_command", &arguments(&[("command", "head -c 3000000 /dev/zero")])).await;
    assert_eq!(output.outcome, Outcome::Ok);
    assert_eq!(room.blobs.only(), "\u{2400}".repeat(3_000_000).into_bytes());
    // What is read of a pipe at once is 64 KiB, of which each byte becomes three.
    let largest = room.blobs.largest_piece();
    assert!(largest <= 256 * 1024, "{largest}");
}

/// What is counted is what is kept: a zero byte is three bytes of that, and what is redrawn is none.
#[tokio::test]
async fn t08_the_most_that_is_kept_counts_what_is_kept() {
    let room = Room::with(Options { most_output: 300_000, ..Options::default() });
    let call = |command| arguments(&[("command", command)]);
    let output = room.call("run_command", &call("head -c 20000000 /dev/zero; sleep 100")).await;
    let text = output.for_model.text();
    assert!(text.contains("it wrote more than 300000 bytes of output"), "{text}");
    let kept = room.blobs.only().len();
    // What was in the pipe when it was stopped is kept too.
    assert!((300_000..=300_000 + 4 * 3 * 64 * 1024).contains(&kept), "{kept}");
    let redrawn = "i=0; while [ $i -lt 50000 ]; do printf 'at %05d\\r' $i; i=$((i+1)); done";
    let output = room.call("run_command", &call(redrawn)).await;
    assert_eq!(&**output.for_model.text(), "exit code 0\nat 49999");
}

/// A file with a few lines, and then nothing but zeros that are no line.
fn endless(room: &Room, bytes: u64) {
    room.put("endless", "line\n".repeat(4_000));
    std::fs::OpenOptions::new().write(true).open(room.path("endless")).unwrap().set_len(bytes).unwrap();
}

#[tokio::test]
async fn t08_a_page_that_lies_too_far_is_not_looked_for_without_end() {
    let room = Room::new();
    endless(&room, 2 << 30);
    let call = r#"{"path":"endless","from":5000}"#;
    room.refused("read_file", call, "the line is not in the first 1073741824 bytes of endless").await;
}

#[tokio::test]
async fn t08_a_call_that_is_stopped_looks_no_further() {
    let room = Room::new();
    endless(&room, 3 << 20);
    let calls = [
        ("read_file", r#"{"path":"endless","from":5000}"#, "before the line was reached in endless"),
        ("search_files", r#"{"pattern":"line","path":"endless"}"#, "before all of endless was searched"),
        ("list_files", "{}", "it was stopped before all was listed"),
        ("search_files", r#"{"pattern":"line"}"#, "before all of the workspace was searched"),
    ];
    for (tool, call, words) in calls {
        let (raise, context) = room.context();
        raise.send(true).unwrap();
        let output = room.call_in(tool, call, context).await;
        let text = output.for_model.text();
        assert!(output.outcome == Outcome::CutShort && text.contains(words), "{tool} {text}");
    }
}

/// A program that goes up and writes its lines anew: its first picture and its last one are shown, not those between.
#[tokio::test]
async fn t08_of_lines_that_are_redrawn_the_last_are_shown() {
    let room = Room::new();
    let table = [
        // As docker and others show many bars at once.
        (
            "printf 'a 0\\nb 0\\n'; for i in 1 2 3; do printf '\\033[2A\\033[2Ka %s\\n\\033[2Kb %s\\n' $i $i; done; echo end",
            "a 0\nb 0\na 3\nb 3\nend\n",
        ),
        // One line above the last, then on.
        ("printf '\\033[A1\\n2\\n3'; printf '\\r\\033[1Atwo\\033[1B\\rthree\\nfour'", "1\ntwo\nthree\nfour"),
        // More rows than there are.
        ("printf 'x\\n\\033[9Ay\\nz\\n\\033[99Aw\\n'", "x\nw\nz\n"),
        // All below is wiped.
        ("printf '\\033[A1\\n2\\n3\\n\\033[3A\\033[Jnew\\n'", "new\n"),
        // A line that is not written anew stays.
        ("printf '\\033[A1\\n2\\n\\033[2A\\n\\nx'", "1\n2\nx"),
    ];
    for (command, shown) in table {
        let text = room.text("run_command", &arguments(&[("command", command)])).await;
        assert_eq!(text, format!("exit code 0\n{shown}"), "{command}");
    }
    // However long it goes on, and whatever comes behind it.
    let command = "printf '\\033[A'; for i in $(seq 3000); do echo line $i; done; printf '\\033[2Alast\\n'; head -c 20000 /dev/zero | tr '\\0' x";
    let text = room.text("run_command", &arguments(&[("command", command)])).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[1], lines[2998], lines[2999]), (3_001, "line 1", "line 2998", "last"));
    assert_eq!(lines[3000], "x".repeat(20_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any bytes that a program writes become text without control characters.
    #[test]
    fn t08_any_output_becomes_text(bytes in prop::collection::vec(
        prop_oneof![Just(0x1b), Just(b'\r'), Just(b'\n'), Just(b'['), Just(b']'), Just(b'A'), Just(b'J'), any::<u8>()], 0..400)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let room = Room::holding("out", &bytes);
        let output = runtime.block_on(room.call("run_command", r#"{"command":"cat out"}"#));
        let text = output.for_model.text();
        let is_clean = |c: char| !c.is_ascii_control() || matches!(c, '\n' | '\t');
        prop_assert!(text.chars().all(is_clean), "{:?}", text);
        // What is a file of any bytes is read or refused.
        let read = runtime.block_on(room.call("read_file", r#"{"path":"out"}"#));
        prop_assert!(matches!(read.outcome, Outcome::Ok | Outcome::Empty | Outcome::Error));
    }
}
