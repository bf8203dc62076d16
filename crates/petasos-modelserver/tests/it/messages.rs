//! What a script says, as Messages bring it.

use petasos_modelserver::Server;
use serde_json::{Value, json};

use crate::client::{Answer, post, send, start};

const LINE: &str = r#"{"text":"世界 and more","reasoning":"想一想","calls":[{"name":"a","arguments":{"b": 1.50,"a":[ ]}},{"name":"c","id":"I"}],"usage":{"input":9,"output":5,"cached":4,"reasoning":1}}"#;
const ASK: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}"#;
const ASK_STREAM: &str =
    r#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}"#;

async fn ask(server: &Server, body: &str) -> Answer {
    post(server, "/v1/messages", body).await
}

/// The whole message of [`LINE`].
fn wanted() -> Value {
    json!({
        "id": "msg_scripted_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "thinking", "thinking": "想一想", "signature": "scripted/signature+1=="},
            {"type": "text", "text": "世界 and more"},
            {"type": "tool_use", "id": "scripted_1_1", "name": "a", "input": {"b": 1.50, "a": []}},
            {"type": "tool_use", "id": "I", "name": "c", "input": {}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {
            "input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4,
            "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 1},
        },
    })
}

#[tokio::test]
async fn a_whole_reply_has_its_blocks_and_usage() {
    let answer = ask(&start(LINE).await, ASK).await;
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap(), wanted());
    assert!(answer.text().contains("\"input\":{\"b\": 1.50,\"a\":[ ]}"), "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

/// The message that the events come to, and how many deltas each block had.
fn collected(events: &[Value]) -> (Value, Vec<usize>) {
    let [start, ping, blocks @ .., delta, stop] = events else { panic!("{events:?}") };
    assert_eq!((&start["type"], ping), (&"message_start".into(), &json!({"type": "ping"})));
    let mut message = start["message"].clone();
    assert_eq!((&message["content"], &message["stop_reason"]), (&json!([]), &Value::Null));
    let mut arguments: Option<String> = None;
    let mut deltas = Vec::new();
    let mut open = false;
    for event in blocks {
        let content = message["content"].as_array_mut().unwrap();
        let kind = event["type"].as_str().unwrap();
        assert_eq!(event["index"], content.len() - usize::from(open));
        match kind {
            "content_block_start" => {
                open = true;
                deltas.push(0);
                content.push(event["content_block"].clone());
                continue;
            }
            "content_block_stop" => {
                open = false;
                if let Some(arguments) = arguments.take() {
                    content.last_mut().unwrap()["input"] = serde_json::from_str(&arguments).unwrap();
                }
                continue;
            }
            _ => assert_eq!(kind, "content_block_delta"),
        }
        *deltas.last_mut().unwrap() += 1;
        let (block, delta) = (content.last_mut().unwrap(), &event["delta"]);
        let (key, of) = match delta["type"].as_str().unwrap() {
            "thinking_delta" => ("thinking", "thinking"),
            "signature_delta" => ("signature", "thinking"),
            "text_delta" => ("text", "text"),
            "input_json_delta" => {
                assert_eq!(block["type"], "tool_use");
                arguments.get_or_insert_default().push_str(delta["partial_json"].as_str().unwrap());
                continue;
            }
            other => panic!("{other}"),
        };
        assert_eq!(block["type"], of);
        block[key] = (block[key].as_str().unwrap().to_owned() + delta[key].as_str().unwrap()).into();
    }
    assert!(!open);
    assert_eq!((&delta["type"], stop), (&"message_delta".into(), &json!({"type": "message_stop"})));
    message["stop_reason"] = delta["delta"]["stop_reason"].clone();
    assert_eq!(delta["delta"].as_object().unwrap().len(), 2);
    assert_eq!(delta["delta"]["stop_sequence"], Value::Null);
    match delta.get("usage") {
        Some(usage) => message["usage"] = usage.clone(),
        None => assert_eq!(message.get("usage"), None),
    }
    (message, deltas)
}

#[tokio::test]
async fn the_events_of_a_streamed_reply_come_to_the_whole_one() {
    let answer = ask(&start(LINE).await, ASK_STREAM).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.named_events();
    let begun = json!({
        "input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 1,
    });
    assert_eq!(events[0]["message"]["usage"], begun);
    // The last piece of thinking is its signature, the first one of arguments is empty, and `c` has no arguments.
    assert_eq!(collected(&events), (wanted(), vec![4, 4, 3, 0]));
    let signature = events.iter().rposition(|event| event["delta"]["type"] == "signature_delta").unwrap();
    assert_eq!(events[signature + 1]["type"], "content_block_stop");
}

#[tokio::test]
async fn what_a_script_leaves_out_or_empty_is_so() {
    let lines = [
        r#"{"usage":null}"#,
        r#"{"text":"","reasoning":"","calls":[{"name":"a","id":null},{"name":"b","id":"","arguments":{ }}]}"#,
        r#"{"usage":{"tokens_in": 1.50}}"#,
        r#"{"usage":{"input":1,"cached":3}}"#,
        r#"{"text":"four"}"#,
    ];
    let server = start(&lines.join("\n")).await;
    let mut seen = Vec::new();
    for _ in lines {
        seen.push(collected(&ask(&server, ASK_STREAM).await.named_events()).0);
    }
    assert_eq!((&seen[0]["content"], seen[0].get("usage")), (&json!([]), None));
    let blocks = json!([
        {"type": "thinking", "thinking": "", "signature": "scripted/signature+2=="},
        {"type": "text", "text": ""},
        {"type": "tool_use", "name": "a", "input": {}},
        {"type": "tool_use", "id": "", "name": "b", "input": {}},
    ]);
    assert_eq!(seen[1]["content"], blocks);
    assert_eq!(seen[2]["usage"].to_string(), r#"{"tokens_in":1.5}"#);
    let numbers = |usage: &Value| {
        ["input_tokens", "cache_read_input_tokens", "output_tokens"].map(|key| usage[key].as_u64().unwrap())
    };
    assert_eq!(numbers(&seen[3]["usage"]), [0, 3, 0]);
    assert_eq!(numbers(&seen[4]["usage"]), [ASK_STREAM.len().div_ceil(4) as u64, 0, 1]);
}

/// In a stream they come as they are, and nothing else can be done where an object stands.
#[tokio::test]
async fn arguments_that_are_no_json_are_a_text_in_a_whole_reply() {
    let line = r#"{"calls":[{"name":"a","arguments":"{\"b"},{"name":"c","arguments":"[1]"},{"name":"d","arguments":""}]}"#;
    let server = start(&[line, line].join("\n")).await;
    let whole: Value = serde_json::from_slice(&ask(&server, ASK).await.body).unwrap();
    let inputs: Vec<&Value> =
        whole["content"].as_array().unwrap().iter().map(|block| &block["input"]).collect();
    assert_eq!(inputs, [&json!("{\"b"), &json!([1]), &json!("")]);
    let events = ask(&server, ASK_STREAM).await.named_events();
    let mut pieces = vec![String::new(); 3];
    for event in &events {
        if let Some(piece) = event["delta"]["partial_json"].as_str() {
            pieces[usize::try_from(event["index"].as_u64().unwrap()).unwrap()].push_str(piece);
        }
    }
    assert_eq!(pieces, ["{\"b", "[1]", ""]);
}

#[tokio::test]
async fn results_are_blocks_of_their_type() {
    let line = |results: usize| format!("{{\"text\":\"r{results}\",\"when\":{{\"results\":{results}}}}}\n");
    let server = start(&[line(0), line(1), line(3)].concat()).await;
    let result = r#"{"type":"tool_result","tool_use_id":"a","content":"r"}"#;
    let text = r#"{"type":"text","text":"tool_result"}"#;
    let one = format!(r#"{{"role":"user","content":[{result},{text}]}}"#);
    let two = format!(r#"{{"role":"user","content":[{result},{result}]}}"#);
    let bodies =
        [(0, r#"{"role":"user","content":"x"}"#.to_owned()), (1, one.clone()), (3, [one, two].join(","))];
    for (results, messages) in bodies {
        let reply = ask(&server, &format!("{{\"messages\":[{messages}]}}")).await;
        assert!(reply.text().contains(&format!("\"r{results}\"")), "{}", reply.text());
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_as_this_wire_does() {
    let statuses = [401, 402, 403, 404, 413, 418, 429, 500, 503, 504, 529];
    let script: String =
        statuses.iter().map(|status| format!("{{\"fault\":{{\"status\":{status}}}}}\n")).collect();
    let server = start(&script).await;
    let mut seen = Vec::new();
    let kind = |answer: &Answer| {
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&body["type"], body["error"].as_object().unwrap().len()), (&"error".into(), 2));
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
        (answer.status, body["error"]["type"].as_str().unwrap().to_owned())
    };
    for _ in statuses {
        seen.push(kind(&ask(&server, ASK).await));
    }
    let wanted = [
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (418, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ];
    assert_eq!(seen, wanted.map(|(status, kind)| (status, kind.to_owned())));
    let wrong = ask(&server, "{\"messages\":[{\"content\":1}]}").await;
    let what = "the body is no request of Messages: invalid type: integer `1`, expected a text or a list at line 1 column 25";
    let wanted =
        format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{}"}}}}"#, what);
    assert_eq!((wrong.status, wrong.text()), (400, wanted.as_str()));
    assert_eq!(kind(&ask(&server, ASK).await), (500, "api_error".into()), "the script is used up");
    let get = send(&server, "GET /v1/messages", "accept: */*", "").await;
    assert_eq!(kind(&get), (405, "invalid_request_error".into()));
}
