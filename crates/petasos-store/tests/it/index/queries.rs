//! What is found by what was typed: in the index and, without it, in the logs, the same.

use petasos_core::bounded::{Bounded, Cap};
use petasos_core::entry::{
    Block, CallForm, Charge, Entry, FinishReason, Keep, ModelCall, Reply, Timing, ToolResult,
};
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::time::Span;
use petasos_core::tool::Outcome;
use petasos_core::usage::Usage;
use petasos_store::{BadQuery, Query, Snippet};
use proptest::prelude::*;

use super::{Home, title};
use crate::say::{append, entry, said};

const TEXTS: &[&str] = &[
    "我们把数据库的索引放在日志旁边。",
    "银行行长今天去了北京",
    "请修复 foo_bar 里的错误,谢谢",
    "let x = snake::case::path();",
    "fn main() -> Result<(), Error> {",
    "if a - > b { c++ }",
    "C++ and C# and c",
    "let value = call()?;\nlet other = x ? y : z;",
    "getUserName and get_user_name",
    "Ünïcode STRASSE straße İstanbul",
    "say \"hello world\" twice",
    "email me@example.com, see https://example.com/a?b=c#d",
    "東京タワーとスカイツリー",
    "서울에서 만나요",
    "ภาษาไทยไม่มีช่องว่าง",
    "path C:\\temp\\file.txt 100% 3.14",
    "数据 库",
    "two\n\n   blanks\tbetween",
    "😀 fine 👍🏽",
];

/// The places in [`TEXTS`] that are found.
#[track_caller]
fn check(home: &Home, typed: &str, wanted: &[usize]) {
    let mut wanted: Vec<String> = wanted.iter().map(|place| format!("s:{}", place + 2)).collect();
    wanted.reverse();
    assert_eq!(home.found(typed), (wanted, 0), "{typed}");
}

#[test]
fn s03_a_search_finds_chinese_words_identifiers_and_signs() {
    let home = Home::new();
    home.keep("s", TEXTS);
    // Chinese words of one and of two characters, in the middle of others, and a sentence with its sign.
    check(&home, "库", &[0, 16]);
    check(&home, "行", &[1]);
    check(&home, "数据", &[0, 16]);
    check(&home, "数据库", &[0]);
    check(&home, "据库", &[0]);
    check(&home, "旁边。", &[0]);
    check(&home, "库据", &[]);
    check(&home, "京", &[1, 12]);
    check(&home, "タワー", &[12]);
    check(&home, "서울", &[13]);
    check(&home, "에서", &[13]);
    check(&home, "ไทย", &[14]);
    // Identifiers, whole and their parts from where they begin.
    check(&home, "foo_bar", &[2]);
    check(&home, "foo bar", &[2]);
    check(&home, "\"foo bar\"", &[]);
    check(&home, "snake::case", &[3]);
    check(&home, "case::pa", &[3]);
    check(&home, "snake:case", &[]);
    check(&home, "getuser", &[8]);
    check(&home, "user_name", &[8]);
    check(&home, "username", &[]);
    // Signs.
    check(&home, "->", &[4]);
    check(&home, "- >", &[4, 5]);
    check(&home, "\"- >\"", &[5]);
    check(&home, "?;", &[7]);
    check(&home, "C++", &[5, 6]);
    check(&home, "C#", &[6, 11]);
    check(&home, "()?;", &[7]);
    check(&home, "Result<(),", &[4]);
    check(&home, "\\temp\\", &[15]);
    check(&home, "100%", &[15]);
    check(&home, "3.14", &[15]);
    check(&home, "%", &[15]);
    check(&home, "a?b=c#d", &[11]);
    check(&home, "@example", &[11]);
    check(&home, "\"", &[10]);
    check(&home, "\"hello", &[10]);
    check(&home, "👍🏽", &[18]);
    // Both, and several that stand anywhere.
    check(&home, "修复 foo_bar", &[2]);
    check(&home, "foo_bar 里的错误,", &[2]);
    check(&home, "\"修复 foo\"", &[2]);
    check(&home, "谢 请", &[2]);
    check(&home, "谢 北京", &[]);
    // The case of letters and the number of blanks do not count.
    check(&home, "LET VALUE", &[7]);
    check(&home, "\"two blanks between\"", &[17]);
    check(&home, "ünïcode", &[9]);
    check(&home, "straße", &[9]);
    check(&home, "İstanbul", &[9]);
    // What SQLite's own language means is text here.
    check(&home, "NOT", &[]);
    check(&home, "AND", &[6, 8]);
    check(&home, "text:let", &[]);
    check(&home, "*", &[]);
    check(&home, "a' OR '1'='1", &[]);
}

/// A place that overlaps one inside a word counts.
#[test]
fn s03_a_search_finds_what_overlaps_itself() {
    let home = Home::new();
    let mut opened = home.create("s");
    let texts = ["10.0.0.1", "v1.1.1", "banana na na", "aaa a"];
    let entries: Vec<Entry> = texts.iter().zip(2..).map(|(text, seq)| said(seq, text)).collect();
    append(&mut opened, &entries, Keep::Written);
    for (typed, wanted) in [("0.0", "s:2"), ("1.1", "s:3"), ("\"na na\"", "s:4"), ("\"a a\"", "")] {
        let found = home.found(typed).0;
        assert_eq!(found, if wanted.is_empty() { vec![] } else { vec![wanted.to_owned()] }, "{typed}");
    }
}

/// What seam.md says of numbers: nothing changes them.
#[test]
fn s03_a_search_finds_arguments_as_they_are_written() {
    let home = Home::new();
    let mut opened = home.create("s");
    let deep = format!("{}\"bottom\"{}", "[".repeat(5_000), "]".repeat(5_000));
    let arguments = format!(
        r#"{{"price":1.50,"id":123456789012345678901234,"id":"twice","in":{{"list":["one",{{"name":"库"}}]}},"deep":{deep}}}"#
    );
    let call = ModelCall {
        wire_id: None,
        name: "t".into(),
        arguments: arguments.into(),
        form: CallForm::Native,
        complete: true,
    };
    append(&mut opened, &[answered(2, vec![Block::Call(call)])], Keep::Written);
    for typed in ["1.50", "123456789012345678901234", "twice", "one", "库", "bottom"] {
        assert_eq!(home.found(typed).0, ["s:2"], "{typed}");
    }
}

#[test]
fn nothing_is_looked_for_without_something_to_look_for() {
    for typed in ["", "  ", "\"\"", "\u{1}", "\" \""] {
        assert_eq!(Query::read(typed), Err(BadQuery), "{typed:?}");
    }
}

fn answered(seq: u64, blocks: Vec<Block>) -> Entry {
    let reply = Reply {
        request: RequestId(Seq(1)),
        blocks,
        raw: None,
        finish: FinishReason::Stop,
        usage: Charge::Reported(Usage::default()),
        micro_usd: None,
        overrun: 0,
        timing: Timing::default(),
        model: None,
    };
    entry(seq, reply)
}

#[test]
fn what_was_answered_called_given_back_and_named_is_found_and_what_was_thought_is_not() {
    let home = Home::new();
    let mut opened = home.create("s");
    let call = ModelCall {
        wire_id: None,
        name: "write_file".into(),
        arguments: r#"{"path":"src/\u5e93.rs","content":"line one\nline \"two\"","from":8080}"#.into(),
        form: CallForm::Native,
        complete: true,
    };
    let cut = ModelCall { arguments: r#"{"path":"half"#.into(), complete: false, ..call.clone() };
    let result = ToolResult {
        call: CallId { reply: Seq(2), place: 0 },
        outcome: Outcome::Ok,
        text: Bounded::new("wrote 2 lines", Cap::RESULT, "the log"),
        bytes: 13,
        blob: None,
        facts: Vec::new(),
        took: Span(1),
    };
    let entries = [
        answered(
            2,
            vec![Block::Reasoning("secretly".into()), Block::Text("openly".into()), Block::Call(call)],
        ),
        answered(3, vec![Block::Call(cut)]),
        entry(4, result),
        title(5, "Named so"),
    ];
    append(&mut opened, &entries, Keep::Written);
    let found = |typed: &str| home.found(typed).0;
    assert_eq!(found("openly"), ["s:2"]);
    assert_eq!(found("secretly"), [""; 0]);
    assert_eq!(found("库.rs"), ["s:2"]);
    assert_eq!(found("\"one line\""), ["s:2"]);
    assert_eq!(found("8080"), ["s:2"]);
    assert_eq!(found("write_file"), ["s:3", "s:2"]);
    assert_eq!(found("{\"path\":"), ["s:3"]);
    assert_eq!(found("wrote"), ["s:4"]);
    assert_eq!(found("named so"), ["s:5"]);
    let kinds: Vec<_> = home.search("w").hits.iter().map(|hit| hit.kind.to_string()).collect();
    assert_eq!(kinds, ["tool_result", "reply", "reply"]);
}

#[test]
fn a_snippet_shows_what_was_found_as_it_stands_there() {
    let home = Home::new();
    let long = format!("{}İ the\n\nNEEDLE: here {}", "北".repeat(100), "z ".repeat(100));
    home.keep("s", &[&long]);
    let snippet = home.search("needle:").hits[0].snippet.clone();
    let wanted = Snippet {
        before: format!("…{}İ the ", "北".repeat(54)),
        found: "NEEDLE:".to_owned(),
        after: format!(" here {}…", "z ".repeat(47)),
    };
    assert_eq!(snippet, wanted);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The index leaves nothing out and adds nothing: its answer is that of the logs.
    #[test]
    fn an_index_answers_as_the_logs_do(
        texts in proptest::collection::vec("[a-cA-C_:.+ \\n库数据é\u{e000}\u{301}\u{1f600}\"-]{0,24}", 1..12),
        typed in proptest::collection::vec("[a-cA-C_:.+ 库数据é\u{301}\"-]{1,5}", 12),
        long in "[ab]{60,200}",
    ) {
        let (with, without) = (Home::new(), Home::new());
        for home in [&with, &without] {
            let mut opened = home.create("s");
            let texts = texts.iter().chain([&long]);
            let entries: Vec<Entry> = texts.zip(2..).map(|(text, seq)| said(seq, text)).collect();
            append(&mut opened, &entries, Keep::Written);
        }
        std::fs::create_dir(without.file()).unwrap();
        let beginning = [long.chars().take(64).collect(), long.chars().take(70).collect(), long.clone()];
        for typed in typed.iter().chain(&beginning) {
            if Query::read(typed).is_ok() {
                prop_assert_eq!(with.found(typed), (without.found(typed).0, 0), "{}", typed);
            }
        }
    }
}
