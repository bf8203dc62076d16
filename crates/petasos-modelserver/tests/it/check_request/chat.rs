//! Rules of chat completions.

use petasos_core::request::Wire;
use petasos_testkit::check_request::check_request;

const TOOL: &str = r#"{"type":"function","function":{"name":"read_file","description":"Reads.","parameters":{"type":"object","properties":{}}}}"#;
const SYSTEM: &str = r#"{"role":"system","content":"S"}"#;
const USER: &str = r#"{"role":"user","content":"U"}"#;
const CALLS: &str = r#"{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}},{"id":"call_2","type":"function","function":{"name":"no_longer_there","arguments":"{}"}}]}"#;
const RESULT_1: &str = r#"{"role":"tool","tool_call_id":"call_1","content":"one"}"#;
const RESULT_2: &str = r#"{"role":"tool","tool_call_id":"call_2","content":"two"}"#;
const ANSWER: &str = r#"{"role":"assistant","content":"A"}"#;
const PICTURE: &str = r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}"#;

fn good() -> String {
    let messages = [SYSTEM, USER, CALLS, RESULT_1, RESULT_2, ANSWER, PICTURE].join(",");
    format!(
        r#"{{"model":"m","parallel_tool_calls":true,"tools":[{TOOL}],"messages":[{messages}],"tool_choice":"auto","max_tokens":9,"stream":true,"stream_options":{{"include_usage":true}}}}"#
    )
}

#[track_caller]
fn check_body(body: &str, wanted: &[&str]) {
    assert_eq!(check_request(Wire::Chat, body.as_bytes()), wanted, "{body}");
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
    check_body(r#"{"model":"m","messages":[{"role":"user","content":"U"}]}"#, &[]);
    check(SYSTEM, &SYSTEM.replace("\"S\"", r#"[{"type":"text","text":"S"}]"#), &[]);
    check(&format!(",{ANSWER},{PICTURE}"), "", &[]);
    check("\"content\":null,\"reasoning_content\":\"\",", "", &[]);
}

#[test]
fn a_body_has_known_keys_once_each_and_names_a_model() {
    check(
        "\"stream\":true",
        "\"stream\":true,\"trace_id\":1",
        &["body: key \"trace_id\" is not on the list"],
    );
    check("\"stream\":true", "\"stream\":true,\"stream\":true", &["body: key \"stream\" stands twice"]);
    check("\"m\"", "\" \"", &["body: no model is named"]);
    check_body(r#"{"messages":[{"role":"user","content":"U"}]}"#, &["body: no model is named"]);
}

#[test]
fn parts_stand_in_their_order() {
    let body = |members: &str| format!("{{{members}}}");
    let (model, messages) = ("\"model\":\"m\"", format!("\"messages\":[{USER}]"));
    let tools = format!("\"tools\":[{TOOL}]");
    check_body(&body(&format!("{messages},{model}")), &["body: model does not stand first"]);
    check_body(
        &body(&format!("{model},{messages},{tools}")),
        &["body: tools does not stand before the messages"],
    );
    for (key, value) in [("tool_choice", "\"none\""), ("max_tokens", "1"), ("max_completion_tokens", "1")] {
        let early = body(&format!("{model},{tools},\"{key}\":{value},{messages}"));
        check_body(&early, &[&format!("body: {key} does not stand behind the messages")]);
    }
    for key in ["reasoning_effort", "parallel_tool_calls", "thinking"] {
        let late = body(&format!("{model},{tools},{messages},\"{key}\":true"));
        check_body(&late, &[&format!("body: {key} does not stand before the messages")]);
    }
}

#[test]
fn tools_are_whole() {
    let check = |from: &str, to: &str, wanted: &str| check(TOOL, &TOOL.replacen(from, to, 1), &[wanted]);
    check("\"type\":\"function\"", "\"type\":\"other\"", "tools[0]: its type is not function");
    check(
        "{\"type\":\"function\",",
        "{\"type\":\"function\",\"id\":1,",
        "tools[0]: key \"id\" is not on the list",
    );
    check("\"name\"", "\"rerun\":1,\"name\"", "tools[0]: key \"rerun\" is not on the list");
    check("read_file", "读", "tools[0]: the name \"读\" is not 1 to 64 of [a-zA-Z0-9_-]");
    check(
        "read_file",
        &"n".repeat(65),
        &format!("tools[0]: the name {:?} is not 1 to 64 of [a-zA-Z0-9_-]", "n".repeat(65)),
    );
    check("Reads.", " ", "tools[0]: no description");
    check("\"description\":\"Reads.\",", "", "tools[0]: no description");
    check("\"type\":\"object\"", "\"type\":\"array\"", "tools[0]: its parameters are no schema of an object");
    check(TOOL, "1", "tools[0]: no object");
    check(TOOL, "{\"type\":\"function\"}", "tools[0]: no function");
    check(TOOL, "", "tools: no list with something in it; leave the key out");
    check(TOOL, &format!("{TOOL},{TOOL}"), "tools[1]: the name \"read_file\" stands twice");
    let many: Vec<String> = (0..129).map(|at| TOOL.replace("read_file", &format!("t{at}"))).collect();
    check(TOOL, &many.join(","), "tools: 129 of them, at most 128");
    let types =
        "tools[0]: a type of its schema is none of object, array, string, number, integer, boolean, null";
    let with =
        |schema: &str| TOOL.replace("\"properties\":{}", &format!("\"properties\":{{\"a\":{schema}}}"));
    for good in [r#"{"type":["string","null"]}"#, r#"{"enum":["a"]}"#, "true"] {
        super::chat::check(TOOL, &with(good), &[]);
    }
    for wrong in [
        r#"{"type":"strin"}"#,
        r#"{"type":["string","nil"]}"#,
        r#"{"type":[]}"#,
        r#"{"items":{"type":"int"}}"#,
        r#"{"oneOf":[{"type":1}]}"#,
    ] {
        check(TOOL, &with(wrong), types);
    }
    for key in ["oneOf", "allOf", "anyOf", "enum", "not"] {
        let tool = TOOL.replace("\"properties\":{}", &format!("\"properties\":{{}},\"{key}\":[]"));
        check(TOOL, &tool, &format!("tools[0]: {key} at the top of its parameters"));
    }
    let strict = |schema: &str| {
        TOOL.replace(r#"{"type":"object","properties":{}}}"#, &format!("{schema},\"strict\":true}}"))
    };
    let closed = r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"object","additionalProperties":false}]}},"required":["a"],"additionalProperties":false}"#;
    super::chat::check(TOOL, &strict(closed), &[]);
    let open = "tools[0]: it is strict, and an object of its schema is open";
    check(TOOL, &strict(&closed.replace("false}]", "true}]")), open);
    check(
        TOOL,
        &strict(&closed.replace("[\"a\"]", "[]")),
        "tools[0]: it is strict, and \"a\" of its schema is not required",
    );
}

#[test]
fn what_is_asked_for_fits() {
    let choice = "body: tool_choice is neither a word for it nor a tool that is there";
    let named = |name: &str| format!("{{\"type\":\"function\",\"function\":{{\"name\":\"{name}\"}}}}");
    check("\"auto\"", &named("read_file"), &[]);
    for wrong in [&named("gone"), "\"any\"", "null", "{}"] {
        check("\"auto\"", wrong, &[choice]);
    }
    check(
        "\"stream\":true",
        "\"stream\":\"yes\"",
        &["body: stream is neither true nor false", "body: stream_options without stream"],
    );
    check(
        "\"parallel_tool_calls\":true",
        "\"parallel_tool_calls\":1",
        &["body: parallel_tool_calls is neither true nor false"],
    );
    check(",\"stream\":true", "", &["body: stream_options without stream"]);
    check(
        "\"stream\":true",
        "\"stream\":true,\"enable_thinking\":0",
        &[
            "body: enable_thinking does not stand before the messages",
            "body: enable_thinking is neither true nor false",
        ],
    );
    for wrong in ["0", "1.5", "true", "\"9\"", "null"] {
        let what = "is no whole number of at least 1";
        check("\"max_tokens\":9", &format!("\"max_tokens\":{wrong}"), &[&format!("body: max_tokens {what}")]);
        check(
            "\"max_tokens\":9",
            &format!("\"max_completion_tokens\":{wrong}"),
            &[&format!("body: max_completion_tokens {what}")],
        );
    }
    check(
        "\"max_tokens\":9",
        "\"max_tokens\":9,\"max_completion_tokens\":9",
        &["body: max_tokens and max_completion_tokens"],
    );
    check("\"max_tokens\":9", "\"temperature\":2.5", &["body: temperature is not 0 to 2"]);
    check("\"max_tokens\":9", "\"temperature\":\"0\"", &["body: temperature is not 0 to 2"]);
    check("\"max_tokens\":9", "\"top_p\":1.5", &["body: top_p is not 0 to 1"]);
    check("\"max_tokens\":9", "\"temperature\":0,\"top_p\":1", &[]);
}

#[test]
fn what_goes_with_tools_does_not_come_without() {
    let body =
        |key: &str| format!("{{\"model\":\"m\",\"parallel_tool_calls\":true,\"messages\":[{USER}]{key}}}");
    check_body(&body(""), &["body: parallel_tool_calls without tools"]);
    let both = ["body: tool_choice without tools", "body: parallel_tool_calls without tools"];
    check_body(&body(",\"tool_choice\":\"none\""), &both);
}

#[test]
fn roles_are_known_and_in_order() {
    let late = "a system message that is not the first";
    check(
        SYSTEM,
        &SYSTEM.replace("system", "developer"),
        &["messages[0]: the role \"developer\" is not on the list"],
    );
    check(PICTURE, &format!("{SYSTEM},{USER}"), &[&format!("messages[6]: {late}")]);
    check(SYSTEM, &[SYSTEM, SYSTEM].join(","), &[&format!("messages[1]: {late}")]);
    check(&format!("{USER},"), "", &["messages[1]: nothing of the user's stands before it"]);
    check(&format!(",{PICTURE}"), "", &["messages: the last one is neither the user's nor a tool's"]);
    let row = "messages[2]: two messages of the user's in a row";
    check(USER, &[USER, USER].join(","), &[row]);
    check(&format!("{ANSWER},"), "", &[]);
    let row = "messages[6]: two messages of the assistant's in a row";
    check(ANSWER, &[ANSWER, ANSWER].join(","), &[row]);
    check(PICTURE, &format!("7,{PICTURE}"), &["messages[6]: no object"]);
    check_body("{\"model\":\"m\",\"messages\":[]}", &["messages: no list with something in it"]);
}

#[test]
fn messages_have_the_keys_of_their_role() {
    check(USER, &USER.replace('}', ",\"name\":\"n\"}"), &["messages[1]: key \"name\" is not on the list"]);
    check(ANSWER, &ANSWER.replace('}', ",\"usage\":1}"), &["messages[5]: key \"usage\" is not on the list"]);
    check(
        RESULT_1,
        &RESULT_1.replace('}', ",\"name\":\"n\"}"),
        &["messages[3]: key \"name\" is not on the list"],
    );
    check(USER, &USER.replace('}', ",\"content\":\"U\"}"), &["messages[1]: key \"content\" stands twice"]);
    check(
        USER,
        &USER.replace('}', ",\"tool_calls\":null}"),
        &[
            "messages[1]: key \"tool_calls\" is not on the list",
            "messages[1]: its tool_calls are no list with something in it",
        ],
    );
    check(
        "{\"id\":\"call_1\",",
        "{\"index\":0,\"id\":\"call_1\",",
        &["messages[2].tool_calls[0]: key \"index\" is not on the list"],
    );
    check(
        "{\"name\":\"no_longer_there\"",
        "{\"x\":0,\"name\":\"no_longer_there\"",
        &["messages[2].tool_calls[1]: key \"x\" is not on the list"],
    );
}

#[test]
fn every_call_has_one_result_in_its_place() {
    check(
        &[RESULT_1, RESULT_2].join(","),
        &[RESULT_2, RESULT_1].join(","),
        &[
            "messages[3]: the result of \"call_2\" where that of \"call_1\" is next",
            "messages[4]: the result of \"call_1\" where that of \"call_2\" is next",
        ],
    );
    check(&format!("{RESULT_2},"), "", &["messages[4]: no result of \"call_2\" before it"]);
    check(
        RESULT_2,
        &[RESULT_2, RESULT_2].join(","),
        &["messages[5]: the result of \"call_2\", which no call before it waits for"],
    );
    check(
        RESULT_1,
        &[RESULT_1, USER].join(","),
        &[
            "messages[4]: no result of \"call_2\" before it",
            "messages[5]: the result of \"call_2\", which no call before it waits for",
        ],
    );
    check(&format!(",{RESULT_2},{ANSWER},{PICTURE}"), "", &["the end: no result of \"call_2\" before it"]);
    check(
        "\"tool_call_id\":\"call_1\",",
        "",
        &["messages[3]: the result of \"\" where that of \"call_1\" is next"],
    );
}

#[test]
fn ids_names_and_arguments_of_calls_fit_everywhere() {
    let rename = |id: &str, wanted: &[&str]| check_body(&good().replace("call_2", id), wanted);
    let longest = "x".repeat(40);
    rename(&longest, &[]);
    let wrong =
        |id: &str| format!("messages[2].tool_calls[1]: the id {id:?} is not 1 to 40 of [a-zA-Z0-9_-]");
    for id in ["x".repeat(41), "a.b".into(), String::new(), "号".into()] {
        rename(&id, &[&wrong(&id)]);
    }
    rename("call_1", &["messages[2].tool_calls[1]: the id \"call_1\" stands twice"]);
    check(
        "no_longer_there",
        "a b",
        &["messages[2].tool_calls[1]: the name \"a b\" is not 1 to 64 of [a-zA-Z0-9_-]"],
    );
    for arguments in ["\"\"", "\"[]\"", "\"{\"", "{}", "null", "\"1\""] {
        let what = "messages[2].tool_calls[1]: its arguments are no text that holds a JSON object";
        check("\"{}\"", arguments, &[what]);
    }
    check(
        "\"id\":\"call_2\",\"type\":\"function\"",
        "\"id\":\"call_2\"",
        &["messages[2].tool_calls[1]: its type is not function"],
    );
}

/// The same id in another step of the conversation.
#[test]
fn an_id_is_unique_in_the_whole_request() {
    let again = [CALLS, RESULT_1, RESULT_2, USER].join(",").replace("call_2", "call_3");
    check(
        &[ANSWER, PICTURE].join(","),
        &[USER, &again].join(","),
        &["messages[6].tool_calls[0]: the id \"call_1\" stands twice"],
    );
}

#[test]
fn nothing_is_empty() {
    check("\"content\":\"U\"", "\"content\":\"\"", &["messages[1]: an empty content"]);
    check("\"content\":\"U\"", "\"content\":[]", &["messages[1]: an empty content"]);
    check("\"content\":\"U\"", "\"content\":null", &["messages[1]: no content and no calls"]);
    check("\"content\":\"U\"", "\"content\":1", &["messages[1]: its content is neither text nor list"]);
    check(ANSWER, "{\"role\":\"assistant\"}", &["messages[5]: no content and no calls"]);
    check("\"content\":null", "\"content\":\"\"", &["messages[2]: an empty content"]);
    check("\"content\":\"one\"", "\"content\":\"\"", &["messages[3]: an empty content"]);
    check("\"content\":\"one\"", "\"content\":\" \\n\"", &["messages[3]: an empty content"]);
    check("\"text\":\"see\"", "\"text\":\"\"", &["messages[6].content[0]: an empty text"]);
    check(
        "\"url\":\"data:image/png;base64,eA==\"",
        "\"u\":1",
        &["messages[6].content[1]: an image without its URL"],
    );
    check("\"type\":\"text\"", "\"type\":\"file\"", &["messages[6].content[0]: neither text nor image_url"]);
    check(
        ANSWER,
        &ANSWER.replace('}', ",\"tool_calls\":[]}"),
        &["messages[5]: its tool_calls are no list with something in it"],
    );
}

#[test]
fn a_result_has_its_cap_and_its_mark() {
    check("\"one\"", &format!("{:?}", "长".repeat(50_200)), &[]);
    let long = format!("{:?}", "长".repeat(50_201));
    check("\"one\"", &long, &["messages[3]: a result of 50201 characters, at most 50000"]);
}
