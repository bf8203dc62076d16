//! Rows L13 and L14: what is said while a turn runs; which calls run at once.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, content, messages, model, of_kind};
use crate::running::Running;

/// The command ends only after the line stands in the log, so that it is heard while the turn runs.
fn script(line: &str, then: &str) -> String {
    let until = format!(
        "until grep -q '\\\"kind\\\":\\\"said\\\".*{line}' ../home/sessions/*/log.jsonl; do sleep 0.02; done"
    );
    let escaped = until.replace('\\', "\\\\").replace('"', "\\\"").replace("\\\\\\\"", "\\\"");
    format!(
        "{{\"calls\":[{{\"name\":\"run_command\",\"arguments\":{{\"command\":\"{escaped}\"}}}}]}}\n{then}"
    )
}

fn chat(place: &Place, server: &ModelServer) -> Running {
    let mut command = place.petasos();
    Running::begin(command.args(["chat", "--allow-commands"]).args(model(server)))
}

/// What was said, each with the number of replies before it that a request held.
fn said(entries: &[Value]) -> Vec<(&str, &str)> {
    of_kind(entries, "said")
        .into_iter()
        .map(|said| {
            (said["body"]["content"][0]["text"].as_str().unwrap(), said["body"]["when"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn l13_a_line_while_a_turn_runs_is_kept_and_starts_the_next() {
    let server = ModelServer::start(&script("LATER", "{\"text\":\"first\"}\n{\"text\":\"second\"}"));
    let place = Place::new();
    let mut chat = chat(&place, &server);
    chat.say("begin");
    chat.wait_for_talk("run_command (6.0)");
    chat.say("LATER, please");
    let ended = chat.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "first\nsecond\n"), "{ended:?}");
    let entries = place.entries();
    assert_eq!(said(&entries).iter().map(|(text, _)| *text).collect::<Vec<_>>(), ["begin", "LATER, please"]);
    let seq = |kind: &str, nth: usize| of_kind(&entries, kind)[nth]["seq"].as_u64().unwrap();
    // On disk before the tool ended, and in no request of the turn that ran.
    assert!(seq("said", 1) < seq("tool_result", 0) && seq("turn_end", 0) < seq("turn_start", 1));
    let sent = bodies(&server.finish());
    let holds =
        |body: &Value| messages(body).iter().any(|message| content(message).contains("LATER, please"));
    assert_eq!(sent.iter().map(holds).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn l13_a_steer_enters_with_the_next_request() {
    let server = ModelServer::start(&script("LATER", "{\"text\":\"as you say\"}"));
    let place = Place::new();
    let mut chat = chat(&place, &server);
    chat.say("begin");
    chat.wait_for_talk("run_command (6.0)");
    chat.say("/steer LATER, please");
    let ended = chat.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "as you say\n"), "{ended:?}");
    let entries = place.entries();
    assert_eq!(said(&entries)[1], ("LATER, please", "next_step"));
    assert_eq!(of_kind(&entries, "turn_start").len(), 1);
    let sent = bodies(&server.finish());
    let last = messages(&sent[1]).last().unwrap();
    assert_eq!((&last["role"], content(last).contains("LATER, please")), (&json!("user"), true), "{last}");
}

/// The order in which calls of one reply began and ended.
fn order(place: &Place, calls: &str, arguments: &[&str]) -> Vec<String> {
    let server = ModelServer::start(&format!("{{\"calls\":[{calls}]}}\n{{\"text\":\"done\"}}"));
    let run = place.run_json(&server, &[arguments, &["hello"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let told = run.events();
    let told = told.iter().filter_map(|event| match event["type"].as_str().unwrap() {
        "tool_start" => Some(format!("{} begins", event["call"].as_str().unwrap())),
        "tool_result" => Some(format!("{} ends", event["call"].as_str().unwrap())),
        _ => None,
    });
    told.collect()
}

const READS: &str = r#"{"name":"search_files","arguments":{"pattern":"needle","path":"hay"}},{"name":"read_file","arguments":{"path":"b.txt"}}"#;
const COMMANDS: &str = r#"{"name":"run_command","arguments":{"command":"sleep 0.1; echo one >> order"}},{"name":"run_command","arguments":{"command":"echo two >> order"}}"#;

#[test]
fn l14_two_reads_run_at_once() {
    let place = Place::new();
    place.write("b.txt", "bee\n");
    place.hay();
    let told = order(&place, READS, &[]);
    assert_eq!(told, ["6.0 begins", "6.1 begins", "6.1 ends", "6.0 ends"]);
}

#[test]
fn l14_serial_keeps_strict_order() {
    let place = Place::new();
    place.write("b.txt", "bee\n");
    place.hay();
    place.settings("tools: {serial: true}");
    let told = order(&place, READS, &[]);
    assert_eq!(told, ["6.0 begins", "6.0 ends", "6.1 begins", "6.1 ends"]);
}

#[test]
fn l14_two_commands_never_run_at_once() {
    let place = Place::new();
    let told = order(&place, COMMANDS, &["--allow-commands"]);
    assert_eq!(told, ["6.0 begins", "6.0 ends", "6.1 begins", "6.1 ends"]);
    assert_eq!(place.read("order").as_deref(), Some("one\ntwo\n"));
}
