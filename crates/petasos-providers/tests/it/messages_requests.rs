//! The bytes of Messages requests: what is in them, in which order, and what never is.

use std::sync::Arc;

use expect_test::expect;
use petasos_core::entry::{Block, FinishReason, Note, NoteSource, Opaque, Reply, Speaker, ToolResult, When};
use petasos_core::request::{Params, Target, ToolChoice, Wire};
use petasos_core::text::Json;
use petasos_core::tool::Outcome;
use petasos_core::transcript::{ClosedStep, Item};
use petasos_providers::{Body, Rule, Tail, encoder, encoder_without, origin};
use serde_json::{Value, json};

use crate::say::{body_on, call, head, said, said_by, step, step_of, target_on};

const TOOLS: &str =
    r#"[{"name":"ls","description":"Lists.","parameters":{"type":"object","properties":{}}}]"#;
/// What stands at the end of a request alone, where the last word was the model's.
const GO_ON: &str = r#",{"role":"user","content":[{"type":"text","text":"Continue."}"#;
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn target() -> Target {
    target_on(Wire::Messages)
}

fn auto() -> Params {
    Params { tool_choice: ToolChoice::Auto }
}

fn note(text: &str) -> Item {
    Item::Note(Arc::new(Note { source: NoteSource::Nudge, text: text.into() }))
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

/// A block that only its origin understands; this target is one.
fn opaque(of: &str, raw: &str) -> Block {
    let origin = if of.is_empty() { origin(&target()) } else { of.into() };
    Block::Opaque(Opaque { origin, raw: Json::try_from(raw).unwrap() })
}

fn thinking(of: &str) -> Block {
    opaque(of, r#"{"type":"thinking","thinking":"plan","signature":"c2ln"}"#)
}

fn body(items: &[Item]) -> Body {
    body_on(Wire::Messages, &head("", TOOLS), items)
}

fn string(body: &Body) -> String {
    String::from_utf8(body.bytes.to_vec()).unwrap()
}

fn value(body: &Body) -> Value {
    serde_json::from_slice(&body.bytes).unwrap()
}

/// The messages of a request, without marks.
fn messages(items: &[Item]) -> Value {
    let sent: Value = serde_json::from_str(&string(&body(items)).replace(MARK, "")).unwrap();
    sent["messages"].clone()
}

fn finished(item: Item, finish: FinishReason) -> Item {
    match item {
        Item::Step(mut step) => {
            step.reply = Arc::new(Reply { finish, ..(*step.reply).clone() });
            Item::Step(step)
        }
        other => other,
    }
}

/// The same step, its calls ended so.
fn ended(item: Item, outcome: Outcome) -> Item {
    match item {
        Item::Step(mut step) => {
            for result in &mut step.results {
                *result = Arc::new(ToolResult { outcome, ..(**result).clone() });
            }
            Item::Step(step)
        }
        other => other,
    }
}

fn rich() -> Vec<Item> {
    vec![
        said("List it."),
        step(
            4,
            vec![
                Block::Reasoning("plan".into()),
                thinking(""),
                text("I look."),
                call(Some("toolu_1"), "ls", r#"{"path": 1.50}"#),
                call(Some("toolu_2"), "ls", ""),
            ],
            &["a\nb", "c"],
        ),
        note("Go on."),
        step(9, vec![text("Two files.")], &[]),
        said("Thanks."),
        said_by(Speaker::Person, When::NextStep, "Really."),
    ]
}

#[test]
fn p01_a_body_is_its_parts_in_order_and_then_the_tail() {
    let items = rich();
    let mut encoder = encoder(&target(), &head("Be brief.", TOOLS));
    items.iter().for_each(|item| encoder.push(item));
    let params = Params { tool_choice: ToolChoice::Forbidden };
    let body = encoder.body(&params, &Tail { max_output: Some(100), ..Tail::default() });
    expect![[r#"
        {"model":"small","stream":true,"tools":[{"name":"ls","description":"Lists.","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"List it."}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"plan","signature":"c2ln"},
        {"type":"text","text":"I look."},
        {"type":"tool_use","id":"toolu_1","name":"ls","input":{"path": 1.50}},
        {"type":"tool_use","id":"toolu_2","name":"ls","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a\nb"},
        {"type":"tool_result","tool_use_id":"toolu_2","content":"c"},
        {"type":"text","text":"[from the program, not the user] Go on.","cache_control":{"type":"ephemeral"}}]},
        {"role":"assistant","content":[{"type":"text","text":"Two files."}]},
        {"role":"user","content":[{"type":"text","text":"Thanks."},
        {"type":"text","text":"[said while you were working] Really.","cache_control":{"type":"ephemeral"}}]}],"max_tokens":100,"tool_choice":{"type":"none"}}"#]]
    .assert_eq(&string(&body).replace("},{", "},\n{"));
    assert_eq!(body.parts.len(), 3 + items.len());
}

#[test]
fn p01_without_tools_and_system_text_nothing_names_them() {
    let mut encoder = encoder(&target(), &head(" ", "[]"));
    encoder.push(&said("hi"));
    let body = encoder.body(&Params { tool_choice: ToolChoice::Forbidden }, &Tail::default());
    expect![[r#"{"model":"small","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"max_tokens":8192}"#]]
        .assert_eq(&string(&body));
}

#[test]
fn p10_the_parts_of_a_request_start_with_those_of_the_one_before() {
    let mut encoder = encoder(&target(), &head("Be brief.", TOOLS));
    let mut before: Option<Body> = None;
    for seq in 1..20 {
        encoder.push(&said("again"));
        encoder.push(&step(seq * 10, vec![thinking(""), call(Some("same"), "ls", "{}")], &["a"]));
        if seq % 3 == 0 {
            encoder.push(&step(seq * 10 + 5, vec![text("Done.")], &[]));
        }
        let body = encoder.body(&auto(), &Tail { max_output: Some(seq), ..Tail::default() });
        let found = keys_and_marks(&body);
        assert_eq!(found, Vec::<String>::new());
        if let Some(before) = before {
            assert_eq!(body.parts[..before.parts.len()], before.parts);
            let [before, body] = [&before, &body].map(|body| string(body).replace(MARK, ""));
            let (before, _) = before.rsplit_once("]}],\"max_tokens\"").unwrap();
            let before = before.strip_suffix(GO_ON).unwrap_or(before);
            assert!(body.starts_with(before), "{before}\n{body}");
        }
        before = Some(body);
    }
}

/// What is wrong with a body that is not about what it says: keys and marks.
fn keys_and_marks(body: &Body) -> Vec<String> {
    let sent = value(body);
    let mut found = Vec::new();
    let mut keys = |place: &str, value: &Value, allowed: &[&str]| {
        let unknown = value.as_object().unwrap().keys().filter(|key| !allowed.contains(&key.as_str()));
        found.extend(unknown.map(|key| format!("{place}: {key}")));
    };
    let top = ["model", "stream", "tools", "system", "messages", "max_tokens", "tool_choice", "thinking"];
    keys("body", &sent, &top);
    for message in sent["messages"].as_array().unwrap() {
        keys("message", message, &["role", "content"]);
        for block in message["content"].as_array().unwrap() {
            let allowed: &[&str] = match block["type"].as_str().unwrap() {
                "text" => &["type", "text", "cache_control"],
                "tool_use" => &["type", "id", "name", "input"],
                "tool_result" => &["type", "tool_use_id", "content", "is_error", "cache_control"],
                "thinking" => &["type", "thinking", "signature"],
                "redacted_thinking" => &["type", "data"],
                other => panic!("{other}"),
            };
            keys("block", block, allowed);
        }
    }
    let marks = string(body).matches(MARK).count();
    found.extend((marks > 4).then(|| format!("{marks} marks")));
    found
}

#[test]
fn p10_cache_marks_stand_behind_tools_system_text_and_the_last_two_messages_of_users() {
    let marked = |items: &[Item], system: &str, tools: &str| {
        let sent = string(&body_on(Wire::Messages, &head(system, tools), items));
        let before = sent.split(MARK).map(|before| before.chars().rev().take(12).collect::<String>());
        let mut before: Vec<String> = before.map(|text| text.chars().rev().collect()).collect();
        before.pop();
        before
    };
    let answer = || step(5, vec![text("Done.")], &[]);
    let items = [said("one"), answer(), said("two"), answer(), said("three"), said("four")];
    assert_eq!(
        marked(&items, "Be.", TOOLS),
        [r#"operties":{}}"#, r#""text":"Be.""#, r#""text":"two""#, r#"text":"four""#].map(|text| text
            .chars()
            .rev()
            .take(12)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<String>())
    );
    assert_eq!(marked(&items[..1], "", "[]").len(), 1);
    assert_eq!(marked(&[], "", "[]"), Vec::<String>::new());
    let open = marked(&items[..4], "", "[]");
    assert_eq!(open, [r#""text":"one""#, r#""text":"two""#], "never what only this request has");
    let all = string(&{
        let mut encoder = encoder_without(Rule::FewCacheMarks, &target(), &head("Be.", TOOLS));
        items.iter().for_each(|item| encoder.push(item));
        encoder.body(&auto(), &Tail::default())
    });
    assert_eq!(all.matches(MARK).count(), 5);
}

#[test]
fn p10_marks_are_no_parts() {
    let first = body(&[said("one"), step(5, vec![text("Done.")], &[])]);
    let second = body(&[said("one"), step(5, vec![text("Done.")], &[]), said("two"), said("three")]);
    assert_eq!(second.parts[..first.parts.len()], first.parts);
    assert!(string(&first).matches(MARK).count() < string(&second).matches(MARK).count());
    let sha = |text: &str| {
        use sha2::Digest as _;
        petasos_core::id::Digest(sha2::Sha256::digest(text.as_bytes()).into())
    };
    assert_eq!(second.body, sha(&string(&second)));
    let bare = string(&second).replace(MARK, "");
    let prefix = bare.strip_suffix(r#"]}],"max_tokens":8192}"#).unwrap();
    assert_eq!(second.prefix, sha(prefix));
}

#[test]
fn p10_the_same_items_give_the_same_bytes_in_another_encoder() {
    assert_eq!(body(&rich()), body(&rich()));
}

#[test]
fn l03_what_is_kept_of_a_reply_is_not_sent() {
    let Item::Step(plain) = step(
        40,
        vec![
            Block::Reasoning("kept-reasoning".into()),
            thinking("other messages small"),
            opaque("other", r#"{"trace_id":"kept-opaque"}"#),
            opaque("", r#"{"type":"trace","trace_id":"kept-own"}"#),
            opaque("", r#"{"trace_id":"kept-own"}"#),
            opaque("", r#"["kept-own"]"#),
            text("Sent."),
            call(Some("c1"), "ls", "{}"),
        ],
        &["result"],
    ) else {
        unreachable!()
    };
    let reply = Reply {
        raw: Some("kept-raw".into()),
        finish: FinishReason::Other("kept-finish".into()),
        model: Some("kept-model".into()),
        micro_usd: Some(777_003),
        ..(*plain.reply).clone()
    };
    let sent = string(&body(&[said("go"), step_of(40, reply, &["result"])]));
    for kept in ["kept-", "777", "trace_id", "thinking", "default", "elapsed", "timestamp", "complete"] {
        assert!(!sent.contains(kept), "{kept} is in {sent}");
    }
    assert!(sent.contains(r#"{"role":"assistant","content":[{"type":"text","text":"Sent."},"#), "{sent}");
}

#[test]
fn p02_users_and_assistants_take_turns_and_the_user_has_the_first_and_the_last_word() {
    let roles = |items: &[Item]| {
        let messages = messages(items);
        let role = |message: &Value| message["role"].as_str().unwrap()[..1].to_owned();
        messages.as_array().unwrap().iter().map(role).collect::<String>()
    };
    let answer = || step(5, vec![text("Done.")], &[]);
    let calling = |seq| step(seq, vec![call(None, "ls", "{}")], &["a"]);
    assert_eq!(roles(&[]), "u");
    assert_eq!(roles(&[said("a"), note("b"), said("c")]), "u");
    assert_eq!(roles(&[said("a"), answer()]), "uau");
    assert_eq!(roles(&[answer(), answer(), said("a")]), "uauau");
    assert_eq!(roles(&[calling(3), calling(9)]), "uauau");
    assert_eq!(roles(&[said("a"), calling(3), said("b"), note("c"), calling(9), answer()]), "uauauau");
    let sent = messages(&[answer(), answer()]);
    let words = |at: usize| sent[at]["content"][0]["text"].as_str().unwrap();
    assert_eq!(words(0), "[from the program, not the user] What was said before this is not shown.");
    assert_eq!((words(2), words(4)), ("Continue.", "Continue."));
}

#[test]
fn p02_results_stand_first_in_the_message_that_what_is_said_then_is_in() {
    let sent = messages(&[
        said("go"),
        step(3, vec![call(Some("t1"), "ls", "{}"), call(Some("t2"), "ls", "{}")], &["a", "b"]),
        said_by(Speaker::Person, When::NextStep, "faster"),
    ]);
    assert_eq!(
        sent[2],
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "a"},
            {"type": "tool_result", "tool_use_id": "t2", "content": "b"},
            {"type": "text", "text": "[said while you were working] faster"},
        ]})
    );
}

#[test]
fn p02_results_of_calls_that_did_not_do_what_was_asked_are_errors() {
    for outcome in [
        Outcome::Ok,
        Outcome::Empty,
        Outcome::Error,
        Outcome::Denied,
        Outcome::Invalid,
        Outcome::NeverBegan,
        Outcome::CutShort,
        Outcome::TimedOut,
        Outcome::Unknown,
    ] {
        let item = ended(step(3, vec![call(None, "ls", "{}")], &[" "]), outcome);
        let result = messages(&[said("go"), item])[2]["content"][0].clone();
        let is_good = matches!(outcome, Outcome::Ok | Outcome::Empty);
        assert_eq!(result.get("is_error"), (!is_good).then_some(&json!(true)), "{outcome:?}");
        assert_eq!(result["content"], "(the tool ended and gave no output)");
    }
}

/// The messages of a request, a line each: who speaks, and what.
fn lines(items: &[Item]) -> Vec<String> {
    let messages = messages(items);
    let block = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        "tool_use" => format!("<{} {}>", block["name"].as_str().unwrap(), block["id"].as_str().unwrap()),
        "tool_result" => {
            let error = if block.get("is_error").is_some() { " error" } else { "" };
            let [id, said] = ["tool_use_id", "content"].map(|key| block[key].as_str().unwrap());
            format!("<result {id}{error}> {said}")
        }
        other => format!("<{other}>"),
    };
    let line = |message: &Value| {
        let blocks: Vec<String> = message["content"].as_array().unwrap().iter().map(block).collect();
        format!("{}: {}", message["role"].as_str().unwrap(), blocks.join(" | "))
    };
    messages.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn case_a20_an_id_that_is_too_long_is_another_one_in_call_and_result() {
    let id = "call_9f2c7a10b4d84e6fa1c3|fc_0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0";
    let items = [said("go"), step(5, vec![call(Some(id), "read_file", "{}")], &["a"])];
    assert_eq!(lines(&items), ["user: go", "assistant: <read_file call_5_0>", "user: <result call_5_0> a"]);
}

#[test]
fn case_b04_blank_text_of_an_interrupt_is_not_sent() {
    let items = [said("hi"), finished(step(3, vec![text("\n\n")], &[]), FinishReason::Cut), said("go on")];
    assert_eq!(lines(&items), ["user: hi", "assistant: (no answer)", "user: go on"]);
}

#[test]
fn case_b06_the_last_word_is_the_users() {
    let items = [said("clean up check.sh"), step(3, vec![text("Now I will clean this up...")], &[])];
    let answer = "assistant: Now I will clean this up...";
    assert_eq!(lines(&items), ["user: clean up check.sh", answer, "user: Continue."]);
    let with_note = [items.to_vec(), vec![note("Look.")]].concat();
    assert_eq!(lines(&with_note)[2], "user: [from the program, not the user] Look.");
}

#[test]
fn case_b11_what_is_said_while_a_tool_runs_stands_behind_its_result() {
    let items = [
        said("go"),
        step(3, vec![call(Some("c1"), "shell", r#"{"command":"sleep 2; echo r"}"#)], &["r"]),
        said_by(Speaker::Person, When::NextStep, "also check the docs"),
    ];
    assert_eq!(
        lines(&items),
        [
            "user: go",
            "assistant: <shell c1>",
            "user: <result c1> r | [said while you were working] also check the docs"
        ]
    );
}

#[test]
fn case_b12_three_calls_and_an_interrupt_have_three_results() {
    let calls = ["c1", "c2", "c3"].map(|id| call(Some(id), "shell", "{}")).to_vec();
    let Item::Step(mut of) = step(3, calls, &["A", "it was stopped", "it did not begin"]) else {
        unreachable!()
    };
    for (result, outcome) in of.results.iter_mut().zip([Outcome::Ok, Outcome::CutShort, Outcome::NeverBegan])
    {
        *result = Arc::new(ToolResult { outcome, ..(**result).clone() });
    }
    let last = lines(&[said("go"), Item::Step(of), said("continue")]).pop().unwrap();
    assert_eq!(
        last,
        "user: <result c1> A | <result c2 error> it was stopped | <result c3 error> it did not begin | continue"
    );
}

#[test]
fn case_b05_nothing_empty_is_sent() {
    let sent = messages(&[
        said("make dir"),
        ended(
            step(3, vec![text(""), call(Some("c1"), "shell", r#"{"command":"mkdir -p x"}"#)], &[""]),
            Outcome::Empty,
        ),
        step(9, vec![text(" \n"), Block::Reasoning("thinking only".into())], &[]),
    ]);
    assert_eq!(
        sent,
        json!([
            {"role": "user", "content": [{"type": "text", "text": "make dir"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "mkdir -p x"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "(the tool ended and gave no output)"},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "(no answer)"}]},
            {"role": "user", "content": [{"type": "text", "text": "Continue."}]},
        ])
    );
}

#[test]
fn case_b07_the_turn_with_thinking_is_sent_as_it_came() {
    let reply = vec![
        Block::Reasoning("plan".into()),
        thinking(""),
        text("ok"),
        call(Some("toolu_9"), "shell", r#"{"command":"ls"}"#),
    ];
    let stopped = ended(step(3, reply, &["[the call did not begin]"]), Outcome::NeverBegan);
    let sent = string(&body(&[said("go"), stopped, said("stop, do b instead")]));
    let turn = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"plan","signature":"c2ln"},{"type":"text","text":"ok"},{"type":"tool_use","id":"toolu_9","name":"shell","input":{"command":"ls"}}]}"#;
    assert!(sent.contains(turn), "{sent}");
    let behind = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"[the call did not begin]","is_error":true},{"type":"text","text":"stop, do b instead"#;
    assert!(sent.contains(behind), "{sent}");
}

#[test]
fn p02_thinking_goes_back_byte_for_byte_and_in_its_place() {
    let blocks = vec![
        opaque("", r#"{"type": "redacted_thinking", "data": "ZGF0YQ=="}"#),
        text("a"),
        opaque("", r#"{"signature":"c2ln","thinking":"\u00e9","type":"thinking"}"#),
        call(Some("t1"), "ls", "{}"),
    ];
    let sent = string(&body(&[said("go"), step(3, blocks, &["a"])]));
    let turn = r#"[{"type": "redacted_thinking", "data": "ZGF0YQ=="},{"type":"text","text":"a"},{"signature":"c2ln","thinking":"\u00e9","type":"thinking"},{"type":"tool_use","#;
    assert!(sent.contains(turn), "{sent}");
}

#[test]
fn l03_of_thinking_only_the_documented_fields_go_back() {
    let blocks = vec![
        opaque("", r#"{"type":"redacted_thinking","x_id":{"n":1.50},"data" : "ZGF0YQ==","index":0}"#),
        opaque(
            "",
            r#"{"thinking":"\u00e9","cache_control":null,"type":"thinking","data":"d","signature":"c2ln"}"#,
        ),
        text("a"),
    ];
    let sent = string(&body(&[said("go"), step(3, blocks, &[])]));
    let turn = r#"[{"type":"redacted_thinking","data":"ZGF0YQ=="},{"thinking":"\u00e9","type":"thinking","signature":"c2ln"},{"type":"text","#;
    assert!(sent.contains(turn), "{sent}");
}

#[test]
fn p02_thinking_without_its_seal_is_left_out() {
    for raw in [
        r#"{"type":"thinking","thinking":"hm"}"#,
        r#"{"type":"thinking","thinking":"hm","signature":""}"#,
        r#"{"type":"redacted_thinking","data":""}"#,
        r#"{"type":"redacted_thinking"}"#,
    ] {
        let sent = messages(&[said("go"), step(3, vec![opaque("", raw), text("a")], &[])]);
        assert_eq!(sent[1]["content"], json!([{"type": "text", "text": "a"}]), "{raw}");
    }
}

#[test]
fn p02_thinking_never_ends_a_message_and_is_never_taken_out() {
    let block = json!({"type": "thinking", "thinking": "plan", "signature": "c2ln"});
    let filler = json!({"type": "text", "text": "(no answer)"});
    let content = |blocks: Vec<Block>, results: &[&str]| {
        messages(&[said("go"), step(3, blocks, results)])[1]["content"].clone()
    };
    assert_eq!(content(vec![thinking("")], &[]), json!([block, filler]));
    assert_eq!(content(vec![thinking(""), text(" ")], &[]), json!([block, filler]));
    let sent = content(vec![call(Some("t1"), "ls", "{}"), thinking("")], &["a"]);
    assert_eq!((&sent[1], &sent[2]), (&block, &filler));
}

#[test]
fn p02_text_that_a_person_stopped_says_so_in_its_place() {
    let blocks = vec![thinking(""), text("One"), call(Some("t1"), "ls", "{}"), text("Two")];
    let cut = finished(step(3, blocks, &["a"]), FinishReason::Cut);
    let sent = messages(&[said("go"), cut])[1]["content"].clone();
    assert_eq!(sent[1]["text"], "One");
    assert_eq!(sent[2]["type"], "tool_use");
    assert_eq!(sent[3]["text"], "Two\n\n[stopped here]");
}

#[test]
fn p02_arguments_are_an_object_and_names_and_ids_fit() {
    let sent = |of: Block| messages(&[said("go"), step(5, vec![of], &["a"])])[1]["content"][0].clone();
    assert_eq!(sent(call(Some("t1"), "ls", ""))["input"], json!({}));
    assert_eq!(sent(call(Some("t1"), "ls", "[1]"))["input"], json!({"unreadable": "[1]"}));
    assert_eq!(sent(call(Some("t1"), "ls", r#"{"a"#))["input"], json!({"unreadable": "{\"a"}));
    assert_eq!(sent(call(Some("t1"), "fs.read file", "{}"))["name"], "fs_read_file");
    assert_eq!(sent(call(Some("t.1"), "ls", "{}"))["id"], "call_5_0");
    assert_eq!(sent(call(None, "ls", "{}"))["id"], "call_5_0");
}

#[test]
fn p02_calls_of_a_head_without_tools_are_named_in_the_tail_and_may_not_be_made() {
    let items = [
        said("go"),
        step(3, vec![call(None, "b", "{}"), call(None, "a b", "{}"), call(None, "b", "{}")], &["", "", ""]),
    ];
    let sent = body_on(Wire::Messages, &head("", "[]"), &items);
    let tail = string(&sent).split_once(r#"}]}],"#).unwrap().1.to_owned();
    expect![[r#""tools":[{"name":"a_b","description":"Not there any more.","input_schema":{"type":"object"}},{"name":"b","description":"Not there any more.","input_schema":{"type":"object"}}],"max_tokens":8192,"tool_choice":{"type":"none"}}"#]]
        .assert_eq(&tail);
    let none = value(&body_on(Wire::Messages, &head("", "[]"), &items[..1]));
    assert_eq!((none.get("tools"), none.get("tool_choice")), (None, None));
}

#[test]
fn p02_the_schema_of_a_tool_is_one_of_an_object_without_a_choice_at_the_top() {
    let sent = |parameters: &str| {
        let tools = format!(r#"[{{"name":"t","description":"d","parameters":{parameters}}}]"#);
        let sent = string(&body_on(Wire::Messages, &head("", &tools), &[said("a")])).replace(MARK, "");
        let (_, schema) = sent.split_once("\"input_schema\":").unwrap();
        schema.split_once("}],\"messages\"").unwrap().0.to_owned()
    };
    let plain = r#"{ "type":"object", "properties":{"a":{"anyOf":[{"type":"string"},{"const":1.50}]}} }"#;
    assert_eq!(sent(plain), plain, "byte for byte");
    for nothing in ["{}", "true", "null", "[]", r#"{"type":"null"}"#] {
        assert_eq!(sent(nothing), r#"{"type":"object"}"#, "{nothing}");
    }
    assert_eq!(
        sent(r#"{"title":"T","properties":{"a":{"type":"string"}},"required":["a"]}"#),
        r#"{"type":"object","title":"T","properties":{"a":{"type":"string"}},"required":["a"]}"#
    );
    // The input of case J-07.
    let multi = r##"{"$defs":{"id":{"type":"string","pattern":"[a-z]+"}},"anyOf":[{"type":"object","properties":{"id":{"$ref":"#/$defs/id"}},"required":["id"]},{"type":"object","properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0}},"required":["n"]}],"additionalProperties":false}"##;
    expect![[r##"{"type":"object","$defs":{"id":{"type":"string","pattern":"[a-z]+"}},"additionalProperties":false,"properties":{"id":{"$ref":"#/$defs/id"},"n":{"type":["integer","null"],"exclusiveMinimum":0}}}"##]]
        .assert_eq(&sent(multi));
    let named = r##"{"$defs":{"A":{"properties":{"k":{"const":"a"},"x":{}},"required":["k"]}},"properties":{"c":{}},"required":["c"],"oneOf":[{"$ref":"#/$defs/A"},{"properties":{"k":{"const":"b"},"x":{}}}]}"##;
    expect![[r##"{"type":"object","$defs":{"A":{"properties":{"k":{"const":"a"},"x":{}},"required":["k"]}},"properties":{"c":{},"k":{"anyOf":[{"const":"a"},{"const":"b"}]},"x":{}},"required":["c"]}"##]]
        .assert_eq(&sent(named));
    assert_eq!(
        sent(r#"{"allOf":[{"properties":{"a":{}},"required":["a"]},true],"additionalProperties":false}"#),
        r#"{"type":"object","properties":{"a":{}},"required":["a"]}"#,
        "what is not seen is not shut out"
    );
    let found = petasos_testkit::check_request::check_request(
        Wire::Messages,
        &body_on(
            Wire::Messages,
            &head("", &format!(r#"[{{"name":"t","description":"d","parameters":{multi}}}]"#)),
            &rich(),
        )
        .bytes,
    );
    assert_eq!(found, Vec::<String>::new());
}

/// Whether the model is asked without thinking after these items.
fn is_off(items: &[Item]) -> bool {
    let sent = value(&body(items));
    match sent.get("thinking") {
        None => false,
        Some(thinking) => {
            assert_eq!(*thinking, json!({"type": "disabled"}));
            true
        }
    }
}

/// A step whose request went to this provider.
fn made_by(provider: &str, seq: u64, blocks: Vec<Block>, results: &[&str]) -> Item {
    let Item::Step(made) = step(seq, blocks, results) else { unreachable!("a step is a step") };
    let target = Target { provider: provider.into(), ..target_on(Wire::Messages) };
    Item::Step(ClosedStep { target: Some(Arc::new(target)), ..made })
}

#[test]
fn p02_a_model_is_asked_without_thinking_among_calls_of_another_origin() {
    let here = target_on(Wire::Messages).provider;
    let own = |seq| made_by(&here, seq, vec![thinking(""), call(None, "ls", "{}")], &["a"]);
    let skipped = |seq| made_by(&here, seq, vec![text("I look."), call(None, "ls", "{}")], &["a"]);
    let foreign = |seq| made_by("other", seq, vec![call(None, "ls", "{}")], &["a"]);
    let lost = |seq| step(seq, vec![call(None, "ls", "{}")], &["a"]);
    let answer = |seq| made_by("other", seq, vec![text("Done.")], &[]);
    let steer = || said_by(Speaker::Person, When::NextStep, "faster");
    assert!(!is_off(&[said("a"), own(3), own(9)]), "its own");
    assert!(!is_off(&[said("a"), own(3), skipped(9)]), "a model may skip its thinking");
    assert!(!is_off(&[said("a"), lost(3)]), "the line of its request is damaged");
    assert!(is_off(&[said("a"), foreign(3)]), "the first request after a fallback");
    assert!(is_off(&[said("a"), foreign(3), skipped(9)]), "the turn still holds them");
    assert!(is_off(&[said("a"), own(3), foreign(9)]));
    assert!(is_off(&[said("a"), own(3), foreign(9), steer(), note("b")]), "a steer begins no turn");
    assert!(!is_off(&[said("a"), answer(3), said("b"), own(9)]), "an answer holds no calls");
    assert!(is_off(&[said("a"), answer(3), said("b"), foreign(9)]));
    assert!(!is_off(&[said("a"), own(3), foreign(9), answer(20), said("b")]), "another turn");
    assert!(!is_off(&[said("a"), own(3), foreign(9), answer(20), said("b"), own(30)]));
    assert!(is_off(&[said("a"), own(3), foreign(9), said("b")]), "it stands with the results");
    assert!(is_off(&[said("a"), own(3), foreign(9), note("b"), said("c")]), "it stands with the results");
    assert!(!is_off(&[said("a"), own(3), foreign(9), said("b"), own(20)]));
}
