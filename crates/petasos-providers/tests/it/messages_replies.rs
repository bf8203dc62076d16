//! Streams of the Messages wire: cases that broke other agents, and the habits of servers that speak it.

use expect_test::{Expect, expect};
use petasos_core::entry::{FinishReason, Opaque};
use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::turn::Delta;
use petasos_core::usage::Usage;
use petasos_providers::{AnswerDecoder, Ended, ReplyEvent, origin};

use crate::say::{Decoded, blocks, decode_on, target_on, told_on};

const A21: [&[u8]; 2] = [include_bytes!("../cases/a21_1.sse"), include_bytes!("../cases/a21_2.sse")];
const A23: &[u8] = include_bytes!("../cases/a23.sse");

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn decode(bytes: &[u8]) -> Decoded {
    decode_on(Wire::Messages, &[bytes])
}

fn check(stream: &[u8], expected: &Expect) {
    expected.assert_eq(&told_on(Wire::Messages, stream).join("\n"));
}

/// Events in the published form: each with its name.
fn events(payloads: &[&str]) -> Vec<u8> {
    let event = |payload: &&str| {
        let name = payload.split('"').nth(3).unwrap();
        format!("event: {name}\ndata: {payload}\n\n")
    };
    payloads.iter().map(event).collect::<String>().into_bytes()
}

/// A whole stream of these events between its start and its end.
fn stream(payloads: &[&str], stop_reason: &str) -> Vec<u8> {
    let end = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}","stop_sequence":null}},"usage":{{"output_tokens":7}}}}"#
    );
    events(&[&[START], payloads, &[&end, STOP]].concat())
}

fn start(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stop(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

const TEXT: &str = r#"{"type":"text","text":""}"#;

fn said(text: &str) -> String {
    format!(r#"{{"type":"text_delta","text":"{text}"}}"#)
}

fn argued(json: &str) -> String {
    format!(r#"{{"type":"input_json_delta","partial_json":{json:?}}}"#)
}

fn strs(strings: &[String]) -> Vec<&str> {
    strings.iter().map(String::as_str).collect()
}

#[test]
fn case_a21_an_error_is_the_first_event() {
    let Decoded { deltas, end, ended } = decode(A21[0]);
    assert_eq!(deltas, []);
    let failure = end.unwrap_err();
    assert_eq!((failure.kind, ended), (FailureKind::Overloaded, Ended::Told));
    assert!(failure.message.contains("Overloaded (overloaded_error)"), "{}", failure.message);
}

#[test]
fn case_a21_an_error_behind_text_makes_no_reply_of_it() {
    let Decoded { deltas, end, ended } = decode(A21[1]);
    assert_eq!(deltas, [Delta::Text("First, ".into())]);
    let failure = end.unwrap_err();
    assert_eq!((failure.kind, ended), (FailureKind::Overloaded, Ended::Told));
    assert_eq!(failure.usage, None, "the start tells of an output that was not made yet");
}

#[test]
fn case_a21_an_error_without_the_name_of_its_event() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for error in [error, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#] {
        let Decoded { end, ended, .. } = decode(format!("data: {error}\n\n").as_bytes());
        assert_eq!((end.unwrap_err().kind, ended), (FailureKind::Overloaded, Ended::Told));
    }
    let error = r#"{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}"#;
    assert_eq!(decode(&events(&[error])).end.unwrap_err().kind, FailureKind::Timeout);
}

#[test]
fn case_a23_what_is_not_known_is_skipped_and_the_rest_keeps_its_place() {
    check(
        A23,
        &expect![[r#"
            call toolu_1: git_status (nothing)
            end: ToolUse"#]],
    );
    let end = decode(A23).end.unwrap();
    let usage = Usage { input: 5, output: 12, cached: 0, reasoning: 0, cache_written: 0 };
    assert_eq!(end.usage, Some(usage), "the output is told as a whole, not added");
    assert_eq!(end.model.as_deref(), Some("m"));
}

#[test]
fn case_a23_tools_of_the_server_are_skipped_with_their_arguments_and_results() {
    let payloads = [
        start(0, r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#),
        delta(0, &argued(r#"{"query":"#)),
        delta(0, &argued(r#""a"}"#)),
        stop(0),
        start(1, r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"a":[]}]}"#),
        stop(1),
        start(2, TEXT),
        delta(2, r#"{"type":"citations_delta","citation":{"type":"page","text":"cited"}}"#),
        delta(2, &said("Found.")),
        stop(2),
        start(3, r#"{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}"#),
        delta(3, &argued("{}")),
        stop(3),
    ];
    check(
        &stream(&strs(&payloads), "tool_use"),
        &expect![[r#"
            text: Found.
            call toolu_1: ls {}
            end: ToolUse"#]],
    );
}

#[test]
fn p03_every_cut_and_every_split_of_the_cases() {
    for stream in [A21[0], A21[1], A23] {
        let whole = decode(stream);
        for at in 0..=stream.len() {
            let (start, rest) = stream.split_at(at);
            assert_eq!(decode_on(Wire::Messages, &[start, rest]), whole, "split at {at}");
            let cut = decode(start);
            let calls_whole = cut.deltas.iter().any(|delta| matches!(delta, Delta::CallComplete { .. }));
            assert!(cut.end.is_ok() || !calls_whole, "cut at {at}: {cut:?}");
        }
    }
}

#[test]
fn p03_thinking_comes_as_it_goes_and_goes_back_with_its_seal() {
    let payloads = [
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"a\n"}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"\"b\""}"#),
        delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        stop(0),
        start(1, r#"{"type": "redacted_thinking", "data": "ZGF0YQ=="}"#),
        stop(1),
        start(2, TEXT),
        delta(2, &said("Done.")),
        stop(2),
    ];
    let stream = stream(&strs(&payloads), "end_turn");
    check(
        &stream,
        &expect![[r#"
            reasoning: a
            "b"
            opaque: {"type":"thinking","thinking":"a\n\"b\"","signature":"c2ln"}
            opaque: {"type": "redacted_thinking", "data": "ZGF0YQ=="}
            text: Done.
            end: Stop"#]],
    );
    let deltas = decode(&stream).deltas;
    let Some(Delta::Opaque(Opaque { origin: of, .. })) = deltas.get(2) else { panic!("{deltas:?}") };
    assert_eq!(*of, origin(&target_on(Wire::Messages)));
}

#[test]
fn p03_thinking_without_a_seal_is_only_for_reading() {
    let payloads = [
        start(0, r#"{"type":"thinking","thinking":"Hm"}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"m."}"#),
        delta(0, r#"{"type":"signature_delta","signature":""}"#),
        stop(0),
        start(1, TEXT),
        delta(1, &said("Yes.")),
    ];
    check(
        &stream(&strs(&payloads), "end_turn"),
        &expect![[r#"
            reasoning: Hmm.
            text: Yes.
            end: Stop"#]],
    );
}

#[test]
fn p03_thinking_that_may_not_be_read_still_goes_back() {
    let payloads = [
        start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        stop(0),
        start(1, TEXT),
        delta(1, &said("Yes.")),
        stop(1),
    ];
    check(
        &stream(&strs(&payloads), "end_turn"),
        &expect![[r#"
            opaque: {"type":"thinking","thinking":"","signature":"c2ln"}
            text: Yes.
            end: Stop"#]],
    );
}

/// A call whose block starts with this input, with these deltas.
fn call_of(input: &str, pieces: &[&str]) -> Vec<String> {
    let block = format!(r#"{{"type":"tool_use","id":"t1","name":"ls"{input}}}"#);
    let mut payloads = vec![start(0, &block)];
    payloads.extend(pieces.iter().map(|piece| delta(0, &argued(piece))));
    payloads.push(stop(0));
    let mut lines = told_on(Wire::Messages, &stream(&strs(&payloads), "tool_use"));
    lines.pop();
    lines
}

#[test]
fn p03_arguments_may_come_whole_at_the_start_of_a_call() {
    assert_eq!(call_of(r#","input":{"path": 1.50}"#, &[]), [r#"call t1: ls {"path": 1.50}"#]);
    assert_eq!(call_of(r#","input":"{\"a\":1}""#, &[]), [r#"call t1: ls {"a":1}"#]);
    for nothing in ["", r#","input":{}"#, r#","input":{ }"#, r#","input":null"#, r#","input":"""#] {
        assert_eq!(call_of(nothing, &[]), ["call t1: ls (nothing)"], "{nothing}");
        assert_eq!(call_of(nothing, &["", r#"{"a""#, ":1}"]), [r#"call t1: ls {"a":1}"#], "{nothing}");
    }
    assert_eq!(call_of(r#","input":{"a":1}"#, &[r#"{"a":"#, "1}"]), [r#"call t1: ls {"a":1}"#], "not twice");
}

#[test]
fn p03_arguments_that_are_an_object_are_kept_as_they_came() {
    let payloads = [
        start(0, r#"{"type":"tool_use","id":7,"name":"ls","input":{}}"#),
        delta(0, r#"{"type":"input_json_delta","partial_json":{"a": 1}}"#),
        stop(0),
    ];
    check(
        &stream(&strs(&payloads), "tool_use"),
        &expect![[r#"
            call 7: ls {"a": 1}
            end: ToolUse"#]],
    );
}

#[test]
fn p03_arguments_of_no_call_are_never_lost_in_silence() {
    for payloads in
        [vec![delta(0, &argued(r#"{"a":1}"#))], vec![start(0, TEXT), delta(0, &argued(r#"{"a":1}"#))]]
    {
        let Decoded { end, ended, .. } = decode(&stream(&strs(&payloads), "tool_use"));
        assert_eq!((end.unwrap_err().kind, ended), (FailureKind::BadStream, Ended::Unreadable));
    }
    check(&stream(&[&delta(0, &argued(""))], "end_turn"), &expect!["end: Stop"]);
}

#[test]
fn p03_words_count_by_their_own_type_and_not_by_their_blocks() {
    let payloads = [
        START.to_owned(),
        start(0, TEXT),
        delta(0, r#"{"type":"thinking_delta","thinking":"hm"}"#),
        delta(0, &said("Two.")),
        start(1, r#"{"type":"tool_use","id":"t1","name":"ls","input":{}}"#),
        delta(1, &argued("{")),
        delta(1, &said("Aside. ")),
        delta(1, &argued("}")),
        stop(1),
        delta(7, &said("Late.")),
    ];
    check(
        &stream(&strs(&payloads), "tool_use"),
        &expect![[r#"
            reasoning: hm
            text: Two.
            call t1: ls {}
            text: Aside. Late.
            end: ToolUse"#]],
    );
}

#[test]
fn p03_blocks_that_overlap_or_share_an_index_or_have_none() {
    let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"ls","input":{{}}}}"#);
    let overlap = [
        start(0, &call("a")),
        start(1, &call("b")),
        delta(1, &argued(r#"{"b":1}"#)),
        delta(0, &argued(r#"{"a":1}"#)),
        stop(0),
        stop(1),
    ];
    let shared = [
        start(0, &call("a")),
        delta(0, &argued(r#"{"a":"#)),
        start(0, &call("a")),
        delta(0, &argued("1}")),
        stop(0),
        start(0, &call("b")),
        delta(0, &argued(r#"{"b":1}"#)),
        stop(0),
    ];
    let without = shared.clone().map(|event| event.replace(r#""index":0,"#, "").replace(r#","index":0"#, ""));
    let without = [&without[..2], &without[3..]].concat();
    for payloads in [overlap.to_vec(), shared.to_vec(), without] {
        check(
            &stream(&strs(&payloads), "tool_use"),
            &expect![[r#"
                call a: ls {"a":1}
                call b: ls {"b":1}
                end: ToolUse"#]],
        );
    }
}

#[test]
fn p03_events_without_names_and_names_without_types() {
    let payloads = [start(0, TEXT), delta(0, &said("Yes.")), stop(0)];
    let named = String::from_utf8(stream(&strs(&payloads), "end_turn")).unwrap();
    let unnamed: String = named
        .lines()
        .filter(|line| !line.starts_with("event:"))
        .fold(String::new(), |all, line| all + line + "\n");
    let untyped = ["message_start", "content_block_start", "content_block_delta", "content_block_stop"]
        .iter()
        .chain(&["message_delta", "message_stop"])
        .fold(named.clone(), |all, name| {
            all.replace(&format!(r#"{{"type":"{name}","#), "{")
                .replace(&format!(r#"{{"type":"{name}"}}"#), "{}")
        });
    assert!(!untyped.contains("\"message_stop\""));
    for stream in [&named, &unnamed, &untyped, &format!("{named}event: data\ndata: [DONE]\n\n")] {
        assert_eq!(told_on(Wire::Messages, stream.as_bytes()), ["text: Yes.", "end: Stop"], "{stream}");
    }
}

#[test]
fn p03_what_ends_a_reply_is_its_stop_reason() {
    let payloads = [start(0, TEXT), delta(0, &said("Yes.")), stop(0)];
    let whole = String::from_utf8(stream(&strs(&payloads), "end_turn")).unwrap();
    let (without_stop, _) = whole.split_once("event: message_stop").unwrap();
    let (without_end, _) = whole.split_once("event: message_delta").unwrap();
    let told = |stream: &str| told_on(Wire::Messages, stream.as_bytes()).pop().unwrap();
    assert_eq!(told(without_stop), "end: Stop");
    assert_eq!(told(&format!("{without_stop}data: [DONE]\n\n")), "end: Stop");
    assert_eq!(told(without_end), "failed: BadStream");
    assert_eq!(decode(without_end.as_bytes()).ended, Ended::Cut);
    assert_eq!(told(&format!("{without_end}data: [DONE]\n\n")), "failed: BadStream");
    let unsaid = format!("{without_end}event: message_stop\ndata: {STOP}\n\n");
    assert_eq!(told(&unsaid), r#"end: Other("")"#, "the server says that it is at its end, and not why");
}

#[test]
fn l11_stop_reasons_by_a_table() {
    let told = |reason: &str| {
        let block = r#"{"type":"tool_use","id":"t1","name":"ls","input":{}}"#;
        let payloads = [start(0, block), delta(0, &argued("{}")), stop(0)];
        let Decoded { deltas, end, .. } = decode(&stream(&strs(&payloads), reason));
        let is_whole = deltas.contains(&Delta::CallComplete { place: 0 });
        (end.unwrap().finish, is_whole)
    };
    for (reason, finish, is_whole) in [
        ("end_turn", FinishReason::Stop, true),
        ("stop_sequence", FinishReason::Stop, true),
        ("tool_use", FinishReason::ToolUse, true),
        ("max_tokens", FinishReason::Length, false),
        ("model_context_window_exceeded", FinishReason::Length, false),
        ("refusal", FinishReason::Refused, false),
        ("pause_turn", FinishReason::Other("pause_turn".into()), true),
        ("new_reason", FinishReason::Other("new_reason".into()), true),
        ("tool_calls", FinishReason::ToolUse, true),
        ("length", FinishReason::Length, false),
    ] {
        assert_eq!(told(reason), (finish, is_whole), "{reason}");
    }
}

#[test]
fn l11_under_an_unknown_stop_reason_half_a_call_is_not_whole() {
    for (arguments, is_stopped) in [(r#"{"a":"b"#, true), (r#"{"a":1}"#, false)] {
        let block = r#"{"type":"tool_use","id":"t1","name":"ls","input":{}}"#;
        let mut payloads = vec![start(0, block), delta(0, &argued(arguments))];
        if is_stopped {
            payloads.push(stop(0));
        }
        let lines = told_on(Wire::Messages, &stream(&strs(&payloads), "new_reason"));
        assert_eq!(lines[0], format!("call t1: ls {arguments} (not whole)"));
    }
}

#[test]
fn l11_a_reply_that_was_cut_stays_cut_whatever_comes_after() {
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
    let again = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let none = r#"{"type":"message_delta","delta":{"stop_reason":null}}"#;
    check(&events(&[START, end, again, STOP]), &expect!["end: Length"]);
    check(&events(&[START, end, none, STOP]), &expect!["end: Length"]);
}

#[test]
fn p03_a_whole_reply_where_a_stream_was_asked_for() {
    let body = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
        {"type":"thinking","thinking":"Hm.","signature":"c2ln"},
        {"type":"text","text":"I look."},
        {"type":"future","x":1},
        {"type":"tool_use","id":"t1","name":"ls","input":{"path":"."}}],
        "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":7}}"#;
    check(
        body.as_bytes(),
        &expect![[r#"
            reasoning: Hm.
            opaque: {"type":"thinking","thinking":"Hm.","signature":"c2ln"}
            text: I look.
            call t1: ls {"path":"."}
            end: ToolUse"#]],
    );
    assert_eq!(decode(body.as_bytes()).end.unwrap().usage.map(|usage| usage.total()), Some(16));
    check(br#"{"type":"message","content":[],"stop_reason":"end_turn"}"#, &expect!["end: Stop"]);
    check(
        br#"{"type":"message","content":[{"type":"text","text":"a"}]}"#,
        &expect![[r#"
            text: a
            end: Other("")"#]],
    );
    let error = br#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#;
    assert_eq!(decode(error).end.unwrap_err().kind, FailureKind::RateLimit);
    let Decoded { end, ended, .. } = decode(br#"{"choices":[{"message":{"content":"a"}}]}"#);
    assert_eq!(ended, Ended::Unreadable);
    assert!(end.unwrap_err().message.contains("is this a Messages server?"));
}

#[test]
fn p03_what_cannot_be_read_fails_where_it_is_needed() {
    let failed = |stream: &str| decode(stream.as_bytes()).end.map_err(|failure| failure.kind);
    for broken in ["event: content_block_delta\ndata: {\"type\":\n\n", "data: {\"type\"\n\n", "data: [1]\n\n"]
    {
        assert_eq!(failed(&format!(":\n\n{broken}")), Err(FailureKind::BadStream), "{broken}");
    }
    let whole = String::from_utf8(stream(&[], "end_turn")).unwrap();
    for foreign in ["event: ping\ndata: keepalive\n\n", "event: vendor\ndata: x\n\n", "data: {}\n\n"] {
        assert!(failed(&format!(":\n\n{foreign}{whole}")).is_ok(), "{foreign}");
    }
}

#[test]
fn p03_a_wrong_type_costs_its_field_alone() {
    let payloads = [
        r#"{"type":"message_start","message":{"content":null,"model":4,"usage":{"input_tokens":"9"}}}"#,
        r#"{"type":"message_start","message":[]}"#,
        r#"{"type":"content_block_start","index":"0","content_block":{"type":"text","text":null}}"#,
        r#"{"type":"content_block_delta","index":"0","delta":{"type":"text_delta","text":"a\ud83d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":[]}"#,
        r#"{"type":"content_block_delta"}"#,
        r#"{"type":"content_block_start","index":1,"content_block":["text"]}"#,
        r#"{"type":"content_block_start"}"#,
        r#"{"type":"content_block_stop","index":{}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":3},"usage":[1]}"#,
    ];
    let Decoded { deltas, end, .. } = decode(&events(&payloads));
    let [Delta::Text(text)] = &deltas[..] else { panic!("{deltas:?}") };
    assert!(text.starts_with("a\u{fffd}"), "{text}");
    let end = end.unwrap();
    assert_eq!((end.finish, end.usage, end.model), (FinishReason::Stop, None, None));
}

#[test]
fn p03_pings_and_foreign_events_are_no_progress() {
    use petasos_providers::Fed;
    let mut decoder = AnswerDecoder::new(&target_on(Wire::Messages), "models.example");
    let start = String::from_utf8(events(&[START])).unwrap();
    assert_eq!(decoder.feed(start.as_bytes()), Fed::Progress);
    assert_eq!(decoder.feed(b"event: ping\ndata: {\"type\": \"ping\"}\n\n"), Fed::Nothing);
    assert_eq!(decoder.feed(b"data: {\"type\":\"news\"}\n\n"), Fed::Nothing);
    assert_eq!(decoder.feed(&events(&[&stop(0)])), Fed::Progress);
    assert!(!decoder.has_finish());
    decoder.feed(&events(&[r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#]));
    assert!(decoder.has_finish());
    assert_eq!(decoder.next_event(), None);
    decoder.feed(&events(&[STOP]));
    assert!(matches!(decoder.next_event(), Some(ReplyEvent::Done(_))), "nobody waits for the connection");
}

#[test]
fn p08_tokens_are_those_told_last() {
    let usage = |start: &str, end: &str| {
        let start = format!(r#"{{"type":"message_start","message":{{"usage":{start}}}}}"#);
        let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{end}}}"#);
        let usage = decode(&events(&[&start, &end, STOP])).end.unwrap().usage;
        usage.map(|usage| [usage.input, usage.output, usage.cached, usage.reasoning])
    };
    let start = r#"{"input_tokens":30,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":1}"#;
    assert_eq!(usage(start, r#"{"output_tokens":20}"#), Some([100, 20, 60, 0]));
    let all = start.replace("\"output_tokens\":1", "\"output_tokens\":20");
    assert_eq!(usage(start, &all), Some([100, 20, 60, 0]), "told again, not more");
    let zeros = r#"{"input_tokens":0,"output_tokens":0}"#;
    assert_eq!(usage(zeros, &all), Some([100, 20, 60, 0]), "told only at the end");
    assert_eq!(usage(&all, zeros), Some([100, 0, 60, 0]), "nothing was said, and the start tells no output");
    assert_eq!(usage(start, "{}"), None, "an output that is not told is not that of the start");
    assert_eq!(usage(zeros, r#"{"output_tokens":20}"#), None, "no request has no input");
    assert_eq!(usage(zeros, r#"{"input_tokens":0,"output_tokens":20}"#), None);
    assert_eq!(
        usage(
            r#"{"input_tokens":120}"#,
            r#"{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":20}"#
        ),
        Some([100, 20, 60, 0]),
        "an estimate gives way"
    );
    assert_eq!(
        usage(
            r#"{"input_tokens":100}"#,
            r#"{"input_tokens":0,"cache_read_input_tokens":100,"output_tokens":20}"#
        ),
        Some([100, 20, 100, 0]),
        "all of it was cached"
    );
    assert_eq!(usage(start, r#"{"input_tokens":35,"output_tokens":20}"#), Some([105, 20, 60, 0]));
    let thought = r#"{"output_tokens":20,"output_tokens_details":{"thinking_tokens":8}}"#;
    assert_eq!(usage(start, thought), Some([100, 20, 60, 8]));
    assert_eq!(usage(zeros, zeros), None, "unknown is not zero");
    assert_eq!(usage("null", "7"), None);
}

#[test]
fn p03_blocks_without_end_are_an_error() {
    for block in [TEXT, r#"{"type":"future"}"#, r#"{"type":"tool_use","name":"ls"}"#] {
        let mut decoder = AnswerDecoder::new(&target_on(Wire::Messages), "models.example");
        let failure = (0..20_000).find_map(|index| {
            decoder.feed(&events(&[&start(index, block)]));
            std::iter::from_fn(|| decoder.next_event()).find_map(|event| match event {
                ReplyEvent::Failed(failure) => Some(failure),
                _ => None,
            })
        });
        assert_eq!(failure.expect(block).kind, FailureKind::BadStream);
    }
    let piece = delta(0, &format!(r#"{{"type":"thinking_delta","thinking":"{}"}}"#, "x".repeat(1 << 16)));
    let mut long = vec![start(0, r#"{"type":"thinking"}"#)];
    long.extend(std::iter::repeat_n(piece, 200));
    assert_eq!(decode(&events(&strs(&long))).end.unwrap_err().kind, FailureKind::BadStream);
}

/// How deep a server nests is its own choice, and the stack is small.
#[test]
fn p03_events_of_any_depth() {
    let run = || {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let block = |fields: &str| start(0, &fields.replace("DEEP", &deep));
        let piece = |fields: &str| delta(0, &fields.replace("DEEP", &deep));
        for payload in [
            format!(r#"{{"type":"message_start","message":{deep}}}"#),
            format!(r#"{{"type":"message_start","message":{{"content":{deep},"usage":{deep}}}}}"#),
            format!(r#"{{"type":"error","error":{deep}}}"#),
            format!(r#"{{"type":"content_block_stop","index":{deep}}}"#),
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":{deep}}},"usage":{deep}}}"#),
            block("DEEP"),
            block(r#"{"type":DEEP}"#),
            block(r#"{"type":"text","text":DEEP}"#),
            block(r#"{"type":"redacted_thinking","data":DEEP}"#),
            block(r#"{"type":"tool_use","id":DEEP,"name":DEEP,"input":DEEP}"#),
            piece("DEEP"),
            piece(r#"{"type":"input_json_delta","partial_json":DEEP}"#),
        ] {
            decode(&events(&[START, &start(0, r#"{"type":"tool_use","name":"ls"}"#), &payload]));
            decode(&stream(&[&payload], "end_turn"));
        }
        decode(format!(r#"{{"type":"message","content":{deep}}}"#).as_bytes());
        let sealed = format!(r#"{{"type":"redacted_thinking","data":"a","deep":{deep}}}"#);
        let deltas = decode(&stream(&[&start(0, &sealed)], "end_turn")).deltas;
        let [Delta::Opaque(opaque)] = &deltas[..] else { panic!("sealed thinking is kept") };
        let block = petasos_core::entry::Block::Opaque(opaque.clone());
        let items = [crate::say::said("go"), crate::say::step(5, vec![block], &[])];
        crate::say::body_on(Wire::Messages, &crate::say::head("", "[]"), &items);
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn p03_core_takes_every_delta_of_every_case() {
    for stream in [A21[1], A23] {
        blocks(&decode(stream).deltas);
    }
}
