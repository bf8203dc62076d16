//! Streams that broke other agents (cases A), read by the decoder and put together by a real session.

use expect_test::{Expect, expect};
use petasos_core::stop::FailureKind;
use petasos_core::usage::Usage;

use crate::say::{call, decode, messages, said, step, told};

const A01: &[u8] = include_bytes!("../cases/a01.sse");
const A02: &[u8] = include_bytes!("../cases/a02.sse");
const A03: &[u8] = include_bytes!("../cases/a03.sse");
const A04: &[u8] = include_bytes!("../cases/a04.sse");
const A05: &[u8] = include_bytes!("../cases/a05.sse");
const A06: &[u8] = include_bytes!("../cases/a06.sse");
const A07: &[u8] = include_bytes!("../cases/a07.sse");
const A08: [&[u8]; 3] = [
    include_bytes!("../cases/a08_1.sse"),
    include_bytes!("../cases/a08_2.sse"),
    include_bytes!("../cases/a08_3.sse"),
];
const A09: &[u8] = include_bytes!("../cases/a09.sse");
const A10: &[u8] = include_bytes!("../cases/a10.sse");
const A11: &[u8] = include_bytes!("../cases/a11.sse");
const A12: &[u8] = include_bytes!("../cases/a12.sse");
/// In the writes that it came in.
const A13: [&[u8]; 3] = [
    b"\xef\xbb\xbfdata:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\r",
    b"\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"y\"},\"finish_reason\":\"stop\"}]}\r\r",
    b"data: [DONE]\r\n\r\n",
];
/// Cut inside a character.
const A14: [&[u8]; 2] = [
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xe5\x8c",
    b"\x97\xe4\xba\xac\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
];
const A15: &[u8] = include_bytes!("../cases/a15.sse");
const A16: &[u8] = include_bytes!("../cases/a16.sse");
const A17: &[u8] = include_bytes!("../cases/a17.sse");
const A18: &[u8] = include_bytes!("../cases/a18.sse");

/// Every stream of these cases, whole.
pub fn all() -> Vec<Vec<u8>> {
    let files =
        [A01, A02, A03, A04, A05, A06, A07, A08[0], A08[1], A08[2], A09, A10, A11, A12, A15, A16, A17, A18];
    let mut all: Vec<Vec<u8>> = files.iter().map(|bytes| bytes.to_vec()).collect();
    all.extend([A13.concat(), A14.concat()]);
    all
}

fn check(stream: &[u8], expected: &Expect) {
    expected.assert_eq(&told(stream).join("\n"));
}

/// A stream of these payloads, ended by `[DONE]`.
pub fn stream(payloads: &[&str]) -> Vec<u8> {
    let events = payloads.iter().chain(&["[DONE]"]).map(|payload| format!("data: {payload}\n\n"));
    events.collect::<String>().into_bytes()
}

/// A stream of these pieces of calls, each in a chunk of its own.
fn calls(pieces: &[&str], finish: &str) -> Vec<u8> {
    let mut chunks: Vec<String> = pieces
        .iter()
        .map(|piece| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{piece}]}}}}]}}"#))
        .collect();
    chunks.push(format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}"#));
    stream(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn case_a01_a_call_without_an_index() {
    check(
        A01,
        &expect![[r#"
        call call_k1: read_file {"path":"notes.md"}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a01_an_id_or_a_second_header_starts_another_call_where_there_is_no_index() {
    let pieces = [
        r#"{"id":"a","function":{"name":"grep","arguments":"{\"x\":1}"}}"#,
        r#"{"id":"b","function":{"name":"grep","arguments":"{\"x\":"}}"#,
        r#"{"function":{"arguments":"2}"}}"#,
        r#"{"function":{"name":"grep","arguments":"{\"x\":3}"}}"#,
    ];
    check(
        &calls(&pieces, "tool_calls"),
        &expect![[r#"
        call a: grep {"x":1}
        call b: grep {"x":2}
        call -: grep {"x":3}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a02_two_calls_under_one_index() {
    check(
        A02,
        &expect![[r#"
        call call_a: grep {"pattern":"alpha"}
        call call_b: grep {"pattern":"beta"}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a02_one_call_with_another_id_in_each_delta() {
    let pieces = [
        r#"{"index":0,"id":"x1","function":{"name":"grep","arguments":""}}"#,
        r#"{"index":0,"id":"x2","function":{"arguments":"{\"pattern\":"}}"#,
        r#"{"index":0,"id":"x3","function":{"arguments":"\"a\"}"}}"#,
    ];
    check(
        &calls(&pieces, "tool_calls"),
        &expect![[r#"
        call x1: grep {"pattern":"a"}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a03_one_chunk_lists_a_call_twice() {
    check(
        A03,
        &expect![[r#"
        call call_m: list_dir {"path":"src"}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a03_pieces_of_two_calls_take_turns() {
    let pieces = [
        r#"{"index":0,"id":"a","function":{"name":"grep","arguments":"{"}},{"index":1,"id":"b","function":{"name":"ls","arguments":"{\"p\""}}"#,
        r#"{"index":1,"function":{"arguments":":1"}},{"index":0,"function":{"arguments":"\"q\":2"}}"#,
        r#"{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"}"}}"#,
    ];
    check(
        &calls(&pieces, "tool_calls"),
        &expect![[r#"
        call a: grep {"q":2}
        call b: ls {"p":1}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a04_the_name_is_repeated_in_every_delta() {
    check(
        A04,
        &expect![[r#"
        call call_r: read_file {"path":"a"}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a04_the_name_comes_in_pieces_or_grows() {
    let cut = [
        r#"{"index":0,"id":"a","function":{"name":"read_"}}"#,
        r#"{"index":0,"function":{"name":"file"}}"#,
        r#"{"index":0,"function":{"arguments":"{}"}}"#,
    ];
    check(
        &calls(&cut, "tool_calls"),
        &expect![[r#"
        call a: read_file {}
        end: ToolUse"#]],
    );
    let grown = [
        r#"{"index":0,"id":"a","function":{"name":"read_"}}"#,
        r#"{"index":0,"function":{"name":"read_file"}}"#,
        r#"{"index":0,"function":{"name":"read_file","arguments":"{}"}}"#,
        r#"{"index":0,"function":{"name":"read_file","arguments":""}}"#,
    ];
    check(
        &calls(&grown, "tool_calls"),
        &expect![[r#"
        call a: read_file {}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a05_arguments_are_an_object() {
    check(
        A05,
        &expect![[r#"
        call call_o: shell {"command":"printf 'ok\\n'"}
        end: ToolUse"#]],
    );
}

#[test]
fn case_a05_a_chunk_that_cannot_be_read_is_an_error_that_shows_it() {
    let broken = stream(&[r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#, r#"{"choices":[{"index""#]);
    let failure = decode(&[&broken]).1.unwrap_err();
    assert_eq!(failure.kind, FailureKind::BadStream);
    assert!(failure.message.contains(r#"{"choices":[{"index""#), "{}", failure.message);
    let odd = stream(&[r#"{"choices":[{"index":0,"delta":{"content":7}}]}"#]);
    assert_eq!(decode(&[&odd]).1.unwrap_err().kind, FailureKind::BadStream);
}

#[test]
fn case_a06_calls_without_arguments() {
    check(
        A06,
        &expect![[r#"
            call call_e1: git_status (nothing)
            call call_e2: git_status (nothing)
            call call_e3: git_status (nothing)
            end: ToolUse"#]],
    );
}

#[test]
fn case_a06_no_arguments_go_back_as_an_empty_object() {
    let blocks = vec![call(Some("e1"), "git_status", ""), call(Some("e2"), "git_status", " \n")];
    let messages = messages(&[said("go"), step(5, blocks, &["clean", "clean"])]);
    for call in messages[1]["tool_calls"].as_array().unwrap() {
        assert_eq!(call["function"]["arguments"], "{}");
    }
}

#[test]
fn case_a06_without_a_finish_the_same_calls_are_cut() {
    let start = A06.split(|byte| *byte == b'\n').next().unwrap();
    check(
        &[start, b"\n\n"].concat(),
        &expect![[r#"
            call call_e1: git_status (nothing) (not whole)
            call call_e2: git_status (nothing) (not whole)
            failed: BadStream"#]],
    );
}

#[test]
fn case_a07_chunks_without_choices() {
    check(
        A07,
        &expect![[r#"
        text: hi
        end: Stop"#]],
    );
    let usage = decode(&[A07]).1.unwrap().usage;
    assert_eq!(usage, Some(Usage { input: 11, output: 1, cached: 0, reasoning: 0, cache_written: 0 }));
}

#[test]
fn case_a08_an_error_in_a_good_stream() {
    let failures = A08.map(|stream| decode(&[stream]).1.unwrap_err());
    let [quota, engine, upstream] = &failures;
    assert_eq!(quota.kind, FailureKind::Billing);
    assert!(!quota.kind.is_passing());
    assert!(quota.message.contains("quota used up for key (insufficient_quota"), "{}", quota.message);
    assert_eq!(engine.kind, FailureKind::Other);
    assert!(engine.message.contains("engine worker stopped"), "{}", engine.message);
    assert_eq!((upstream.kind, upstream.status), (FailureKind::Other, Some(502)));
    assert!(upstream.kind.is_passing());
    assert!(upstream.message.contains("upstream pool full"), "{}", upstream.message);
}

#[test]
fn case_a08_what_came_before_the_error_is_kept() {
    check(
        A08[2],
        &expect![[r#"
        text: The three
        failed: Other"#]],
    );
}

#[test]
fn case_a08_an_error_in_other_shapes() {
    let shapes = [
        r#"{"object":"error","message":"engine is dead","code":503}"#,
        r#"{"error":{"message":"busy","code":"503"}}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"error":{"message":"busy","code":503}}"#,
    ];
    for shape in shapes {
        let failure = decode(&[&stream(&[shape])]).1.unwrap_err();
        assert_eq!((failure.kind, failure.status), (FailureKind::Overloaded, Some(503)), "{shape}");
    }
    let named = b"event: error\ndata: out of memory\n\n";
    let failure = decode(&[named]).1.unwrap_err();
    assert!(failure.message.contains("out of memory"), "{}", failure.message);
}

#[test]
fn case_a09_nothing_but_the_end_mark() {
    check(A09, &expect!["failed: BadStream"]);
    let message = decode(&[A09]).1.unwrap_err().message;
    assert!(message.contains("empty stream") && message.contains("too long"), "{message}");
}

#[test]
fn case_a09_reasoning_alone_without_a_finish_is_no_answer() {
    let thought = stream(&[r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#]);
    check(
        &thought,
        &expect![[r#"
        reasoning: hm
        failed: BadStream"#]],
    );
}

#[test]
fn case_a10_a_finish_without_the_end_mark() {
    check(
        A10,
        &expect![[r#"
        text: done.
        end: Stop"#]],
    );
}

#[test]
fn case_a10_the_end_mark_without_a_finish() {
    let text = stream(&[r#"{"choices":[{"index":0,"delta":{"content":"done."}}]}"#]);
    check(
        &text,
        &expect![[r#"
        text: done.
        end: Other("")"#]],
    );
    let pieces = [
        r#"{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"grep","arguments":"{\"p"}}"#,
    ];
    check(
        &calls(&pieces, ""),
        &expect![[r#"
        call a: ls {}
        call b: grep {"p (not whole)
        end: Other("")"#]],
    );
}

#[test]
fn case_a10_the_last_line_needs_no_blank_line_after_it() {
    let bytes = A10.strip_suffix(b"\n\n").unwrap();
    assert_eq!(told(bytes), told(A10));
}

#[test]
fn case_a11_the_stream_ends_inside_of_arguments() {
    check(
        A11,
        &expect![[r#"
        call call_w: write_file {"path":"a.txt","content":"line 1\nline (not whole)
        failed: BadStream"#]],
    );
}

#[test]
fn case_a11_a_call_that_was_cut_is_never_complete() {
    let piece = [r#"{"index":0,"id":"a","function":{"name":"write_file","arguments":"{\"path\":\"a\"}"}}"#];
    for reason in ["length", "content_filter"] {
        let lines = told(&calls(&piece, reason));
        assert_eq!(lines[0], r#"call a: write_file {"path":"a"} (not whole)"#, "{reason}");
    }
    let open = [r#"{"index":0,"id":"a","function":{"name":"write_file","arguments":"{\"path\":\"a"}}"#];
    check(
        &calls(&open, "max_tokens"),
        &expect![[r#"
        call a: write_file {"path":"a (not whole)
        end: Other("max_tokens")"#]],
    );
}

#[test]
fn case_a12_what_only_keeps_the_connection_open() {
    check(
        A12,
        &expect![[r#"
        text: AB
        end: Stop"#]],
    );
}

#[test]
fn case_a13_ends_of_lines_of_all_kinds() {
    assert_eq!(decode(&A13), decode(&[&A13.concat()]));
    check(
        &A13.concat(),
        &expect![[r#"
        text: xy
        end: Stop"#]],
    );
    let (deltas, _) = decode(&A13);
    assert_eq!(deltas.len(), 2, "{deltas:?}");
}

#[test]
fn case_a14_a_character_split_over_two_reads() {
    assert_eq!(decode(&A14), decode(&[&A14.concat()]));
    check(
        &A14.concat(),
        &expect![[r#"
        text: 北京
        end: Stop"#]],
    );
}

#[test]
fn case_a15_reasoning_by_other_names_and_in_the_content() {
    check(
        A15,
        &expect![[r#"
        reasoning: look at the tree then count
        text: Four files.
        end: Stop"#]],
    );
}

#[test]
fn case_a15_a_tag_counts_only_at_the_start_and_only_if_it_is_one() {
    let content = |pieces: &[&str]| {
        let chunks = pieces.iter().map(|piece| {
            let piece = serde_json::to_string(piece).unwrap();
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{piece}}}}}]}}"#)
        });
        let mut chunks: Vec<String> = chunks.collect();
        chunks.push(String::from(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#));
        told(&stream(&chunks.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    assert_eq!(content(&["<thi", "s is text"]), ["text: <this is text", "end: Stop"]);
    assert_eq!(content(&["<thi"]), ["text: <thi", "end: Stop"]);
    assert_eq!(
        content(&["\n", " <think>", "a </b> ", "</th", "ink", ">x"]),
        ["reasoning: a </b> ", "text: x", "end: Stop"]
    );
    assert_eq!(content(&["Say <think>a</think>."]), ["text: Say <think>a</think>.", "end: Stop"]);
    assert_eq!(content(&["<think>never ", "closed</thi"]), ["reasoning: never closed</thi", "end: Stop"]);
    let blanks = " ".repeat(100);
    assert_eq!(
        content(&[&blanks, "<think>a"]),
        [format!("text: {blanks}<think>a"), String::from("end: Stop")]
    );
}

#[test]
fn case_a16_stop_together_with_a_call() {
    check(
        A16,
        &expect![[r#"
        text: I will look.
        call call_s: list_dir {"path":"."}
        end: Stop"#]],
    );
}

#[test]
fn case_a17_an_empty_reason_is_none_and_an_unknown_one_is_kept() {
    check(
        A17,
        &expect![[r#"
        text: one
        end: Other("eos_token")"#]],
    );
}

#[test]
fn case_a18_content_in_parts() {
    check(
        A18,
        &expect![[r#"
        reasoning: 150 per hour
        text: Two hours.
        end: Stop"#]],
    );
    let plain = stream(&[
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":"150 per hour"}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":["Two"," hours."]},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(told(&plain), told(A18));
}

#[test]
fn case_a19_one_id_for_the_whole_session() {
    let items = [
        said("go"),
        step(3, vec![call(Some("ID0"), "write_file", r#"{"path":"a.txt","content":"ALPHA"}"#)], &["one"]),
        step(8, vec![call(Some("ID0"), "write_file", r#"{"path":"b.txt","content":"BETA"}"#)], &["two"]),
        step(14, vec![call(Some("ID0"), "read_file", r#"{"path":"a.txt"}"#)], &["three"]),
    ];
    assert_eq!(pairs(&items), ["ID0 one", "call_8_0 two", "call_14_0 three"]);
}

#[test]
fn case_a19_ids_missing_doubled_or_like_ours() {
    let blocks = vec![
        call(Some("same"), "ls", "{}"),
        call(Some("same"), "ls", "{}"),
        call(None, "ls", "{}"),
        call(Some(""), "ls", "{}"),
        call(Some("call_5_1"), "ls", "{}"),
    ];
    let items = [said("go"), step(5, blocks, &["a", "b", "c", "d", "e"])];
    assert_eq!(pairs(&items), ["same a", "call_5_1 b", "call_5_2 c", "call_5_3 d", "call_5_4 e"]);
    let first = vec![call(Some("call_5_1"), "ls", "{}"), call(None, "ls", "{}")];
    assert_eq!(pairs(&[said("go"), step(5, first, &["a", "b"])]), ["call_5_0 a", "call_5_1 b"]);
}

#[test]
fn case_a20_an_id_that_another_provider_does_not_take() {
    let long = "call_9f2c7a10b4d84e6fa1c3|fc_0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0";
    let items = [said("go"), step(7, vec![call(Some(long), "read_file", "{}")], &["text"]), said("on")];
    assert_eq!(pairs(&items[..2]), ["call_7_0 text"]);
    assert_eq!(pairs(&items), ["call_7_0 text"], "the same in every later request");
    let longest = "a".repeat(40);
    let blocks = vec![call(Some(&longest), "ls", "{}"), call(Some("two words"), "ls", "{}")];
    let items = [said("go"), step(7, blocks, &["a", "b"])];
    assert_eq!(pairs(&items), [format!("{longest} a"), String::from("call_7_1 b")]);
}

/// Each call's id with its result, as they stand in a request; an id that does not fit its result fails.
fn pairs(items: &[petasos_core::transcript::Item]) -> Vec<String> {
    let messages = messages(items);
    let messages = messages.as_array().unwrap();
    let ids = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let ids: Vec<&str> = ids.map(|call| call["id"].as_str().unwrap()).collect();
    let results: Vec<&serde_json::Value> =
        messages.iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(ids.len(), results.len());
    let pairs = ids.into_iter().zip(results).map(|(id, result)| {
        assert_eq!(result["tool_call_id"], id);
        format!("{id} {}", result["content"].as_str().unwrap())
    });
    pairs.collect()
}
