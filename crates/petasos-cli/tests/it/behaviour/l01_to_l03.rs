//! A turn ends when a finished reply holds no call, results stand under their calls, and only what a wire knows is
//! sent.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, messages, of_kind, results};

#[test]
fn l01_words_never_end_a_turn_and_calls_never_fail_to_go_on() {
    let script = r#"{"text":"完成","calls":[{"name":"read_file","arguments":{"path":"notes.txt"}}]}
{"text":"There are three lines."}"#;
    let server = ModelServer::start(script);
    let place = Place::new();
    place.write("notes.txt", "one\ntwo\nthree\n");
    let ended = place.run(&server, &["How many lines has notes.txt?"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "There are three lines.\n"));
    assert_eq!(server.finish().len(), 2);
}

/// A reply that promises more and calls nothing is the end: words do not keep a turn going either.
#[test]
fn l01_a_promise_is_no_call() {
    let server = ModelServer::start(r#"{"text":"Next I will read notes.txt and call read_file({})"}"#);
    let ended = Place::new().run_json(&server, &["hello"]);
    assert_eq!((ended.code, &ended.result()["steps"]), (0, &json!(1)));
}

/// The exact reverse is shown where order can be had: in the runtime.
#[test]
fn l02_results_stand_in_the_order_of_the_calls_whatever_ends_first() {
    let server = ModelServer::start(
        r#"{"calls":[{"id":"c_1","name":"search_files","arguments":{"pattern":"needle","path":"hay"}},{"id":"c_2","name":"read_file","arguments":{"path":"b.txt"}},{"id":"c_3","name":"nothing","arguments":{}}]}
{"text":"done"}"#,
    );
    let place = Place::new();
    place.write("b.txt", "bee\n");
    place.hay();
    let ended = place.run_json(&server, &["hello"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    // The search ends last; which of the other two is first is the machine's to say.
    let mut order: Vec<Value> = ended
        .events()
        .iter()
        .filter(|event| event["type"] == "tool_result")
        .map(|event| event["call"].clone())
        .collect();
    order[..2].sort_by_key(Value::to_string);
    assert_eq!(order, ["6.1", "6.2", "6.0"]);
    let sent = bodies(&server.finish());
    let told = results(&sent[1]);
    assert_eq!(told.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["c_1", "c_2", "c_3"]);
    assert!(told[0].1.contains("the last needle"), "{told:?}");
    assert!(told[1].1.contains("bee"), "{told:?}");
    assert!(told[2].1.contains("there is no such tool"), "{told:?}");
    // The log has the reply before any of its results.
    let entries = place.entries();
    let reply = of_kind(&entries, "reply")[0]["seq"].as_u64().unwrap();
    assert!(of_kind(&entries, "tool_result").iter().all(|result| result["seq"].as_u64().unwrap() > reply));
}

/// Wire ids that are missing or doubled are replaced, and every call runs under its own.
#[test]
fn l02_missing_and_doubled_ids_are_replaced() {
    let call =
        |id: &str, path: &str| format!(r#"{{"id":{id},"name":"read_file","arguments":{{"path":"{path}"}}}}"#);
    let calls = [
        call(r#""same""#, "a.txt"),
        call(r#""same""#, "b.txt"),
        call("null", "c.txt"),
        call(r#""""#, "d.txt"),
    ];
    let server = ModelServer::start(&format!("{{\"calls\":[{}]}}\n{{\"text\":\"done\"}}", calls.join(",")));
    let place = Place::new();
    for name in ["a", "b", "c", "d"] {
        place.write(&format!("{name}.txt"), &format!("text of {name}\n"));
    }
    let ended = place.run(&server, &["hello"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let sent = bodies(&server.finish());
    let told = results(&sent[1]);
    let ids: std::collections::BTreeSet<&str> = told.iter().map(|(id, _)| *id).collect();
    assert_eq!((told.len(), ids.len(), told[0].0), (4, 4, "same"));
    for ((_, text), name) in told.iter().zip(["a", "b", "c", "d"]) {
        assert!(text.contains(&format!("text of {name}")), "{told:?}");
    }
    let calls = messages(&sent[1])[2]["tool_calls"].as_array().unwrap();
    let made: Vec<&str> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(made, told.iter().map(|(id, _)| *id).collect::<Vec<_>>());
}

/// The log keeps more of a reply than may be sent: none of it reaches a request.
#[test]
fn l03_what_is_kept_is_not_what_is_sent() {
    let server = ModelServer::start(
        r#"{"text":"I look","reasoning":"secret thoughts","calls":[{"name":"list_files","arguments":{}}],"usage":{"input":7,"output":3,"cached":2,"reasoning":1}}
{"text":"done"}"#,
    );
    let place = Place::new();
    let ended = place.run(&server, &["hello"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let log = std::fs::read_to_string(place.log(&place.sessions()[0])).unwrap();
    assert!(log.contains("secret thoughts") && log.contains("\"timing\""));
    let requests = server.finish();
    let allowed_roles = [
        ("system", vec!["content", "role"]),
        ("user", vec!["content", "role"]),
        ("assistant", vec!["content", "role", "tool_calls"]),
        ("tool", vec!["content", "role", "tool_call_id"]),
    ];
    for body in bodies(&requests) {
        let mut keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["messages", "model", "stream", "stream_options", "tools"]);
        for message in messages(&body) {
            let role = message["role"].as_str().unwrap();
            let mut keys: Vec<&str> = message.as_object().unwrap().keys().map(String::as_str).collect();
            keys.sort_unstable();
            let (_, allowed) = allowed_roles.iter().find(|(name, _)| *name == role).unwrap();
            assert_eq!(&keys, allowed);
        }
        let text = body.to_string();
        for kept in
            ["secret thoughts", "trace_id", "elapsed_ms", "timestamp", "timing", "\"seq\"", "workspace\":"]
        {
            assert!(!text.contains(kept), "{kept} is sent: {text}");
        }
    }
}
