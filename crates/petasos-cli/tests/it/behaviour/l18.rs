//! Row L18 through the program: the temperature, and as little chance as there can be.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, of_kind};

const TWO: &str = r#"{"calls":[{"name":"calculate","arguments":{"expression":"1+1"}},{"name":"calculate","arguments":{"expression":"2+2"}}]}"#;
const DONE: &str = r#"{"text":"done"}"#;

fn temperatures(server: ModelServer) -> Vec<Option<Value>> {
    let body = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap();
    server.finish().iter().map(|request| body(&request.body).get("temperature").cloned()).collect()
}

#[test]
fn l18_deterministic_sends_temperature_0_and_runs_calls_one_after_the_other() {
    for mode in ["chat", "responses", "messages"] {
        let server = ModelServer::start(&format!("{TWO}\n{DONE}\n{DONE}")).with_breaks();
        let place = Place::new();
        let run = place.run_json(&server, &["--api-mode", mode, "--deterministic", "hello"]);
        assert_eq!(run.code, 0, "{run:?}");
        let entries = place.entries();
        assert_eq!(of_kind(&entries, "turn_start")[0]["body"]["mode"]["serial"], json!(true));
        // What was sent is written again, byte for byte.
        let again = place.petasos_does(&["dev", "request", &place.sessions()[0]]);
        assert!(again.stdout.contains("\"temperature\":0"), "{again:?}");
        assert!(!again.stderr.contains("differ"), "{again:?}");
        // It is said for each run anew.
        assert_eq!(place.petasos_does(&["resume", "-m", "more"]).code, 0);
        assert_eq!(temperatures(server), [Some(json!(0)), Some(json!(0)), None], "{mode}");
    }
}

#[test]
fn l18_a_temperature_is_sent_only_if_it_is_set() {
    let server = ModelServer::start(DONE);
    let place = Place::new();
    assert_eq!(place.run(&server, &["hello"]).code, 0);
    assert_eq!(temperatures(server), [None]);
    let server = ModelServer::start(DONE);
    let url = server.base_url();
    place.settings(&format!("model: {{base_url: \"{url}\", name: m, temperature: 0.7}}\n"));
    assert_eq!(place.petasos_does(&["run", "hello"]).code, 0);
    assert_eq!(temperatures(server), [Some(json!(0.7))]);
}

/// A model that takes none is asked without, from then on.
#[test]
fn l18_a_temperature_that_is_not_taken_is_left_out_for_the_session() {
    let refusal = r#"{"fault":{"status":400,"body":{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_parameter"}}}}"#;
    let server = ModelServer::start(&format!("{refusal}\n{DONE}"));
    let place = Place::new();
    let run = place.run_json(&server, &["--deterministic", "hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(temperatures(server), [Some(json!(0)), None]);
    let entries = place.entries();
    let tails: Vec<&Value> = of_kind(&entries, "request").iter().map(|one| &one["body"]["tail"]).collect();
    assert_eq!(tails, [&json!({"temperature": 0}), &json!(null)]);
}
