//! Replies on the Responses wire: what servers send, told once and in order.

use expect_test::{Expect, expect};
use petasos_core::entry::Block;
use petasos_core::request::Wire;
use petasos_core::stop::FailureKind;
use petasos_core::turn::Delta;
use petasos_providers::{AnswerDecoder, Ended, Fed, origin};
use proptest::prelude::*;

use crate::say::{Decoded, blocks, decode_on, target_on, told_on};

const A22: &[u8] = include_bytes!("../cases/a22.sse");

const CREATED: &str =
    r#"{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}"#;
const COMPLETED: &str =
    r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}"#;
const SEALED: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}"#;

fn stream(payloads: &[&str]) -> Vec<u8> {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect::<String>().into_bytes()
}

fn decode(bytes: &[u8]) -> Decoded {
    decode_on(Wire::Responses, &[bytes])
}

fn told(payloads: &[&str]) -> Vec<String> {
    told_on(Wire::Responses, &stream(payloads))
}

fn check(payloads: &[&str], expected: &Expect) {
    expected.assert_eq(&told(payloads).join("\n"));
}

/// The end of a reply with this output.
fn completed(output: &str) -> String {
    format!(r#"{{"type":"response.completed","response":{{"status":"completed","output":[{output}]}}}}"#)
}

fn text_delta(fields: &str, delta: &str) -> String {
    format!(r#"{{"type":"response.output_text.delta",{fields}"delta":"{delta}"}}"#)
}

fn arguments_delta(fields: &str, delta: &str) -> String {
    let delta = delta.replace('"', "\\\"");
    format!(r#"{{"type":"response.function_call_arguments.delta",{fields}"delta":"{delta}"}}"#)
}

fn call_item(id: &str, call_id: &str, arguments: &str) -> String {
    let arguments = arguments.replace('"', "\\\"");
    format!(
        r#"{{"type":"function_call","id":"{id}","call_id":"{call_id}","name":"ls","arguments":"{arguments}"}}"#
    )
}

fn added(index: &str, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.added",{index}"item":{item}}}"#)
}

fn done(index: &str, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.done",{index}"item":{item}}}"#)
}

fn message(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#
    )
}

fn strings(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[test]
fn case_a22_a_reply_that_is_incomplete_runs_no_call() {
    let Decoded { deltas, end, ended } = decode(A22);
    expect![[r#"
        call call_1: write_file {"path":"x","cont (not whole)
        end: Length"#]]
    .assert_eq(&told_on(Wire::Responses, A22).join("\n"));
    let usage = end.unwrap().usage.unwrap();
    assert_eq!((usage.input, usage.output), (40, 64));
    assert_eq!(ended, Ended::Whole);
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::CallComplete { .. })));
}

#[test]
fn case_a22_a_reply_that_failed_is_the_error_that_it_tells() {
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Try again in 2s."},"usage":{"input_tokens":9,"output_tokens":1}}}"#;
    let Decoded { end, ended, .. } = decode(&stream(&[CREATED, &text_delta("", "Hal"), failed]));
    let failure = end.unwrap_err();
    assert_eq!((failure.kind, ended), (FailureKind::RateLimit, Ended::Told));
    assert_eq!(failure.retry_after, Some(petasos_core::time::Span(2_000)));
    assert_eq!(failure.usage.map(|usage| usage.input), Some(9));
    assert!(failure.message.contains("Try again in 2s."), "{}", failure.message);
    for nothing in ["", r#","response":null"#, r#","response":{"error":null}"#, r#","response":7"#] {
        let failed = format!(r#"{{"type":"response.failed"{nothing}}}"#);
        assert_eq!(decode(&stream(&[&failed])).ended, Ended::Told, "{failed}");
    }
}

#[test]
fn case_a22_without_an_end_a_reply_is_cut() {
    let end = A22.windows(16).position(|bytes| bytes == b"response.incompl").unwrap();
    let cut = &A22[..end - "event: ".len()];
    for stream in
        [cut.to_vec(), [cut, b"data: [DONE]\n\n"].concat(), stream(&[CREATED, &text_delta("", "Hi.")])]
    {
        let Decoded { deltas, end, ended } = decode(&stream);
        assert_eq!((end.unwrap_err().kind, ended), (FailureKind::BadStream, Ended::Cut));
        assert!(!deltas.iter().any(|delta| matches!(delta, Delta::CallComplete { .. })));
    }
}

#[test]
fn case_b08_sealed_reasoning_stands_before_what_followed_it() {
    let output = format!(
        r#"{SEALED},{},{},{}"#,
        message("msg_1", "Checking."),
        call_item("fc_1", "call_1", "{}"),
        call_item("fc_2", "call_2", "{}"),
    );
    let expected = expect![[r#"
        opaque: {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}
        text: Checking.
        call call_1: ls {}
        call call_2: ls {}
        end: ToolUse"#]];
    check(&[&completed(&output)], &expected);
    let pieces = [
        added(r#""output_index":0,"#, r#"{"type":"reasoning","id":"rs_1","summary":[]}"#),
        done(r#""output_index":0,"#, SEALED),
        text_delta(r#""output_index":1,"#, "Checking."),
        done(r#""output_index":2,"#, &call_item("fc_1", "call_1", "{}")),
        done(r#""output_index":3,"#, &call_item("fc_2", "call_2", "{}")),
        completed(&output),
    ];
    check(&strings(&pieces), &expected);
    let deltas = decode(&stream(&strings(&pieces))).deltas;
    let Some(Block::Opaque(opaque)) = blocks(&deltas).into_iter().next() else { panic!("{deltas:?}") };
    assert_eq!(opaque.origin, origin(&target_on(Wire::Responses)));
}

#[test]
fn case_b08_reasoning_that_is_not_sealed_is_only_shown() {
    for sealed in
        ["", r#","encrypted_content":null"#, r#","encrypted_content":"""#, r#","encrypted_content":7"#]
    {
        let item =
            format!(r#"{{"type":"reasoning","summary":[{{"type":"summary_text","text":"Hm."}}]{sealed}}}"#);
        assert_eq!(told(&[&done("", &item), COMPLETED]), ["reasoning: Hm.", "end: Stop"], "{item}");
    }
}

#[test]
fn p03_what_came_in_pieces_is_not_said_again() {
    let place = r#""item_id":"m","output_index":0,"content_index":0,"#;
    let call = r#""item_id":"f","output_index":1,"#;
    let item = call_item("f", "c", r#"{"a":1}"#);
    let pieces = [
        CREATED.to_owned(),
        added(r#""output_index":0,"#, r#"{"type":"message","id":"m","content":[]}"#),
        text_delta(place, "One "),
        text_delta(place, "two."),
        r#"{"type":"response.output_text.done","item_id":"m","output_index":0,"content_index":0,"text":"One two."}"#.to_owned(),
        r#"{"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,"part":{"type":"output_text","text":"One two."}}"#.to_owned(),
        done(r#""output_index":0,"#, &message("m", "One two.")),
        added(r#""output_index":1,"#, &call_item("f", "c", "")),
        arguments_delta(call, r#"{"a":"#),
        arguments_delta(call, "1}"),
        r#"{"type":"response.function_call_arguments.done","item_id":"f","output_index":1,"arguments":"{\"a\":1}"}"#.to_owned(),
        done(r#""output_index":1,"#, &item),
        completed(&format!("{},{item}", message("m", "One two."))),
    ];
    let expected = expect![[r#"
        text: One two.
        call c: ls {"a":1}
        end: ToolUse"#]];
    check(&strings(&pieces), &expected);
    // Whatever of it a server leaves out, as long as it is said once.
    let kept = |keep: &dyn Fn(usize, &str) -> bool| -> Vec<&str> {
        let all = pieces.iter().map(String::as_str).enumerate();
        all.filter(|(at, piece)| keep(*at, piece)).map(|(_, piece)| piece).collect()
    };
    let (_last, others) = pieces.split_last().unwrap();
    for (left_out, _) in others.iter().enumerate().filter(|(_, piece)| !piece.contains(".delta")) {
        check(&kept(&|at, _| at != left_out), &expected);
    }
    // Where a text comes after all, its place may be a later one.
    for end in 4..pieces.len() {
        let mut lines = told(&kept(&|at, piece| !piece.contains(".delta") && (at >= end || at < 4)));
        lines.sort();
        assert_eq!(lines, ["call c: ls {\"a\":1}", "end: ToolUse", "text: One two."], "from {end}");
    }
}

#[test]
fn p03_what_did_not_come_in_pieces_is_taken_from_where_it_stands_whole() {
    let text = expect![[r#"
        text: Hello.
        end: Stop"#]];
    check(&[&completed(&message("m", "Hello."))], &text);
    check(&[&done("", &message("m", "Hello.")), COMPLETED], &text);
    check(&[r#"{"type":"response.output_text.done","text":"Hello."}"#, COMPLETED], &text);
    check(&[&text_delta("", "Hel"), &done("", &message("m", "Hello.")), COMPLETED], &text);
    check(&[&text_delta("", "Hel"), &completed(&message("m", "Hello."))], &text);
    check(&[&done("", r#"{"type":"message","content":"Hello."}"#), COMPLETED], &text);
    let call = expect![[r#"
        call c: ls {"a":1}
        end: ToolUse"#]];
    let item = call_item("f", "c", r#"{"a":1}"#);
    let bare = call_item("f", "c", "");
    let ended = r#"{"type":"response.function_call_arguments.done","item_id":"f","arguments":"{\"a\":1}"}"#;
    check(&[&completed(&item)], &call);
    check(&[&done("", &item), COMPLETED], &call);
    check(&[&added("", &bare), ended, COMPLETED], &call);
    check(&[&added("", &bare), &arguments_delta("", r#"{"a""#), ended, COMPLETED], &call);
    check(&[&added("", &bare), &arguments_delta("", r#"{"a""#), &completed(&item)], &call);
    check(&[&arguments_delta("", r#"{"a""#), &done("", &item), COMPLETED], &call);
    check(&[&added("", &item), COMPLETED], &call);
    check(&[&added("", &item), &arguments_delta("", r#"{"a":1}"#), &done("", &item), COMPLETED], &call);
    let object = r#"{"type":"function_call","call_id":"c","name":"ls","arguments":{"a":1}}"#;
    check(&[&done("", object), COMPLETED], &call);
}

#[test]
fn p03_the_texts_of_a_reply_are_compared_as_a_whole_at_its_end() {
    let pieces = [
        done(r#""output_index":0,"#, &message("m1", "One.")),
        done(r#""output_index":1,"#, &message("m2", "Two.")),
    ];
    let [one, two] = &pieces;
    let once = expect![[r#"
        text: One.

        Two.
        end: Stop"#]];
    check(&[one, two, &completed(&message("m", "One.Two."))], &once);
    check(
        &[one, &completed(&format!("{},{}", message("x", "One."), message("y", "Two.")))],
        &expect![[r#"
        text: One.

        Two.
        end: Stop"#]],
    );
    check(&[one, two, &completed(&message("m", "Something else."))], &once);
    check(&[one, two, &completed(&message("m2", "Two."))], &once);
}

#[test]
fn p03_items_are_told_apart_by_whatever_is_right() {
    let expected = expect![[r#"
        call c1: ls {"n":1}
        call c2: ls {"n":2}
        end: ToolUse"#]];
    // Of each call: fields of its events, and the id of its item.
    let shapes: [[(&str, &str); 2]; 5] = [
        [(r#""output_index":0,"#, "f1"), (r#""output_index":1,"#, "f2")],
        [(r#""item_id":"f1","#, "f1"), (r#""item_id":"f2","#, "f2")],
        // DeepSeek.
        [(r#""call_id":"c1","#, "f1"), (r#""call_id":"c2","#, "f2")],
        // Copilot: another id in each event.
        [(r#""output_index":0,"item_id":"x7","#, "f1"), (r#""output_index":1,"item_id":"x8","#, "f2")],
        // LiteLLM: one index for all.
        [(r#""output_index":0,"item_id":"f1","#, "f1"), (r#""output_index":0,"item_id":"f2","#, "f2")],
    ];
    for [(first, f1), (second, f2)] in shapes {
        let index = |fields: &str| {
            fields.split_inclusive(',').find(|field| field.contains("index")).unwrap_or("").to_owned()
        };
        let pieces = [
            added(&index(first), &call_item(f1, "c1", "")),
            added(&index(second), &call_item(f2, "c2", "")),
            arguments_delta(first, r#"{"n""#),
            arguments_delta(second, r#"{"n":"#),
            arguments_delta(first, ":1}"),
            arguments_delta(second, "2}"),
            done(&index(first), &call_item(f1, "c1", r#"{"n":1}"#)),
            done(&index(second), &call_item(f2, "c2", r#"{"n":2}"#)),
            completed(&format!(
                "{},{}",
                call_item(f1, "c1", r#"{"n":1}"#),
                call_item(f2, "c2", r#"{"n":2}"#)
            )),
        ];
        check(&strings(&pieces), &expected);
    }
}

#[test]
fn p03_calls_one_after_the_other_need_no_names() {
    let bare = r#"{"type":"function_call","name":"ls"}"#;
    let whole = |n: u8| format!(r#"{{"type":"function_call","name":"ls","arguments":"{{\"n\":{n}}}"}}"#);
    let pieces = [
        added("", bare),
        arguments_delta("", r#"{"n":1}"#),
        done("", &whole(1)),
        added("", bare),
        arguments_delta("", r#"{"n":2}"#),
        done("", &whole(2)),
        completed(&format!("{},{}", whole(1), whole(2))),
    ];
    let expected = expect![[r#"
        call -: ls {"n":1}
        call -: ls {"n":2}
        end: ToolUse"#]];
    check(&strings(&pieces), &expected);
    // The same where all of them have one id, and the arguments stand at the end only.
    let constant = |n: u8| call_item("f", "ID0", &format!(r#"{{"n":{n}}}"#));
    let bare = call_item("f", "ID0", "");
    let at = [r#""output_index":0,"#, r#""output_index":1,"#];
    let output = completed(&format!("{},{}", constant(1), constant(2)));
    check(
        &[&added(at[0], &bare), &added(at[1], &bare), &output],
        &expect![[r#"
        call ID0: ls {"n":1}
        call ID0: ls {"n":2}
        end: ToolUse"#]],
    );
    check(
        &[&done(at[0], &constant(1)), &done(at[1], &constant(2)), &output],
        &expect![[r#"
        call ID0: ls {"n":1}
        call ID0: ls {"n":2}
        end: ToolUse"#]],
    );
}

#[test]
fn p03_where_items_are_announced_a_wrong_index_starts_none() {
    let pieces = [
        added(r#""output_index":1,"#, r#"{"type":"message","id":"m","content":[]}"#),
        text_delta(r#""output_index":0,"item_id":"y","#, "Hi."),
        done(r#""output_index":1,"#, &message("m", "Hi.")),
        added(r#""output_index":1,"#, &call_item("f", "c", "")),
        arguments_delta(r#""output_index":4,"#, "{}"),
        completed(&format!("{},{}", message("m", "Hi."), call_item("f", "c", "{}"))),
    ];
    check(
        &strings(&pieces),
        &expect![[r#"
        text: Hi.
        call c: ls {}
        end: ToolUse"#]],
    );
    let twice = [
        added(r#""output_index":0,"#, &call_item("f", "c", "")),
        added(r#""output_index":0,"#, &call_item("f", "c", "")),
        completed(&call_item("f", "c", "{}")),
    ];
    check(
        &strings(&twice),
        &expect![[r#"
        call c: ls {}
        end: ToolUse"#]],
    );
}

#[test]
fn p03_a_call_begins_when_its_name_is_known() {
    let pieces = [
        arguments_delta(r#""output_index":0,"#, r#"{"a""#),
        r#"{"type":"response.function_call_arguments.done","output_index":0,"name":"ls","arguments":"{\"a\":1}"}"#.to_owned(),
        COMPLETED.to_owned(),
    ];
    check(
        &strings(&pieces),
        &expect![[r#"
        call -: ls {"a":1}
        end: ToolUse"#]],
    );
    check(
        &[&arguments_delta("", "{}"), COMPLETED],
        &expect![[r#"
        call -:  {}
        end: ToolUse"#]],
    );
}

#[test]
fn p03_the_event_line_tells_the_type_where_the_data_does_not() {
    let bytes = b"event: response.output_text.delta\ndata: {\"delta\":\"Hi.\"}\n\nevent: response.completed\ndata: {\"status\":\"completed\",\"model\":\"m\",\"output\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}\n\n";
    let Decoded { end, .. } = decode(bytes);
    let end = end.unwrap();
    assert_eq!((end.usage.unwrap().input, end.model.as_deref()), (3, Some("m")));
    assert_eq!(told_on(Wire::Responses, bytes), ["text: Hi.", "end: Stop"]);
}

#[test]
fn p03_reasoning_is_read_under_all_its_names_and_shown_in_one_form() {
    let summary = |index: u8, text: &str| {
        format!(
            r#"{{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":{index},"delta":"{text}"}}"#
        )
    };
    let whole = r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"content":[{"type":"reasoning_text","text":"Long."}]}"#;
    let expected = expect![[r#"
        reasoning: One.

        Two.
        end: Stop"#]];
    check(&[&summary(0, "On"), &summary(0, "e."), &summary(1, "Two."), &completed(whole)], &expected);
    check(&[&completed(whole)], &expected);
    check(
        &[
            r#"{"type":"response.reasoning_summary_text.done","summary_index":0,"text":"One."}"#,
            r#"{"type":"response.reasoning_summary_text.done","summary_index":1,"text":"Two."}"#,
            &completed(whole),
        ],
        &expected,
    );
    for name in ["reasoning_text", "reasoning", "reasoning_content", "reasoning_summary"] {
        let delta = format!(r#"{{"type":"response.{name}.delta","delta":"Hm."}}"#);
        assert_eq!(
            told(&[&delta, &text_delta("", "A."), COMPLETED]),
            ["reasoning: Hm.", "text: A.", "end: Stop"]
        );
    }
    let text = r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"Long."}"#;
    check(
        &[text, &summary(0, "One."), &done(r#""output_index":0,"#, whole), &completed(whole)],
        &expect![[r#"
        reasoning: Long.
        end: Stop"#]],
    );
    let two = [
        r#"{"type":"response.reasoning_text.done","output_index":0,"text":"A."}"#,
        r#"{"type":"response.reasoning_text.done","output_index":1,"text":"B."}"#,
        COMPLETED,
    ];
    check(
        &two,
        &expect![[r#"
        reasoning: A.

        B.
        end: Stop"#]],
    );
}

#[test]
fn p03_a_refusal_is_text_and_the_end() {
    let refusal =
        |kind: &str, field: &str| format!(r#"{{"type":"response.refusal.{kind}","{field}":"No."}}"#);
    let part = r#"{"type":"message","content":[{"type":"refusal","refusal":"No."}]}"#;
    for said in [refusal("delta", "delta"), refusal("done", "refusal"), done("", part), completed(part)] {
        assert_eq!(told(&[&said, &completed(part)]), ["text: No.", "end: Refused"], "{said}");
    }
}

#[test]
fn p03_how_a_reply_ended() {
    let end = |kind: &str, response: &str| {
        let payload = format!(r#"{{"type":"response.{kind}","response":{{{response}}}}}"#);
        told(&[&text_delta("", "A."), &done("", &call_item("f", "c", "{}")), &payload])[1..].join(", ")
    };
    let rows = [
        ("completed", ""),
        ("completed", r#""status":"in_progress""#),
        ("completed", r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#),
        ("done", r#""status":"completed""#),
        ("done", r#""status":"incomplete""#),
        ("done", r#""status":"failed","error":{"message":"no"}"#),
        ("incomplete", r#""incomplete_details":{"reason":"max_output_tokens"}"#),
        ("incomplete", r#""incomplete_details":{"reason":"max_tokens"}"#),
        ("incomplete", r#""incomplete_details":{"reason":"content_filter"}"#),
        ("incomplete", r#""incomplete_details":{"reason":"pigs"}"#),
        ("incomplete", r#""incomplete_details":null"#),
        ("incomplete", r#""status":"completed""#),
        ("cancelled", ""),
        ("failed", r#""status":"completed""#),
    ];
    let lines: Vec<String> =
        rows.iter().map(|(kind, response)| format!("{kind} {response} -> {}", end(kind, response))).collect();
    expect![[r#"
        completed  -> call c: ls {}, end: ToolUse
        completed "status":"in_progress" -> call c: ls {}, end: ToolUse
        completed "status":"incomplete","incomplete_details":{"reason":"max_output_tokens"} -> call c: ls {} (not whole), end: Length
        done "status":"completed" -> call c: ls {}, end: ToolUse
        done "status":"incomplete" -> call c: ls {} (not whole), end: Length
        done "status":"failed","error":{"message":"no"} -> call c: ls {} (not whole), failed: Other
        incomplete "incomplete_details":{"reason":"max_output_tokens"} -> call c: ls {} (not whole), end: Length
        incomplete "incomplete_details":{"reason":"max_tokens"} -> call c: ls {} (not whole), end: Length
        incomplete "incomplete_details":{"reason":"content_filter"} -> call c: ls {} (not whole), end: Refused
        incomplete "incomplete_details":{"reason":"pigs"} -> call c: ls {} (not whole), end: Other("pigs")
        incomplete "incomplete_details":null -> call c: ls {} (not whole), end: Length
        incomplete "status":"completed" -> call c: ls {} (not whole), end: Length
        cancelled  -> call c: ls {} (not whole), end: Other("cancelled")
        failed "status":"completed" -> call c: ls {} (not whole), failed: Other"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn p03_a_call_that_says_that_it_broke_off_is_not_whole() {
    let item =
        r#"{"type":"function_call","status":"incomplete","call_id":"c","name":"ls","arguments":"{\"a"}"#;
    check(
        &[&done("", item), COMPLETED],
        &expect![[r#"
        call c: ls {"a (not whole)
        end: ToolUse"#]],
    );
    // Nor is one that does not end, whatever is said of it: llama.cpp says so at the cap of its output.
    for arguments in [r#"{"a"#, r#"{"a":{}"#, r#"{"a":"}"#] {
        let item = call_item("f", "c", arguments);
        let line = format!("call c: ls {arguments} (not whole)");
        assert_eq!(told(&[&done("", &item), &completed(&item)]), [line.as_str(), "end: ToolUse"]);
    }
    for arguments in ["", " ", "{}", r#"{"a":"{"}"#, "ls", r#"```{}"#] {
        let item = call_item("f", "c", arguments);
        let lines = told(&[&done("", &item), &completed(&item)]);
        assert!(!lines[0].contains("not whole"), "{lines:?}");
    }
}

#[test]
fn p03_what_nobody_knows_is_passed_over() {
    let pieces = [
        r#"{"type":"response.created","response":7,"output_index":"x"}"#,
        r#"{"type":"keepalive","sequence_number":3}"#,
        r#"{"type":"response.web_search_call.searching","output_index":0}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws"}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"ws"}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":7}"#,
        r#"{"type":"response.output_item.done","item":null}"#,
        r#"{"type":"response.output_item.done","item":{"type":"message","id":[],"status":{},"content":[7,{"type":"future","z":1},{"type":"output_text","text":null}]}}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":[],"arguments":null,"name":{}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":"0","delta":"A."}"#,
        r#"{"type":"response.output_text.delta","delta":null}"#,
        r#"{"type":"response.output_text.delta"}"#,
        r#"{"type":"response.output_text.annotation.added","annotation":{}}"#,
        r#"{"type":7,"delta":"lost"}"#,
        r#"{"sequence_number":4}"#,
        r#"{"type":"response.completed","response":{"status":7,"model":[],"usage":[],"output":{"a":1},"incomplete_details":3}}"#,
    ];
    assert_eq!(told(&pieces), ["text: A.", "end: Stop"]);
    let named = b"event: ping\ndata: pong\n\nevent: keepalive\ndata: {}\n\ndata: {\"type\":\"response.completed\"}\n\n";
    assert_eq!(told_on(Wire::Responses, named), ["end: Stop"]);
}

#[test]
fn p03_an_event_that_cannot_be_read_is_an_error_that_shows_it() {
    let broken: [&[u8]; 4] = [
        b"data: {\"type\":\"response.output_text.del\n\n",
        b"event: response.output_text.delta\ndata: {\"delta\":\"a\n\n",
        b"data: {\"type\":\"response.output_text.delta\",\"delta\":7}\n\n",
        b"data: [1]\n\n",
    ];
    for bytes in broken {
        let bytes = [bytes, &stream(&[COMPLETED])].concat();
        let Decoded { end, ended, .. } = decode(&bytes);
        let failure = end.unwrap_err();
        assert_eq!((failure.kind, ended), (FailureKind::BadStream, Ended::Unreadable));
        assert!(failure.message.contains("chunk that cannot be read"), "{}", failure.message);
    }
}

#[test]
fn p04_errors_in_the_stream_have_their_kind() {
    let kind = |bytes: &[u8]| {
        let Decoded { end, ended, .. } = decode(bytes);
        assert_eq!(ended, Ended::Told);
        end.unwrap_err().kind
    };
    let flat = r#"{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}"#;
    assert_eq!(kind(&stream(&[flat])), FailureKind::RateLimit);
    let nested = r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"long"}}"#;
    assert_eq!(kind(&stream(&[nested])), FailureKind::Overflow);
    assert_eq!(kind(&stream(&[r#"{"error":{"code":503,"message":"full"}}"#])), FailureKind::Overloaded);
    let named = b"event: error\ndata: {\"code\":\"slow_down\",\"message\":\"m\"}\n\n";
    assert_eq!(kind(named), FailureKind::Overloaded);
    let long = r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"Your input exceeds the context window of this model."}}}"#;
    assert_eq!(kind(&stream(&[long])), FailureKind::Overflow);
}

#[test]
fn p03_a_whole_reply_is_read_where_a_stream_was_asked_for() {
    let reply = |fields: &str| format!("{{\"object\":\"response\",\"model\":\"m\",{fields}}}");
    let output = format!("{SEALED},{},{}", message("m", "Hi."), call_item("f", "c", "{}"));
    let body = reply(&format!(
        r#""status":"completed","error":null,"output":[{output}],"usage":{{"input_tokens":3,"output_tokens":1}}"#
    ));
    expect![[r#"
        opaque: {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}
        text: Hi.
        call c: ls {}
        end: ToolUse"#]]
    .assert_eq(&told_on(Wire::Responses, body.as_bytes()).join("\n"));
    let end = decode(body.as_bytes()).end.unwrap();
    assert_eq!((end.usage.unwrap().input, end.model.as_deref()), (3, Some("m")));
    let cut = reply(&format!(r#""status":"incomplete","output":[{}]"#, call_item("f", "c", "{}")));
    assert_eq!(told_on(Wire::Responses, cut.as_bytes()), ["call c: ls {} (not whole)", "end: Length"]);
    let failed = reply(r#""status":"failed","output":[],"error":{"code":"slow_down","message":"m"}"#);
    assert_eq!(decode(failed.as_bytes()).end.unwrap_err().kind, FailureKind::Overloaded);
    for foreign in [r#"{"choices":[]}"#, r#"{"output":"text"}"#] {
        let Decoded { end, ended, .. } = decode(foreign.as_bytes());
        let failure = end.unwrap_err();
        assert_eq!((failure.kind, ended), (FailureKind::BadRequest, Ended::Unreadable));
        assert!(failure.message.contains("is this a Responses server?"), "{}", failure.message);
    }
}

#[test]
fn p08_tokens_from_every_shape_are_counted_once() {
    let usage = |usage: &str| {
        let end = format!(r#"{{"type":"response.completed","response":{{"usage":{usage}}}}}"#);
        let usage = decode(&stream(&[&end])).end.unwrap().usage;
        usage.map(|usage| [usage.input, usage.output, usage.cached, usage.reasoning])
    };
    let all = r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":16}"#;
    assert_eq!(usage(all), Some([9, 7, 4, 5]));
    assert_eq!(usage(&all.replace("16", "21")), Some([9, 12, 4, 5]), "reasoning beside the output");
    assert_eq!(usage(r#"{"input_tokens":9,"output_tokens":7}"#), Some([9, 7, 0, 0]));
    let odd =
        r#"{"input_tokens":9,"input_tokens_details":[4],"output_tokens":"7","output_tokens_details":null}"#;
    assert_eq!(usage(odd), None, "an output that is unknown is not zero");
    let odd = odd.replace("\"7\"", "7");
    assert_eq!(usage(&odd), Some([9, 7, 0, 0]));
    let over = all.replace(":4", ":400").replace(":5", ":500");
    assert_eq!(usage(&over), Some([9, 7, 9, 7]), "a part is no more than the whole");
    for unknown in ["null", "{}", "[]", r#""none""#, r#"{"input_tokens":null,"output_tokens":-1}"#] {
        assert_eq!(usage(unknown), None, "{unknown}: unknown is not zero");
    }
    // Told with each event, or in the first alone: the last word counts.
    let at = |tokens: u8| {
        format!(
            r#"{{"type":"response.in_progress","response":{{"usage":{{"input_tokens":9,"output_tokens":{tokens}}}}}}}"#
        )
    };
    let told = decode(&stream(&[&at(1), &at(5), COMPLETED])).end.unwrap().usage.unwrap();
    assert_eq!((told.input, told.output), (9, 5));
}

#[test]
fn p05_what_only_keeps_the_connection_open_is_no_progress() {
    let mut decoder = AnswerDecoder::new(&target_on(Wire::Responses), "models.example");
    for (payload, fed) in [
        (CREATED, Fed::Progress),
        (r#"{"type":"response.in_progress","response":{}}"#, Fed::Nothing),
        (r#"{"type":"response.queued"}"#, Fed::Nothing),
        (r#"{"type":"keepalive"}"#, Fed::Nothing),
        (r#"{"type":"response.code_interpreter_call_code.delta","delta":"x"}"#, Fed::Progress),
        (COMPLETED, Fed::Progress),
    ] {
        let bytes = stream(&[payload]);
        let (line, blank) = bytes.split_at(bytes.len() - 1);
        decoder.feed(line);
        assert_eq!(decoder.feed(blank), fed, "{payload}");
    }
}

#[test]
fn p03_a_reply_without_end_is_an_error() {
    let item = |n: usize| {
        done(&format!(r#""output_index":{n},"#), &call_item(&format!("f{n}"), &format!("c{n}"), ""))
    };
    let calls: Vec<String> = (0..10_000).map(item).collect();
    let parts: Vec<String> =
        (0..10_000).map(|n| text_delta(&format!(r#""content_index":{n},"#), "a")).collect();
    let ids: Vec<String> =
        (0..9).map(|n| added("", &call_item(&format!("{n}{}", "f".repeat(1 << 20)), "c", ""))).collect();
    for payloads in [calls, parts, ids] {
        let Decoded { deltas, end, .. } = decode(&stream(&strings(&payloads)));
        assert_eq!(end.unwrap_err().kind, FailureKind::BadStream);
        assert!(deltas.len() < 20_000);
    }
}

#[test]
fn p03_a_piece_of_any_depth_is_read_on_a_small_stack() {
    let read = || {
        let deep = [
            format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            format!("{}1{}", r#"{"text":"#.repeat(20_000), "}".repeat(20_000)),
        ];
        for deep in deep {
            for field in ["type", "response", "item", "output_index", "delta", "arguments", "text", "error"] {
                let type_ = r#""type":"response.output_text.delta","#
                    .replace("type", if field == "type" { "x" } else { "type" });
                decode(&stream(&[&format!(r#"{{{type_}"{field}":{deep}}}"#)])).end.unwrap_err();
            }
            for field in ["content", "summary", "arguments", "encrypted_content", "id", "status"] {
                for kind in ["message", "reasoning", "function_call"] {
                    let item = format!(r#"{{"type":"{kind}","{field}":{deep}}}"#);
                    assert_eq!(decode(&stream(&[&done("", &item), COMPLETED])).ended, Ended::Whole);
                }
            }
            for field in ["output", "usage", "incomplete_details", "model", "error"] {
                let body = format!(r#"{{"output":[],"{field}":{deep}}}"#)
                    .replace(r#""output":[],"output""#, r#""output""#);
                let event = format!(r#"{{"type":"response.completed","response":{body}}}"#);
                assert_eq!(decode(&stream(&[&event])).ended, Ended::Whole);
                decode(body.as_bytes()).end.ok();
            }
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(read).unwrap().join().unwrap();
}

/// Events of all kinds, with names that are right, wrong or missing.
fn event() -> impl Strategy<Value = String> {
    let fields = prop_oneof![
        Just(String::new()),
        (0..3_u8).prop_map(|n| format!(r#""output_index":{n},"#)),
        (0..3_u8).prop_map(|n| format!(r#""item_id":"i{n}","#)),
        (0..3_u8, 0..3_u8)
            .prop_map(|(n, m)| format!(r#""output_index":{n},"item_id":"i{m}","content_index":{m},"#)),
    ];
    let index = prop_oneof![Just(String::new()), (0..3_u8).prop_map(|n| format!(r#""output_index":{n},"#))];
    let item = prop_oneof![
        (0..3_u8, 0..3_u8).prop_map(|(n, m)| call_item(&format!("i{n}"), &format!("c{m}"), "{}")),
        (0..3_u8).prop_map(|n| message(&format!("i{n}"), "aa")),
        Just(SEALED.to_owned()),
        Just(r#"{"type":"function_call","arguments":"{"}"#.to_owned()),
        Just(r#"{"type":"other"}"#.to_owned()),
    ];
    prop_oneof![
        (fields.clone(), "[ab]{0,2}").prop_map(|(fields, text)| text_delta(&fields, &text)),
        fields.clone().prop_map(|fields| arguments_delta(&fields, "{")),
        fields
            .clone()
            .prop_map(|fields| format!(r#"{{"type":"response.output_text.done",{fields}"text":"ab"}}"#)),
        fields
            .clone()
            .prop_map(|fields| format!(r#"{{"type":"response.reasoning_text.delta",{fields}"delta":"r"}}"#)),
        fields.prop_map(|fields| format!(
            r#"{{"type":"response.reasoning_summary_text.delta",{fields}"delta":"s"}}"#
        )),
        (index.clone(), item.clone()).prop_map(|(index, item)| added(&index, &item)),
        (index, item.clone()).prop_map(|(index, item)| done(&index, &item)),
        prop::collection::vec(item, 0..3).prop_map(|items| completed(&items.join(","))),
        Just(r#"{"type":"response.incomplete"}"#.to_owned()),
        Just("{".to_owned()),
    ]
}

proptest! {
    #[test]
    fn p03_any_split_of_any_events_gives_the_same_deltas(
        payloads in prop::collection::vec(event(), 0..12),
        cuts in prop::collection::vec(0_usize..1500, 0..4),
    ) {
        let bytes = stream(&strings(&payloads));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        let whole = decode(&bytes);
        prop_assert_eq!(&decode_on(Wire::Responses, &pieces), &whole);
        // Core takes every delta.
        blocks(&whole.deltas);
        let is_cut = whole.end.as_ref().map_or(true, |end| end.finish == petasos_core::entry::FinishReason::Length);
        let has_whole = whole.deltas.iter().any(|delta| matches!(delta, Delta::CallComplete { .. }));
        prop_assert!(!(is_cut && has_whole), "{:?}", whole);
    }
}

#[test]
fn p03_every_split_of_a_stream_gives_the_same_deltas() {
    let whole = decode(A22);
    for at in 0..=A22.len() {
        let (start, rest) = A22.split_at(at);
        assert_eq!(decode_on(Wire::Responses, &[start, rest]), whole, "cut at {at}");
    }
}
