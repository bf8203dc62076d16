//! What a script says, as Responses bring it.

use petasos_modelserver::Server;
use serde_json::{Value, json};

use crate::client::{Answer, post, start};

const LINE: &str = r#"{"text":"世界 and more","reasoning":"想一想","calls":[{"name":"a","arguments":{"b": 1.50,"a":[ ]}},{"name":"c","arguments":"","id":"I"}],"usage":{"input":9,"output":5,"cached":4,"reasoning":1}}"#;

async fn ask(server: &Server, body: &str) -> Answer {
    post(server, "/v1/responses", body).await
}

fn sealed(stream: &str) -> String {
    format!(r#"{{"model":"m","stream":{stream},"include":["x","reasoning.encrypted_content"],"input":"x"}}"#)
}

/// The whole response of [`LINE`].
fn wanted() -> Value {
    let text = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": "世界 and more"});
    json!({
        "id": "resp_scripted_1", "object": "response", "created_at": 1_700_000_000, "status": "completed",
        "error": null, "incomplete_details": null, "instructions": null, "max_output_tokens": null,
        "metadata": {}, "model": "m", "parallel_tool_calls": true, "previous_response_id": null,
        "temperature": null, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
        "top_p": null, "truncation": "disabled",
        "output": [
            {"id": "rs_scripted_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "想一想"}],
                "encrypted_content": "scripted-reasoning_1=="},
            {"id": "msg_scripted_1", "type": "message", "status": "completed", "role": "assistant",
                "content": [text]},
            {"id": "fc_scripted_1_1", "type": "function_call", "status": "completed", "call_id": "scripted_1_1",
                "name": "a", "arguments": "{\"b\": 1.50,\"a\":[ ]}"},
            {"id": "fc_scripted_1_2", "type": "function_call", "status": "completed", "call_id": "I",
                "name": "c", "arguments": ""},
        ],
        "usage": {
            "input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 14,
        },
    })
}

#[tokio::test]
async fn a_whole_reply_has_its_items_and_usage() {
    let answer = ask(&start(LINE).await, &sealed("false")).await;
    assert_eq!(serde_json::from_slice::<Value>(&answer.body).unwrap(), wanted());
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

/// All that the events bring, put together by their indices, and checked against what their ends say.
fn collected(events: &[Value]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    let mut open: Option<usize> = None;
    for event in events {
        let at = event["output_index"].as_u64().map(|at| usize::try_from(at).unwrap());
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        if let (Some(at), Some(id)) = (at, event.get("item_id")) {
            assert_eq!((Some(at), &items[at]["id"]), (open, id));
        }
        let add = |place: &mut Value, piece: &str| {
            assert!(!piece.is_empty());
            *place = (place.as_str().unwrap().to_owned() + piece).into();
        };
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => {
                assert_eq!((at, open), (Some(items.len()), None));
                open = at;
                items.push(event["item"].clone());
            }
            "response.output_item.done" => {
                assert_eq!(at, open.take());
                let (item, done) = (&mut items[at.unwrap()], event["item"].clone());
                for key in ["status", "encrypted_content"] {
                    assert_eq!(item.get(key).is_some(), done.get(key).is_some());
                    if let Some(last) = done.get(key) {
                        assert_ne!(&item[key], last);
                        item[key] = last.clone();
                    }
                }
                assert_eq!(*item, done);
            }
            "response.content_part.added" => {
                assert_eq!(event["content_index"], 0);
                items[at.unwrap()]["content"].as_array_mut().unwrap().push(event["part"].clone());
            }
            "response.output_text.delta" => {
                add(&mut items[at.unwrap()]["content"][0]["text"], &text("delta"));
            }
            "response.output_text.done" => {
                assert_eq!(items[at.unwrap()]["content"][0]["text"], event["text"]);
            }
            "response.content_part.done" => assert_eq!(items[at.unwrap()]["content"][0], event["part"]),
            "response.reasoning_summary_part.added" => {
                assert_eq!(event["summary_index"], 0);
                items[at.unwrap()]["summary"].as_array_mut().unwrap().push(event["part"].clone());
            }
            "response.reasoning_summary_text.delta" => {
                add(&mut items[at.unwrap()]["summary"][0]["text"], &text("delta"));
            }
            "response.reasoning_summary_text.done" => {
                assert_eq!(items[at.unwrap()]["summary"][0]["text"], event["text"]);
            }
            "response.reasoning_summary_part.done" => {
                assert_eq!(items[at.unwrap()]["summary"][0], event["part"]);
            }
            "response.function_call_arguments.delta" => {
                add(&mut items[at.unwrap()]["arguments"], &text("delta"));
            }
            "response.function_call_arguments.done" => {
                let item = &items[at.unwrap()];
                assert_eq!((&item["name"], &item["arguments"]), (&event["name"], &event["arguments"]));
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(open, None);
    items
}

#[tokio::test]
async fn the_events_of_a_streamed_reply_come_to_the_whole_one() {
    let answer = ask(&start(LINE).await, &sealed("true")).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.named_events();
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let [created, in_progress, items @ .., completed] = events.as_slice() else { panic!("{events:?}") };
    let mut begun = wanted();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    for (event, name) in [(created, "response.created"), (in_progress, "response.in_progress")] {
        assert_eq!((&event["type"], &event["response"]), (&name.into(), &begun));
    }
    assert_eq!((&completed["type"], &completed["response"]), (&"response.completed".into(), &wanted()));
    assert_eq!(Value::from(collected(items)), wanted()["output"]);
    let several = |name: &str| events.iter().filter(|event| event["type"] == name).count();
    let deltas = ["output_text", "reasoning_summary_text", "function_call_arguments"];
    assert_eq!(deltas.map(|of| several(&format!("response.{of}.delta"))), [4, 3, 2]);
}

/// A client that keeps nothing on the server gets what it has to send back; another does not.
#[tokio::test]
async fn reasoning_is_sealed_only_if_the_request_includes_that() {
    let server = start(r#"{"reasoning":"hm","when":{"results":0}}"#).await;
    for (include, is_sealed) in [
        ("", false),
        (r#","include":[]"#, false),
        (r#","include":null"#, false),
        (r#","include":["reasoning.encrypted_content"]"#, true),
    ] {
        let reply = ask(&server, &format!(r#"{{"model":"m","input":[]{include}}}"#)).await;
        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(reply["output"][0].get("encrypted_content").is_some(), is_sealed, "{include}");
    }
}

#[tokio::test]
async fn what_a_script_leaves_out_or_empty_is_so() {
    let lines = [
        r#"{"usage":null}"#,
        r#"{"text":"","reasoning":"","calls":[{"name":"a","id":null},{"name":"b","id":""}]}"#,
        r#"{"usage":{"tokens_in": 1.50}}"#,
        r#"{"usage":{"input":1}}"#,
    ];
    let server = start(&lines.join("\n")).await;
    let mut seen = Vec::new();
    for _ in lines {
        let answer = ask(&server, r#"{"model":"m","stream":true,"input":"x"}"#).await;
        let mut events = answer.named_events();
        let last = events.pop().unwrap();
        assert_eq!(Value::from(collected(&events[2..])), last["response"]["output"]);
        seen.push(last["response"].clone());
    }
    assert_eq!((&seen[0]["output"], &seen[0]["usage"]), (&json!([]), &Value::Null));
    let output = &seen[1]["output"];
    assert_eq!((&output[0]["summary"], &output[1]["content"][0]["text"]), (&json!([]), &"".into()));
    assert_eq!((output[2].get("call_id"), output[3].get("call_id")), (None, Some(&"".into())));
    assert_eq!(output[2]["arguments"], "{}");
    assert_eq!(seen[2]["usage"].to_string(), r#"{"tokens_in":1.5}"#);
    let told = json!({
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1,
    });
    assert_eq!(seen[3]["usage"], told);
}

#[tokio::test]
async fn an_incomplete_reply_has_an_incomplete_last_item() {
    let lines = r#"{"text":"x","calls":[{"name":"a","arguments":"{\"b"}],"finish":"length"}"#;
    let reply = ask(&start(lines).await, r#"{"model":"m","input":"x"}"#).await;
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    let statuses: Vec<&Value> =
        reply["output"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
    assert_eq!(statuses, ["completed", "incomplete"]);
}

#[tokio::test]
async fn results_are_items_of_their_type() {
    let line = |results: usize| format!("{{\"text\":\"r{results}\",\"when\":{{\"results\":{results}}}}}\n");
    let server = start(&[line(0), line(1), line(2)].concat()).await;
    let result = r#"{"type":"function_call_output","call_id":"a","output":"r"}"#;
    let other = r#"{"role":"user","content":"function_call_output"}"#;
    let bodies = ["\"x\"".to_owned(), format!("[{other},{result},{other}]"), format!("[{result},{result}]")];
    for (results, input) in bodies.iter().enumerate() {
        let reply = ask(&server, &format!("{{\"model\":\"m\",\"input\":{input}}}")).await;
        assert!(reply.text().contains(&format!("\"r{results}\"")), "{}", reply.text());
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_as_this_wire_does() {
    let server = start(r#"{"fault":{"status":503}}"#).await;
    let mut seen = Vec::new();
    for body in ["{\"input\":5}", "{}", "{\"input\":[]}", "{\"input\":[]}"] {
        let answer = ask(&server, body).await;
        seen.push((answer.status, answer.text().to_owned()));
    }
    let told = |message: &str, code: u16| {
        let error = format!(r#""message":"{message}","type":"scripted_model_server","code":{code}"#);
        (code, format!("{{\"error\":{{{error}}}}}"))
    };
    let wrong = "the body is no request of Responses:";
    let left =
        "the script has no reply left: its 1 lines hold none for this request, which has 0 tool results";
    let wanted = [
        told(
            &format!("{wrong} invalid type: integer `5`, expected a text or a list at line 1 column 10"),
            400,
        ),
        told(&format!("{wrong} missing field `input` at line 1 column 2"), 400),
        told("Service Unavailable (as the script says)", 503),
        told(left, 500),
    ];
    assert_eq!(seen, wanted);
}
