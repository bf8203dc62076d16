//! Row L06: the stop reasons that are not the model's failures, through the binary.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Ended, Place, ended, model};
use crate::running::Running;

const COMMAND: &str = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo one >> counter"}}]}"#;

/// A result, whole but for its usage, which is the script's.
fn check(run: &Ended, code: i32, status: &str, (reply, steps): (&str, u32), error: Value) -> String {
    let result = run.result();
    let session = result["session"].as_str().unwrap().to_owned();
    let error = match error {
        Value::Null => Value::Null,
        error => json!({
            "kind": status,
            "message": error[0],
            "hint": error[1].as_str().unwrap().replace("RESUME", &format!("petasos resume {session}")),
        }),
    };
    let budget = match status {
        "budget_exhausted" => result["budget"].clone(),
        _ => Value::Null,
    };
    let wanted = json!({
        "v": 1, "type": "result", "status": status, "reply": reply, "steps": steps, "usage": result["usage"],
        "session": session, "budget": budget, "error": error,
    });
    assert_eq!(result, wanted);
    let mut fields: Vec<&String> = result["usage"].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["cached", "input", "micro_usd", "output", "reasoning"]);
    assert_eq!((run.code, run.stderr.as_str()), (code, ""));
    session
}

#[test]
fn l06_completed() {
    let server = ModelServer::start(
        r#"{"text":"done","usage":{"input":7,"output":3,"cached":2,"reasoning":1}}
{"text":"done"}"#,
    )
    .with_breaks();
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    check(&run, 0, "completed", ("done", 1), Value::Null);
    let usage = json!({ "input": 7, "output": 3, "cached": 2, "reasoning": 1, "micro_usd": null });
    assert_eq!(run.result()["usage"], usage);
    let run = place.run(&server, &["hello"]);
    let session = place.sessions()[1].clone();
    let told = format!("petasos: session {session}, model scripted at {}\npetasos: ", server.base_url());
    let used = run.stderr.strip_prefix(&told).unwrap();
    assert_eq!((run.code, run.stdout.as_str(), used.lines().count()), (0, "done\n", 1), "{used}");
    assert!(used.ends_with(" tokens in (0 of them cached), 1 out\n"), "{used}");
}

/// Nothing is begun, and the last line is a result all the same.
#[test]
fn l06_not_started() {
    let place = Place::new();
    let result = |kind: &str, message: &str, hint: &str| {
        json!({
            "v": 1, "type": "result", "status": "not_started", "reply": "", "steps": 0,
            "usage": { "input": 0, "output": 0, "cached": 0, "reasoning": 0, "micro_usd": null },
            "session": null, "budget": null,
            "error": { "kind": kind, "message": message, "hint": hint },
        })
    };
    let check = |arguments: &[&str], wanted: Value| {
        let run = place.petasos_does(arguments);
        assert_eq!((run.code, run.result(), run.stderr.as_str()), (2, wanted, ""), "{arguments:?}");
    };
    let usage = result(
        "usage",
        "unexpected argument '--max-step' found",
        "a similar argument exists: '--max-steps'; see petasos --help",
    );
    check(&["run", "--json", "--max-step", "3", "hello"], usage.clone());
    // Also where the mistake comes before it.
    check(&["run", "--max-step", "3", "hello", "--json"], usage);
    let hint = "say it: petasos run \"Read notes.txt and …\", or pipe it in";
    check(&["run", "--json", "--base-url", "http://127.0.0.1:1/v1", "--model", "m"], {
        result("usage", "there is no prompt", hint)
    });
    place.settings("max_stesp: 3\n");
    let file = place.home().join("config.yaml");
    let message = format!("{}: there is no setting `max_stesp`; the nearest is `max_steps`", file.display());
    let hint = "correct that, and run it again";
    check(&["run", "--json", "hello"], result("config", &message, hint));
    assert_eq!(place.sessions(), Vec::<String>::new());
}

/// The session belongs to whoever runs a turn in it, until that ends.
#[test]
fn l06_not_started_as_another_process_holds_the_session() {
    let server = ModelServer::start(r#"{"fault":"stall"}"#);
    let place = Place::new();
    let mut command = place.petasos();
    let mut running =
        Running::begin(command.args(["run", "--json"]).args(model(&server)).arg("hello")).hush();
    let session = running.wait_for("turn_start")["session"].as_str().unwrap().to_owned();
    running.wait_for("step_start");
    let other = place.petasos_does(&["resume", "--json", &session, "-m", "and now?"]);
    let error = other.result()["error"].clone();
    assert_eq!((other.code, &error["kind"]), (2, &json!("held")), "{other:?}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&session) && message.contains("pid "), "{message}");
    assert_eq!(error["hint"], "wait until its turn is over, or stop that process");
    running.signal("INT");
    assert_eq!(running.end().code, 130);
}

#[test]
fn l06_the_steps_are_used_up() {
    let server = ModelServer::start(
        r#"{"calls":[{"name":"list_files","arguments":{}}]}
{"text":"There is nothing."}"#,
    );
    let place = Place::new();
    let run = place.run_json(&server, &["--max-steps", "1", "hello"]);
    let error = json!(["the step budget of the turn is used up", "give it more: RESUME --add-steps 20"]);
    check(&run, 10, "budget_exhausted", ("There is nothing.", 1), error);
    assert_eq!(run.result()["budget"], "steps");
}

/// A request that could overdraw is not made: not even the first.
#[test]
fn l06_the_tokens_are_used_up() {
    let server = ModelServer::start("");
    let place = Place::new();
    place.settings("limits: {tokens: 5000}");
    let run = place.run_json(&server, &["hello"]);
    let error =
        json!(["the token budget of the turn is used up", "give it more: RESUME --add-tokens 100000"]);
    let reply = "Stopped: the token budget is used up after 0 steps.";
    let session = check(&run, 10, "budget_exhausted", (reply, 0), error);
    assert_eq!((&run.result()["budget"], server.finish().len()), (&json!("tokens"), 0));
    let server = ModelServer::start(r#"{"text":"enough"}"#);
    let url = server.base_url();
    let run = place.petasos_does(&[
        "resume",
        "--json",
        &session,
        "--add-tokens",
        "100000",
        "--base-url",
        &url,
        "--model",
        "m",
    ]);
    check(&run, 0, "completed", ("enough", 1), Value::Null);
}

#[test]
fn l06_the_context_is_used_up() {
    let server = ModelServer::start("");
    let place = Place::new();
    place.settings("model: {window: 1000}");
    let run = place.run_json(&server, &["hello"]);
    let error = json!([
        "the request no longer fits the model's window",
        "begin a new session, or use a model with a larger window; if the server has a larger one by now, set model.window",
    ]);
    check(&run, 11, "context_exhausted", ("", 0), error);
    assert_eq!(server.finish().len(), 0);
}

#[test]
fn l06_the_time_is_used_up() {
    let server = ModelServer::start(r#"{"text":"there was time"}"#);
    let place = Place::new();
    place.settings("limits: {time: 0}");
    let run = place.run_json(&server, &["hello"]);
    let error = json!(["the turn's time at work is used up", "give it more: RESUME --add-time 600"]);
    check(&run, 14, "timed_out", ("", 0), error);
    assert_eq!(server.requests().len(), 0);
    let run = place.petasos_does(&["resume", "--json", "--add-time", "600"]);
    check(&run, 0, "completed", ("there was time", 1), Value::Null);
}

#[test]
fn l06_a_call_waits_for_approval() {
    let server = ModelServer::start(COMMAND);
    let place = Place::new();
    let run = place.run_json(&server, &["--park", "hello"]);
    let error = json!(["a call waits for approval", "decide: RESUME --approve, or --deny"]);
    check(&run, 15, "awaiting_approval", ("", 1), error);
    let asking = run.events().into_iter().find(|event| event["type"] == "asking").unwrap();
    let told = [&asking["tool"], &asking["arguments"], &asking["wants"]];
    assert_eq!(
        told,
        [&json!("run_command"), &json!(r#"{"command":"echo one >> counter"}"#), &json!("approval")]
    );
    assert_eq!(place.read("counter"), None);
}

/// In a chat a person says no, and stop.
#[test]
fn l06_denied() {
    let server = ModelServer::start(COMMAND);
    let place = Place::new();
    let mut command = place.petasos();
    let mut chat = Running::begin(command.arg("chat").args(model(&server)));
    chat.say("hello");
    chat.wait_for_talk("? call 6.0 asks for leave to run");
    chat.say("x");
    chat.wait_for_talk("petasos: denied: a call was denied, and the turn stopped for it");
    let ended = chat.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (16, ""), "{ended:?}");
    let session = place.sessions()[0].clone();
    let told = format!("  next: say how to go on: petasos resume {session} -m \"…\"\n");
    assert!(ended.stderr.ends_with(&told), "{}", ended.stderr);
    assert_eq!(place.read("counter"), None);
    assert_eq!(place.entries().last().unwrap()["body"]["reason"], "denied");
}

#[test]
fn l06_refused() {
    let server = ModelServer::start(r#"{"text":"I will not.","finish":"content_filter"}"#);
    let run = Place::new().run_json(&server, &["hello"]);
    let error = json!(["the model or its provider refused", "say how to go on: RESUME -m \"…\""]);
    check(&run, 17, "refused", ("I will not.", 1), error);
}

/// Five cut replies are four continuations; the pieces are one reply.
#[test]
fn l06_truncated() {
    let pieces: Vec<String> = ["one ", "two ", "three ", "four ", "five "]
        .map(|text| format!(r#"{{"text":"{text}","finish":"length"}}"#))
        .into();
    let server = ModelServer::start(&pieces.join("\n"));
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    let error = json!(["the reply was cut at its length, again and again", "let it go on: RESUME"]);
    check(&run, 18, "truncated", ("one two three four five ", 5), error);
    assert_eq!(server.finish().len(), 5);
}

/// The home is on a disk of 160 KiB, and the reply does not fit. What was kept can be read.
#[test]
fn l06_not_saved() {
    // Numbers, for a reply that repeats itself is cut before it fills anything.
    let text: String = (0..70_000).map(|number| format!("{number} ")).collect();
    let server = ModelServer::start(&format!(r#"{{"text":"{text}"}}"#));
    let place = Place::new();
    let script = place.work().join("run");
    std::fs::create_dir(place.home()).unwrap();
    let program = env!("CARGO_BIN_EXE_petasos");
    let text = format!(
        "#!/bin/sh\nmount -t tmpfs -o size=160k none \"$PETASOS_HOME\" || exit 77\n{program} run --json --base-url {} \
         --model m hello\ncode=$?\n{program} sessions show >&2\nexit $code\n",
        server.base_url()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut outer: Command = place.command(std::path::Path::new("unshare"));
    let run = ended(outer.args(["--user", "--map-root-user", "--mount"]).arg(&script));
    if run.code == 77 || run.stdout.is_empty() {
        println!("left out: a home of 160 KiB; {}", run.stderr.trim());
        return;
    }
    let result = run.result();
    let error = &result["error"];
    assert_eq!((run.code, &result["status"]), (19, &json!("not_saved")), "{run:?}");
    assert_eq!((&error["kind"], &result["reply"]), (&json!("not_saved"), &json!("")));
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("the session's log cannot be written: "), "{message}");
    let session = result["session"].as_str().unwrap();
    assert_eq!(error["hint"], format!("mend the disk, then: petasos resume {session}"));
    // A person who looks at the session afterwards finds what was kept, up to the request.
    assert!(run.stderr.contains("said: hello") && run.stderr.contains("step 1"), "{}", run.stderr);
    let types = run.types();
    assert_eq!(types[types.len() - 2..], ["turn_end", "result"]);
    let end = &run.events()[types.len() - 2];
    assert_eq!((end.get("entry"), &end["status"]), (None, &json!("not_saved")));
}
