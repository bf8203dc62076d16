//! Row U01: `petasos run` in scripts: stdin, `--json`, and the command line that others rely on.

use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Place, bodies, content, ended, messages};

fn arguments(server: &ModelServer, rest: &[&str]) -> Vec<String> {
    let [a, b, c, d] = crate::program::model(server);
    ["run".to_owned(), a, b, c, d].into_iter().chain(rest.iter().map(|&one| one.to_owned())).collect()
}

#[test]
fn u01_what_is_piped_in_is_added_to_the_prompt() {
    let rows: [(&[&str], &str, &str); 4] = [
        (&["Sum it up."], "one\ntwo\n", "Sum it up.\n\none\ntwo\n"),
        (&[], "Only this.\n", "Only this.\n"),
        (&["Only that."], "", "Only that."),
        (&["Only that."], " \n\n", "Only that."),
    ];
    for (prompt, stdin, wanted) in rows {
        let server = ModelServer::start(r#"{"text":"done"}"#);
        let arguments = arguments(&server, prompt);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = Place::new().with_stdin(&arguments, stdin.as_bytes());
        assert_eq!((run.code, run.stdout.as_str()), (0, "done\n"), "{run:?}");
        let sent = bodies(&server.finish());
        assert_eq!(content(&messages(&sent[0])[1]).trim_end(), wanted.trim_end());
    }
}

/// Every line is one object with `v` and `type`, stderr is silent, and the last line is the only result.
#[test]
fn u01_json_lines() {
    let server = ModelServer::start(
        r#"{"text":"I look\nfor it","reasoning":"hm","calls":[{"name":"list_files","arguments":{}}]}
{"text":"done"}"#,
    );
    let run = Place::new().run_json(&server, &["hello"]);
    let mut types = run.types();
    types.dedup();
    let wanted = [
        "said",
        "turn_start",
        "step_start",
        "delta",
        "reply",
        "tool_start",
        "tool_result",
        "step_start",
        "delta",
        "reply",
        "turn_end",
        "result",
    ];
    assert_eq!((run.code, types, run.stderr.as_str()), (0, wanted.map(str::to_owned).to_vec(), ""));
    assert!(run.events().iter().all(|event| event["v"] == 1));
    let texts = |kind: &str| -> String {
        let events = run.events();
        let deltas = events.iter().filter(|event| event["type"] == "delta" && event["kind"] == kind);
        deltas.map(|event| event["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((texts("text"), texts("reasoning")), ("I look\nfor itdone".to_owned(), "hm".to_owned()));
}

/// The bench and others call it like this, with a home that is not below `$HOME`.
#[test]
fn u01_the_command_line_that_others_rely_on() {
    let server = ModelServer::start(
        r#"{"calls":[{"name":"run_command","arguments":{"command":"echo made > made.txt"}}]}
{"text":"made"}"#,
    );
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let base = server.base_url();
    let line = [
        "run",
        "--json",
        "--max-steps",
        "500",
        "--allow-commands",
        "--base-url",
        &base,
        "--model",
        "stub",
        "make it",
    ];
    let run = ended(place.petasos().env_remove("PETASOS_NO_PROBE").env("HOME", elsewhere.path()).args(line));
    let result = run.result();
    assert_eq!(
        (run.code, &result["reply"], place.read("made.txt").as_deref()),
        (0, &json!("made"), Some("made\n"))
    );
    let start = run.events().into_iter().find(|event| event["type"] == "turn_start").unwrap();
    let told = [&start["max_steps"], &start["model"], &start["provider"]];
    assert_eq!(told, [&json!(500), &json!("stub"), &json!(base)]);
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing is left outside its home");
    assert_eq!(place.sessions().len(), 1);
}

/// Nobody reads any more: the run goes on to its end all the same.
#[test]
fn u01_a_reader_that_goes_away_stops_nothing() {
    let server = ModelServer::start(
        r#"{"calls":[{"name":"run_command","arguments":{"command":"echo made > made.txt"}}]}
{"text":"made"}"#,
    );
    let place = Place::new();
    let mut command = place.petasos();
    let command =
        command.args(["run", "--json", "--allow-commands"]).args(crate::program::model(&server)).arg("hello");
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(place.read("made.txt").as_deref(), Some("made\n"));
}
