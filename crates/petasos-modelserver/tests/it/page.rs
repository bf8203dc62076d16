//! The page on the formats says what the program does: the same keys, and examples that are taken.

use std::collections::{BTreeMap, BTreeSet};

use petasos_modelserver::{Fault, Options, Script, Server};
use serde_json::Value;

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

/// Where the wires are served.
const PATHS: [&str; 3] = ["/chat/completions", "/responses", "/messages"];

/// Each row of the table of finish words: the word, and what the wires make of it.
fn finishes() -> Vec<(String, [&'static str; 3])> {
    let (_, under) = PAGE.split_once("### How a reply ends\n").unwrap();
    let table =
        under.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [finish, chat, responses, messages] = cells.try_into().unwrap();
        (finish.trim_matches('`').to_owned(), [chat, responses, messages])
    };
    table.skip(2).map(row).collect()
}

/// Asks all wires for a reply, whole and streamed, and shows how it ends as the table does.
async fn endings(line: &str) -> [String; 3] {
    let script = format!("{line}\n").repeat(6);
    let server = Server::start(Script::parse(&script).unwrap(), Options::default()).await.unwrap();
    let mut shown = Vec::new();
    for (path, asked) in PATHS.iter().zip(["messages", "input", "messages"]) {
        let body = |stream: bool| format!("{{\"model\":\"m\",\"stream\":{stream},\"{asked}\":[]}}");
        let whole = post(&server, &format!("/v1{path}"), &body(false)).await;
        let whole: Value = serde_json::from_slice(&whole.body).unwrap();
        let streamed = post(&server, &format!("/v1{path}"), &body(true)).await;
        shown.push(match *path {
            "/chat/completions" => {
                let reason = whole["choices"][0]["finish_reason"].as_str();
                let find = |event: &&str| event.contains("\"finish_reason\":\"");
                let streamed = streamed.events().into_iter().rfind(find);
                let streamed = streamed.map(|event| serde_json::from_str::<Value>(event).unwrap());
                let streamed = streamed.map(|event| event["choices"][0]["finish_reason"].clone());
                assert_eq!(streamed.as_ref().and_then(Value::as_str), reason);
                reason.map_or("none".into(), |reason| format!("`{reason}`"))
            }
            "/responses" => {
                let events = streamed.named_events();
                let last = events.last().unwrap();
                let Some(status) = whole["status"].as_str() else {
                    assert_eq!((whole.get("status"), &last["type"]), (None, &"response.in_progress".into()));
                    shown.push("no last event".into());
                    continue;
                };
                assert_eq!(last["type"], format!("response.{status}"));
                for at in ["/status", "/incomplete_details/reason", "/error/code"] {
                    assert_eq!(last["response"].pointer(at), whole.pointer(at), "{at}");
                }
                match (whole["incomplete_details"]["reason"].as_str(), whole["error"]["code"].as_str()) {
                    (Some(reason), None) => format!("`{status}`, `{reason}`"),
                    (None, Some(code)) => format!("`{status}`, with an error `{code}`"),
                    (None, None) => format!("`{status}`"),
                    both => panic!("{both:?}"),
                }
            }
            _ => {
                let events = streamed.named_events();
                assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], whole["stop_reason"]);
                assert_eq!(events[events.len() - 1]["type"], "message_stop");
                whole["stop_reason"].as_str().map_or("null".into(), |reason| format!("`{reason}`"))
            }
        });
    }
    shown.try_into().unwrap()
}

#[tokio::test]
async fn every_word_for_an_end_becomes_what_the_page_says() {
    for (finish, wanted) in finishes() {
        let (line, wanted) = match finish.as_str() {
            "left out, no calls" => ("{}".to_owned(), wanted.map(str::to_owned)),
            "left out, calls" => (r#"{"calls":[{"name":"a"}]}"#.to_owned(), wanted.map(str::to_owned)),
            "null" => (r#"{"finish":null}"#.to_owned(), wanted.map(str::to_owned)),
            "any other" => {
                let said = ["as it stands", "`incomplete`, with the word as its reason", "as it stands"];
                assert_eq!(wanted, said);
                let shown = ["`eos`", "`incomplete`, `eos`", "`eos`"].map(str::to_owned);
                (r#"{"finish":"eos"}"#.to_owned(), shown)
            }
            "completed" => {
                let called = endings(r#"{"calls":[{"name":"a"}],"finish":"completed"}"#).await;
                assert_eq!(called[2], "`tool_use`");
                assert_eq!(wanted[2], "`end_turn` or `tool_use`, as if it were left out");
                (
                    r#"{"finish":"completed"}"#.to_owned(),
                    [wanted[0], wanted[1], "`end_turn`"].map(str::to_owned),
                )
            }
            word => (format!("{{\"finish\":\"{word}\"}}"), wanted.map(str::to_owned)),
        };
        assert_eq!(endings(&line).await, wanted, "{finish}");
    }
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
        row(
            "The formats of the scripted model server",
            "path",
            PATHS.map(|path| format!("POST …{path}")).to_vec(),
        ),
        row("How a reply ends", "finish", finishes().into_iter().map(|(finish, _)| finish).collect()),
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
