//! How replies end, as the decoder tells it.

use petasos_core::entry::FinishReason;

use crate::cases::stream;
use crate::say::{decode, told};

/// The lines of a reply that says `text`, makes a call with these arguments, and ends for this reason.
fn ended(arguments: &str, reason: &str) -> Vec<String> {
    let arguments = serde_json::to_string(arguments).unwrap();
    let call = format!(r#"{{"index":0,"id":"a","function":{{"name":"ls","arguments":{arguments}}}}}"#);
    let said = format!(r#"{{"choices":[{{"delta":{{"content":"text","tool_calls":[{call}]}}}}]}}"#);
    let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#);
    told(&stream(&[&said, &end]))
}

fn check(arguments: &str, reason: &str, call: &str, end: &str) {
    assert_eq!(ended(arguments, reason), ["text: text", call, end], "{arguments} {reason}");
}

#[test]
fn l11_each_finish_reason_and_what_it_makes_of_a_call() {
    for reason in ["\"tool_calls\"", "\"function_call\""] {
        check("{}", reason, "call a: ls {}", "end: ToolUse");
    }
    check("{}", "\"stop\"", "call a: ls {}", "end: Stop");
    check("{}", "\"length\"", "call a: ls {} (not whole)", "end: Length");
    for reason in ["\"model_length\"", "\"insufficient_system_resource\""] {
        check("{}", reason, "call a: ls {} (not whole)", "end: Length");
    }
    check("{}", "\"content_filter\"", "call a: ls {} (not whole)", "end: Refused");
    check("{}", "null", "call a: ls {}", "end: Other(\"\")");
    check("{}", "\"\"", "call a: ls {}", "end: Other(\"\")");
    check("{}", "\"eos\"", "call a: ls {}", "end: Other(\"eos\")");
    check("{}", "7", "call a: ls {}", "end: Other(\"7\")");
}

#[test]
fn l11_where_nobody_says_why_it_ended_open_arguments_were_cut() {
    check(r#"{"a":"}"#, "null", r#"call a: ls {"a":"} (not whole)"#, "end: Other(\"\")");
    check("", "null", "call a: ls (nothing)", "end: Other(\"\")");
    check("ls -l", "\"eos\"", "call a: ls ls -l (not whole)", "end: Other(\"eos\")");
    // A reason that says that the model was done leaves it to the repair of arguments.
    check(r#"{"a":1"#, "\"stop\"", r#"call a: ls {"a":1"#, "end: Stop");
}

#[test]
fn l11_a_cut_that_was_told_is_not_taken_back() {
    let length = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    assert_eq!(decode(&[&stream(&[length, stop])]).1.unwrap().finish, FinishReason::Length);
}

#[test]
fn l11_a_refusal_in_its_own_field_is_a_refusal() {
    let refusal = r#"{"choices":[{"delta":{"refusal":"I will not."}}]}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    assert_eq!(told(&stream(&[refusal, stop])), ["text: I will not.", "end: Refused"]);
}

#[test]
fn l11_a_finished_reply_with_nothing_in_it_is_an_end_for_core_to_judge() {
    let stop = r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}"#;
    assert_eq!(told(&stream(&[stop])), ["end: Stop"]);
}

/// OpenRouter: the finish reason came, and then an error that says the same again.
#[test]
fn l11_an_error_behind_the_finish_reason_takes_nothing_back() {
    let chunks = [
        r#"{"choices":[{"index":0,"delta":{"content":"One"},"finish_reason":"length"}]}"#,
        r#"{"error":{"code":400,"message":"Token limit reached"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}],"usage":{"prompt_tokens":43,"completion_tokens":10}}"#,
    ];
    let (_, end) = crate::say::decode(&[&crate::cases::stream(&chunks)]);
    let end = end.unwrap();
    assert_eq!((end.finish, end.usage.unwrap().output), (petasos_core::entry::FinishReason::Length, 10));
    // Beside a reason that is the error's own it is one.
    let failed = [
        r#"{"choices":[{"index":0,"delta":{"content":"One"},"finish_reason":"error"}],"error":{"code":502,"message":"no"}}"#,
    ];
    crate::say::decode(&[&crate::cases::stream(&failed)]).1.unwrap_err();
}

/// `message` is the name of an event that has none: what it holds is a chunk, and one that cannot be read is told.
#[test]
fn p03_a_chunk_under_the_name_that_none_means_is_never_passed_over() {
    let stream = b"event: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\n\ndata: [DONE]\n\n";
    crate::say::decode(&[stream]).1.unwrap_err();
    let good = b"event: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"LENGTH\"}]}\n\n";
    assert_eq!(crate::say::decode(&[good]).1.unwrap().finish, petasos_core::entry::FinishReason::Length);
}
