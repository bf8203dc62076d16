//! What a row of the catalog says is what the bytes show: against those of a provider that nobody knows.

use expect_test::{Expect, expect};
use petasos_core::entry::{Block, Opaque};
use petasos_core::request::{Params, Target, ToolChoice, ToolMode, Wire};
use petasos_core::text::Json;
use petasos_core::transcript::Item;
use petasos_core::turn::Delta;
use petasos_providers::{AnswerDecoder, Quirks, ReplyEvent, Tail, catalog, encoder, origin, row_of};
use petasos_testkit::check_request::check_request;

use crate::say::{call, head, said, step};

/// A target at a provider.
fn at(provider: &str, model: &str, wire: Wire) -> Target {
    Target { provider: provider.into(), model: model.into(), wire, tool_mode: ToolMode::Native }
}

fn body(target: &Target, items: &[Item]) -> String {
    let tools = r#"[{"name":"ls","description":"Lists","parameters":{"type":"object"}}]"#;
    let mut encoder = encoder(target, &head("S", tools));
    items.iter().for_each(|item| encoder.push(item));
    let body = encoder
        .body(&Params { tool_choice: ToolChoice::Auto }, &Tail { max_output: Some(64), ..Tail::default() });
    assert_eq!(check_request(target.wire, &body.bytes), Vec::<String>::new());
    String::from_utf8(body.bytes.to_vec()).unwrap()
}

/// A transcript in which every quirk would show: own reasoning and another's, an id that is too long for some, and a
/// user who speaks right behind results.
fn items(target: &Target) -> Vec<Item> {
    let raw = Json::try_from(r#"{"reasoning_content":"need it"}"#).unwrap();
    let own = Block::Opaque(Opaque { origin: origin(target), raw });
    vec![
        said("list"),
        step(3, vec![Block::Reasoning("need it".into()), own, call(Some("call_1a"), "ls", "{}")], &["a"]),
        said("and more"),
        step(9, vec![Block::Reasoning("not said here".into()), Block::Text("Done.".into())], &[]),
        said("thanks"),
    ]
}

/// How the request of a provider differs from that of one that nobody knows, with its quirks at hand.
fn check(provider: &str, expected: &Expect) {
    let row = row_of(provider).unwrap();
    assert_ne!(row.quirks, Quirks::USUAL);
    let wire = row.wire();
    let model = if provider == "openai" { "gpt-5-mini" } else { "m" };
    let (known, unknown) = (at(provider, model, wire), at("example", model, wire));
    let (known, unknown) = (body(&known, &items(&known)), body(&unknown, &items(&unknown)));
    expected.assert_eq(&difference(&unknown, &known));
}

/// The members of two bodies that are not the same, message by message.
fn difference(usual: &str, here: &str) -> String {
    let value = |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap();
    let (usual, here) = (value(usual), value(here));
    let mut lines = Vec::new();
    let keys = usual.as_object().unwrap().keys().chain(here.as_object().unwrap().keys());
    let mut keys: Vec<&String> = keys.collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        match (&usual[key], &here[key]) {
            (one, other) if one == other => {}
            (serde_json::Value::Array(one), serde_json::Value::Array(other)) => {
                lines.extend(one.iter().filter(|item| !other.contains(item)).map(|item| format!("- {item}")));
                lines.extend(other.iter().filter(|item| !one.contains(item)).map(|item| format!("+ {item}")));
            }
            (one, other) => lines.push(format!("{key}: {one} -> {other}")),
        }
    }
    lines.join("\n")
}

/// The differences of every row that has quirks, as the catalog has them. That of Anthropic is a header, which the
/// tests of HTTP show; those of OpenRouter are in its replies (`behaviour/p08.rs`) and in how long it is waited for, which
/// the tests of waits show.
#[test]
fn every_row_with_quirks_has_its_bytes_shown_here() {
    let shown: Vec<String> = catalog()
        .iter()
        .filter(|row| row.quirks != Quirks::USUAL)
        .map(|row| {
            let model = if row.quirks.sealed_reasoning.is_empty() { "m" } else { "gpt-5-mini" };
            let (known, unknown) = (at(row.name, model, row.wire()), at("example", model, row.wire()));
            let difference = difference(&body(&unknown, &items(&unknown)), &body(&known, &items(&known)));
            let Quirks { messages_key, cost_told, thinks_long, .. } = row.quirks;
            let is_in_bytes = Quirks { messages_key, cost_told, thinks_long, ..Quirks::USUAL } != row.quirks;
            assert_eq!(!difference.is_empty(), is_in_bytes, "{}", row.name);
            format!("{}: {} lines differ", row.name, difference.lines().count())
        })
        .collect();
    expect![[r#"
        openai: 1 lines differ
        anthropic: 0 lines differ
        openrouter: 0 lines differ
        deepseek: 4 lines differ
        moonshot: 4 lines differ
        mistral: 6 lines differ
        llama.cpp: 4 lines differ
        lmstudio: 4 lines differ
        vllm: 4 lines differ"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn p01_the_row_of_deepseek() {
    check(
        "deepseek",
        &expect![[r#"
        - {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"call_1a","type":"function"}]}
        - {"content":"Done.","role":"assistant"}
        + {"content":null,"reasoning_content":"need it","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"call_1a","type":"function"}]}
        + {"content":"Done.","reasoning_content":"","role":"assistant"}"#]],
    );
}

#[test]
fn p01_the_row_of_moonshot() {
    check(
        "moonshot",
        &expect![[r#"
        - {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"call_1a","type":"function"}]}
        - {"content":"Done.","role":"assistant"}
        + {"content":null,"reasoning_content":"need it","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"call_1a","type":"function"}]}
        + {"content":"Done.","reasoning_content":"","role":"assistant"}"#]],
    );
}

#[test]
fn p01_the_row_of_mistral() {
    check(
        "mistral",
        &expect![[r#"
        - {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"call_1a","type":"function"}]}
        - {"content":"a","role":"tool","tool_call_id":"call_1a"}
        + {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"35oetbqyd","type":"function"}]}
        + {"content":"a","role":"tool","tool_call_id":"35oetbqyd"}
        + {"content":"I have the results.","role":"assistant"}
        stream_options: {"include_usage":true} -> null"#]],
    );
}

#[test]
fn p01_the_rows_of_servers_with_templates() {
    let wanted = expect![[r#"
        - {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"call_1a","type":"function"}]}
        - {"content":"a","role":"tool","tool_call_id":"call_1a"}
        + {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"35oetbqyd","type":"function"}]}
        + {"content":"a","role":"tool","tool_call_id":"35oetbqyd"}"#]];
    for provider in ["llama.cpp", "lmstudio", "vllm"] {
        check(provider, &wanted);
    }
}

/// The reasoning that goes back is what came, word for word, also where it came in pieces.
#[test]
fn case_b09_reasoning_goes_back_to_servers_that_want_it_and_to_no_other() {
    let stream = crate::cases::stream(&[
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"need "}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"\"tool\""}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"Hm."},"finish_reason":"stop"}]}"#,
    ]);
    let reply = |target: &Target| {
        let mut decoder = AnswerDecoder::new(target, "models.example");
        decoder.feed(&stream);
        let events = std::iter::from_fn(|| decoder.next_event());
        let deltas: Vec<Delta> = events
            .filter_map(|event| if let ReplyEvent::Delta(delta) = event { Some(delta) } else { None })
            .collect();
        crate::say::blocks(&deltas)
    };
    let sent = |blocks: Vec<Block>, target: &Target| {
        let items = [said("time?"), step(3, blocks, &[]), said("and tomorrow?")];
        let body: serde_json::Value = serde_json::from_str(&body(target, &items)).unwrap();
        body["messages"][2]["reasoning_content"].clone()
    };
    let deepseek = at("deepseek", "deepseek-chat", Wire::Chat);
    let moonshot = at("moonshot", "kimi", Wire::Chat);
    let nobody = at("example", "m", Wire::Chat);
    assert_eq!(sent(reply(&deepseek), &deepseek), "need \"tool\"");
    assert_eq!(sent(reply(&deepseek), &moonshot), "");
    assert_eq!(sent(reply(&nobody), &deepseek), "");
    assert_eq!(sent(reply(&deepseek), &nobody), serde_json::Value::Null);
    // Nobody else keeps the same words twice.
    assert_eq!(reply(&nobody).len(), 2);
    assert_eq!(reply(&deepseek).len(), 3);
}

#[test]
fn p01_the_row_of_openai() {
    check("openai", &expect![[r#"include: null -> ["reasoning.encrypted_content"]"#]]);
    // Of the same family, and refuses a request that asks for sealed reasoning.
    let chat = at("openai", "gpt-5-chat-latest", Wire::Responses);
    assert!(!body(&chat, &items(&chat)).contains("include"));
}
