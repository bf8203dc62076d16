//! What of a request has to stand at the start of the next one.

use petasos_core::request::Wire;
use petasos_testkit::check_request::check_prefix;

#[track_caller]
fn check_of(wire: Wire, previous: &str, next: &str, wanted: &[&str]) {
    assert_eq!(check_prefix(wire, previous.as_bytes(), next.as_bytes()), wanted, "{previous} {next}");
}

#[track_caller]
fn check(previous: &str, next: &str, wanted: &[&str]) {
    check_of(Wire::Chat, previous, next, wanted);
}

/// A body with these messages and this behind them.
fn body(key: &str, messages: &[&str], end: &str) -> String {
    format!("{{\"model\":\"m\",\"{key}\":[{}]{end}}}", messages.join(","))
}

const GOES_ON: &str = "the last message of the request before goes on in the next one";

#[test]
fn parts_that_go_on_are_stable_whatever_the_tail_is() {
    let previous = r#"{"model":"m","messages":[{"a":[1]}],"tool_choice":"none"}"#;
    check(previous, previous, &[]);
    check(previous, r#"{"model":"m","messages":[{"a":[1]},{"b":2}],"max_tokens":1}"#, &[]);
    check(r#"{"model":"m","messages":[{"a":[1]} ] }"#, r#"{"model":"m","messages":[{"a":[1]}]}"#, &[]);
}

#[test]
fn one_byte_that_differs_is_shown() {
    let previous = r#"{"model":"m","messages":[{"a":1}]}"#;
    let what = "30 of 32 bytes of the parts are the same";
    check(
        previous,
        r#"{"model":"m","messages":[{"a":2},{"b":1}]}"#,
        &[&format!(
            r#"{what}; before: …{{"model":"m","messages":[{{"a":1}}]}}…; next: …{{"model":"m","messages":[{{"a":2}},{{"b":1}}]}}…"#
        )],
    );
    check(
        r#"{"messages":[{},{}]}"#,
        r#"{"messages":[{}]}"#,
        &[
            r#"15 of 18 bytes of the parts are the same; before: …{"messages":[{},{}]}…; next: …{"messages":[{}]}…"#,
        ],
    );
}

#[test]
fn a_message_that_goes_on_is_another_one() {
    check(r#"{"messages":[1]}"#, r#"{"messages":[12]}"#, &[GOES_ON]);
}

#[test]
fn what_has_no_messages_cannot_be_compared() {
    let good = r#"{"messages":[]}"#;
    check("{}", good, &["the request before: it has no messages"]);
    check(good, "{\"messages\":{}}", &["the next request: its messages are no list"]);
    check_of(Wire::Responses, good, "{}", &["the request before: it has no input"]);
    check(good, r#"{"messages":[{"role":"user","content":"U"}]}"#, &[]);
}

const USER: &str = r#"{"role":"user","content":"U"}"#;
const BLOCKS: &str = r#"{"role":"user","content":[{"type":"text","text":"U"}]}"#;
const ANSWER: &str = r#"{"role":"assistant","content":"A"}"#;

#[test]
fn what_a_user_says_may_be_gone_on_with_in_the_same_message() {
    for (wire, key) in [(Wire::Chat, "messages"), (Wire::Responses, "input"), (Wire::Messages, "messages")] {
        let check = |previous: &[&str], next: &[&str], wanted: &[&str]| {
            check_of(wire, &body(key, previous, ",\"a\":1"), &body(key, next, ""), wanted);
        };
        check(&[USER], &[USER], &[]);
        check(&[USER], &[USER, ANSWER, USER], &[]);
        check(&[USER], &[&USER.replace("U\"", "U\\n\\nmore\"")], &[]);
        check(&[USER], &[&USER.replace("U\"", "U\\n\\nmore\""), ANSWER], &[]);
        check(&[USER], &[&USER.replace("U\"", "Um\"")], &[GOES_ON]);
        check(&[BLOCKS], &[BLOCKS, ANSWER], &[]);
        check(&[BLOCKS], &[&BLOCKS.replace("}]", "},{\"type\":\"text\",\"text\":\"more\"}]")], &[]);
        // The assistant's words are closed.
        check(&[USER, ANSWER], &[USER, ANSWER, USER], &[]);
        let longer = ANSWER.replace("A\"", "A\\n\\nmore\"");
        let found = check_prefix(
            wire,
            body(key, &[USER, ANSWER], "").as_bytes(),
            body(key, &[USER, &longer], "").as_bytes(),
        );
        assert!(found.len() == 1 && found[0].contains("bytes of the parts are the same"), "{found:?}");
    }
    let text = |more: &str| BLOCKS.replace("\"U\"", &format!("\"U{more}\""));
    let found = check_prefix(
        Wire::Messages,
        body("messages", &[BLOCKS], "").as_bytes(),
        body("messages", &[&text("\\nmore")], "").as_bytes(),
    );
    assert!(found.len() == 1 && found[0].contains("bytes of the parts are the same"), "{found:?}");
}

#[test]
fn a_message_that_only_asks_to_go_on_is_no_part() {
    let go_on = [
        r#"{"role":"user","content":"Continue."}"#,
        r#"{"role":"user","content":[{"type":"text","text":"Continue."}]}"#,
    ];
    for go_on in go_on {
        let before = body("messages", &[USER, ANSWER, go_on], "");
        for next in [&[USER, ANSWER, USER][..], &[USER, ANSWER, go_on, ANSWER, USER], &[USER, ANSWER]] {
            check(&before, &body("messages", next, ""), &[]);
        }
        // Behind results it is what a user says.
        let tool = r#"{"role":"tool","content":"R"}"#;
        let said = body("messages", &[USER, ANSWER, tool, go_on], "");
        let found = check_prefix(
            Wire::Chat,
            said.as_bytes(),
            body("messages", &[USER, ANSWER, tool, USER], "").as_bytes(),
        );
        assert_eq!(found.len(), 1);
    }
    check_of(
        Wire::Responses,
        &body("input", &[USER, ANSWER, go_on[0]], ""),
        &body("input", &[USER, ANSWER, USER], ""),
        &[],
    );
}

#[test]
fn cache_marks_are_no_parts() {
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let marked = BLOCKS.replace("\"}]", &format!("\"{mark}}}]"));
    assert!(marked.contains(mark));
    for (before, next) in [(&*marked, BLOCKS), (BLOCKS, &*marked), (&*marked, &*marked)] {
        check_of(
            Wire::Messages,
            &body("messages", &[before], ",\"max_tokens\":9"),
            &body("messages", &[next, ANSWER, &marked], ",\"max_tokens\":9"),
            &[],
        );
    }
    let other = marked.replace("ephemeral", "other");
    let found = check_prefix(
        Wire::Messages,
        body("messages", &[&other], "").as_bytes(),
        body("messages", &[BLOCKS], "").as_bytes(),
    );
    assert_eq!(found.len(), 1);
}
