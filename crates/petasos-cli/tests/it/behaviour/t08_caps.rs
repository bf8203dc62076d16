//! Row T08: how long a result may be, by the model's window and by the calls of a reply.

use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Place, bodies, of_kind, results};

/// A command that says more than any cap.
const MUCH: &str = "i=0; while [ $i -lt 12000 ]; do echo line-$i-x; i=$((i+1)); done";

fn calls(calls: &[serde_json::Value]) -> String {
    json!({"calls": calls}).to_string()
}

/// One such call of several, each another one.
fn much(number: usize) -> serde_json::Value {
    json!({"name": "run_command", "arguments": {"command": format!(": {number}; {MUCH}")}})
}

/// Characters of the results of one reply, in a window of so many tokens and under these settings of tools.
fn told(window: Option<u64>, tools: &str, count: usize) -> Vec<usize> {
    let place = Place::new();
    let window = window.map_or(String::new(), |window| format!("model: {{window: {window}}}\n"));
    place.settings(&format!("{window}tools: {{{tools}}}\n"));
    let first = calls(&(0..count).map(much).collect::<Vec<_>>());
    let server = ModelServer::start(&format!("{first}\n{}", json!({"text": "long"})));
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    let sent = bodies(&server.finish());
    let texts = results(&sent[1]);
    assert!(
        texts
            .iter()
            .all(|(_, text)| text.contains("the whole is in blob:") && text.ends_with("line-11999-x\n"))
    );
    texts.iter().map(|(_, text)| text.chars().count()).collect()
}

/// A command keeps up to 600 characters free for what is said of its output.
#[track_caller]
fn is_just_under(cap: usize, told: &[usize]) {
    assert!(told.iter().all(|told| (cap - 600..=cap).contains(told)), "{cap}: {told:?}");
}

#[test]
fn t08_the_cap_follows_the_window() {
    let table = [
        (Some(8_192), "serial: false", 2_000),
        (Some(65_536), "serial: false", 24_400),
        (Some(131_072), "serial: false", 50_000),
        (None, "serial: false", 50_000),
        (Some(1_000_000), "result_chars: 40000", 40_000),
        (Some(131_072), "result_chars: 3000", 3_000),
        (Some(8_192), "result_chars: 3000", 2_000),
    ];
    for (window, tools, cap) in table {
        is_just_under(cap, &told(window, tools, 1));
    }
}

/// Together they are bounded, each gets something, and in any order the same.
#[test]
fn t08_the_results_of_one_reply_share_what_four_may_say() {
    is_just_under(2_000, &told(Some(8_192), "serial: true", 2));
    for tools in ["serial: true", "serial: false"] {
        is_just_under(1_600, &told(Some(8_192), tools, 5));
    }
    is_just_under(1_000, &told(None, "result_chars: 2000", 12));
}

/// What was approved later, in another process, has the share that it had.
#[test]
fn t08_a_call_that_is_approved_after_a_restart_has_the_same_share() {
    let place = Place::new();
    place.settings("model: {window: 8192}\n");
    place.write("a.txt", "a\n");
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let first = calls(&[read.clone(), read.clone(), much(0), read.clone(), read]);
    let server = ModelServer::start(&format!("{first}\n{}", json!({"text": "long"})));
    let run = place.run(&server, &["--park", "hello"]);
    assert_eq!(run.code, 15, "{run:?}");
    let run = place.petasos_does(&["resume", "--json", "--approve"]);
    assert_eq!(run.code, 0, "{run:?}");
    drop(server.finish());
    let entries = place.entries();
    let texts = of_kind(&entries, "tool_result");
    let lengths = texts.iter().map(|entry| entry["body"]["text"].as_str().unwrap().chars().count());
    let longest = lengths.max().unwrap();
    assert!((1_000..=1_300).contains(&longest), "a whole one would have 1400 and more: {longest}");
}
