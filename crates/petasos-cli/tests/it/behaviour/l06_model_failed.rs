//! Row L06, `model_failed`: each kind of failure that a model's server can make, through the binary.

use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Place, ended};
use crate::running::Running;

/// What a failure comes out as: exit code 20, the result, what a person reads, and the requests that were made.
fn check(script: &str, kind: &str, (steps, requests): (u32, usize), (message, hint): (&str, &str)) {
    let server = ModelServer::start(script);
    let place = Place::new();
    let run = place.run_json(&server, &["hello"]);
    let result = run.result();
    let session = place.sessions()[0].clone();
    let host = server.base_url();
    let host = host.trim_start_matches("http://").trim_end_matches("/v1");
    let message = message.replace("HOST", host);
    let hint = hint.replace("RESUME", &format!("petasos resume {session}"));
    let mut wanted = result.clone();
    wanted["status"] = json!("model_failed");
    wanted["reply"] = json!("");
    wanted["steps"] = json!(steps);
    wanted["session"] = json!(session);
    wanted["budget"] = json!(null);
    wanted["error"] = json!({ "kind": kind, "message": message, "hint": hint });
    assert_eq!(result, wanted);
    assert_eq!((run.code, run.stderr.as_str()), (20, ""));
    // A person reads the same; the script has nothing left to say to a second session.
    let shown = place.petasos_does(&["sessions", "show"]);
    assert!(shown.stdout.ends_with(&format!("turn ends: model_failed after {steps} steps\n")), "{shown:?}");
    assert_eq!(server.finish().len(), requests);
}

#[test]
fn l06_a_key_that_is_not_taken() {
    check(
        r#"{"fault":{"status":401,"body":{"error":{"message":"Incorrect API key"}}}}"#,
        "auth",
        (0, 1),
        (
            "the provider does not take the key: 401 from HOST: Incorrect API key; check the key and what it may \
             use; no key was sent",
            "set the right key in the environment (--api-key-env names its variable), then: RESUME",
        ),
    );
}

#[test]
fn l06_a_bill_that_is_not_paid() {
    check(
        r#"{"fault":{"status":402,"body":{"error":{"message":"Insufficient credits"}}}}"#,
        "billing",
        (0, 1),
        (
            "the provider wants to be paid: 402 from HOST: Insufficient credits; the account needs credit or \
             another plan",
            "see to the account, or use another model, then: RESUME",
        ),
    );
}

/// Who asks for a quarter of an hour gets no second try now.
#[test]
fn l06_too_many_requests() {
    check(
        r#"{"fault":{"status":429,"headers":{"Retry-After":900},"body":{"error":{"message":"slow down"}}}}"#,
        "rate_limit",
        (0, 1),
        ("the provider says too many requests: 429 from HOST: slow down", "wait a little, then: RESUME"),
    );
}

#[test]
fn l06_too_much_to_do() {
    check(
        r#"{"fault":{"status":503,"headers":{"Retry-After":900},"body":{"error":{"message":"busy"}}}}"#,
        "overloaded",
        (0, 1),
        ("the provider is overloaded: 503 from HOST: busy", "wait a little, then: RESUME"),
    );
}

#[test]
fn l06_no_such_model() {
    check(
        r#"{"fault":{"status":404,"body":{"error":{"message":"no model scripted"}}}}"#,
        "not_found",
        (0, 1),
        (
            "there is no such model or address: 404 from HOST: no model scripted; check the name of the model and \
             the base URL (it usually ends in /v1)",
            "check --base-url (most end in /v1) and --model, then: RESUME --base-url URL --model NAME",
        ),
    );
}

#[test]
fn l06_a_request_that_is_not_taken() {
    check(
        r#"{"fault":{"status":400,"body":{"error":{"message":"unknown field"}}}}"#,
        "bad_request",
        (0, 1),
        (
            "the provider does not take the request: 400 from HOST: unknown field",
            "check --base-url (most end in /v1), or try another model: RESUME --model NAME",
        ),
    );
}

#[test]
fn l06_a_request_that_is_too_long() {
    check(
        r#"{"fault":{"status":413,"body":{"error":{"message":"too large"}}}}"#,
        "overflow",
        (0, 1),
        (
            "the request is too long for the model: 413 from HOST: too large",
            "try another model: RESUME --model NAME",
        ),
    );
}

/// An empty reply is asked about once, in other words.
#[test]
fn l06_nothing_twice() {
    check(
        "{}\n{}",
        "empty",
        (2, 2),
        ("the model answered nothing, twice", "try another model: RESUME --model NAME"),
    );
}

/// These are tried three times, so they are waited for together.
#[test]
fn l06_what_may_pass_is_tried_three_times() {
    let rows = [
        (
            r#"{"fault":"garbage"}"#,
            "bad_stream",
            "HOST sent \"\\0\\0\u{fffd}\u{fffd}<html\u{fffd}( }}]] 1e\", which is no stream; it was asked by the protocol \
             chat; if it speaks another, try --api-mode responses or messages",
        ),
        (
            r#"{"text":"This ends in the middle.","fault":{"cut_after_bytes":300}}"#,
            "bad_stream",
            "the stream of HOST broke off (unexpected EOF during chunk size line)",
        ),
        (
            r#"{"fault":{"status":429,"headers":{"Retry-After":0},"body":{"error":{"message":"slow down"}}}}"#,
            "rate_limit",
            "429 from HOST: slow down",
        ),
        (
            r#"{"fault":{"status":502,"body":{"error":{"message":"bad gateway"}}}}"#,
            "other",
            "502 from HOST: bad gateway",
        ),
    ];
    let begun = rows.map(|(line, kind, message)| {
        let server = ModelServer::start(&[line; 3].join("\n"));
        let place = Place::new();
        let mut command = place.petasos();
        let command = command.args(["run", "--json"]).args(crate::program::model(&server)).arg("hello");
        (Running::begin(command).hush(), server, place, kind, message)
    });
    for (running, server, place, kind, message) in begun {
        let host = server.base_url();
        let message = message.replace("HOST", host.trim_start_matches("http://").trim_end_matches("/v1"));
        let run = running.end();
        let error = run.result()["error"].clone();
        assert_eq!((run.code, &error["kind"]), (20, &json!(kind)), "{run:?}");
        let told = error["message"].as_str().unwrap();
        assert!(told.ends_with(&format!(": {message}")), "{told}");
        let attempt = ["step_start", "retrying"];
        let told: Vec<String> =
            run.types().into_iter().filter(|one| attempt.contains(&one.as_str())).collect();
        assert_eq!(told, ["step_start", "retrying", "step_start", "retrying", "step_start"]);
        for event in run.events().iter().filter(|event| event["type"] == "retrying") {
            assert_eq!((&event["kind"], &event["message"]), (&json!(kind), &json!(message)));
            assert!(event["at"].is_u64(), "{event}");
        }
        assert_eq!(server.finish().len(), 3);
        // It is one step, and it can go on.
        let other = ModelServer::start(r#"{"text":"now it is there"}"#);
        let resumed =
            ended(place.petasos().args(["resume", "--base-url", &other.base_url(), "--model", "m"]));
        assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "now it is there\n"), "{resumed:?}");
    }
}

/// Nothing listens there; the next of the chain is asked after three tries.
#[test]
fn l06_a_server_that_is_not_there_and_one_after_it() {
    let place = Place::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = free.local_addr().unwrap();
    drop(free);
    let url = format!("http://{dead}/v1");
    let alone =
        Running::begin(place.petasos().args(["run", "--base-url", &url, "--model", "m", "hello"])).hush();
    let other = Place::new();
    let server = ModelServer::start(r#"{"text":"from the second"}"#);
    other.settings(&format!("fallback: [{{name: n, base_url: \"{}\"}}]", server.base_url()));
    let mut command = other.petasos();
    let command = command.args(["run", "--json", "--base-url", &url, "--model", "m", "hello"]);
    let chained = Running::begin(command).hush().end();
    let alone = alone.end();
    let session = place.sessions()[0].clone();
    let told = format!(
        "petasos: model_failed: the model's server cannot be reached: nothing listens at {dead}; is the server \
         running?\n  next: check --base-url and that the server runs, then: petasos resume {session}\n"
    );
    assert_eq!((alone.code, alone.stdout.as_str()), (20, ""));
    assert!(alone.stderr.ends_with(&told), "{}", alone.stderr);
    let result = chained.result();
    assert_eq!((chained.code, &result["reply"], &result["steps"]), (0, &json!("from the second"), &json!(1)));
    let waits: Vec<bool> = chained
        .events()
        .iter()
        .filter(|event| event["type"] == "retrying")
        .map(|event| event["at"].is_u64())
        .collect();
    assert_eq!(waits, [true, true, false]);
}
