//! Rows L09 and L11: what goes wrong for the model is a result it can read; how a reply ends.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, content, messages, of_kind, results};

/// The outcome of a call, and the three fields of its result; the run goes on after it.
fn check(call: &str, outcome: &str, [error, cause, hint]: [&str; 3]) {
    let server = ModelServer::start(&format!("{{\"calls\":[{call}]}}\n{{\"text\":\"I see\"}}"));
    let place = Place::new();
    place.write("a.txt", "some\n");
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("I see")), "{run:?}");
    let sent = bodies(&server.finish());
    let told: Value = serde_json::from_str(results(&sent[1])[0].1)
        .unwrap_or_else(|error| panic!("{error}: {:?}", results(&sent[1])));
    assert_eq!(told, json!({ "error": error, "cause": cause, "hint": hint }), "{call}");
    let entries = place.entries();
    assert_eq!(of_kind(&entries, "tool_result")[0]["body"]["outcome"], outcome, "{call}");
}

#[test]
fn l09_a_tool_that_is_not_there() {
    let tools = "read_file, write_file, edit_file, list_files, search_files, run_command, job, fetch_url, current_time, calculate";
    check(
        r#"{"name":"delete_everything","arguments":{}}"#,
        "invalid",
        ["there is no such tool", r#"the call names "delete_everything""#, &format!("call one of: {tools}")],
    );
}

#[test]
fn l09_an_argument_that_is_not_there() {
    check(
        r#"{"name":"read_file","arguments":{"pat":"a.txt"}}"#,
        "invalid",
        [
            "unknown argument",
            r#"read_file has no argument "pat" (at pat)"#,
            r#"use "path" instead of "pat"; known here: path, from, lines, numbers"#,
        ],
    );
}

#[test]
fn l09_a_file_that_is_not_there() {
    check(
        r#"{"name":"read_file","arguments":{"path":"b.txt"}}"#,
        "error",
        ["not found", "there is no b.txt", "did you mean a.txt? list_files shows what is there"],
    );
}

/// A command's own words are its result; its end stands before them. An end without words says so.
#[test]
fn l09_a_command_that_fails_and_one_that_says_nothing() {
    let call = |command: &str| format!(r#"{{"name":"run_command","arguments":{{"command":"{command}"}}}}"#);
    let calls = [call("echo no >&2; exit 3"), call("true"), call("kill -9 $$")].join(",");
    let server = ModelServer::start(&format!("{{\"calls\":[{calls}]}}\n{{\"text\":\"I see\"}}"));
    let place = Place::new();
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("I see")), "{run:?}");
    let entries = place.entries();
    let outcomes: Vec<&Value> =
        of_kind(&entries, "tool_result").iter().map(|one| &one["body"]["outcome"]).collect();
    assert_eq!(outcomes, ["error", "empty", "error"]);
    let sent = bodies(&server.finish());
    let told = results(&sent[1]);
    assert!(told[0].1.starts_with("exit code 3") && told[0].1.contains("no"), "{told:?}");
    assert!(told[1].1.starts_with("exit code 0") && told[1].1.contains("no output"), "{told:?}");
    assert!(told[2].1.contains("signal 9"), "{told:?}");
}

/// Nobody is there to ask, so it is refused, with words that say what to do instead.
#[test]
fn l09_what_would_ask_is_refused_where_nobody_is() {
    let server = ModelServer::start(
        r#"{"calls":[{"name":"run_command","arguments":{"command":"touch made"}}]}
{"text":"I see"}"#,
    );
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    assert_eq!((run.code, place.read("made")), (0, None), "{run:?}");
    let sent = bodies(&server.finish());
    let told: Value = serde_json::from_str(results(&sent[1])[0].1).unwrap();
    let mut fields: Vec<&String> = told.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["cause", "error", "hint"]);
    assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["outcome"], "denied");
    assert!(!run.types().contains(&"asking".to_owned()), "nobody is asked: {run:?}");
}

/// What ends a reply that holds text, by the finish reason as the wire has it.
fn check_finish(finish: &str, kept: Value) {
    let server = ModelServer::start(&format!(r#"{{"text":"all of it","finish":{finish}}}"#));
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("all of it")), "{finish}: {run:?}");
    let reply = run.events().into_iter().find(|event| event["type"] == "reply").unwrap();
    assert_eq!(reply["finish"], kept);
    assert_eq!(of_kind(&place.entries(), "reply")[0]["body"]["finish"], kept);
}

#[test]
fn l11_a_reason_that_is_missing_or_unknown_is_kept_and_is_an_end() {
    check_finish(r#""stop""#, json!("stop"));
    check_finish(r#""eos_token""#, json!({ "other": "eos_token" }));
    check_finish("null", json!({ "other": "" }));
}

#[test]
fn l11_a_call_is_a_call_whatever_the_reason_says() {
    for finish in [r#""stop""#, "null", r#""eos_token""#] {
        let call = r#"[{"name":"write_file","arguments":{"path":"made.txt","content":"x\n"}}]"#;
        let server =
            ModelServer::start(&format!("{{\"calls\":{call},\"finish\":{finish}}}\n{{\"text\":\"done\"}}"));
        let place = Place::new();
        let run = place.run(&server, &["hello"]);
        assert_eq!((run.code, place.read("made.txt").as_deref()), (0, Some("x\n")), "{finish}: {run:?}");
    }
}

/// Cut at its length: the pieces are one reply, and the note between them is no part of it.
#[test]
fn l11_a_reply_that_is_cut_goes_on() {
    let server = ModelServer::start(
        r#"{"text":"The first half, ","finish":"length"}
{"text":"and the second."}"#,
    );
    let run = Place::new().run(&server, &["hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "The first half, and the second.\n"), "{run:?}");
    let sent = bodies(&server.finish());
    let last: Vec<&str> = messages(&sent[1]).iter().skip(2).map(content).collect();
    assert_eq!(last[0], "The first half, ");
    assert!(last[1].contains("Go on exactly where it stopped"), "{last:?}");
}

/// Its arguments may lack the very words that would forbid it.
#[test]
fn l11_a_call_that_is_cut_never_runs() {
    let cut = [
        r#"{"calls":[{"name":"run_command","arguments":"{\"command\": \"touch cut"}],"finish":"length"}"#,
        r#"{"calls":[{"name":"run_command","arguments":"{\"command\": \"touch cut\"}"}],"finish":"length"}"#,
    ];
    for line in cut {
        let server = ModelServer::start(&format!("{line}\n{{\"text\":\"done\"}}"));
        let place = Place::new();
        let run = place.run_json(&server, &["--allow-commands", "hello"]);
        assert_eq!(run.code, 0, "{run:?}");
        let is_whole = line.contains("cut\\\"}");
        let entries = place.entries();
        let outcome = &of_kind(&entries, "tool_result")[0]["body"]["outcome"];
        match (is_whole, place.read("cut")) {
            (true, _) => assert!(["ok", "empty", "never_began"].contains(&outcome.as_str().unwrap())),
            (false, made) => assert_eq!((made, outcome), (None, &json!("never_began"))),
        }
        assert_eq!(results(&bodies(&server.finish())[1]).len(), 1);
    }
}
