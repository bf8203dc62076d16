//! Any transcript makes a request that a strict server takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use petasos_core::entry::{Block, CallForm, FinishReason, ModelCall, Note, NoteSource, Reply, Speaker, When};
use petasos_core::text::Text;
use petasos_core::transcript::Item;
use proptest::prelude::*;
use serde_json::Value;

use crate::say::{body, head, said_by, step, step_of};

/// What a strict server refuses; none if it takes the request.
fn complaint(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array()?;
    if messages.is_empty() || request["tools"].as_array().is_some_and(Vec::is_empty) {
        return Some("an empty list".into());
    }
    if messages.last()?["role"] == "assistant" {
        return Some("the last word is the model's".into());
    }
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let complain = |what: &str| Some(format!("message {at} {what}: {message}"));
        let content = message["content"].as_str();
        if content.is_some_and(|text| text.trim().is_empty()) {
            return complain("is empty");
        }
        if message["role"] == "tool" {
            if open.is_empty() || message["tool_call_id"] != open.remove(0) {
                return complain("answers no call");
            }
        } else if !open.is_empty() {
            return complain("stands before all calls are answered");
        }
        let known: &[&str] = match message["role"].as_str() {
            Some("system") if at == 0 => &["role", "content"],
            Some("user") => &["role", "content"],
            Some("assistant") => &["role", "content", "tool_calls"],
            Some("tool") => &["role", "content", "tool_call_id"],
            _ => return complain("has no known role"),
        };
        if !message.as_object()?.keys().all(|key| known.contains(&key.as_str())) {
            return complain("has a field too many");
        }
        let calls = message["tool_calls"].as_array();
        if content.is_none() && calls.is_none_or(|calls| calls.is_empty()) {
            return complain("says nothing");
        }
        for call in calls.into_iter().flatten() {
            let fits = |value: &Value, longest| {
                value.as_str().is_some_and(|text| {
                    (1..=longest).contains(&text.len())
                        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                })
            };
            if !fits(&call["id"], 40) || !fits(&call["function"]["name"], 64) || call["type"] != "function" {
                return complain("has a call that does not fit");
            }
            let arguments = call["function"]["arguments"].as_str()?;
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                return complain("has arguments that are no object");
            }
            let id = call["id"].as_str()?.to_owned();
            if !ids.insert(id.clone()) {
                return complain("has an id twice");
            }
            open.push(id);
        }
    }
    (!open.is_empty()).then(|| format!("no results for {open:?}"))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), ".{0,12}", Just("\u{0}\u{2028}\"\\".to_owned())]
}

fn block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![
        Just(None),
        Just(Some("same".to_owned())),
        "call_[0-9]{1,2}_[0-9]".prop_map(Some),
        text().prop_map(Some),
        "[a-z]{30,50}".prop_map(Some),
    ];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"a":[1,{"b":null}]}"#.to_owned()),
        text(),
        "[{}\\[\\]\",:a0]{0,8}"
    ];
    let call = (id, text(), arguments, any::<bool>()).prop_map(|(id, name, arguments, complete)| {
        Block::Call(ModelCall {
            wire_id: id.map(Text::from),
            name: name.into(),
            arguments: arguments.into(),
            form: CallForm::Native,
            complete,
        })
    });
    prop_oneof![
        3 => call,
        1 => text().prop_map(|text| Block::Text(text.into())),
        1 => text().prop_map(|text| Block::Reasoning(text.into())),
    ]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let speaker =
        prop_oneof![Just(Speaker::Person), Just(Speaker::Job), Just(Speaker::Parent), Just(Speaker::Program)];
    let when = prop_oneof![Just(When::Now), Just(When::NextStep), Just(When::AfterTurn)];
    let finish = prop_oneof![Just(FinishReason::Stop), Just(FinishReason::Cut), Just(FinishReason::Length)];
    let item = prop_oneof![
        (speaker, when, text()).prop_map(|(from, when, text)| said_by(from, when, &text)),
        text()
            .prop_map(|text| Item::Note(Arc::new(Note { source: NoteSource::Continue, text: text.into() }))),
        (prop::collection::vec(block(), 0..5), finish, text()).prop_map(|(blocks, finish, result)| {
            let calls = blocks.iter().filter(|block| matches!(block, Block::Call(_))).count();
            let Item::Step(plain) = step(2, blocks, &[]) else { unreachable!() };
            let reply = Reply { finish, ..(*plain.reply).clone() };
            step_of(2, reply, &vec![result.as_str(); calls])
        }),
    ];
    // Each step gets a place of its own in the log.
    prop::collection::vec(item, 0..8).prop_map(|items| {
        let placed = items.into_iter().zip(1..).map(|(item, place)| match item {
            Item::Step(mut step) => {
                step.reply_seq = petasos_core::id::Seq(place);
                Item::Step(step)
            }
            other => other,
        });
        placed.collect()
    })
}

proptest! {
    #[test]
    fn p02_any_transcript_makes_a_valid_request(items in items(), system in text(), tools in any::<bool>()) {
        let tools = if tools { r#"[{"name":"ls","description":"","parameters":{}}]"# } else { "[]" };
        let body = body(&head(&system, tools), &items);
        let request: Value = serde_json::from_slice(&body.bytes).unwrap();
        prop_assert_eq!(complaint(&request), None);
        prop_assert_eq!(&request["stream"], &Value::Bool(true));
    }
}

#[test]
fn p02_the_check_sees_what_a_server_refuses() {
    let calls =
        serde_json::json!([{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]);
    let bad = [
        serde_json::json!([]),
        serde_json::json!([{"role": "user", "content": ""}]),
        serde_json::json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": null}, {"role": "user", "content": "b"}]),
        serde_json::json!([{"role": "assistant", "content": null, "tool_calls": calls}, {"role": "user", "content": "b"}]),
        serde_json::json!([{"role": "tool", "tool_call_id": "a", "content": "b"}]),
        serde_json::json!([{"role": "user", "content": "a", "trace_id": 1}]),
    ];
    for messages in bad {
        assert!(complaint(&serde_json::json!({ "messages": messages })).is_some(), "{messages}");
    }
}
