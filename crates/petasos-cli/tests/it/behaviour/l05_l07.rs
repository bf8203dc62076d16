//! Rows L05 and L07: what a step is, and how a turn ends that has no more of them.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, content, messages, of_kind};

const THREE: &str = r#"{"calls":[{"name":"list_files","arguments":{}},{"name":"current_time","arguments":{}},{"name":"calculate","arguments":{"expression":"17*23"}}]}"#;
const ONE: &str = r#"{"calls":[{"name":"calculate","arguments":{"expression":"1+1"}}]}"#;

#[test]
fn l05_three_calls_in_a_reply_are_one_step() {
    let server = ModelServer::start(&format!("{THREE}\n{{\"text\":\"done\"}}"));
    let run = Place::new().run_json(&server, &["--max-steps", "2", "hello"]);
    let result = run.result();
    assert_eq!((run.code, &result["steps"], &result["reply"]), (0, &json!(2), &json!("done")), "{run:?}");
}

/// After two steps there is one more call, which may not ask for tools; its text is the reply.
#[test]
fn l05_l07_two_steps_end_a_longer_job_with_a_closing_call() {
    let server = ModelServer::start(&format!("{THREE}\n{ONE}\n{{\"text\":\"I got to 391.\"}}"));
    let place = Place::new();
    let run = place.run_json(&server, &["--max-steps", "2", "hello"]);
    let result = run.result();
    let told = [&result["status"], &result["budget"], &result["reply"], &result["steps"]];
    assert_eq!(
        (run.code, told),
        (10, [&json!("budget_exhausted"), &json!("steps"), &json!("I got to 391."), &json!(2)])
    );
    let sent = bodies(&server.finish());
    let choices: Vec<Option<&Value>> = sent.iter().map(|body| body.get("tool_choice")).collect();
    assert_eq!(choices, [None, None, Some(&json!("none"))]);
    // Tools and system stay, byte for byte, so a cache of the prefix holds.
    assert!(sent.iter().all(|body| body["tools"] == sent[0]["tools"]));
    assert!(sent.iter().all(|body| messages(body)[0] == messages(&sent[0])[0]));
    // No word of pressure before that.
    let asks = |body: &Value| messages(body).iter().filter(|one| content(one).contains("budget")).count();
    assert_eq!(sent.iter().map(asks).collect::<Vec<_>>(), [0, 0, 1]);
    let purposes: Vec<Value> = of_kind(&place.entries(), "request")
        .iter()
        .map(|request| request["body"]["purpose"].clone())
        .collect();
    assert_eq!(purposes, ["step", "step", "closing"]);
}

/// It yields nothing, asks for tools all the same, or fails: then the steps are told by rule.
#[test]
fn l07_a_closing_call_that_yields_nothing_gives_way_to_a_summary() {
    for closing in
        ["{}", ONE, r#"{"fault":{"status":500}}"#, r#"{"fault":{"status":429,"headers":{"Retry-After":1}}}"#]
    {
        let server = ModelServer::start(&format!("{THREE}\n{closing}"));
        let place = Place::new();
        let run = place.run_json(&server, &["--max-steps", "1", "hello"]);
        let result = run.result();
        assert_eq!(
            (run.code, &result["status"], &result["steps"]),
            (10, &json!("budget_exhausted"), &json!(1))
        );
        let reply = result["reply"].as_str().unwrap();
        assert!(reply.starts_with("Stopped: the step budget is used up after 1 step"), "{closing}: {reply}");
        for tool in ["list_files", "current_time", "calculate"] {
            assert!(reply.contains(tool), "{closing}: {reply}");
        }
        assert_eq!(
            of_kind(&place.entries(), "tool_result")
                .iter()
                .filter(|one| one["body"]["outcome"] == "ok")
                .count(),
            2
        );
        assert_eq!(server.finish().len(), 2);
    }
}

/// What was added is used for the same turn.
#[test]
fn l07_more_steps_go_on_with_the_turn() {
    let server = ModelServer::start(&format!("{ONE}\n{{\"text\":\"so far\"}}\n{ONE}\n{{\"text\":\"all\"}}"))
        .with_breaks();
    let place = Place::new();
    assert_eq!(place.run(&server, &["--max-steps", "1", "hello"]).code, 10);
    let run = place.petasos_does(&["resume", "--json", "--add-steps", "5"]);
    let result = run.result();
    assert_eq!((run.code, &result["reply"], &result["steps"]), (0, &json!("all"), &json!(3)), "{run:?}");
    assert_eq!(server.finish().len(), 4);
    let start = &run.events()[0];
    assert_eq!(
        (&start["type"], &start["continues"], &start["turn"]),
        (&json!("turn_start"), &json!(true), &json!(3))
    );
}

/// Without more there is nothing to go on with: it says so again, and asks nobody.
#[test]
fn l07_no_more_steps_end_it_again() {
    let server = ModelServer::start(&format!("{ONE}\n{{\"text\":\"so far\"}}\n{{\"text\":\"once more\"}}"))
        .with_breaks();
    let place = Place::new();
    assert_eq!(place.run(&server, &["--max-steps", "1", "hello"]).code, 10);
    let run = place.petasos_does(&["resume", "--json"]);
    let result = run.result();
    assert_eq!(
        (run.code, &result["status"], &result["steps"]),
        (10, &json!("budget_exhausted"), &json!(1)),
        "{run:?}"
    );
}
