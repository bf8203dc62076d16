//! The server as blocking tests have it, and its judgement at the end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petasos_testkit::model_server::ModelServer;

const GOOD: &str = r#"{"model":"m","messages":[{"role":"user","content":"U"}]}"#;
const OTHER: &str = r#"{"model":"n","messages":[{"role":"user","content":"U"}]}"#;
const BAD: &str = r#"{"model":"m","messages":[{"role":"user","content":""}]}"#;

fn ask(server: &ModelServer, body: &str) -> String {
    let base = server.base_url();
    let address = base.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}"
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
