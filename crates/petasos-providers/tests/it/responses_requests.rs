//! The bytes of requests on the Responses wire: what is in them, in which order, and what never is.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use petasos_core::entry::{
    Block, CallForm, FinishReason, ModelCall, Note, NoteSource, Opaque, Reply, Timing,
};
use petasos_core::request::{Params, Target, ToolChoice, Wire};
use petasos_core::text::Json;
use petasos_core::time::Span;
use petasos_core::transcript::Item;
use petasos_providers::{Body, Encoder, Rule, Tail, encoder, encoder_without, origin};
use serde_json::{Value, json};

use crate::say::{body_on, call, head, said, step, step_of, target_on};

const TOOLS: &str =
    r#"[{"name":"ls","description":"Lists.","parameters":{"type":"object","properties":{}}}]"#;
const SEALED: &str = r#"{"type":"reasoning","id":"rs_1", "summary":[],"encrypted_content":"ZW5j"}"#;

fn own() -> Target {
    target_on(Wire::Responses)
}

fn sealed(raw: &str) -> Block {
    Block::Opaque(Opaque { origin: origin(&own()), raw: Json::try_from(raw).unwrap() })
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

fn note(text: &str) -> Item {
    Item::Note(Arc::new(Note { source: NoteSource::Nudge, text: text.into() }))
}

fn plain_reply() -> Reply {
    match step(40, Vec::new(), &[]) {
        Item::Step(step) => (*step.reply).clone(),
        other => panic!("{other:?}"),
    }
}

fn written(mut encoder: Box<dyn Encoder>, items: &[Item]) -> String {
    items.iter().for_each(|item| encoder.push(item));
    let body = encoder.body(&Params { tool_choice: ToolChoice::Auto }, &Tail::default());
    String::from_utf8(body.bytes.to_vec()).unwrap()
}

/// What is sent as input, an item a line.
fn lines(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let mut lines = String::new();
    for item in body["input"].as_array().unwrap() {
        let content = match &item["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                parts.iter().map(|part| part["text"].as_str().unwrap()).collect::<Vec<_>>().join(" | ")
            }
            _ => item["arguments"].as_str().or(item["output"].as_str()).unwrap_or("-").to_owned(),
        };
        let what = item["role"].as_str().or(item["type"].as_str()).unwrap();
        let content = if content.is_empty() { "(nothing)".to_owned() } else { content.replace('\n', "/") };
        lines.push_str(&format!("{what}: {content}\n"));
    }
    lines
}

fn check(items: &[Item], expected: &Expect) {
    expected.assert_eq(&lines(&written(encoder(&own(), &head("", "[]")), items)));
}

fn check_without(rule: Rule, items: &[Item], expected: &Expect) {
    expected.assert_eq(&lines(&written(encoder_without(rule, &own(), &head("", "[]")), items)));
}

#[test]
fn p01_a_body_is_its_parts_in_order_and_then_the_tail() {
    let blocks = vec![
        Block::Reasoning("Not sent.".into()),
        sealed(SEALED),
        text("I look."),
        call(Some("c1"), "ls", r#"{"path": 1.50}"#),
        call(None, "ls", ""),
    ];
    let items = [
        said("List it."),
        note("Be quick."),
        step(4, blocks, &["a\nb", "c"]),
        note("Go on."),
        step(9, vec![text("Two files.")], &[]),
        said("Thanks."),
    ];
    let mut encoder = encoder(&own(), &head("Be brief.", TOOLS));
    items.iter().for_each(|item| encoder.push(item));
    let params = Params { tool_choice: ToolChoice::Forbidden };
    let body = encoder.body(&params, &Tail { max_output: Some(100), ..Tail::default() });
    expect![[r#"
        {"model":"small","stream":true,"store":false,"tools":[{"type":"function","name":"ls","description":"Lists.","parameters":{"type":"object","properties":{}},"strict":false}],"instructions":"Be brief.","input":[{"type":"message","role":"user","content":"List it.\n\n[from the program, not the user] Be quick."},
        {"type":"reasoning","id":"rs_1", "summary":[],"encrypted_content":"ZW5j"},
        {"type":"message","id":"msg_4_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
        {"type":"function_call","call_id":"c1","name":"ls","arguments":"{\"path\": 1.50}"},
        {"type":"function_call","call_id":"call_4_1","name":"ls","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":"a\nb"},
        {"type":"function_call_output","call_id":"call_4_1","output":"c"},
        {"type":"message","role":"user","content":"[from the program, not the user] Go on."},
        {"type":"message","id":"msg_9_0","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Two files.","annotations":[]}]},
        {"type":"message","role":"user","content":"Thanks."}],"tool_choice":"none","max_output_tokens":100}"#]].assert_eq(&String::from_utf8(body.bytes.to_vec()).unwrap().replace("},{", "},\n{"));
    assert_eq!(body.parts.len(), 3 + items.len());
}

#[test]
fn p01_without_tools_and_system_text_nothing_names_them() {
    let mut encoder = encoder(&own(), &head(" ", "[]"));
    encoder.push(&said("hi"));
    let body = encoder.body(&Params { tool_choice: ToolChoice::Forbidden }, &Tail::default());
    expect![[r#"{"model":"small","stream":true,"store":false,"input":[{"type":"message","role":"user","content":"hi"}]}"#]].assert_eq(std::str::from_utf8(&body.bytes).unwrap());
}

#[test]
fn p01_sealed_reasoning_is_asked_for_where_it_is_known() {
    let asked = |provider: &str, model: &str| {
        let target = Target { provider: provider.into(), model: model.into(), ..own() };
        let body: Value = serde_json::from_str(&written(encoder(&target, &head("", "[]")), &[])).unwrap();
        body["include"].clone()
    };
    let include = json!(["reasoning.encrypted_content"]);
    for (provider, model) in
        [("openai", "gpt-5-mini"), ("openai", "o3"), ("https://api.openai.com/v1", "o4-mini")]
    {
        assert_eq!(asked(provider, model), include, "{provider} {model}");
    }
    for (provider, model) in [
        ("openai", "gpt-4o"),
        ("openai", "openai/gpt-5"),
        ("example", "gpt-5"),
        ("http://127.0.0.1:8080/v1", "o3"),
    ] {
        assert_eq!(asked(provider, model), Value::Null, "{provider} {model}");
    }
}

#[test]
fn l03_only_keys_of_the_list_are_sent() {
    let reply = Reply {
        blocks: vec![
            Block::Reasoning("kept-reasoning".into()),
            Block::Opaque(Opaque {
                origin: "kept-origin".into(),
                raw: Json::try_from(r#"{"type":"reasoning","encrypted_content":"kept-opaque"}"#).unwrap(),
            }),
            text("Sent."),
            Block::Call(ModelCall {
                wire_id: Some("c1".into()),
                name: "ls".into(),
                arguments: "{}".into(),
                form: CallForm::Text,
                complete: true,
            }),
        ],
        raw: Some("kept-raw".into()),
        finish: FinishReason::Other("kept-finish".into()),
        timing: Timing { first: Span(777_001), whole: Span(777_002) },
        model: Some("kept-model".into()),
        micro_usd: Some(777_003),
        ..plain_reply()
    };
    let body =
        written(encoder(&own(), &head("Be brief.", TOOLS)), &[said("go"), step_of(40, reply, &["result"])]);
    for kept in ["kept-", "777", "default", "elapsed", "timestamp", "complete\"", "reasoning"] {
        assert!(!body.contains(kept), "{kept} is in {body}");
    }
    let mut keys = BTreeSet::new();
    let mut todo = vec![serde_json::from_str::<Value>(&body).unwrap()];
    while let Some(value) = todo.pop() {
        match value {
            Value::Array(values) => todo.extend(values),
            Value::Object(members) => {
                let is_tool = members.contains_key("parameters");
                for (key, value) in members {
                    // What is in a schema is its tool's own.
                    if !(is_tool && key == "parameters") {
                        todo.push(value);
                    }
                    keys.insert(key);
                }
            }
            _ => {}
        }
    }
    let list = [
        "annotations",
        "arguments",
        "call_id",
        "content",
        "description",
        "id",
        "input",
        "instructions",
        "model",
        "name",
        "output",
        "parameters",
        "role",
        "status",
        "store",
        "stream",
        "strict",
        "text",
        "tools",
        "type",
    ];
    assert_eq!(keys.iter().map(String::as_str).collect::<Vec<_>>(), list);
}

#[test]
fn p10_the_bytes_before_only_grow() {
    let mut encoder = encoder(&own(), &head("Be brief.", TOOLS));
    let mut before: Option<Body> = None;
    let blocks = || vec![sealed(SEALED), text("Hm."), call(Some("same"), "ls", "{}")];
    let items = [
        said("a"),
        said("b"),
        step(10, blocks(), &["r"]),
        note("c"),
        said("d"),
        step(20, vec![text("A.")], &[]),
        step(30, vec![text("B.")], &[]),
        step(40, blocks(), &["r"]),
        step(50, blocks(), &["r"]),
    ];
    for item in &items {
        encoder.push(item);
        let body = encoder.body(&Params { tool_choice: ToolChoice::Auto }, &Tail::default());
        if let Some(before) = before {
            assert_eq!(body.parts[..before.parts.len()], before.parts);
            // The bytes of all parts: all but what the tail closes.
            let text = String::from_utf8(before.bytes.to_vec()).unwrap();
            let go_on = r#",{"type":"message","role":"user","content":"Continue."}]}"#;
            let parts = text.strip_suffix(go_on).or(text.strip_suffix("\"}]}")).or(text.strip_suffix("]}"));
            assert!(body.bytes.starts_with(parts.unwrap().as_bytes()), "{text}");
        }
        before = Some(body);
    }
}

#[test]
fn p10_the_same_items_give_the_same_bytes_in_another_encoder() {
    let items = [said("go"), step(5, vec![call(None, "ls", "{}"), call(None, "ls", "{}")], &["a", "b"])];
    let head = head("Be brief.", TOOLS);
    assert_eq!(body_on(Wire::Responses, &head, &items), body_on(Wire::Responses, &head, &items));
}

#[test]
fn case_b08_a_reply_goes_back_in_its_order_with_its_reasoning_as_it_came() {
    let blocks = vec![
        sealed(SEALED),
        text("Checking."),
        call(Some("call_1"), "get_date", "{}"),
        call(Some("call_2"), "get_zone", "{}"),
    ];
    let items = [said("when?"), step(5, blocks, &["today", "UTC"])];
    let body = written(encoder(&own(), &head("", "[]")), &items);
    assert!(body.contains(&format!(",{SEALED},")), "byte for byte: {body}");
    check(
        &items,
        &expect![[r#"
        user: when?
        reasoning: -
        assistant: Checking.
        function_call: {}
        function_call: {}
        function_call_output: today
        function_call_output: UTC
    "#]],
    );
}

#[test]
fn case_b08_reasoning_and_calls_take_turns() {
    let other = SEALED.replace("rs_1", "rs_2");
    let blocks =
        vec![sealed(SEALED), call(None, "ls", "{}"), text("And"), sealed(&other), call(None, "ls", "{}")];
    check(
        &[said("go"), step(5, blocks, &["a", "b"])],
        &expect![[r#"
        user: go
        reasoning: -
        function_call: {}
        assistant: And
        reasoning: -
        function_call: {}
        function_call_output: a
        function_call_output: b
    "#]],
    );
}

#[test]
fn case_b08_reasoning_without_a_follower_is_left_out() {
    let items = [
        said("go"),
        step(5, vec![text("A."), sealed(SEALED), text(" \n")], &[]),
        said("on"),
        step(9, vec![sealed(SEALED), Block::Reasoning("hm".into())], &[]),
        said("well?"),
    ];
    check(
        &items,
        &expect![[r#"
        user: go
        assistant: A.
        user: on
        assistant: (no answer)
        user: well?
    "#]],
    );
    check_without(
        Rule::ReasoningHasAFollower,
        &items[..2],
        &expect![[r#"
        user: go
        assistant: A.
        reasoning: -
        user: Continue.
    "#]],
    );
}

#[test]
fn case_b08_reasoning_that_is_not_sealed_or_not_from_here_is_left_out() {
    let foreign = Block::Opaque(Opaque { origin: "other".into(), raw: Json::try_from(SEALED).unwrap() });
    let bare = sealed(r#"{"type":"reasoning","id":"rs_1","summary":[]}"#);
    let empty = sealed(&SEALED.replace("ZW5j", ""));
    let odd = sealed(r#"[7]"#);
    let items = |block: &Block| [said("go"), step(5, vec![block.clone(), text("A.")], &[])];
    let without = expect![[r#"
        user: go
        assistant: A.
        user: Continue.
    "#]];
    for block in [&foreign, &bare, &empty, &odd] {
        check(&items(block), &without);
    }
    let with = expect![[r#"
        user: go
        reasoning: -
        assistant: A.
        user: Continue.
    "#]];
    check_without(Rule::OpaqueGoesHome, &items(&foreign), &with);
    check_without(Rule::ReasoningIsSealed, &items(&bare), &with);
    check_without(Rule::ReasoningIsSealed, &items(&foreign), &without);
}

#[test]
fn l03_of_reasoning_only_the_documented_fields_go_back() {
    let raw = r#"{"id":"rs_7","type":"reasoning","status":"completed","content":null,"x_n":1.50,"summary":[ {"type":"summary_text","text":"\u00e9"} ],"encrypted_content":"ZW5j"}"#;
    let items = [said("go"), step(5, vec![sealed(raw), text("A.")], &[]), said("on")];
    let body = written(encoder(&own(), &head("", "[]")), &items);
    let kept = r#",{"id":"rs_7","type":"reasoning","summary":[ {"type":"summary_text","text":"\u00e9"} ],"encrypted_content":"ZW5j"},"#;
    assert!(body.contains(kept), "{body}");
}

#[test]
fn case_b08_the_same_reasoning_goes_back_once() {
    let items = [said("go"), step(5, vec![sealed(SEALED), sealed(SEALED), text("A.")], &[]), said("on")];
    let again = step(9, vec![sealed(SEALED), text("B.")], &[]);
    let items = [items.to_vec(), vec![again]].concat();
    check(
        &items,
        &expect![[r#"
            user: go
            reasoning: -
            assistant: A.
            user: on
            assistant: B.
            user: Continue.
        "#]],
    );
    let both = written(encoder_without(Rule::IdsOnce, &own(), &head("", "[]")), &items);
    assert_eq!(both.matches(SEALED).count(), 3);
}

#[test]
fn p02_texts_that_follow_each_other_are_one_message() {
    let blocks =
        vec![text("A."), Block::Reasoning("hm".into()), text("B."), call(None, "ls", "{}"), text("C.")];
    check(
        &[said("go"), step(5, blocks, &["r"])],
        &expect![[r#"
        user: go
        assistant: A. | B.
        function_call: {}
        assistant: C.
        function_call_output: r
    "#]],
    );
}

#[test]
fn p02_text_that_a_person_stopped_says_so() {
    let blocks = vec![sealed(SEALED), text("A."), call(None, "ls", r#"{"a"#), text("B, ")];
    let reply = Reply { blocks, finish: FinishReason::Cut, ..plain_reply() };
    check(
        &[said("go"), step_of(40, reply, &["It never began."]), said("on")],
        &expect![[r#"
        user: go
        reasoning: -
        assistant: A.
        function_call: {"unreadable":"{\"a"}
        assistant: B, //[stopped here]
        function_call_output: It never began.
        user: on
    "#]],
    );
}

#[test]
fn p02_the_user_speaks_first_and_last_and_between_two_answers() {
    let answer = |seq| step(seq, vec![text("A.")], &[]);
    let items = [answer(5), answer(9)];
    check(
        &items,
        &expect![[r#"
        user: [from the program, not the user] What was said before this is not shown.
        assistant: A.
        user: Continue.
        assistant: A.
        user: Continue.
    "#]],
    );
    check(
        &[],
        &expect![[r#"
        user: Continue.
    "#]],
    );
    check_without(
        Rule::UserSpeaksFirst,
        &items[..1],
        &expect![[r#"
        assistant: A.
        user: Continue.
    "#]],
    );
    check_without(Rule::UserSpeaksLast, &[], &expect![[""]]);
    check_without(
        Rule::AnswersAreApart,
        &items,
        &expect![[r#"
        user: [from the program, not the user] What was said before this is not shown.
        assistant: A.
        assistant: A.
        user: Continue.
    "#]],
    );
    let results = [said("go"), step(5, vec![call(None, "ls", "{}")], &["r"]), said("a"), note("b")];
    check(
        &results,
        &expect![[r#"
        user: go
        function_call: {}
        function_call_output: r
        user: a//[from the program, not the user] b
    "#]],
    );
    check_without(
        Rule::UsersAreJoined,
        &[said("a"), said("b")],
        &expect![[r#"
        user: a
        user: b
    "#]],
    );
}

#[test]
fn p02_results_stand_right_behind_their_calls_in_their_order() {
    let blocks = vec![
        call(Some("same"), "ls", "{}"),
        call(Some("same"), "ls", "{}"),
        call(Some(&"x".repeat(70)), "ls", "{}"),
    ];
    let items = [
        said("go"),
        step(5, blocks, &["a", " ", "c"]),
        step(9, vec![call(Some("same"), "ls", "{}")], &["d"]),
    ];
    let body: Value = serde_json::from_str(&written(encoder(&own(), &head("", TOOLS)), &items)).unwrap();
    let ids: Vec<String> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["call_id"].is_string())
        .map(|item| {
            format!("{} {}", item["call_id"].as_str().unwrap(), item["output"].as_str().unwrap_or("?"))
        })
        .collect();
    assert_eq!(
        ids,
        [
            "same ?",
            "call_5_1 ?",
            "call_5_2 ?",
            "same a",
            "call_5_1 (the tool ended and gave no output)",
            "call_5_2 c",
            "call_9_0 ?",
            "call_9_0 d",
        ]
    );
}

#[test]
fn p02_the_cap_of_the_output_is_one_that_is_taken() {
    let cap = |encoder: Box<dyn Encoder>, most: u64| {
        let body = encoder.body(
            &Params { tool_choice: ToolChoice::Auto },
            &Tail { max_output: Some(most), ..Tail::default() },
        );
        let body: Value = serde_json::from_slice(&body.bytes).unwrap();
        body["max_output_tokens"].as_u64().unwrap()
    };
    let head = head("", "[]");
    assert_eq!(cap(encoder(&own(), &head), 4000), 4000);
    assert_eq!(cap(encoder(&own(), &head), 3), 16);
    assert_eq!(cap(encoder_without(Rule::OutputCapIsTaken, &own(), &head), 3), 3);
}

#[test]
fn p02_other_rules_hold_here_too() {
    let odd = "[{\"name\":\"l s\",\"description\":\"\",\"parameters\":{}}]";
    let items = [said(" "), step(5, vec![call(None, "l s", "[1]")], &[])];
    let body = written(encoder(&own(), &head("", odd)), &items);
    for sent in [
        r#""tools":[{"type":"function","name":"l_s","description":"l s","parameters":{"type":"object"},"strict":false}]"#,
        r#""content":"(an empty message)""#,
        r#""name":"l_s","arguments":"{\"unreadable\":\"[1]\"}""#,
        r#""output":"(the outcome of this call is not known)""#,
    ] {
        assert!(body.contains(sent), "{sent} is not in {body}");
    }
    let without = |rule: Rule| written(encoder_without(rule, &own(), &head("", "[]")), &items);
    assert!(without(Rule::NothingEmptyIsSent).contains(r#""tools":[],"instructions":"","input":["#));
    let forbidden = |mut encoder: Box<dyn Encoder>| {
        encoder.push(&said("hi"));
        let body = encoder.body(&Params { tool_choice: ToolChoice::Forbidden }, &Tail::default());
        String::from_utf8(body.bytes.to_vec()).unwrap().contains("tool_choice")
    };
    assert!(!forbidden(encoder(&own(), &head("", "[]"))));
    assert!(forbidden(encoder(&own(), &head("", TOOLS))));
    assert!(forbidden(encoder_without(Rule::ToolChoiceNeedsTools, &own(), &head("", "[]"))));
    check_without(
        Rule::AnswersSaySomething,
        &[said("go"), step(5, vec![], &[])],
        &expect![[r#"
        user: go
        assistant: (nothing)
        user: Continue.
    "#]],
    );
}
