//! Conversations that broke other agents (cases B), on every wire: the input of each case as it stands, put into our
//! own terms, and the requests that come of it.

use std::sync::Arc;

use petasos_core::entry::{Block, Body, Content, Entry, FinishReason, Reply, Said, Speaker, When};
use petasos_core::request::Wire;
use petasos_core::session::Session;
use petasos_core::transcript::Item;
use petasos_core::turn::made_calls;
use petasos_testkit::check_request::check_request;
use petasos_testkit::script::{Script, calls, text};
use petasos_testkit::words::terms;
use serde_json::Value;

use crate::say::{body_on, call, head, said, said_by, step, step_of};

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];
const TOOLS: &str = r#"[{"name":"shell","description":"Runs","parameters":{"type":"object"}}]"#;

const B01: &str = r#"[{"role":"user","content":"Fix the build"},
 {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"make\"}"}}]},
 {"role":"tool","tool_call_id":"c1","content":"ok"},
 {"role":"assistant","content":"Built."}]"#;
const B04: &str = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"\n\n"}]},{"role":"user","content":"go on"}]"#;
const B05: &str = r#"[{"role":"user","content":"make dir"},
 {"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"mkdir -p x\"}"}}]},
 {"role":"tool","tool_call_id":"c1","content":""},
 {"role":"assistant","content":"","reasoning_content":"thinking only"}]"#;
const B06: &str = r#"[{"role":"user","content":"clean up check.sh"},{"role":"assistant","content":"Now I will clean this up..."}]"#;
const B09: &str = r#"[{"role":"user","content":"time?"},
 {"role":"assistant","content":null,"reasoning_content":"need tool","tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"}}]},
 {"role":"tool","tool_call_id":"c1","content":"10:30"},
 {"role":"assistant","content":"10:30"},
 {"role":"user","content":"and tomorrow?"}]"#;
const B10: &str = r#"[{"role":"system","content":"S"},{"role":"user","content":"<reminder>be brief</reminder>"},{"role":"user","content":"hello"}]"#;
const B11: &str = r#"{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":\"sleep 2; echo r\"}"}}]}
{"role":"user","content":"also check the docs"}
{"role":"tool","tool_call_id":"c1","content":"r"}"#;

/// Messages as items: an answer takes in the results of its calls, wherever they stand.
fn items(messages: &[Value]) -> Vec<Item> {
    let text_of = |value: &Value| match value {
        Value::Array(parts) => parts[0]["text"].as_str().unwrap().to_owned(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    let mut items = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match message["role"].as_str().unwrap() {
            "user" => items.push(said(&text_of(&message["content"]))),
            "assistant" => {
                let mut blocks = Vec::new();
                let reasoning = message["reasoning_content"].as_str();
                blocks.extend(reasoning.map(|reasoning| Block::Reasoning(reasoning.into())));
                if message.get("content").is_some() {
                    blocks.push(Block::Text(text_of(&message["content"]).into()));
                }
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                let mut results = Vec::new();
                for made in &calls {
                    let function = &made["function"];
                    let name = function["name"].as_str().unwrap();
                    blocks.push(call(made["id"].as_str(), name, function["arguments"].as_str().unwrap()));
                    let result = messages.iter().find(|other| other["tool_call_id"] == made["id"]);
                    results.push(result.map(|result| text_of(&result["content"])).unwrap_or_default());
                }
                let results: Vec<&str> = results.iter().map(String::as_str).collect();
                items.push(step(10 * (place as u64 + 1), blocks, &results));
            }
            _ => {}
        }
    }
    items
}

fn history(json: &str) -> Vec<Item> {
    items(&serde_json::from_str::<Vec<Value>>(json).unwrap())
}

/// The body on a wire, which must be one that every server takes.
fn sent(wire: Wire, items: &[Item]) -> String {
    let body = body_on(wire, &head("S", TOOLS), items);
    assert_eq!(check_request(wire, &body.bytes), Vec::<String>::new(), "{wire:?}");
    String::from_utf8(body.bytes.to_vec()).unwrap()
}

/// Texts stand in a body in this order, each once.
fn assert_in_order(body: &str, texts: &[&str]) {
    let places: Vec<Option<usize>> = texts.iter().map(|text| body.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{texts:?} at {places:?} in {body}");
    for text in texts {
        assert_eq!(body.matches(text).count(), 1, "{text} in {body}");
    }
}

/// Wherever a conversation is cut, a call and its result are on the same side: they are one item.
#[test]
fn case_b01_no_cut_parts_a_call_from_its_result() {
    let all = history(B01);
    assert_eq!(all.len(), 3, "a call and its result are one");
    for wire in WIRES {
        for from in 0..all.len() {
            let body = sent(wire, &all[from..]);
            assert_eq!(
                body.contains("\\\"make\\\"") || body.contains("\"make\""),
                body.contains("\"ok\""),
                "{body}"
            );
        }
    }
}

/// The session of the case in our own terms: a call and its result for each of its pairs, and the line of one call
/// gone, so that its result (`m5`, of `c7`) stands alone.
#[test]
fn case_b02_a_result_without_its_call_is_not_sent() {
    let saying = |id| calls(["shell"]).wire_ids([Some(id)]);
    let ran = Script::new(terms(9))
        .replies([saying("c1"), saying("c2"), saying("c7"), saying("c3"), text("done")])
        .say("go")
        .run();
    let is_lost = |entry: &&Entry| match &entry.body {
        Body::Reply(reply) => made_calls(reply).any(|call| call.wire_id.as_deref() == Some("c7")),
        _ => false,
    };
    let lost = ran.entries.iter().find(is_lost).unwrap().seq;
    let orphan = |entry: &Entry| matches!(&entry.body, Body::ToolResult(result) if result.call.reply == lost);
    assert!(ran.entries.iter().any(orphan), "its result is there");
    let kept = ran.entries.iter().filter(|entry| entry.seq != lost);
    let session = Session::fold(kept, terms(9));
    let items: Vec<Item> = session.transcript().items().into_iter().map(|(_, item)| item.clone()).collect();
    for wire in WIRES {
        let body = sent(wire, &items);
        assert!(!body.contains("c7"), "{body}");
        for id in ["c1", "c2", "c3"] {
            assert_eq!(body.matches(&format!("\"{id}\"")).count(), 2, "{id} and its result: {body}");
        }
    }
}

#[test]
fn case_b04_blank_text_of_an_interrupt_is_not_sent_on_any_wire() {
    let mut items = history(B04);
    let Item::Step(cut) = &items[1] else { panic!("a step") };
    let reply = Reply { finish: FinishReason::Cut, ..Reply::clone(&cut.reply) };
    items[1] = step_of(20, reply, &[]);
    for wire in WIRES {
        let body = sent(wire, &items);
        assert!(!body.contains(r"\n\n"), "{body}");
        assert_in_order(&body, &["\"hi", "go on"]);
    }
    // What says something is kept, and marked.
    let Item::Step(cut) = &items[1] else { panic!("a step") };
    let reply = Reply { blocks: vec![Block::Text("Half a".into())], ..Reply::clone(&cut.reply) };
    items[1] = step_of(20, reply, &[]);
    for wire in WIRES {
        assert_in_order(&sent(wire, &items), &["\"hi", r"Half a\n\n[stopped here]", "go on"]);
    }
}

#[test]
fn case_b05_what_says_nothing_is_sent_as_each_wire_takes_it() {
    let items = history(B05);
    for wire in WIRES {
        let body = sent(wire, &items);
        assert!(!body.contains("thinking only") && !body.contains("\"\""), "{body}");
        assert_in_order(&body, &["mkdir -p x", "gave no output", "(no answer)"]);
    }
    assert!(sent(Wire::Chat, &items).contains(r#""content":null,"tool_calls""#));
}

#[test]
fn case_b06_the_last_word_is_the_users_on_every_wire() {
    for wire in WIRES {
        assert_in_order(&sent(wire, &history(B06)), &["clean this up...", "Continue."]);
    }
}

/// Reasoning of nobody knows whom goes to no server that did not ask for it.
#[test]
fn case_b09_reasoning_of_another_is_sent_on_no_wire() {
    for wire in WIRES {
        let body = sent(wire, &history(B09));
        assert!(!body.contains("reasoning_content") && !body.contains("need tool"), "{body}");
    }
}

#[test]
fn case_b10_roles_alternate_and_the_system_text_stands_once() {
    for wire in WIRES {
        let body = sent(wire, &history(B10));
        assert_in_order(&body, &["be brief", "hello"]);
        assert_eq!(body.matches(r#""role":"user""#).count(), 1, "{body}");
        assert!(body.matches(r#""role":"system""#).count() <= 1, "{body}");
    }
}

/// The log has what was said before the result; a wire has it behind.
#[test]
fn case_b11_what_is_said_while_a_tool_runs_stands_behind_its_result_on_every_wire() {
    let lines: Vec<Value> = B11.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut items = items(&lines);
    items[1] = said_by(Speaker::Person, When::NextStep, "also check the docs");
    for wire in WIRES {
        let body = sent(wire, &items);
        assert_in_order(&body, &["sleep 2; echo r", "\"r\"", "also check the docs"]);
    }
}

/// No image goes to a model: it is named, and so no image is ever too large.
#[test]
fn case_b13_an_image_over_the_limit_leaves_the_session_usable() {
    let content = vec![Content::Blob {
        hash: petasos_core::id::Digest([7; 32]),
        bytes: 4_300_000,
        media: "image/png".into(),
    }];
    let image = Said { from: Speaker::Person, content, notes: Vec::new(), when: When::Now, withdraws: None };
    let items = [
        said("look at pic.png"),
        Item::Said(Arc::new(image)),
        step(30, vec![Block::Text("I see.".into())], &[]),
    ];
    for wire in WIRES {
        let body = sent(wire, &items);
        assert_in_order(&body, &["image/png", "4300000 bytes", "blob:07070707"]);
        assert!(body.len() < 2_000, "{}", body.len());
    }
}
