//! What of a request has to stand at the start of the next one.

use petasos_testkit::check_request::check_prefix;

#[track_caller]
fn check(previous: &str, next: &str, wanted: &[&str]) {
    assert_eq!(check_prefix(previous.as_bytes(), next.as_bytes()), wanted);
}

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
    check(
        r#"{"messages":[1]}"#,
        r#"{"messages":[12]}"#,
        &["the last message of the request before goes on in the next one"],
    );
}

#[test]
fn what_has_no_messages_cannot_be_compared() {
    let good = r#"{"messages":[]}"#;
    check("{}", good, &["the request before: it has no messages"]);
    check(good, "{\"messages\":{}}", &["the next request: its messages are no list"]);
}
