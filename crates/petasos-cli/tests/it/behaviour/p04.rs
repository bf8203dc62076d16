//! Row P04 through the binary: what a server does not take is sent otherwise, once, and remembered; what costs money
//! is not tried again.

use petasos_core::request::Wire;
use petasos_testkit::check_request::check_request;
use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Ended, Place, bodies, ended, model, of_kind};

/// A turn of a session, the first one or the next.
fn turn(place: &Place, server: &ModelServer) -> Ended {
    if place.sessions().is_empty() {
        return place.run_json(server, &["hello"]);
    }
    ended(place.petasos().args(["resume", "--json"]).args(model(server)).args(["-m", "and more"]))
}

/// What each request says of the output cap.
fn caps(server: ModelServer) -> Vec<Value> {
    let of = |body: &Value| json!([body["max_tokens"], body["max_completion_tokens"]]);
    bodies(&server.finish()).iter().map(of).collect()
}

fn refusing(error: &Value) -> String {
    json!({"fault": {"status": 400, "body": {"error": error}}}).to_string()
}

const TOO_LARGE: &str = r#"{"message":"max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.","type":"invalid_request_error","param":"max_tokens"}"#;
const OTHER_NAME: &str = r#"{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}"#;

/// A server that refuses the first request of two processes: what each request says of its cap.
fn after(error: &str) -> (Place, Vec<Value>) {
    let refuses = refusing(&serde_json::from_str(error).unwrap());
    let server = ModelServer::start(&[&*refuses, r#"{"text":"done"}"#, r#"{"text":"more"}"#].join("\n"));
    let place = Place::new();
    place.settings("model: {max_output: 6000}\n");
    for reply in ["done", "more"] {
        let run = turn(&place, &server);
        assert_eq!((run.code, &run.result()["reply"]), (0, &json!(reply)), "{run:?}");
        assert_eq!(run.types().iter().filter(|told| *told == "retrying").count(), 0, "nobody has to know");
    }
    let caps = caps(server);
    (place, caps)
}

#[test]
fn case_d10_a_cap_that_is_too_large_is_lowered_once_and_remembered() {
    let (place, caps) = after(TOO_LARGE);
    assert_eq!(caps, [json!([6000, null]), json!([4096, null]), json!([4096, null])]);
    let entries = place.entries();
    let settings = of_kind(&entries, "setting");
    let [setting] = settings[..] else { panic!("{settings:?}") };
    assert_eq!((&setting["body"]["key"], &setting["body"]["value"]), (&json!("max_output"), &json!("4096")));
    assert_eq!(of_kind(&entries, "request_end")[0]["body"]["next"], "adapt");
}

#[test]
fn case_d11_a_cap_by_its_other_name_is_sent_by_it_and_remembered() {
    let (place, caps) = after(OTHER_NAME);
    assert_eq!(caps, [json!([6000, null]), json!([null, 6000]), json!([null, 6000])]);
    // What the log says was sent is what would be written again.
    let again = place.petasos_does(&["dev", "request", "--wire", "chat", &place.sessions()[0]]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.contains(r#""max_completion_tokens":6000"#), "{again:?}");
}

#[test]
fn case_d11_if_that_fails_as_well_the_first_error_is_the_one_shown() {
    let first = refusing(&serde_json::from_str(OTHER_NAME).unwrap());
    let second = refusing(&json!({"message": "max_completion_tokens: no such thing here"}));
    let server = ModelServer::start(&[first, second].join("\n"));
    let place = Place::new();
    place.settings("model: {max_output: 6000}\n");
    let run = turn(&place, &server);
    let error = run.result()["error"].clone();
    assert_eq!((run.code, &error["kind"]), (20, &json!("bad_request")));
    assert!(error["message"].as_str().unwrap().contains("Use 'max_completion_tokens' instead"), "{error}");
    assert_eq!(server.finish().len(), 2);
}

/// An account that is empty is told at once, and another provider is asked once, if there is one.
#[test]
fn case_d06_an_empty_account_is_never_asked_again() {
    let empty = json!({"fault": {"status": 429, "headers": {"retry-after": "20"}, "body": {"error": {
        "message": "You have no quota left for this billing period.",
        "type": "insufficient_quota", "code": "insufficient_quota"}}}})
    .to_string();
    let server = ModelServer::start(&empty);
    let place = Place::new();
    let run = turn(&place, &server);
    let error = run.result()["error"].clone();
    assert_eq!((run.code, &error["kind"]), (20, &json!("billing")), "{error}");
    assert_eq!(server.finish().len(), 1, "zero retries");

    let (server, second) = (ModelServer::start(&empty), ModelServer::start(r#"{"text":"paid"}"#));
    let place = Place::new();
    place.settings(&format!("fallback: [{{name: n, base_url: \"{}\"}}]", second.base_url()));
    let run = turn(&place, &server);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("paid")), "{run:?}");
    assert_eq!((server.finish().len(), second.finish().len()), (1, 1));
}

/// A server that refuses the first request because of its cap: what each request of a turn says of its cap, and how it
/// ended.
fn with_room(message: &str, cap: u64) -> (Place, Ended, Vec<Value>) {
    let refuses = refusing(&json!({"message": message, "type": "invalid_request_error"}));
    let server = ModelServer::start(&format!("{refuses}\n{}", r#"{"text":"done"}"#));
    let place = Place::new();
    place.settings(&format!("model: {{max_output: {cap}}}\n"));
    let run = turn(&place, &server);
    (place, run, caps(server))
}

/// The input as the server counted it leaves so much room; an estimate that is far below it would leave more, and the
/// second request would be the first one again.
#[test]
fn case_d09_the_room_that_a_server_counted_caps_the_next_request() {
    let anthropic = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000";
    let vllm = "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 32768 \
                tokens and your request has 30000 input tokens (8192 > 32768 - 30000).";
    for (message, cap, room) in [(anthropic, 20_000, 10_000), (vllm, 8192, 2768)] {
        let (place, run, caps) = with_room(message, cap);
        assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
        assert_eq!(caps, [json!([cap, null]), json!([room, null])]);
        let entries = place.entries();
        let tails: Vec<_> =
            of_kind(&entries, "request").iter().map(|it| it["body"]["tail"].clone()).collect();
        assert_eq!(tails, [json!({"max_output": cap}), json!({"max_output": room})]);
        let settings: Vec<_> =
            of_kind(&entries, "setting").iter().map(|setting| setting["body"]["key"].clone()).collect();
        assert_eq!(settings, ["window", "room"]);
    }
}

/// Room for as much as was asked for, or for next to nothing, is no way out: the same request is not sent again, and none
/// is that would be cut at once.
#[test]
fn p04_room_that_is_no_help_is_no_reason_to_ask_again() {
    let roomy = "input length and `max_tokens` exceed context limit: 90000 + 20000 > 200000";
    let tight = "input length and `max_tokens` exceed context limit: 199900 + 20000 > 200000";
    for message in [roomy, tight] {
        let (_, run, caps) = with_room(message, 20_000);
        assert_eq!((run.code, &run.result()["error"]["kind"]), (20, &json!("overflow")), "{run:?}");
        assert_eq!(caps, [json!([20_000, null])], "{message}");
    }
}

/// Near a window that a server told, a cap of some tokens would cut each reply and pay for asking on: such a request
/// counts as one that does not fit.
#[test]
fn p04_a_request_that_leaves_next_to_no_room_is_not_sent() {
    let server = ModelServer::start(r#"{"text":"done"}"#);
    let place = Place::new();
    place.settings("model: {max_output: 6000}\n");
    assert_eq!(turn(&place, &server).code, 0);
    let tokens = of_kind(&place.entries(), "request")[0]["body"]["tokens"].as_u64().unwrap();
    server.finish();
    // Each window with what the second request of a session is capped at, if it is sent at all.
    for (window, cap) in [(tokens + 255, None), (tokens + 300, Some(300)), (tokens * 2, Some(tokens * 2))] {
        let error = json!({"message": format!("This model's maximum context length is {window} tokens.")});
        let server = ModelServer::start(&format!("{}\n{}", refusing(&error), r#"{"text":"done"}"#));
        let place = Place::new();
        place.settings("model: {max_output: 6000}\n");
        let run = turn(&place, &server);
        assert_eq!((run.code, &run.result()["error"]["kind"]), (20, &json!("overflow")), "{run:?}");
        // Goes on with the same request.
        let run = ended(place.petasos().args(["resume", "--json"]).args(model(&server)));
        let caps = caps(server);
        match cap {
            None => {
                assert_eq!((run.code, &run.result()["status"]), (11, &json!("context_exhausted")), "{run:?}");
                assert_eq!(caps.len(), 1);
            }
            Some(most) => {
                assert_eq!(run.code, 0, "{run:?}");
                let cap = caps[1][0].as_u64().unwrap();
                assert!((256..=most).contains(&cap), "{cap}");
            }
        }
    }
}

/// The window is learnt from the text: the next request that does not fit is not sent.
#[test]
fn case_d09_a_window_that_was_told_is_known_from_then_on() {
    let error = json!({"code": 400, "message": "request (9000 tokens) exceeds the available context size (192 tokens), try increasing it",
        "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 192});
    let server = ModelServer::start(&refusing(&error));
    let place = Place::new();
    let run = turn(&place, &server);
    assert_eq!((run.code, &run.result()["error"]["kind"]), (20, &json!("overflow")), "{run:?}");
    let run = turn(&place, &server);
    assert_eq!((run.code, &run.result()["status"]), (11, &json!("context_exhausted")), "{run:?}");
    assert_eq!(server.finish().len(), 1);
}

/// A server that takes no output cap: it is asked without one, and the log tells so; but under a limit, which holds only
/// with a cap, the refusal is what is told.
#[test]
fn p04_a_cap_that_is_not_taken_is_left_out_but_under_a_limit() {
    let no_cap = json!({"message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"});
    let refusal = refusing(&no_cap);
    let script = [&refusal, r#"{"text":"done"}"#, &refusal, r#"{"text":"more"}"#].join("\n");
    let server = ModelServer::start(&script).with_breaks();
    let place = Place::new();
    place.settings("model: {max_output: 6000}\n");
    let run = turn(&place, &server);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
    let entries = place.entries();
    let tails: Vec<&Value> = of_kind(&entries, "request").iter().map(|one| &one["body"]["tail"]).collect();
    assert_eq!(tails, [&json!({"max_output": 6000}), &json!(null)]);
    let again = place.petasos_does(&["dev", "request", &place.sessions()[0]]);
    assert!(!again.stderr.contains("differ") && !again.stdout.contains("max_tokens"), "{again:?}");
    // The same session under a limit.
    place.settings("model: {max_output: 6000}\nlimits: {tokens: 500000}\n");
    let run = turn(&place, &server);
    let error = run.result()["error"].clone();
    assert_eq!((run.code, &error["kind"]), (20, &json!("bad_request")), "{run:?}");
    let message = error["message"].as_str().unwrap();
    for part in ["holds only with an output cap", "limits.tokens", "'max_tokens' is not supported"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(caps(server), [json!([6000, null]), json!([null, null]), json!([6000, null])]);
}

/// What is set for a model without a name is not that of a fallback at its place.
#[test]
fn p04_a_fallback_at_the_same_place_has_its_own_cap_and_price() {
    let down = json!({"fault": {"status": 401, "body": {"error": {"message": "no such key"}}}}).to_string();
    let server = ModelServer::start(&format!("{down}\n{}", r#"{"text":"done"}"#)).with_breaks();
    let url = server.base_url();
    let place = Place::new();
    place.settings(&format!(
        "model: {{base_url: \"{url}\", max_output: 1000, price: {{input: 0, output: 1}}}}\n\
         fallback: [{{base_url: \"{url}\", name: other, max_output: 2000, price: {{input: 0, output: 7}}}}]\n"
    ));
    let run = place.petasos_does(&["run", "--json", "hello"]);
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
    let caps: Vec<Value> = bodies(&server.finish()).iter().map(|body| body["max_tokens"].clone()).collect();
    assert_eq!(caps, [json!(1000), json!(2000)]);
    let entries = place.entries();
    let held: Vec<&Value> = of_kind(&entries, "request")
        .iter()
        .map(|request| &request["body"]["reserved"]["micro_usd"])
        .collect();
    assert_eq!(held, [&json!(1000), &json!(14_000)]);
}

/// A server that serves one key alone: what it was sent with which, until a reply was given.
fn serving(key: &'static str) -> (String, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serve = move || {
        let mut keys = Vec::new();
        for socket in listener.incoming() {
            let mut reader = BufReader::new(socket.unwrap());
            let mut lines = Vec::new();
            while lines.last().is_none_or(|line: &String| line != "\r\n") {
                let mut line = String::new();
                assert!(reader.read_line(&mut line).unwrap() > 0, "{lines:?}");
                lines.push(line);
            }
            let header = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let mut body = vec![0; header("content-length: ").map_or(0, |length| length.parse().unwrap())];
            reader.read_exact(&mut body).unwrap();
            assert_eq!(check_request(Wire::Chat, &body), Vec::<String>::new());
            let sent = header("authorization: Bearer ").unwrap_or_default().to_owned();
            let is_served = sent == key;
            keys.push(sent);
            let reply = "data: {\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let refusal = r#"{"error":{"message":"no such key"}}"#;
            let (status, body) = if is_served { ("200 OK", reply) } else { ("401 Unauthorized", refusal) };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            reader.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
            if is_served {
                break;
            }
        }
        keys
    };
    (url, std::thread::spawn(serve))
}

#[test]
fn p04_a_fallback_at_the_same_place_is_asked_with_its_own_key() {
    let (url, server) = serving("key-number-two");
    let place = Place::new();
    place.settings(&format!(
        "model: {{base_url: \"{url}\", name: m, api_key_env: FIRST_KEY}}\n\
         fallback: [{{base_url: \"{url}\", name: other, api_key_env: SECOND_KEY}}]\n"
    ));
    let mut petasos = place.petasos();
    petasos.env("FIRST_KEY", "key-number-one").env("SECOND_KEY", "key-number-two");
    let run = ended(petasos.args(["run", "--json", "hello"]));
    assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
    assert_eq!(server.join().unwrap(), ["key-number-one", "key-number-two"]);
    assert!(!run.stdout.contains("key-number") && !run.stderr.contains("key-number"), "{run:?}");
    let log = format!("{:?}", place.entries());
    assert!(!log.contains("key-number"), "{log}");
}
