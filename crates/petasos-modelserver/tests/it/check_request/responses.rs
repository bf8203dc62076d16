//! Rules of Responses.

use petasos_core::request::Wire;
use petasos_testkit::check_request::check_request;

const TOOL: &str = r#"{"type":"function","name":"read_file","description":"Reads.","parameters":{"type":"object","properties":{}},"strict":false}"#;
const USER: &str = r#"{"type":"message","role":"user","content":"U"}"#;
const THOUGHT: &str = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"R"}],"encrypted_content":"c2Vj+/=="}"#;
const WORDS: &str = r#"{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"W","annotations":[]}]}"#;
const CALL_1: &str = r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"a\"}","status":"completed"}"#;
const CALL_2: &str =
    r#"{"type":"function_call","call_id":"call_2","name":"no_longer_there","arguments":"{}"}"#;
const RESULT_1: &str = r#"{"type":"function_call_output","call_id":"call_1","output":"one"}"#;
const RESULT_2: &str =
    r#"{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"two"}]}"#;
const ANSWER: &str = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"N"}]}"#;
const PICTURE: &str = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,eA=="}]}"#;

fn good() -> String {
    let input = [USER, THOUGHT, WORDS, CALL_1, CALL_2, RESULT_1, RESULT_2, ANSWER, PICTURE].join(",");
    format!(
        r#"{{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"tools":[{TOOL}],"instructions":"S","prompt_cache_key":"k","reasoning":{{"effort":"low"}},"parallel_tool_calls":true,"input":[{input}],"tool_choice":"auto","max_output_tokens":16,"temperature":2,"top_p":1}}"#
    )
}

#[track_caller]
fn check_body(body: &str, wanted: &[&str]) {
    assert_eq!(check_request(Wire::Responses, body.as_bytes()), wanted, "{body}");
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
    check_body(&format!(r#"{{"model":"m","input":[{USER}]}}"#), &[]);
    check(&format!(",{ANSWER},{PICTURE}"), "", &[]);
    check("\"tool_choice\":\"auto\"", "\"tool_choice\":{\"type\":\"function\",\"name\":\"read_file\"}", &[]);
    // As a model said them: words and reasoning between its calls.
    let other = THOUGHT.replace("rs_1", "rs_2");
    check(
        CALL_2,
        &[&WORDS.replace("msg_1", "msg_2"), &other, CALL_2].map(|item| item as &str).join(","),
        &[],
    );
    // What the server keeps has ids.
    let kept = good()
        .replace("\"store\":false", "\"store\":true")
        .replace(",\"encrypted_content\":\"c2Vj+/==\"", "");
    check_body(&kept, &[]);
}

#[test]
fn a_body_has_known_keys_once_each_and_names_a_model() {
    check("\"stream\":true", "\"trace_id\":1", &["body: key \"trace_id\" is not on the list"]);
    check(
        "\"stream\":true",
        "\"previous_response_id\":\"resp_1\"",
        &["body: key \"previous_response_id\" is not on the list"],
    );
    check("\"stream\":true", "\"stream\":true,\"stream\":true", &["body: key \"stream\" stands twice"]);
    check("\"m\"", "\"\"", &["body: no model is named"]);
}

#[test]
fn parts_stand_in_their_order() {
    check_body(&format!("{{\"input\":[{USER}],\"model\":\"m\"}}"), &["body: model does not stand first"]);
    let before = [
        ("stream", "true"),
        ("store", "false"),
        ("instructions", "\"S\""),
        ("prompt_cache_key", "\"k\""),
        ("reasoning", "{}"),
    ];
    for (key, value) in before {
        let late = format!("{{\"model\":\"m\",\"input\":[{USER}],\"{key}\":{value}}}");
        check_body(&late, &[&format!("body: {key} does not stand before the input")]);
    }
    let sealed = "\"include\":[\"reasoning.encrypted_content\"]";
    let late = format!("{{\"model\":\"m\",\"input\":[{USER}],{sealed},\"tools\":[{TOOL}]}}");
    let behind = "does not stand before the input";
    check_body(&late, &[&format!("body: include {behind}"), &format!("body: tools {behind}")]);
    for (key, value) in [("tool_choice", "\"auto\""), ("max_output_tokens", "16")] {
        let early = format!("{{\"model\":\"m\",\"tools\":[{TOOL}],\"{key}\":{value},\"input\":[{USER}]}}");
        check_body(&early, &[&format!("body: {key} does not stand behind the input")]);
    }
}

#[test]
fn tools_are_whole() {
    let check = |from: &str, to: &str, wanted: &str| check(TOOL, &TOOL.replacen(from, to, 1), &[wanted]);
    check("\"type\":\"function\"", "\"type\":\"custom\"", "tools[0]: its type is not function");
    check("\"name\"", "\"rerun\":1,\"name\"", "tools[0]: key \"rerun\" is not on the list");
    check("read_file", "读", "tools[0]: the name \"读\" is not 1 to 64 of [a-zA-Z0-9_-]");
    check("Reads.", " ", "tools[0]: no description");
    check("\"type\":\"object\"", "\"type\":\"array\"", "tools[0]: its parameters are no schema of an object");
    check(",\"strict\":false", "", "tools[0]: strict is neither true nor false");
    check(TOOL, "1", "tools[0]: no object");
    check(TOOL, "", "tools: no list with something in it; leave the key out");
    check(TOOL, &format!("{TOOL},{TOOL}"), "tools[1]: the name \"read_file\" stands twice");
    let strict = TOOL.replace("\"strict\":false", "\"strict\":true");
    check(TOOL, &strict, "tools[0]: it is strict, and an object of its schema is open");
}

#[test]
fn what_is_asked_for_fits() {
    let choice = "body: tool_choice is neither a word for it nor a tool that is there";
    for wrong in ["\"any\"", "{\"type\":\"function\",\"name\":\"gone\"}", "null", "true"] {
        check("\"tool_choice\":\"auto\"", &format!("\"tool_choice\":{wrong}"), &[choice]);
    }
    let body = format!(
        "{{\"model\":\"m\",\"parallel_tool_calls\":true,\"input\":[{USER}],\"tool_choice\":\"none\"}}"
    );
    check_body(&body, &["body: tool_choice without tools", "body: parallel_tool_calls without tools"]);
    let include = "body: include is no list of \"reasoning.encrypted_content\" alone";
    for wrong in ["[]", "[\"reasoning\"]", "\"reasoning.encrypted_content\"", "null"] {
        check("[\"reasoning.encrypted_content\"]", wrong, &[include]);
    }
    check(
        "\"instructions\":\"S\"",
        "\"instructions\":\" \"",
        &["body: empty instructions; leave the key out"],
    );
    check(
        "\"max_output_tokens\":16",
        "\"max_output_tokens\":15",
        &["body: max_output_tokens is no whole number of at least 16"],
    );
    check(
        "\"max_output_tokens\":16",
        "\"max_output_tokens\":null",
        &["body: max_output_tokens is no whole number of at least 16"],
    );
    for key in ["stream", "parallel_tool_calls"] {
        let what = format!("body: {key} is neither true nor false");
        check(&format!("\"{key}\":true"), &format!("\"{key}\":\"yes\""), &[&what]);
    }
    check("\"temperature\":2", "\"temperature\":2.1", &["body: temperature is not 0 to 2"]);
    check("\"top_p\":1", "\"top_p\":-1", &["body: top_p is not 0 to 1"]);
}

#[test]
fn items_are_known_and_in_order() {
    check_body("{\"model\":\"m\",\"input\":[]}", &["input: no list with something in it"]);
    check_body("{\"model\":\"m\",\"input\":\"U\"}", &["input: no list with something in it"]);
    check(USER, "7", &["input[0]: no object", "input[1]: nothing of the user's stands before it"]);
    let unknown = [
        ("{\"type\":\"item_reference\",\"id\":\"rs_1\"}", "the type \"item_reference\" is not on the list"),
        ("{\"role\":\"user\",\"content\":\"U\"}", "the type \"\" is not on the list"),
        (
            "{\"type\":\"message\",\"role\":\"system\",\"content\":\"U\"}",
            "the role \"system\" is not on the list",
        ),
    ];
    for (item, what) in unknown {
        check(USER, &[USER, item].join(","), &[&format!("input[1]: {what}")]);
    }
    check(USER, &[USER, USER].join(","), &["input[1]: two messages of the user's in a row"]);
    check(ANSWER, &[ANSWER, ANSWER].join(","), &["input[8]: two messages of the assistant's in a row"]);
    check(&format!("{USER},"), "", &["input[0]: nothing of the user's stands before it"]);
    check(&format!(",{PICTURE}"), "", &["input: the last one is neither the user's nor a result"]);
}

#[test]
fn items_have_the_keys_of_their_type_and_none_is_null() {
    for (item, at) in [(USER, 0), (THOUGHT, 1), (WORDS, 2), (CALL_1, 3), (RESULT_1, 5)] {
        let more = format!("{},\"trace_id\":1}}", item.strip_suffix('}').unwrap());
        check(item, &more, &[&format!("input[{at}]: key \"trace_id\" is not on the list")]);
    }
    for (item, at) in [(THOUGHT, 1), (WORDS, 2), (CALL_2, 4), (RESULT_1, 5)] {
        let more = format!("{},\"status\":null}}", item.strip_suffix('}').unwrap());
        check(item, &more, &[&format!("input[{at}]: status is null; leave it out")]);
    }
    check(
        "\"text\":\"see\"",
        "\"text\":\"see\",\"x\":1",
        &["input[8].content[0]: key \"x\" is not on the list"],
    );
    check(
        "\"detail\":\"auto\",",
        "\"detail\":\"auto\",\"x\":1,",
        &["input[8].content[1]: key \"x\" is not on the list"],
    );
    check("\"text\":\"W\"", "\"text\":\"W\",\"x\":1", &["input[2].content[0]: key \"x\" is not on the list"]);
    check(
        "\"refusal\":\"N\"",
        "\"refusal\":\"N\",\"x\":1",
        &["input[7].content[1]: key \"x\" is not on the list"],
    );
    check("\"text\":\"R\"", "\"text\":\"R\",\"x\":1", &["input[1]: key \"x\" is not on the list"]);
}

#[test]
fn every_call_has_one_result_in_its_place() {
    check(
        &[RESULT_1, RESULT_2].join(","),
        &[RESULT_2, RESULT_1].join(","),
        &[
            "input[5]: the result of \"call_2\" where that of \"call_1\" is next",
            "input[6]: the result of \"call_1\" where that of \"call_2\" is next",
        ],
    );
    check(&format!("{RESULT_2},"), "", &["input[6]: no result of \"call_2\" before it"]);
    let waits = "which no call before it waits for";
    check(
        RESULT_2,
        &[RESULT_2, RESULT_2].join(","),
        &[&format!("input[7]: the result of \"call_2\", {waits}")],
    );
    // Nothing stands between results, and nothing of the user's between a call and its result.
    for between in [USER, ANSWER] {
        check(
            RESULT_2,
            &[between, RESULT_2].join(","),
            &[
                "input[6]: no result of \"call_2\" before it",
                &format!("input[7]: the result of \"call_2\", {waits}"),
            ],
        );
    }
    check(
        &[CALL_2, RESULT_1].join(","),
        &[CALL_2, USER, RESULT_1].join(","),
        &[
            "input[5]: no result of \"call_1\" before it",
            "input[5]: no result of \"call_2\" before it",
            &format!("input[6]: the result of \"call_1\", {waits}"),
            &format!("input[7]: the result of \"call_2\", {waits}"),
        ],
    );
    check(&format!(",{RESULT_2},{ANSWER},{PICTURE}"), "", &["the end: no result of \"call_2\" before it"]);
    check(
        &format!("{RESULT_1},{RESULT_2},{ANSWER},{PICTURE}"),
        &format!("{RESULT_1},{RESULT_2},{CALL_1}").replace("fc_1", "fc_2"),
        &[
            "input[7]: the id \"call_1\" stands twice",
            "the end: no result of \"call_1\" before it",
            "input: the last one is neither the user's nor a result",
        ],
    );
}

#[test]
fn ids_names_and_arguments_of_calls_fit_everywhere() {
    let rename = |id: &str, wanted: &[&str]| check_body(&good().replace("call_2", id), wanted);
    rename(&"x".repeat(40), &[]);
    for id in ["x".repeat(41), "a.b".into(), String::new()] {
        rename(&id, &[&format!("input[4]: the id {id:?} is not 1 to 40 of [a-zA-Z0-9_-]")]);
    }
    rename("call_1", &["input[4]: the id \"call_1\" stands twice"]);
    check("no_longer_there", "a b", &["input[4]: the name \"a b\" is not 1 to 64 of [a-zA-Z0-9_-]"]);
    for arguments in ["\"\"", "\"[]\"", "\"{\"", "{}"] {
        check("\"{}\"", arguments, &["input[4]: its arguments are no text that holds a JSON object"]);
    }
}

#[test]
fn ids_of_items_are_of_their_kind_and_stand_once() {
    let kind = |id: &str, prefix: &str| format!("the item's id {id:?} does not begin with {prefix:?}");
    check("\"fc_1\"", "\"call_1\"", &[&format!("input[3]: {}", kind("call_1", "fc"))]);
    check("\"rs_1\"", "\"msg_2\"", &[&format!("input[1]: {}", kind("msg_2", "rs"))]);
    check("\"msg_1\"", "\"chatcmpl-1\"", &[&format!("input[2]: {}", kind("chatcmpl-1", "msg"))]);
    let fits = |id: &str| format!("the item's id {id:?} has other characters, or too many");
    check("\"fc_1\"", "\"fc_1|2\"", &[&format!("input[3]: {}", fits("fc_1|2"))]);
    let long = format!("msg_{}", "x".repeat(61));
    check("msg_1", &long, &[&format!("input[2]: {}", fits(&long))]);
    check("rs_1", &format!("rs_{}", "x".repeat(99)), &[]);
    check("\"fc_1\"", "7", &["input[3]: its id is no text"]);
    check(
        CALL_2,
        &CALL_2.replace("{\"type\"", "{\"id\":\"fc_1\",\"type\""),
        &["input[4]: the item's id \"fc_1\" stands twice"],
    );
}

#[test]
fn reasoning_goes_back_sealed_and_with_what_followed_it() {
    let sealed = "input[1]: reasoning that is kept nowhere has no encrypted_content";
    check(",\"encrypted_content\":\"c2Vj+/==\"", "", &[sealed]);
    check("\"c2Vj+/==\"", "\"\"", &[sealed]);
    let follows = "reasoning without what followed it";
    check(
        &format!("{THOUGHT},{WORDS},{CALL_1},{CALL_2},{RESULT_1},{RESULT_2},{ANSWER},{PICTURE}"),
        THOUGHT,
        &[&format!("input[1]: {follows}"), "input: the last one is neither the user's nor a result"],
    );
    check(
        ANSWER,
        &format!("{ANSWER},{}", THOUGHT.replace("rs_1", "rs_2")),
        &[&format!("input[8]: {follows}")],
    );
    check("\"id\":\"rs_1\",", "", &["input[1]: reasoning without its id"]);
    check(
        "\"summary\":[{\"type\":\"summary_text\",\"text\":\"R\"}]",
        "\"summary\":\"R\"",
        &["input[1]: its summary is no list"],
    );
    check("\"summary_text\"", "\"text\"", &["input[1]: a part of its summary is no summary_text"]);
    let kept = good().replace("\"store\":false", "\"store\":true");
    let without = WORDS.replace("\"id\":\"msg_1\",", "");
    check_body(
        &kept.replacen(WORDS, &without, 1),
        &["input[1]: what follows reasoning that the server keeps has no id"],
    );
}

#[test]
fn nothing_is_empty() {
    check("\"content\":\"U\"", "\"content\":\" \"", &["input[0]: an empty content"]);
    check("\"content\":\"U\"", "\"content\":[]", &["input[0]: an empty content"]);
    check(",\"content\":\"U\"", "", &["input[0]: no content"]);
    check("\"content\":\"U\"", "\"content\":1", &["input[0]: its content is neither text nor list"]);
    check("\"content\":\"U\"", "\"content\":[1]", &["input[0].content[0]: no object"]);
    check("\"text\":\"W\"", "\"text\":\"\"", &["input[2].content[0]: an empty text"]);
    check("\"text\":\"see\"", "\"text\":\"\\n\"", &["input[8].content[0]: an empty text"]);
    check("\"refusal\":\"N\"", "\"refusal\":\"\"", &["input[7].content[1]: an empty refusal"]);
    check("\"output\":\"one\"", "\"output\":\"\"", &["input[5]: an empty content"]);
    check("\"text\":\"two\"", "\"text\":\" \"", &["input[6].content[0]: an empty text"]);
    check(
        ",\"image_url\":\"data:image/png;base64,eA==\"",
        "",
        &["input[8].content[1]: an image without its URL"],
    );
    check("\"detail\":\"auto\",", "", &["input[8].content[1]: an image without its detail"]);
}

#[test]
fn parts_of_a_content_are_those_of_their_speaker() {
    check(
        "\"type\":\"input_text\",\"text\":\"see\"",
        "\"type\":\"text\",\"text\":\"see\"",
        &["input[8].content[0]: neither input_text nor input_image"],
    );
    check(
        "\"type\":\"output_text\",\"text\":\"W\"",
        "\"type\":\"input_text\",\"text\":\"W\"",
        &["input[2].content[0]: neither output_text nor refusal"],
    );
    check(
        "\"text\":\"W\",\"annotations\":[]",
        "\"text\":\"W\"",
        &["input[2].content[0]: its annotations are no list"],
    );
}

#[test]
fn a_result_has_its_cap_and_its_mark() {
    check("\"one\"", &format!("{:?}", "长".repeat(50_200)), &[]);
    let long = format!("{:?}", "长".repeat(50_201));
    check("\"one\"", &long, &["input[5]: a result of 50201 characters, at most 50000"]);
    check("\"two\"", &long, &["input[6]: a result of 50201 characters, at most 50000"]);
}
