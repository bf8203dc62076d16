//! The server as blocking tests have it, and its judgement at the end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petasos_testkit::model_server::ModelServer;

const GOOD: &str = r#"{"model":"m","messages":[{"role":"user","content":"U"}]}"#;
const OTHER: &str = r#"{"model":"n","messages":[{"role":"user","content":"U"}]}"#;
const BAD: &str = r#"{"model":"m","messages":[{"role":"user","content":""}]}"#;

const RESPONSES: &str = r#"{"model":"m","input":[{"type":"message","role":"user","content":"U"}]}"#;
const MESSAGES: &str = r#"{"model":"m","messages":[{"role":"user","content":"U"}],"max_tokens":9}"#;
const VERSION: &str = "\r\nanthropic-version: 2023-06-01";

fn ask(server: &ModelServer, body: &str) -> String {
    ask_at(server, "chat/completions", "", body)
}

fn ask_at(server: &ModelServer, path: &str, headers: &str, body: &str) -> String {
    let base = server.base_url();
    let address = base.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST /v1/{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}{headers}"
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// What the test would fail with.
fn failure(of: impl FnOnce()) -> Option<String> {
    catch_unwind(AssertUnwindSafe(of)).err().map(|panic| *panic.downcast::<String>().unwrap())
}

#[test]
fn good_requests_are_answered_and_given_back() {
    let server = ModelServer::start("{\"text\":\"one\"}\n{\"text\":\"two\"}");
    assert!(ask(&server, GOOD).contains("one"));
    assert!(ask(&server, GOOD).contains("two"));
    assert_eq!(server.requests().len(), 2);
    let bodies: Vec<_> = server.finish().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [GOOD, GOOD]);
}

#[test]
fn a_wrong_request_fails_the_test_at_the_end() {
    for finish in [|server: ModelServer| drop(server), |server: ModelServer| drop(server.finish())] {
        let failed = failure(|| {
            let server = ModelServer::start("{}");
            ask(&server, BAD);
            finish(server);
        });
        assert_eq!(failed.as_deref(), Some("wrong requests:\nrequest 0: messages[0]: an empty content"));
    }
}

#[test]
fn parts_that_change_fail_the_test_unless_that_is_meant() {
    let talk = |server: ModelServer| {
        ask(&server, GOOD);
        ask(&server, OTHER);
    };
    let failed = failure(|| talk(ModelServer::start("{}\n{}"))).unwrap();
    assert!(failed.starts_with("wrong requests:\nrequest 1: 10 of"), "{failed}");
    assert_eq!(failure(|| talk(ModelServer::start("{}\n{}").with_breaks())), None);
}

#[test]
fn each_request_is_judged_by_the_wire_of_its_path() {
    let server = ModelServer::start("{}\n{}\n{}\n{}");
    ask(&server, GOOD);
    ask_at(&server, "responses?a=b", "", RESPONSES);
    ask_at(&server, "messages", VERSION, MESSAGES);
    // Of another wire, it does not have to begin like its neighbour.
    ask(&server, OTHER);
    assert_eq!(server.finish().len(), 4);
    let wrong = |path: &str, headers: &str, body: &str| {
        let failed = failure(|| {
            let server = ModelServer::start("{}");
            ask_at(&server, path, headers, body);
        });
        failed.unwrap().strip_prefix("wrong requests:\nrequest 0: ").unwrap().to_owned()
    };
    assert_eq!(wrong("responses", "", &RESPONSES.replace("\"U\"", "\"\"")), "input[0]: an empty content");
    assert_eq!(wrong("messages", VERSION, GOOD), "body: no max_tokens");
    assert_eq!(wrong("messages", "", MESSAGES), "anthropic-version is \"\", and has to be a date");
}

#[test]
fn parts_of_every_wire_are_compared() {
    for (path, headers, body) in [("responses", "", RESPONSES), ("messages", VERSION, MESSAGES)] {
        let failed = failure(|| {
            let server = ModelServer::start("{}\n{}");
            ask_at(&server, path, headers, body);
            ask_at(&server, path, headers, &body.replace("\"m\"", "\"n\""));
        });
        let failed = failed.unwrap();
        assert!(failed.starts_with("wrong requests:\nrequest 1: 10 of"), "{failed}");
    }
}

#[test]
fn bad_requests_are_let_pass_where_the_name_says_so() {
    let server = ModelServer::start_bad("{}");
    ask(&server, BAD);
    assert_eq!(server.finish().len(), 1);
}

#[test]
fn only_such_a_name_lets_them_pass() {
    let failed = failure(|| drop(ModelServer::start_bad("{}"))).unwrap();
    assert!(failed.ends_with("sends requests that are not checked; call it bad_…"), "{failed}");
}

#[test]
fn a_test_that_fails_by_itself_says_its_own_word() {
    let failed = failure(|| {
        let server = ModelServer::start("{}");
        ask(&server, BAD);
        panic!("{}", "mine");
    });
    assert_eq!(failed.as_deref(), Some("mine"));
}

#[test]
fn a_stalled_reply_does_not_keep_the_test_from_ending() {
    let server = ModelServer::start("{\"fault\":\"stall\"}");
    let base = server.base_url();
    let address = base.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = GOOD.len();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{GOOD}").as_bytes()).unwrap();
    let mut first = [0];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(server.finish().len(), 1);
}

#[test]
fn a_script_that_is_wrong_is_said_at_once() {
    let failed = failure(|| drop(ModelServer::start("{\"txt\":1}"))).unwrap();
    assert!(failed.contains("the nearest is \"text\""), "{failed}");
}
