//! Rules of Messages.

use petasos_core::request::Wire;
use petasos_testkit::check_request::check_request;

const TOOL: &str = r#"{"name":"read_file","description":"Reads.","input_schema":{"type":"object","properties":{"a.b":{"oneOf":[{}]}}},"cache_control":{"type":"ephemeral"}}"#;
const SYSTEM: &str = r#"[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}]"#;
const USER: &str = r#"{"role":"user","content":[{"type":"text","text":"U"}]}"#;
const THOUGHT: &str = r#"{"type":"thinking","thinking":"","signature":"c2ln+/=="}"#;
const HIDDEN: &str = r#"{"type":"redacted_thinking","data":"c2Vj+/=="}"#;
const WORDS: &str = r#"{"type":"text","text":"W"}"#;
const CALL_1: &str = r#"{"type":"tool_use","id":"call_1","name":"read_file","input":{"cache_control":1}}"#;
const CALL_2: &str = r#"{"type":"tool_use","id":"call_2","name":"no_longer_there","input":{}}"#;
const RESULT_1: &str =
    r#"{"type":"tool_result","tool_use_id":"call_1","content":"one","cache_control":{"type":"ephemeral"}}"#;
const RESULT_2: &str = r#"{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"two"}],"is_error":true}"#;
const MORE: &str = r#"{"type":"text","text":"M"}"#;
const ANSWER: &str = r#"{"role":"assistant","content":"A"}"#;
const PICTURE: &str = r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}},{"type":"image","source":{"type":"url","url":"https://x"},"cache_control":{"type":"ephemeral"}}]}"#;

fn calls() -> String {
    let blocks = [THOUGHT, HIDDEN, WORDS, CALL_1, CALL_2].join(",");
    format!("{{\"role\":\"assistant\",\"content\":[{blocks}]}}")
}

fn results() -> String {
    format!("{{\"role\":\"user\",\"content\":[{}]}}", [RESULT_1, RESULT_2, MORE].join(","))
}

fn body(messages: &[&str], tail: &str) -> String {
    let messages = messages.join(",");
    format!(
        r#"{{"model":"m","stream":true,"tools":[{TOOL}],"system":{SYSTEM},"messages":[{messages}],"max_tokens":2048{tail}}}"#
    )
}

fn good() -> String {
    let tail = r#","tool_choice":{"type":"auto","disable_parallel_tool_use":true},"thinking":{"type":"enabled","budget_tokens":1024},"temperature":1,"top_p":0.95,"stop_sequences":["x"]"#;
    body(&[USER, &calls(), &results(), ANSWER, PICTURE], tail)
}

#[track_caller]
fn check_body(body: &str, wanted: &[&str]) {
    assert_eq!(check_request(Wire::Messages, body.as_bytes()), wanted, "{body}");
}

/// The good body with a change, and what is said of it.
#[track_caller]
fn check(from: &str, to: &str, wanted: &[&str]) {
    let body = good();
    assert!(body.contains(from), "nothing to change: {from}");
    check_body(&body.replacen(from, to, 1), wanted);
}

#[test]
fn a_good_request_has_no_complaints() {
    check_body(&good(), &[]);
    check_body(&format!(r#"{{"model":"m","messages":[{USER}],"max_tokens":1}}"#), &[]);
    check(SYSTEM, "\"S\"", &[]);
    check(&format!(",{ANSWER},{PICTURE}"), "", &[]);
    check(&format!(",{MORE}"), "", &[]);
    check("{\"type\":\"enabled\",\"budget_tokens\":1024}", "{\"type\":\"disabled\"}", &[]);
    check("{\"type\":\"enabled\",\"budget_tokens\":1024}", "{\"type\":\"adaptive\"}", &[]);
    let named = "{\"type\":\"tool\",\"name\":\"read_file\"}";
    check_body(&body(&[USER], &format!(",\"tool_choice\":{named}")), &[]);
    check_body(&body(&[USER], ",\"tool_choice\":{\"type\":\"none\"}"), &[]);
}

#[test]
fn a_body_has_known_keys_once_each_and_names_a_model() {
    check("\"stream\":true", "\"trace_id\":1", &["body: key \"trace_id\" is not on the list"]);
    check("\"stream\":true", "\"stream\":true,\"stream\":true", &["body: key \"stream\" stands twice"]);
    check("\"m\"", "\"\"", &["body: no model is named"]);
}

#[test]
fn parts_stand_in_their_order() {
    let messages = format!("\"messages\":[{USER}]");
    check_body(
        &format!("{{{messages},\"model\":\"m\",\"max_tokens\":1}}"),
        &["body: model does not stand first"],
    );
    for part in ["\"stream\":true", &format!("\"system\":{SYSTEM}")] {
        let late = format!("{{\"model\":\"m\",{messages},{part},\"max_tokens\":1}}");
        let key = part.split('"').nth(1).unwrap();
        check_body(&late, &[&format!("body: {key} does not stand before the messages")]);
    }
    for part in
        ["\"tool_choice\":{\"type\":\"auto\"}", "\"thinking\":{\"type\":\"disabled\"}", "\"temperature\":1"]
    {
        let early = format!("{{\"model\":\"m\",\"tools\":[{TOOL}],{part},{messages},\"max_tokens\":1}}");
        let key = part.split('"').nth(1).unwrap();
        check_body(&early, &[&format!("body: {key} does not stand behind the messages")]);
    }
    let late =
        |choice: &str| format!("{{\"model\":\"m\",{messages},\"tools\":[{TOOL}],\"max_tokens\":1{choice}}}");
    let callable = "body: tools that may be called do not stand before the messages";
    check_body(&late(""), &[callable]);
    check_body(&late(",\"tool_choice\":{\"type\":\"auto\"}"), &[callable]);
    check_body(&late(",\"tool_choice\":{\"type\":\"none\"}"), &[]);
    check_body(
        &format!("{{\"model\":\"m\",\"max_tokens\":1,{messages}}}"),
        &["body: max_tokens does not stand behind the messages"],
    );
}

#[test]
fn tools_are_whole() {
    let check = |from: &str, to: &str, wanted: &str| check(TOOL, &TOOL.replacen(from, to, 1), &[wanted]);
    check("{\"name\"", "{\"type\":\"function\",\"name\"", "tools[0]: its type is not custom");
    check("\"name\"", "\"rerun\":1,\"name\"", "tools[0]: key \"rerun\" is not on the list");
    check("read_file", "a.b", "tools[0]: the name \"a.b\" is not 1 to 64 of [a-zA-Z0-9_-]");
    check("Reads.", "", "tools[0]: no description");
    check(
        "\"type\":\"object\"",
        "\"type\":\"array\"",
        "tools[0]: its input_schema is no schema of an object",
    );
    for key in ["oneOf", "allOf", "anyOf"] {
        let with = format!("{{\"{key}\":[],\"type\":\"object\"");
        check("{\"type\":\"object\"", &with, &format!("tools[0]: {key} at the top of its input_schema"));
    }
    check("a.b", "a b", "tools[0]: the property \"a b\" is not 1 to 64 of [a-zA-Z0-9_.-]");
    check(TOOL, "1", "tools[0]: no object");
    let strict = "{\"strict\":true,\"name\"";
    let open = "tools[0]: it is strict, and an object of its schema is open";
    let required = "tools[0]: it is strict, and \"a.b\" of its schema is not required";
    super::messages::check("{\"name\"", strict, &[open, required]);
    let twice = TOOL.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
    check(TOOL, &format!("{twice},{twice}"), "tools[1]: the name \"read_file\" stands twice");
}

#[test]
fn what_is_asked_for_fits() {
    let check_tail = |tail: &str, wanted: &[&str]| check_body(&body(&[USER], tail), wanted);
    let choice = "body: tool_choice is neither a word for it nor a tool that is there";
    for wrong in ["\"none\"", "{\"type\":\"tool\",\"name\":\"gone\"}", "{\"type\":\"required\"}", "{}"] {
        check_tail(&format!(",\"tool_choice\":{wrong}"), &[choice]);
    }
    check_tail(
        ",\"tool_choice\":{\"type\":\"none\",\"x\":1}",
        &["tool_choice: key \"x\" is not on the list"],
    );
    let bare = |tail: &str| format!("{{\"model\":\"m\",\"messages\":[{USER}]{tail}}}");
    check_body(
        &bare(",\"max_tokens\":1,\"tool_choice\":{\"type\":\"none\"}"),
        &["body: tool_choice without tools"],
    );
    check_body(&bare(""), &["body: no max_tokens"]);
    for wrong in ["0", "null", "\"9\"", "1.5"] {
        check_body(
            &bare(&format!(",\"max_tokens\":{wrong}")),
            &["body: max_tokens is no whole number of at least 1"],
        );
    }
    check("\"stream\":true", "\"stream\":1", &["body: stream is neither true nor false"]);
    check_tail(",\"temperature\":1.1", &["body: temperature is not 0 to 1"]);
    check_tail(",\"top_p\":1.1", &["body: top_p is not 0 to 1"]);
    check_tail(",\"top_k\":-1", &["body: top_k is no whole number of at least 0"]);
    for wrong in ["[]", "[\" \"]", "\"x\""] {
        let what = "body: stop_sequences are no list of texts with something in them";
        check_tail(&format!(",\"stop_sequences\":{wrong}"), &[what]);
    }
    check(
        &format!("\"tools\":[{TOOL}],"),
        "",
        &["body: tool_choice without tools", "body: calls without tools"],
    );
    check(
        "\"tools\":[",
        "\"tools\":[],\"x\":[",
        &["body: key \"x\" is not on the list", "tools: no list with something in it; leave the key out"],
    );
}

#[test]
fn thinking_is_asked_for_with_what_it_needs() {
    let check_thinking = |thinking: &str, more: &str, wanted: &[&str]| {
        check_body(&body(&[USER], &format!(",\"thinking\":{thinking}{more}")), wanted);
    };
    let enabled = "{\"type\":\"enabled\",\"budget_tokens\":1024}";
    check_thinking(enabled, "", &[]);
    for wrong in ["true", "{\"type\":\"on\"}", "{}"] {
        check_thinking(wrong, "", &["thinking: it is neither enabled nor disabled nor adaptive"]);
    }
    check_thinking(
        "{\"type\":\"disabled\",\"budget_tokens\":1024}",
        "",
        &["thinking: key \"budget_tokens\" is not on the list"],
    );
    let least = "thinking: its budget_tokens are not at least 1024";
    check_thinking("{\"type\":\"enabled\"}", "", &[least]);
    check_thinking("{\"type\":\"enabled\",\"budget_tokens\":1023}", "", &[least]);
    check_thinking(
        "{\"type\":\"enabled\",\"budget_tokens\":2048}",
        "",
        &["thinking: max_tokens is not more than its budget_tokens"],
    );
    for thinking in [enabled, "{\"type\":\"adaptive\"}"] {
        check_thinking(thinking, ",\"temperature\":0", &["body: a temperature beside thinking"]);
        check_thinking(thinking, ",\"top_k\":1", &["body: top_k beside thinking"]);
        check_thinking(thinking, ",\"top_p\":0.9", &["body: top_p of less than 0.95 beside thinking"]);
        check_thinking(
            thinking,
            ",\"tool_choice\":{\"type\":\"any\"}",
            &["body: a call is forced beside thinking"],
        );
    }
    check_thinking("{\"type\":\"disabled\"}", ",\"temperature\":0,\"top_k\":1,\"top_p\":0", &[]);
}

#[test]
fn a_turn_that_is_gone_on_with_begins_with_thinking_where_that_is_asked_for() {
    let end = format!(",{ANSWER},{PICTURE}");
    let thoughtless = [THOUGHT, HIDDEN, ""].join(",");
    let without = |body: &str| body.replacen(&end, "", 1).replacen(&thoughtless, "", 1);
    let what = "messages[1]: calls that do not begin with thinking, which is not switched off";
    check_body(&without(&good()), &[what]);
    check_body(&good().replacen(&thoughtless, "", 1), &[]);
    check_body(&good().replacen(&end, "", 1).replacen(&format!("{THOUGHT},"), "", 1), &[]);
    // A model that thinks by itself may skip it, and takes back what it said.
    let asked = ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}";
    check_body(&without(&good()).replacen(asked, "", 1), &[]);
    let thought = format!("{{\"role\":\"assistant\",\"content\":[{HIDDEN},{WORDS}]}}");
    let before = |body: &str| body.replacen(USER, &[USER, &thought, USER].join(","), 1);
    check_body(&before(&without(&good())).replacen(asked, "", 1), &[]);
    check_body(&before(&good()).replacen(asked, "", 1), &[]);
    for other in ["{\"type\":\"disabled\"}", "{\"type\":\"adaptive\"}"] {
        check_body(&without(&good().replace("{\"type\":\"enabled\",\"budget_tokens\":1024}", other)), &[]);
    }
}

#[test]
fn cache_marks_are_few_alike_and_never_on_thinking() {
    let mark = ",\"cache_control\":{\"type\":\"ephemeral\"}";
    assert_eq!(good().matches(mark).count(), 4);
    let marked = |block: &str| format!("{}{mark}}}", block.strip_suffix('}').unwrap());
    check(MORE, &marked(MORE), &["body: 5 cache marks, at most 4"]);
    let moved = |to: &str| good().replacen(mark, "", 1).replacen(to, &marked(to), 1);
    check_body(&moved(WORDS), &[]);
    check_body(&moved(CALL_1), &[]);
    for (block, at) in [(THOUGHT, 0), (HIDDEN, 1)] {
        let what = format!("messages[1].content[{at}]: key \"cache_control\" is not on the list");
        check_body(&moved(block), &[&what]);
    }
    for other in ["{\"type\":\"ephemeral\",\"ttl\":\"1h\"}", "{\"type\":\"x\"}", "null"] {
        let what = "body: a cache mark that is not {\"type\":\"ephemeral\"}";
        check("{\"type\":\"ephemeral\"}", other, &[what]);
    }
}

#[test]
fn roles_take_turns() {
    check(
        USER,
        &USER.replace("user", "system"),
        &[
            "messages[0]: the role \"system\" is not on the list",
            "messages[1]: nothing of the user's stands before it",
        ],
    );
    check(USER, &[USER, USER].join(","), &["messages[1]: two messages of the user's in a row"]);
    check(ANSWER, &[ANSWER, ANSWER].join(","), &["messages[4]: two messages of the assistant's in a row"]);
    check(&format!("{USER},"), "", &["messages[0]: nothing of the user's stands before it"]);
    check(&format!(",{PICTURE}"), "", &["messages: the last one is not the user's"]);
    check(PICTURE, &format!("7,{PICTURE}"), &["messages[4]: no object"]);
    check_body(
        "{\"model\":\"m\",\"messages\":[],\"max_tokens\":1}",
        &["messages: no list with something in it"],
    );
}

#[test]
fn messages_and_blocks_have_their_keys() {
    check(ANSWER, &ANSWER.replace('}', ",\"usage\":1}"), &["messages[3]: key \"usage\" is not on the list"]);
    let places = [
        (THOUGHT, "messages[1].content[0]"),
        (HIDDEN, "messages[1].content[1]"),
        (WORDS, "messages[1].content[2]"),
        (CALL_1, "messages[1].content[3]"),
        (RESULT_1, "messages[2].content[0]"),
        (MORE, "messages[2].content[2]"),
    ];
    for (block, place) in places {
        let more = format!("{},\"x\":1}}", block.strip_suffix('}').unwrap());
        check(block, &more, &[&format!("{place}: key \"x\" is not on the list")]);
    }
    check(
        "\"text\":\"two\"",
        "\"text\":\"two\",\"x\":1",
        &["messages[2].content[1].content[0]: key \"x\" is not on the list"],
    );
    check("\"text\":\"S\"", "\"text\":\"S\",\"x\":1", &["system.content[0]: key \"x\" is not on the list"]);
    check(
        "{\"type\":\"image\"",
        "{\"x\":1,\"type\":\"image\"",
        &["messages[4].content[1]: key \"x\" is not on the list"],
    );
}

#[test]
fn blocks_are_those_of_their_role() {
    let unknown = |of: &str, whose: &str| format!("the type {of:?} is not on the list of the {whose}'s");
    for block in [CALL_1, THOUGHT] {
        let of = block.split('"').nth(3).unwrap();
        check(
            MORE,
            &block.replace("call_1", "call_3"),
            &[&format!("messages[2].content[2]: {}", unknown(of, "user"))],
        );
    }
    check(
        WORDS,
        RESULT_1,
        &[
            "body: 5 cache marks, at most 4",
            &format!("messages[1].content[2]: {}", unknown("tool_result", "assistant")),
        ],
    );
    check(
        WORDS,
        "{\"type\":\"server_tool_use\"}",
        &[&format!("messages[1].content[2]: {}", unknown("server_tool_use", "assistant"))],
    );
    check(
        "\"type\":\"text\",\"text\":\"S\"",
        "\"type\":\"x\",\"text\":\"S\"",
        &["system.content[0]: its type is not text"],
    );
}

#[test]
fn every_call_has_one_result_in_its_place() {
    check(
        &[RESULT_1, RESULT_2].join(","),
        &[RESULT_2, RESULT_1].join(","),
        &[
            "messages[2].content[0]: the result of \"call_2\" where that of \"call_1\" is next",
            "messages[2].content[1]: the result of \"call_1\" where that of \"call_2\" is next",
        ],
    );
    check(&format!("{RESULT_2},"), "", &["messages[2].content[1]: no result of \"call_2\" before it"]);
    check(&format!(",{RESULT_2},{MORE}"), "", &["the end of messages[2]: no result of \"call_2\" before it"]);
    let waits = "which no call before it waits for";
    check(
        RESULT_2,
        &[RESULT_2, RESULT_2].join(","),
        &[&format!("messages[2].content[2]: the result of \"call_2\", {waits}")],
    );
    check(
        &[RESULT_2, MORE].join(","),
        &[MORE, RESULT_2].join(","),
        &[
            "messages[2].content[1]: no result of \"call_2\" before it",
            "messages[2].content[2]: a result that does not stand first",
            &format!("messages[2].content[2]: the result of \"call_2\", {waits}"),
        ],
    );
    check(
        "\"text\":\"see\"}",
        &format!("\"text\":\"see\"}},{}", RESULT_2.replace("call_2", "call_9")),
        &[
            "messages[4].content[1]: a result that does not stand first",
            &format!("messages[4].content[1]: the result of \"call_9\", {waits}"),
        ],
    );
    let end = body(&[USER, &calls(), USER, &calls().replace("call_", "other_")], "");
    check_body(
        &end,
        &[
            "messages[2].content[0]: no result of \"call_1\" before it",
            "messages[2].content[0]: no result of \"call_2\" before it",
            "the end: no result of \"other_1\" before it",
            "the end: no result of \"other_2\" before it",
            "messages: the last one is not the user's",
        ],
    );
    check(
        "\"is_error\":true",
        "\"is_error\":\"yes\"",
        &["messages[2].content[1]: is_error is neither true nor false"],
    );
}

#[test]
fn ids_names_and_inputs_of_calls_fit_everywhere() {
    let rename = |id: &str, wanted: &[&str]| check_body(&good().replace("call_2", id), wanted);
    rename(&"x".repeat(40), &[]);
    for id in ["x".repeat(41), "a.b".into(), String::new()] {
        rename(&id, &[&format!("messages[1].content[4]: the id {id:?} is not 1 to 40 of [a-zA-Z0-9_-]")]);
    }
    rename("call_1", &["messages[1].content[4]: the id \"call_1\" stands twice"]);
    check(
        "no_longer_there",
        "a b",
        &["messages[1].content[4]: the name \"a b\" is not 1 to 64 of [a-zA-Z0-9_-]"],
    );
    for input in ["\"{}\"", "[]", "null"] {
        check(
            "\"input\":{}",
            &format!("\"input\":{input}"),
            &["messages[1].content[4]: its input is no object"],
        );
    }
}

#[test]
fn thinking_goes_back_whole_and_not_last() {
    let signature = "messages[1].content[0]: thinking without its signature";
    check(",\"signature\":\"c2ln+/==\"", "", &[signature]);
    check("\"c2ln+/==\"", "\"\"", &[signature]);
    check("\"thinking\":\"\",", "", &["messages[1].content[0]: its thinking is no text"]);
    check(
        "\"data\":\"c2Vj+/==\"",
        "\"data\":\"\"",
        &["messages[1].content[1]: redacted_thinking without its data"],
    );
    for block in [THOUGHT, HIDDEN] {
        let last = format!("{{\"role\":\"assistant\",\"content\":[{WORDS},{block}]}}");
        check(ANSWER, &last, &["messages[3]: its last block is thinking"]);
    }
}

#[test]
fn nothing_is_empty() {
    check("\"content\":\"A\"", "\"content\":\"\\n\"", &["messages[3]: an empty content"]);
    check("\"content\":\"A\"", "\"content\":[]", &["messages[3]: an empty content"]);
    check(",\"content\":\"A\"", "", &["messages[3]: no content"]);
    check("\"content\":\"A\"", "\"content\":{}", &["messages[3]: its content is neither text nor list"]);
    check("\"content\":\"A\"", "\"content\":[\"A\"]", &["messages[3].content[0]: no object"]);
    check("\"text\":\"U\"", "\"text\":\" \"", &["messages[0].content[0]: an empty text"]);
    check("\"text\":\"W\"", "\"text\":\"\"", &["messages[1].content[2]: an empty text"]);
    check("\"content\":\"one\"", "\"content\":\"\"", &["messages[2].content[0]: an empty content"]);
    check("\"content\":\"one\",", "", &["messages[2].content[0]: no content"]);
    check("\"text\":\"two\"", "\"text\":\"\"", &["messages[2].content[1].content[0]: an empty text"]);
    check("\"text\":\"S\"", "\"text\":\"\"", &["system.content[0]: an empty text"]);
    check(SYSTEM, "\" \"", &["system: an empty content"]);
    check(SYSTEM, "[]", &["system: an empty content"]);
    check("\"data\":\"eA==\"", "\"data\":\"eA\"", &["messages[4].content[1]: an image without its source"]);
    check("image/png", "image/bmp", &["messages[4].content[1]: an image without its source"]);
    check("\"https://x\"", "\"/x\"", &["messages[4].content[2]: an image without its source"]);
    check("\"data\":\"eA==\"", "\"data\":\"\"", &["messages[4].content[1]: an image without its source"]);
    check("\"url\":\"https://x\"", "\"u\":1", &["messages[4].content[2]: an image without its source"]);
}

#[test]
fn a_result_has_its_cap_and_its_mark() {
    check("\"one\"", &format!("{:?}", "长".repeat(50_200)), &[]);
    let long = format!("{:?}", "长".repeat(50_201));
    check("\"one\"", &long, &["messages[2].content[0]: a result of 50201 characters, at most 50000"]);
    check("\"two\"", &long, &["messages[2].content[1]: a result of 50201 characters, at most 50000"]);
}
