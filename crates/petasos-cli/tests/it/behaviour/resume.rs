//! `petasos resume`: which session, what is decided, and with whom it goes on.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, content, messages, of_kind, results};

const COMMAND: &str = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo one >> counter"}}]}"#;
const TWO: &str = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo one >> counter"}},{"name":"run_command","arguments":{"command":"echo two >> counter"}}]}"#;

fn parked(first: &str, then: &str) -> (Place, ModelServer) {
    let server = ModelServer::start(&format!("{first}\n{then}"));
    let place = Place::new();
    let run = place.run(&server, &["--park", "count"]);
    assert_eq!((run.code, place.read("counter")), (15, None), "{run:?}");
    (place, server)
}

#[test]
fn resume_of_a_finished_session_wants_a_message() {
    let server = ModelServer::start("{\"text\":\"first\"}\n{\"text\":\"second\"}");
    let place = Place::new();
    assert_eq!(place.run(&server, &["one"]).code, 0);
    let id = place.sessions()[0].clone();
    let again = place.petasos_does(&["resume", "--json"]);
    let error = json!({
        "kind": "usage", "message": format!("session {id} is finished: there is nothing to continue"),
        "hint": format!("say something new: petasos resume {id} -m \"…\""),
    });
    assert_eq!((again.code, &again.result()["error"]), (2, &error));
    let text = place.petasos_does(&["resume"]);
    assert_eq!((text.code, text.stdout.as_str()), (2, ""));
    assert!(text.stderr.contains(&format!("session {id} is finished")), "{}", text.stderr);
    // Neither changed what was said, and no turn began.
    assert_eq!(of_kind(&place.entries(), "turn_start").len(), 1);
    let more = place.petasos_does(&["resume", "-m", "two"]);
    assert_eq!((more.code, more.stdout.as_str()), (0, "second\n"), "{more:?}");
    let sent = bodies(&server.finish());
    let said: Vec<&str> = messages(&sent[1]).iter().skip(1).map(content).collect();
    assert_eq!(said, ["one", "first", "two"]);
    let blank = place.petasos_does(&["resume", "-m", " "]);
    assert_eq!((blank.code, blank.stdout.as_str()), (2, ""));
}

#[test]
fn resume_finds_a_session_by_its_beginning_and_the_newest_of_the_folder_without_one() {
    let server = ModelServer::start(
        "{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\":\"c\"}\n{\"text\":\"d\"}\n{\"text\":\"e\"}",
    )
    .with_breaks();
    let place = Place::new();
    assert_eq!(place.run(&server, &["one"]).code, 0);
    assert_eq!(place.run(&server, &["two"]).code, 0);
    let other = place.home().join("other");
    std::fs::create_dir(&other).unwrap();
    assert_eq!(place.run(&server, &["--workspace", other.to_str().unwrap(), "three"]).code, 0);
    let ids = place.sessions();
    let session = |run: &crate::program::Ended| run.result()["session"].as_str().unwrap().to_owned();
    let newest = place.petasos_does(&["resume", "--json", "-m", "more"]);
    assert_eq!((newest.code, session(&newest)), (0, ids[1].clone()));
    // A session of another folder goes on there.
    let by_prefix = place.petasos_does(&["resume", "--json", &ids[2][..ids[2].len() - 1], "-m", "more"]);
    assert_eq!((by_prefix.code, session(&by_prefix)), (0, ids[2].clone()));
    let several = place.petasos_does(&["resume", "--json", "0", "-m", "more"]);
    let error = several.result()["error"].clone();
    assert_eq!(
        (several.code, &error["kind"], &error["hint"]),
        (2, &json!("usage"), &json!("give more of its id"))
    );
    let message = error["message"].as_str().unwrap();
    assert_eq!(message, format!("several sessions begin with \"0\": {}", ids.join(", ")));
    let none = place.petasos_does(&["resume", "--json", "zzz", "-m", "more"]);
    assert_eq!((none.code, &none.result()["error"]["kind"]), (2, &json!("usage")));
}

#[test]
fn resume_approves_the_call_that_waits() {
    for flag in ["--approve", "--approve=6.0"] {
        let (place, server) = parked(COMMAND, "{\"text\":\"counted\"}");
        let run = place.petasos_does(&["resume", "--json", flag]);
        assert_eq!((run.code, &run.result()["reply"]), (0, &json!("counted")), "{run:?}");
        assert_eq!(place.read("counter").as_deref(), Some("one\n"));
        assert_eq!(results(&bodies(&server.finish())[1]).len(), 1);
        let again = place.petasos_does(&["resume", "--json", flag]);
        let error = again.result()["error"].clone();
        assert_eq!((again.code, &error["message"]), (2, &json!("no call waits for a decision")));
        assert_eq!(place.read("counter").as_deref(), Some("one\n"));
    }
}

#[test]
fn resume_denies_the_call_that_waits_and_the_turn_goes_on() {
    for flag in ["--deny", "--deny=6.0"] {
        let (place, server) = parked(COMMAND, "{\"text\":\"as you say\"}");
        let run = place.petasos_does(&["resume", "--json", flag]);
        assert_eq!((run.code, &run.result()["reply"]), (0, &json!("as you say")), "{run:?}");
        assert_eq!(place.read("counter"), None);
        let sent = bodies(&server.finish());
        let told: Value = serde_json::from_str(results(&sent[1])[0].1).unwrap();
        assert!(told["cause"].as_str().unwrap().contains("the user said no"), "{told}");
        assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["outcome"], "denied");
    }
}

/// Two wait: which is meant must be said; the other waits on.
#[test]
fn resume_decides_about_one_of_two() {
    let (place, server) = parked(TWO, "{\"text\":\"counted\"}");
    let which = place.petasos_does(&["resume", "--json", "--approve"]);
    let error = which.result()["error"].clone();
    assert_eq!((which.code, &error["message"]), (2, &json!("several calls wait: 6.0, 6.1")));
    let unknown = place.petasos_does(&["resume", "--json", "--approve=7.0"]);
    let told = "call 7.0 does not wait for a decision; these do: 6.0, 6.1";
    assert_eq!((unknown.code, &unknown.result()["error"]["message"]), (2, &json!(told)));
    let bad = place.petasos_does(&["resume", "--json", "--approve=first"]);
    assert_eq!((bad.code, &bad.result()["error"]["kind"]), (2, &json!("usage")));
    assert_eq!(place.read("counter"), None);
    let second = place.petasos_does(&["resume", "--json", "--deny=6.1"]);
    assert_eq!((second.code, &second.result()["status"]), (15, &json!("awaiting_approval")), "{second:?}");
    let first = place.petasos_does(&["resume", "--json", "--approve"]);
    assert_eq!((first.code, &first.result()["reply"]), (0, &json!("counted")), "{first:?}");
    assert_eq!(place.read("counter").as_deref(), Some("one\n"));
    let outcomes: Vec<Value> =
        of_kind(&place.entries(), "tool_result").iter().map(|one| one["body"]["outcome"].clone()).collect();
    assert_eq!(outcomes.len(), 2);
    let sent = bodies(&server.finish());
    let order: Vec<&str> = results(&sent[1]).iter().map(|(id, _)| *id).collect();
    assert_eq!(order, ["scripted_1_1", "scripted_1_2"]);
}

/// Without a word about it the call waits on; with something new said it is off, and the model hears of it.
#[test]
fn resume_without_a_decision_and_with_something_new() {
    let (place, server) = parked(COMMAND, "{\"text\":\"other\"}");
    let run = place.petasos_does(&["resume", "--json", "--park"]);
    assert_eq!((run.code, &run.result()["status"]), (15, &json!("awaiting_approval")), "{run:?}");
    let run = place.petasos_does(&["resume", "--json", "--park", "-m", "something else"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("other")), "{run:?}");
    assert_eq!(place.read("counter"), None);
    assert_eq!(of_kind(&place.entries(), "tool_result")[0]["body"]["outcome"], "denied");
    assert_eq!(results(&bodies(&server.finish())[1]).len(), 1);
    let nothing = place.petasos_does(&["resume", "--json", "--approve"]);
    assert_eq!(nothing.code, 2);
}

/// The log tells where it goes on; another model is taken only where one is named.
#[test]
fn resume_goes_to_the_same_server_unless_another_is_named() {
    let first =
        ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"four\"}").with_breaks();
    let second = ModelServer::start("{\"text\":\"three\"}").with_breaks();
    let place = Place::new();
    assert_eq!(place.run(&first, &["a"]).code, 0);
    assert_eq!(place.petasos_does(&["resume", "-m", "b"]).stdout, "two\n");
    let (base, back) = (second.base_url(), first.base_url());
    let other = ["resume", "-m", "c", "--base-url", &base, "--model", "another"];
    assert_eq!(place.petasos_does(&other).stdout, "three\n");
    let again = ["resume", "-m", "d", "--base-url", &back, "--model", "scripted"];
    assert_eq!(place.petasos_does(&again).stdout, "four\n");
    let models = |requests: &[petasos_modelserver::Recorded]| {
        bodies(requests).iter().map(|body| body["model"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(models(&first.finish()), ["scripted", "scripted", "scripted"]);
    let asked = second.finish();
    assert_eq!(models(&asked), ["another"]);
    let said: Vec<String> =
        messages(&bodies(&asked)[0]).iter().skip(1).map(|message| content(message).to_owned()).collect();
    assert_eq!(said, ["a", "one", "b", "two", "c"]);
    let targets: Vec<Value> = of_kind(&place.entries(), "request")
        .iter()
        .map(|one| one["body"]["target"]["model"].clone())
        .collect();
    assert_eq!(targets, ["scripted", "scripted", "another", "scripted"]);
}

/// Another model at the server that the session has: its name alone is enough.
#[test]
fn resume_with_another_model_at_the_same_server() {
    let server = ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}").with_breaks();
    let place = Place::new();
    assert_eq!(place.run(&server, &["a"]).code, 0);
    let run = place.petasos_does(&["resume", "-m", "b", "--model", "larger"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "two\n"), "{run:?}");
    let models: Vec<Value> = bodies(&server.finish()).iter().map(|body| body["model"].clone()).collect();
    assert_eq!(models, ["scripted", "larger"]);
}

/// Limits of a new turn are those of this command.
#[test]
fn resume_with_a_message_under_other_limits() {
    let one = r#"{"calls":[{"name":"calculate","arguments":{"expression":"1+1"}}]}"#;
    let server =
        ModelServer::start(&format!("{{\"text\":\"one\"}}\n{one}\n{{\"text\":\"closed\"}}")).with_breaks();
    let place = Place::new();
    assert_eq!(place.run(&server, &["a"]).code, 0);
    let run = place.petasos_does(&["resume", "--json", "--max-steps", "1", "-m", "b"]);
    let told = run.result();
    assert_eq!((run.code, &told["reply"], &told["steps"]), (10, &json!("closed"), &json!(1)), "{run:?}");
}
