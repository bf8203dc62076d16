//! The page on the formats says what the program does: the same keys, and examples that are taken.

use std::collections::{BTreeMap, BTreeSet};

use petasos_modelserver::{Fault, Options, Script, Server};

use crate::client::post;

const PAGE: &str = include_str!("../../../../docs/format/model-server.md");

/// Under each heading, the names in the first column of its tables by the title of that column.
fn names() -> BTreeMap<(String, String), Vec<String>> {
    let mut names: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let (mut heading, mut column) = (String::new(), None);
    for line in PAGE.lines() {
        let first = line
            .strip_prefix('|')
            .map(|row| row.split('|').next().unwrap().trim().trim_matches('`').to_owned());
        match (line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')), first) {
            (Some(title), _) => title.trim_matches('`').clone_into(&mut heading),
            (None, None) => column = None,
            (None, Some(cell)) if cell.starts_with("---") => {}
            (None, Some(cell)) => match &column {
                None => column = Some(cell),
                Some(column) => names.entry((heading.clone(), column.clone())).or_default().push(cell),
            },
        }
    }
    names
}

/// The lines that stand as an example under a heading.
fn examples(heading: &str) -> Vec<&'static str> {
    let (_, under) = PAGE.split_once(&format!("## {heading}\n")).unwrap();
    let under = under.split("\n## ").next().unwrap();
    under.lines().filter_map(|line| line.strip_prefix("    ")).collect()
}

#[test]
fn the_page_has_the_keys_that_are_taken_and_no_other() {
    let known = |script: &str, list: &str| {
        let error = Script::parse(script).unwrap_err().to_string();
        let (_, known) = error.split_once(list).unwrap_or_else(|| panic!("{error}"));
        known.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let keys = |script: &str| known(script, "known keys: ");
    let row =
        |heading: &str, column: &str, names: Vec<String>| ((heading.to_owned(), column.to_owned()), names);
    let taken = BTreeMap::from([
        row("A reply", "key", keys(r#"{"?":1}"#)),
        row("A call", "key", keys(r#"{"calls":[{"?":1}]}"#)),
        row("usage", "key", keys(r#"{"usage":{"input":1,"?":1}}"#)),
        row("when", "key", keys(r#"{"when":{"?":1}}"#)),
        row("fault", "word", known(r#"{"fault":"?"}"#, "known words: ")),
        row("fault", "key", keys(r#"{"fault":{"?":1}}"#)),
        row("The record", "key", ["at", "path", "headers", "body"].map(str::to_owned).to_vec()),
    ]);
    assert_eq!(names(), taken);
}

#[test]
fn every_example_is_taken_and_every_fault_has_one() {
    let script = Script::parse(&examples("Examples").join("\n")).unwrap();
    let kind = |fault: &Fault| match fault {
        Fault::Status { .. } => "status",
        Fault::Stall => "stall",
        Fault::CutAfterBytes(_) => "cut_after_bytes",
        Fault::Garbage => "garbage",
        Fault::TrickleMs(_) => "trickle_ms",
    };
    let shown: BTreeSet<&str> =
        script.replies().iter().filter_map(|reply| reply.fault.as_ref()).map(kind).collect();
    assert_eq!(shown, BTreeSet::from(["cut_after_bytes", "garbage", "stall", "status", "trickle_ms"]));
}

/// Every key of a line of the record, in its order.
fn top_keys(line: &str) -> Vec<&str> {
    let (mut depth, mut keys) = (0, Vec::new());
    for (at, char) in line.char_indices() {
        depth += i32::from(char == '{') - i32::from(char == '}');
        if depth == 1 && (line[at..].starts_with("{\"") || line[at..].starts_with(",\"")) {
            keys.push(line[at + 2..].split('"').next().unwrap());
        }
    }
    keys
}

#[tokio::test]
async fn a_recorded_line_has_the_form_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let options = Options { record: Some(path.clone()), ..Options::default() };
    let server = Server::start(Script::parse("{}").unwrap(), options).await.unwrap();
    let [example] = examples("The record").try_into().unwrap();
    let (_, body) = example.split_once("\"body\":").unwrap();
    let body = body.strip_suffix('}').unwrap();
    assert_eq!(post(&server, "/v1/chat/completions", body).await.status, 200);
    let line = std::fs::read_to_string(&path).unwrap();
    assert_eq!(top_keys(&line), top_keys(example));
    assert!(line.ends_with(&format!(
        "\"content-length\":\"56\",\"content-type\":\"application/json\",\"host\":\"x\"}},\"body\":{body}}}\n"
    )));
}
