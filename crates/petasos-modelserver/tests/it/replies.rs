//! What a script says, as chat completions bring it.

use std::path::Path;

use petasos_modelserver::{Answered, Options, Script, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{End, chat, guarded, post, send, start};

const ASK: &str = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;

fn streamed(results: usize) -> String {
    let tool = r#",{"role":"tool","tool_call_id":"a","content":"r"}"#.repeat(results);
    format!(r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"x"}}{tool}]}}"#)
}

async fn text_of(server: &Server, results: usize) -> String {
    let answer = chat(server, &streamed(results)).await;
    let events = answer.events();
    let (done, chunks) = events.split_last().unwrap();
    assert_eq!((*done, answer.end), ("[DONE]", End::Whole));
    joined(chunks, "/choices/0/delta/content")
}

fn joined(chunks: &[&str], pointer: &str) -> String {
    let piece = |chunk: &&str| {
        let chunk: Value = serde_json::from_str(chunk).unwrap();
        chunk.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    chunks.iter().map(piece).collect()
}

#[tokio::test]
async fn a_whole_reply_has_text_calls_finish_and_usage() {
    let line = r#"{"text":"ok","reasoning":"hm","calls":[{"name":"a","arguments":{"b": 1.50,"a":[ ]}},{"name":"c","arguments":"{no","id":"I"}],"usage":{"input":9,"output":2,"cached":4,"reasoning":1}}"#;
    let answer = chat(&start(line).await, ASK).await;
    let wanted = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "ok", "reasoning_content": "hm",
            "tool_calls": [
                {"id": "scripted_1_1", "type": "function", "function": {"name": "a", "arguments": "{\"b\": 1.50,\"a\":[ ]}"}},
                {"id": "I", "type": "function", "function": {"name": "c", "arguments": "{no"}},
            ],
        }}],
        "usage": {
            "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 1},
        },
    });
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap(), wanted);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_streamed_reply_comes_in_several_deltas_cut_between_characters() {
    let line = r#"{"text":"世界你好👋 and more","reasoning":"想一想","calls":[{"name":"a","arguments":{"字": "长长的"}}]}"#;
    let answer = chat(&start(line).await, &streamed(0)).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.events();
    let (_, chunks) = events.split_last().unwrap();
    let check = |pointer: &str, wanted: &str, least: usize| {
        let with = chunks.iter().filter(|chunk| !joined(&[chunk], pointer).is_empty()).count();
        assert_eq!(
            (joined(chunks, pointer).as_str(), with >= least),
            (wanted, true),
            "{pointer}: {with} deltas"
        );
    };
    check("/choices/0/delta/content", "世界你好👋 and more", 3);
    check("/choices/0/delta/reasoning_content", "想一想", 3);
    check("/choices/0/delta/tool_calls/0/function/arguments", r#"{"字": "长长的"}"#, 2);
    check("/choices/0/delta/tool_calls/0/id", "scripted_1_1", 1);
    check("/choices/0/delta/tool_calls/0/function/name", "a", 1);
    check("/choices/0/finish_reason", "tool_calls", 1);
}

#[tokio::test]
async fn usage_is_counted_given_raw_or_left_out() {
    let lines = "{\"text\":\"four and\"}\n{\"usage\":{\"input\":1,\"output\":2}}\n{\"usage\":{\"tokens_in\": 1.50}}\n{\"usage\":null}";
    let server = start(lines).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let answer = chat(&server, &streamed(0)).await;
        let events = answer.events();
        let last = events[events.len() - 2];
        seen.push(last.split_once("\"usage\":").map(|(_, usage)| usage.trim_end_matches('}').to_owned()));
    }
    let input = streamed(0).len().div_ceil(4);
    let counted = format!(r#"{{"prompt_tokens":{input},"completion_tokens":2,"total_tokens":{}"#, input + 2);
    let given = r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3"#.to_owned();
    assert_eq!(seen, [Some(counted), Some(given), Some(r#"{"tokens_in": 1.50"#.to_owned()), None]);
}

#[tokio::test]
async fn finish_and_ids_can_be_given_or_left_out() {
    let server = start("{\"finish\":\"length\"}\n{\"finish\":null,\"calls\":[{\"name\":\"a\",\"id\":null},{\"name\":\"b\",\"id\":\"\"}]}\n{}").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let reply: Value = serde_json::from_slice(&chat(&server, ASK).await.body).unwrap();
        let choice = &reply["choices"][0];
        let ids: Vec<_> = choice["message"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| call.get("id").cloned())
            .collect();
        seen.push((choice["finish_reason"].clone(), choice["message"]["content"].clone(), ids));
    }
    let wanted = [
        (json!("length"), json!(""), vec![]),
        (Value::Null, Value::Null, vec![None, Some(json!(""))]),
        (json!("stop"), json!(""), vec![]),
    ];
    assert_eq!(seen, wanted);
}

#[tokio::test]
async fn lines_are_taken_in_order_until_none_is_left() {
    let server = start("{\"text\":\"one\"}\n\n{\"text\":\"two\"}").await;
    assert_eq!((text_of(&server, 0).await, text_of(&server, 5).await), ("one".into(), "two".into()));
    let left = chat(&server, ASK).await;
    let wanted = r#"{"error":{"message":"the script has no reply left: its 2 lines hold none for this request, which has 0 tool results","type":"scripted_model_server","code":500}}"#;
    assert_eq!((left.status, left.text()), (500, wanted));
    let answered: Vec<Answered> = server.requests().iter().map(|request| request.answered).collect();
    assert_eq!(answered, [Answered::Reply(0), Answered::Reply(1), Answered::NothingLeft]);
}

/// A request that is made again after a crash gets the same reply; a failure before it is met once.
#[tokio::test]
async fn lines_with_results_answer_every_request_that_has_so_many() {
    let line =
        |results: usize, text: &str| format!("{{\"text\":\"{text}\",\"when\":{{\"results\":{results}}}}}\n");
    let script = [line(0, "a"), line(1, "failing"), line(1, "b"), "{\"text\":\"any\"}\n".into()].concat();
    let server = start(&script).await;
    let mut seen = Vec::new();
    for results in [1, 0, 1, 0, 1, 2] {
        seen.push(text_of(&server, results).await);
    }
    assert_eq!(seen, ["failing", "a", "b", "a", "b", "any"]);
}

#[tokio::test]
async fn other_requests_are_told_what_there_is() {
    let server = start("{\"text\":\"left alone\"}").await;
    let models = send(&server, "GET /v1/models", "x-api-key: secret", "").await;
    assert_eq!(
        models.text(),
        r#"{"object":"list","data":[{"id":"scripted","object":"model","owned_by":"petasos"}]}"#
    );
    let mut seen = Vec::new();
    for (path, body) in
        [("/v1/messages/count_tokens", "{}"), ("/v1/models", ""), ("/v1/chat/completions", "{\"a\":")]
    {
        let answer = post(&server, path, body).await;
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        seen.push((answer.status, error["error"]["message"].as_str().unwrap().to_owned()));
    }
    let there = "there are POST …/chat/completions (chat completions), POST …/responses (Responses), POST …/messages (Messages) and GET …/models";
    let wanted = [
        (404, format!("nothing is served at /v1/messages/count_tokens; {there}")),
        (405, "/v1/models takes GET, not POST".to_owned()),
        (
            400,
            "the body is no request of chat completions: EOF while parsing a value at line 1 column 5"
                .to_owned(),
        ),
    ];
    assert_eq!(seen, wanted);
    assert_eq!(text_of(&server, 0).await, "left alone");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_comes() {
    let server = start("{}").await;
    let headers = format!("content-length: {}", (64 << 20) + 1);
    let answer = send(&server, "POST /v1/chat/completions", &headers, "").await;
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        (answer.status, body["error"]["message"].as_str().unwrap()),
        (413, "the body of a request is at most 67108864 bytes")
    );
    assert_eq!(server.requests()[0].answered, Answered::Refused);
}

/// A client that is killed while it writes has asked for nothing, and costs no line.
#[tokio::test]
async fn a_request_that_never_came_whole_is_none() {
    let server = start("{\"text\":\"still there\"}").await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let begun =
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 999\r\n\r\n{\"messages\":[]}";
    stream.write_all(begun.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    guarded(stream.read_to_end(&mut Vec::new())).await.unwrap();
    assert_eq!(server.requests(), []);
    assert_eq!(text_of(&server, 0).await, "still there");
}

async fn with_record(path: &Path) -> Server {
    let options = Options { record: Some(path.to_owned()), model: "other".into(), ..Options::default() };
    Server::start(Script::parse("{}\n{}").unwrap(), options).await.unwrap()
}

#[tokio::test]
async fn every_request_is_recorded_with_its_secrets_masked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.jsonl");
    let server = with_record(&path).await;
    let body = "{\"messages\":[],\r\n \"b\": 1.50, \"a\":\"\\u4e16\\n\"}";
    let headers = format!(
        "Authorization: Bearer sk-1\r\nX-Api-Key: sk-2\r\nx-two: a\r\nx-two: b\r\ncontent-length: {}",
        body.len()
    );
    let reply = send(&server, "POST /v1/chat/completions?key=sk-3&x=y", &headers, body).await;
    assert!(reply.text().contains(r#""model":"other""#));
    send(&server, "GET /nowhere", "content-length: 3", "a\"b").await;
    let requests = server.requests();
    assert_eq!(requests[0].body, body.as_bytes());
    let file = std::fs::read_to_string(&path).unwrap();
    assert!(!format!("{requests:?}{file}").contains("sk-"));
    let lines: Vec<&str> = file.lines().collect();
    let wanted = [
        format!(
            r#"{{"at":{},"path":"/v1/chat/completions?key=***&x=y","headers":{{"authorization":"***","connection":"close","content-length":"{}","host":"x","x-api-key":"***","x-two":"a, b"}},"body":{}}}"#,
            requests[0].at,
            body.len(),
            body.replace("\r\n", "  ")
        ),
        format!(
            r#"{{"at":{},"path":"/nowhere","headers":{{"connection":"close","content-length":"3","host":"x"}},"body":"a\"b"}}"#,
            requests[1].at
        ),
    ];
    assert_eq!(lines, wanted);
    drop(with_record(&path).await);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), file, "a record is gone on with");
}

#[tokio::test]
async fn a_place_that_cannot_be_had_is_named_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let record = Some(folder.path().to_owned());
    let error = Server::start(Script::default(), Options { record, ..Options::default() }).await.unwrap_err();
    assert!(error.to_string().ends_with("choose another file for the record"), "{error}");
    let first = start("{}").await;
    let port = first.address().port();
    let error = Server::start(Script::default(), Options { port, ..Options::default() }).await.unwrap_err();
    assert!(error.to_string().ends_with("choose another, or 0 for any free one"), "{error}");
    assert_eq!(first.base_url(), format!("http://127.0.0.1:{port}/v1"));
    assert!(first.address().ip().is_loopback());
}
