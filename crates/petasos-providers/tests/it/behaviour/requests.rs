//! The bytes of requests: what is in them, in which order, and what never is.

use std::sync::Arc;

use expect_test::expect;
use petasos_core::entry::{
    Block, CallForm, Content, FinishReason, ModelCall, Note, NoteSource, Opaque, Reply, Said, Speaker,
    Timing, When,
};
use petasos_core::id::Digest;
use petasos_core::request::{Params, ToolChoice, Wire};
use petasos_core::text::Json;
use petasos_core::time::Span;
use petasos_core::transcript::Item;
use petasos_providers::{Tail, WireNames, encoder, estimate};
use sha2::{Digest as _, Sha256};

use crate::say::{body, body_on, call, head, messages, said, said_by, step, step_of, target};

const TOOLS: &str =
    r#"[{"name":"ls","description":"Lists.","parameters":{"type":"object","properties":{}}}]"#;

fn auto() -> Params {
    Params { tool_choice: ToolChoice::Auto }
}

fn sha(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

fn note(text: &str) -> Item {
    Item::Note(Arc::new(Note { source: NoteSource::Nudge, text: text.into() }))
}

#[test]
fn p01_a_body_is_its_parts_in_order_and_then_the_tail() {
    let items = [
        said("List it."),
        step(4, vec![Block::Text("I look.".into()), call(Some("c1"), "ls", r#"{"path": 1.50}"#)], &["a\nb"]),
        note("Go on."),
        step(9, vec![Block::Text("Two files.".into())], &[]),
        said("Thanks."),
    ];
    let mut encoder = encoder(&target(), &head("Be brief.", TOOLS));
    items.iter().for_each(|item| encoder.push(item));
    let params = Params { tool_choice: ToolChoice::Forbidden };
    let body = encoder.body(&params, &Tail { max_output: Some(100), ..Tail::default() });
    expect![[r#"
        {"model":"small","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"ls","description":"Lists.","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":"List it."},
        {"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\": 1.50}"}}]},
        {"role":"tool","content":"a\nb","tool_call_id":"c1"},
        {"role":"user","content":"[from the program, not the user] Go on."},
        {"role":"assistant","content":"Two files."},
        {"role":"user","content":"Thanks."}],"tool_choice":"none","max_tokens":100}"#]].assert_eq(&String::from_utf8(body.bytes.to_vec()).unwrap().replace("},{", "},\n{"));
    assert_eq!(body.parts.len(), 3 + items.len());
    assert_eq!(body.body, sha(&body.bytes));
}

#[test]
fn p01_without_tools_and_system_text_nothing_names_them() {
    let mut encoder = encoder(&target(), &head(" ", "[]"));
    encoder.push(&said("hi"));
    let params = Params { tool_choice: ToolChoice::Forbidden };
    let body = encoder.body(&params, &Tail::default());
    expect![[r#"{"model":"small","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}"#]].assert_eq(std::str::from_utf8(&body.bytes).unwrap());
}

#[test]
fn p10_the_parts_of_a_request_start_with_those_of_the_one_before() {
    let mut encoder = encoder(&target(), &head("Be brief.", TOOLS));
    let mut before: Option<petasos_providers::Body> = None;
    for seq in 1..20 {
        encoder.push(&said("again"));
        encoder.push(&step(seq * 10, vec![call(Some("same"), "ls", "{}")], &["a"]));
        let body = encoder.body(&auto(), &Tail { max_output: Some(seq), ..Tail::default() });
        if let Some(before) = before {
            assert_eq!(body.parts[..before.parts.len()], before.parts);
            let end = before.bytes.windows(2).rposition(|pair| pair == b"}]").unwrap() + 1;
            assert_eq!(body.bytes[..end], before.bytes[..end]);
        }
        let end = body.bytes.windows(2).rposition(|pair| pair == b"}]").unwrap() + 1;
        assert_eq!(body.prefix, sha(&body.bytes[..end]), "the prefix is the bytes of all parts");
        before = Some(body);
    }
}

#[test]
fn p10_the_same_items_give_the_same_bytes_in_another_encoder() {
    let items = [said("go"), step(5, vec![call(None, "ls", "{}"), call(None, "ls", "{}")], &["a", "b"])];
    let head = head("Be brief.", TOOLS);
    assert_eq!(body(&head, &items), body(&head, &items));
}

#[test]
fn l03_what_is_kept_of_a_reply_is_not_sent() {
    let reply = Reply {
        blocks: vec![
            Block::Reasoning("kept-reasoning".into()),
            Block::Opaque(Opaque {
                origin: "kept-origin".into(),
                raw: Json::try_from(r#"{"trace_id":"kept-opaque"}"#).unwrap(),
            }),
            Block::Text("Sent.".into()),
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
    let items = [said("go"), step_of(40, reply, &["result"])];
    let bytes = body(&head("Be brief.", TOOLS), &items).bytes;
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    for kept in ["kept-", "777", "trace_id", "reasoning", "default", "elapsed", "timestamp", "complete"] {
        assert!(!text.contains(kept), "{kept} is in {text}");
    }
    assert!(text.contains(r#"{"role":"assistant","content":"Sent.","tool_calls":["#), "{text}");
}

fn plain_reply() -> Reply {
    match step(40, Vec::new(), &[]) {
        Item::Step(step) => (*step.reply).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn p02_who_speaks_and_when_is_said_in_words() {
    let items = [
        said("a"),
        said_by(Speaker::Person, When::NextStep, "b"),
        said_by(Speaker::Job, When::Now, "c"),
        said_by(Speaker::Parent, When::AfterTurn, "d"),
        said_by(Speaker::Program, When::NextStep, "e"),
        note("f"),
        Item::Said(Arc::new(Said {
            from: Speaker::Person,
            content: vec![
                Content::Text("Look:".into()),
                Content::Blob { hash: Digest([0xab; 32]), bytes: 12, media: "image/png".into() },
            ],
            notes: vec!["It is raining.".into()],
            when: When::Now,
            withdraws: None,
        })),
        said(" "),
    ];
    let messages = messages(&items);
    let lines: Vec<String> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            assert_eq!(message["role"], "user");
            message["content"].as_str().unwrap().replace('\n', "|")
        })
        .collect();
    expect!["a||[said while you were working] b||[from a scheduled job] c||[from the agent that you work for] d||[said while you were working, by another program] e||[from the program, not the user] f||Look:||[a file of type image/png, 12 bytes, kept as blob:abababab]||It is raining.||(an empty message)"]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn p02_an_answer_without_words_or_calls_is_still_a_message() {
    for blocks in [vec![], vec![Block::Text("\n\n".into())], vec![Block::Reasoning("hm".into())]] {
        let messages = messages(&[said("go"), step(5, blocks, &[]), said("on")]);
        assert_eq!(messages[1], serde_json::json!({"role": "assistant", "content": "(no answer)"}));
    }
    let messages =
        messages(&[said("go"), step(5, vec![Block::Text(" ".into()), call(None, "ls", "{}")], &[""])]);
    assert_eq!(messages[1]["content"], serde_json::Value::Null);
    assert_eq!(messages[2]["content"], "(the tool ended and gave no output)");
}

#[test]
fn p02_the_last_word_is_never_the_models_own() {
    let ends = |items: &[Item]| messages(items).as_array().unwrap().last().unwrap().clone();
    let go_on = serde_json::json!({"role": "user", "content": "Continue."});
    assert_eq!(ends(&[said("go"), step(5, vec![Block::Text("Done.".into())], &[])]), go_on);
    assert_eq!(ends(&[]), go_on);
    let first = messages(&[step(5, vec![Block::Text("Done.".into())], &[]), said("on")])[0].clone();
    assert_eq!(first["role"], "user", "and the first is never the model's: {first}");
    assert_eq!(ends(&[said("go"), step(5, vec![call(None, "ls", "{}")], &["a"])])["role"], "tool");
}

#[test]
fn p02_text_that_a_person_stopped_says_so() {
    let reply =
        Reply { blocks: vec![Block::Text("First, ".into())], finish: FinishReason::Cut, ..plain_reply() };
    let messages = messages(&[said("go"), step_of(40, reply, &[]), said("on")]);
    assert_eq!(messages[1]["content"], "First, \n\n[stopped here]");
}

#[test]
fn p02_arguments_that_are_no_object_are_shown_in_one() {
    let sent = |arguments: &str| {
        let messages = messages(&[said("go"), step(5, vec![call(None, "ls", arguments)], &["a"])]);
        messages[1]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned()
    };
    assert_eq!(sent(r#"{"b": 1.50, "a": [1]}"#), r#"{"b": 1.50, "a": [1]}"#, "byte for byte");
    assert_eq!(sent(r#"{"path":"a"#), r#"{"unreadable":"{\"path\":\"a"}"#);
    for refused in
        [r#"{"a":"\ud800"}"#.to_owned(), format!("{{\"a\":{}{}}}", "[".repeat(1_000), "]".repeat(1_000))]
    {
        let shown: serde_json::Value = serde_json::from_str(&sent(&refused)).unwrap();
        assert_eq!(shown["unreadable"], refused.chars().take(2_000).collect::<String>());
    }
    assert_eq!(sent("[1]"), r#"{"unreadable":"[1]"}"#);
    assert_eq!(sent("{}{}"), r#"{"unreadable":"{}{}"}"#);
    assert!(sent(&"文".repeat(100_000)).chars().count() < 2_100);
}

#[test]
fn p02_the_cap_of_the_output_has_the_name_that_its_provider_takes() {
    for (provider, name) in [
        ("openai", "max_completion_tokens"),
        ("https://api.openai.com/v1/", "max_completion_tokens"),
        ("groq", "max_tokens"),
        ("http://127.0.0.1:8080/v1", "max_tokens"),
    ] {
        let target = petasos_core::request::Target { provider: provider.into(), ..target() };
        let mut encoder = encoder(&target, &head("", "[]"));
        encoder.push(&said("hi"));
        let body = encoder.body(&auto(), &Tail { max_output: Some(7), ..Tail::default() });
        let text = String::from_utf8(body.bytes.to_vec()).unwrap();
        assert!(text.ends_with(&format!("],\"{name}\":7}}")), "{provider}: {text}");
        let found = petasos_testkit::check_request::check_request(target.wire, &body.bytes);
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn p02_a_made_up_name_is_sent_as_one_that_fits() {
    let sent = |name: &str| {
        let messages = messages(&[said("go"), step(5, vec![call(None, name, "{}")], &["a"])]);
        messages[1]["tool_calls"][0]["function"]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(sent("read_file"), "read_file");
    assert_eq!(sent("fs.read file"), "fs_read_file");
    assert_eq!(sent("读"), "_");
    assert_eq!(sent(""), "unnamed");
    assert_eq!(sent(&"x".repeat(70)), "x".repeat(64));
}

#[test]
fn e01_chinese_text_is_not_counted_as_english() {
    let chinese = estimate(&"测".repeat(1000));
    assert!((600..=2000).contains(&chinese), "{chinese}");
    let english = estimate(&"a".repeat(4000));
    assert!((800..=1600).contains(&english), "{english}");
}

#[test]
fn p10_a_body_counts_what_was_pushed() {
    let small = body(&head("", "[]"), &[said("hi")]).tokens;
    let large = body(&head("", "[]"), &[said(&"word ".repeat(4000))]).tokens;
    assert!(large - small > 4000 && large - small < 6000, "{small} {large}");
}

/// The tools of a request on this wire, as objects.
fn tools_on(wire: Wire, tools: &str) -> Vec<serde_json::Value> {
    let body = body_on(wire, &head("S", tools), &[said("go")]);
    assert_eq!(petasos_testkit::check_request::check_request(wire, &body.bytes), Vec::<String>::new());
    let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
    let face =
        |tool: &serde_json::Value| if wire == Wire::Chat { tool["function"].clone() } else { tool.clone() };
    body["tools"].as_array().unwrap().iter().map(face).collect()
}

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];

/// The names that tools with these names are sent under, in their order.
fn names_on(wire: Wire, names: &[&str]) -> Vec<String> {
    let tool = |name: &&str| serde_json::json!({ "name": name, "description": "d", "parameters": { "type": "object" } });
    let tools = serde_json::to_string(&names.iter().map(tool).collect::<Vec<_>>()).unwrap();
    tools_on(wire, &tools).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn p02_no_two_tools_are_sent_under_one_name_and_each_is_found_again() {
    let long = ["x".repeat(70), "x".repeat(71)];
    let names = ["fs.read", "fs_read", "fs/read", "ls", &long[0], &long[1], "文件", "目录", "only.one"];
    for wire in WIRES {
        let sent = names_on(wire, &names);
        expect![[r#"
            fs_read_dx7ws8
            fs_read
            fs_read_ld8e8j
            ls
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_pnra3n
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_92wfs1
            ___4tz2nz
            ___cqew6l
            only_one"#]]
        .assert_eq(&sent.join("\n"));
        // The choice depends on the names and not on their order.
        let mut turned = names;
        turned.reverse();
        let mut again = names_on(wire, &turned);
        again.reverse();
        assert_eq!(again, sent);
    }
    let tool = |name: &&str| serde_json::json!({ "name": name, "parameters": {} });
    let tools = serde_json::to_string(&names.iter().map(tool).collect::<Vec<_>>()).unwrap();
    let known = WireNames::of(&head("", &tools));
    for (sent, name) in names_on(Wire::Chat, &names).iter().zip(names) {
        assert_eq!(known.tool(sent).unwrap_or(sent), name);
    }
    assert_eq!(known.tool("made_up"), None);
}

/// What the model called goes back under the name that the tool has there.
#[test]
fn p02_a_call_goes_back_under_the_name_of_its_tool() {
    let tools = r#"[{"name":"a.b","description":"d","parameters":{"type":"object"}},{"name":"a_b","description":"d","parameters":{"type":"object"}}]"#;
    for wire in WIRES {
        let names: Vec<String> =
            tools_on(wire, tools).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        let items = [
            said("go"),
            step(
                3,
                vec![
                    call(Some("c1"), "a.b", "{}"),
                    call(Some("c2"), &names[0], "{}"),
                    call(Some("c3"), "a_b", "{}"),
                ],
                &["r", "r", "r"],
            ),
        ];
        let body = body_on(wire, &head("S", tools), &items);
        let body = String::from_utf8(body.bytes.to_vec()).unwrap();
        assert_eq!(body.matches(&format!("\"{}\"", names[0])).count(), 3, "{body}");
        assert_eq!(body.matches("\"a_b\"").count(), 2, "{body}");
    }
}

#[test]
fn p02_a_tool_that_cannot_be_read_costs_itself_alone() {
    let tools = r#"[{"name":"a","parameters":{"type":"object"}},{"name":7,"parameters":{}},{"name":"b"},null,"c",["d","",{}],{"name":"e","description":null,"parameters":{"type":"object"}},{"name":"a","parameters":{"type":"object","properties":{}}},{"name":"z","description":"Z","parameters":{"type":"object"}}]"#;
    for wire in WIRES {
        let names: Vec<_> = tools_on(wire, tools).iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["a", "z"], "{wire:?}");
    }
}

#[test]
fn p02_a_choice_at_the_top_of_a_schema_is_widened_on_every_wire() {
    let tools = r#"[{"name":"a","description":"d","parameters":{"type":"object","properties":{"x":{"type":"integer"}},"enum":[{"x":1}],"not":{"required":["y"]},"anyOf":[{"properties":{"y":{"enum":[1.50]}},"required":["y"]},{"properties":{"z":{}}}]}}]"#;
    for wire in WIRES {
        let schema = if wire == Wire::Messages { "input_schema" } else { "parameters" };
        let sent = tools_on(wire, tools)[0][schema].to_string();
        assert_eq!(
            sent, r#"{"properties":{"x":{"type":"integer"},"y":{"enum":[1.5]},"z":{}},"type":"object"}"#,
            "{wire:?}"
        );
    }
}
