//! How replies end, as the decoder tells it.

use petasos_core::entry::FinishReason;
use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::turn::Delta;
use petasos_providers::Ended;

use crate::cases::stream;
use crate::say::{Decoded, decode, decode_on, told};

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
    check("{}", "\"model_length\"", "call a: ls {} (not whole)", "end: Length");
    check("{}", "\"insufficient_system_resource\"", "call a: ls {}", "failed: Overloaded");
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

/// Python's quotes, which some models write, hold quotes and brackets as well.
#[test]
fn l11_arguments_in_single_quotes_are_whole_at_their_own_end() {
    for whole in [
        r#"{'a': 'say "hi'}"#,
        r#"{'a"': ['}', "it's"], "b": 'it\'s {'}"#,
        r#"{"a": {}, 'b': '"'}"#,
        r#"{"a": 1 // it's one
        }"#,
    ] {
        check(whole, "null", &format!("call a: ls {whole}"), "end: Other(\"\")");
    }
    for cut in [r#"{'a': '}"#, r#"{'a': '\'}"#, r#"{"a": "it's", 'b': ['"'}"#, r#"{'a': "'}'}"#] {
        check(cut, "null", &format!("call a: ls {cut} (not whole)"), "end: Other(\"\")");
    }
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

/// A word for a reply that its server gave up is no end of one, on whichever wire it comes.
#[test]
fn l11_a_reply_that_was_given_up_is_a_failure() {
    for (word, kind) in [
        ("error", FailureKind::Other),
        ("failed", FailureKind::Other),
        ("ERROR", FailureKind::Other),
        ("insufficient_system_resource", FailureKind::Overloaded),
    ] {
        let chat = format!(
            r#"data: {{"choices":[{{"delta":{{"content":"A."}},"finish_reason":"{word}"}}],"usage":{{"prompt_tokens":7,"completion_tokens":2}}}}"#
        );
        let messages = format!(
            r#"data: {{"type":"message_delta","delta":{{"stop_reason":"{word}"}},"usage":{{"input_tokens":7,"output_tokens":2}}}}"#
        );
        for (wire, stream) in [(Wire::Chat, chat), (Wire::Messages, messages)] {
            let Decoded { end, ended, .. } = decode_on(wire, &[stream.as_bytes()]);
            let failure = end.unwrap_err();
            assert_eq!((failure.kind, ended), (kind, Ended::Told), "{wire:?} {word}");
            assert_eq!(failure.usage.unwrap().output, 2, "it may be charged");
            assert!(failure.message.starts_with("models.example gave the reply up ("), "{}", failure.message);
        }
    }
}

/// Named or not, on whichever wire: a reply whose end was told stays whole.
#[test]
fn l11_an_error_event_behind_the_finish_reason_takes_nothing_back() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let chat = r#"{"choices":[{"delta":{"content":"A."},"finish_reason":"stop"}]}"#;
    let messages = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let responses = r#"{"type":"response.completed","response":{}}"#;
    for (wire, finished) in [(Wire::Chat, chat), (Wire::Messages, messages), (Wire::Responses, responses)] {
        for name in ["", "event: error\n"] {
            let behind = format!("data: {finished}\n\n{name}data: {error}\n\n");
            let end = decode_on(wire, &[behind.as_bytes()]).end.unwrap();
            assert_eq!(end.finish, FinishReason::Stop, "{wire:?} {name}");
            let before = format!("{name}data: {error}\n\ndata: {finished}\n\n");
            let failure = decode_on(wire, &[before.as_bytes()]).end.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Overloaded, "{wire:?} {name}");
        }
    }
    // A reason that nobody knows is no end that was told.
    for name in ["", "event: error\n"] {
        let messages = r#"{"type":"message_delta","delta":{"stop_reason":"odd"}}"#;
        let behind = format!("data: {messages}\n\n{name}data: {error}\n\n");
        decode_on(Wire::Messages, &[behind.as_bytes()]).end.unwrap_err();
    }
}

/// vLLM writes the fields of its errors into the event itself.
#[test]
fn p04_an_error_without_an_envelope_is_known_on_every_wire() {
    let error = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}"#;
    for wire in [Wire::Chat, Wire::Messages, Wire::Responses] {
        let Decoded { end, ended, .. } = decode_on(wire, &[format!("data: {error}\n\n").as_bytes()]);
        assert_eq!((end.unwrap_err().kind, ended), (FailureKind::Overflow, Ended::Told), "{wire:?}");
    }
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

#[test]
fn p03_a_wrong_type_costs_its_field_alone() {
    let good = r#"{"choices":[{"delta":{"content":"A."}}]}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":3,"completion_tokens_details":[]}}"#;
    for odd in [
        r#"{"choices":[{"delta":{"content":"B.","tool_calls":{}}}]}"#,
        r#"{"choices":[{"delta":{"content":"B.","tool_calls":"none"}}]}"#,
        r#"{"choices":[{"delta":{"content":"B.","tool_calls":[null,7,"x",{"function":"ls"}],"function_call":[]}}]}"#,
        r#"{"choices":[{"delta":{"content":"B.","function_call":"none"},"message":"B."}]}"#,
        r#"{"choices":[{"delta":"","message":{"content":"B."}}]}"#,
        r#"{"choices":[null,7,{"delta":{"content":"B."}}]}"#,
        r#"{"choices":{"delta":{"content":"B."}}}"#,
        r#"{"choices":[{"delta":[],"message":[]}],"x_groq":[],"model":{}}"#,
        r#"{"choices":"none"}"#,
    ] {
        let Decoded { end, deltas, .. } = decode_on(Wire::Chat, &[&stream(&[good, odd, stop])]);
        let text: String = deltas
            .iter()
            .map(|delta| match delta {
                Delta::Text(text) => text.to_string(),
                other => format!("{other:?}"),
            })
            .collect();
        let end = end.unwrap();
        let usage = end.usage.unwrap();
        assert_eq!((end.finish, usage.input, usage.output), (FinishReason::Stop, 7, 2), "{odd}");
        assert_eq!(text, if odd.contains("B.") { "A.B." } else { "A." }, "{odd}");
    }
    let whole = r#"{"choices":[{"message":{"content":"A.","tool_calls":{},"function_call":[]},"finish_reason":"stop"}]}"#;
    assert_eq!(told(whole.as_bytes()), ["text: A.", "end: Stop"]);
    let one = r#"{"choices":[{"delta":{"tool_calls":{"id":"a","function":{"name":"ls","arguments":"{}"}}},"finish_reason":"stop"}]}"#;
    assert_eq!(told(&stream(&[one])), ["call a: ls {}", "end: Stop"]);
}

/// The words of a message that hint at the other two wires.
fn hint(asked: Wire) -> &'static str {
    match asked {
        Wire::Chat => {
            "it was asked by the protocol chat; if it speaks another, try --api-mode responses or messages"
        }
        Wire::Responses => {
            "it was asked by the protocol responses; if it speaks another, try --api-mode chat or messages"
        }
        Wire::Messages => {
            "it was asked by the protocol messages; if it speaks another, try --api-mode chat or responses"
        }
    }
}

#[test]
fn p01_a_stream_of_another_wire_names_both_and_what_to_try() {
    for (of, stream) in crate::contract::all() {
        for asked in [Wire::Chat, Wire::Responses, Wire::Messages] {
            let Decoded { deltas, end, ended } = decode_on(asked, &[stream]);
            // An error is told on every wire, and a stream may be nothing.
            if of == asked || ended == Ended::Told {
                continue;
            }
            let failure = end.unwrap_err();
            assert_eq!(
                (ended, failure.kind),
                (Ended::Unreadable, FailureKind::BadRequest),
                "{of:?} by {asked:?}"
            );
            assert_eq!(deltas, []);
            let name = format!("{of:?}").to_lowercase();
            let told = format!("models.example sent a stream of the protocol {name}; {}", hint(asked));
            assert_eq!(&*failure.message, told);
        }
    }
}

#[test]
fn p01_what_is_no_stream_or_breaks_off_unknown_hints_at_the_wires() {
    for asked in [Wire::Chat, Wire::Responses, Wire::Messages] {
        for (junk, shown) in [
            ("null", "\"null\""),
            ("7\n", "\"7\""),
            ("Internal Server Error\n\n", "\"Internal Server Error\""),
            ("\n\nHello: there\ndata: {}\n\n", "\"Hello: there\""),
        ] {
            let Decoded { end, ended, .. } = decode_on(asked, &[junk.as_bytes()]);
            let failure = end.unwrap_err();
            assert_eq!((ended, failure.kind), (Ended::Unreadable, FailureKind::BadStream), "{junk}");
            assert_eq!(
                *failure.message,
                format!("models.example sent {shown}, which is no stream; {}", hint(asked))
            );
        }
        for cut in [": ping\n\n", "dat", "event: ping\n", "data: {}\n\n", "event: ping\ndata: {}\n\n"] {
            let Decoded { end, ended, .. } = decode_on(asked, &[cut.as_bytes()]);
            let failure = end.unwrap_err();
            assert_eq!((ended, failure.kind), (Ended::Cut, FailureKind::BadStream), "{cut}");
            assert!(failure.message.ends_with(hint(asked)), "{}", failure.message);
        }
        assert_eq!(decode_on(asked, &[b""]).ended, Ended::Cut);
        let whole = decode_on(asked, &[br#"{"id":1}"#]).end.unwrap_err();
        assert!(whole.message.ends_with(hint(asked)), "{}", whole.message);
    }
    // Lines beside a stream that is known cost nothing.
    let beside =
        b"junk\ndata: {\"choices\":[{\"delta\":{\"content\":\"A.\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(told(beside), ["text: A.", "end: Stop"]);
}

/// `message` is the name of an event that has none: what it holds is a chunk, and one that cannot be read is told.
#[test]
fn p03_a_chunk_under_the_name_that_none_means_is_never_passed_over() {
    let stream = b"event: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\n\ndata: [DONE]\n\n";
    crate::say::decode(&[stream]).1.unwrap_err();
    let good = b"event: message\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"LENGTH\"}]}\n\n";
    assert_eq!(crate::say::decode(&[good]).1.unwrap().finish, petasos_core::entry::FinishReason::Length);
}
