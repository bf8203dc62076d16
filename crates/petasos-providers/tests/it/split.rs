//! Any split of the bytes gives the same events and the same deltas.

use petasos_core::stop::FailureKind;
use petasos_providers::{EventTooLarge, SseEvent, SseReader};
use proptest::prelude::*;

use crate::say::{decode, decode_on};
use crate::{cases, contract};

fn events(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut reader = SseReader::default();
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece, &mut events).unwrap();
    }
    events.extend(reader.finish());
    events
}

#[test]
fn p03_every_split_of_every_case_gives_the_same_deltas() {
    for stream in cases::all() {
        let whole = decode(&[&stream]);
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&single), whole);
        for at in 0..=stream.len() {
            let (start, rest) = stream.split_at(at);
            assert_eq!(decode(&[start, rest]), whole, "cut at {at} of {}", String::from_utf8_lossy(&stream));
        }
    }
}

#[test]
fn p03_every_split_of_what_each_wire_says_gives_the_same_deltas() {
    for (wire, stream) in contract::all() {
        let whole = decode_on(wire, &[stream]);
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode_on(wire, &single), whole);
        for at in 0..=stream.len() {
            let (start, rest) = stream.split_at(at);
            assert_eq!(decode_on(wire, &[start, rest]), whole, "cut at {at} on {wire:?}");
        }
    }
}

#[test]
fn p03_no_cut_of_what_a_wire_says_makes_a_call_whole_that_was_not() {
    use petasos_core::turn::Delta;
    for (wire, stream) in contract::all() {
        for at in 0..stream.len() {
            let cut = decode_on(wire, &[&stream[..at]]);
            let whole = cut.deltas.iter().any(|delta| matches!(delta, Delta::CallComplete { .. }));
            assert!(cut.end.is_ok() || !whole, "cut at {at} on {wire:?}: {:?}", cut.deltas);
        }
    }
}

#[test]
fn p03_no_cut_of_a_case_makes_a_call_whole_that_was_not() {
    use petasos_core::turn::Delta;
    for stream in cases::all() {
        for at in 0..stream.len() {
            let (deltas, end) = decode(&[&stream[..at]]);
            if end.is_err() {
                let whole = deltas.iter().any(|delta| matches!(delta, Delta::CallComplete { .. }));
                assert!(!whole, "cut at {at}: {deltas:?}");
            }
        }
    }
}

#[test]
fn p03_an_event_has_its_name_and_its_lines() {
    let event = |name: &str, data: &str| SseEvent { name: name.into(), data: data.into() };
    let bytes =
        b"event: a\ndata: one\ndata:two\ndata:  three\nid: 7\n\n: said nothing\n\nevent: lost\n\ndata\n\n";
    assert_eq!(events(&[bytes]), [event("a", "one\ntwo\n three"), event("", "")]);
}

#[test]
fn p03_bytes_that_are_no_text_are_marked_and_nothing_else_is() {
    assert_eq!(events(&[b"data: a\xff\xc3\xa4\n\n"])[0].data, "a\u{fffd}\u{e4}");
}

#[test]
fn p03_an_event_or_a_line_without_end_is_an_error() {
    let read = |piece: &[u8], times: usize| {
        let mut reader = SseReader::new(100);
        let mut events = Vec::new();
        (0..times).try_for_each(|_| reader.feed(piece, &mut events)).map(|()| events.len())
    };
    assert_eq!(read(b"x", 100), Ok(0));
    assert_eq!(read(b"x", 101), Err(EventTooLarge(100)));
    assert_eq!(read(b"data: 0123456789\n", 20), Err(EventTooLarge(100)));
    assert_eq!(read(b"data: 0123456789\n\n", 20), Ok(20));
    // A comment is not kept, so it may be as long as it likes.
    assert_eq!(read(b": 0123456789", 1000), Ok(0));
}

#[test]
fn p03_a_reply_without_end_is_an_error() {
    let mut decoder = petasos_providers::AnswerDecoder::new(&crate::say::target(), "models.example");
    let text = "x".repeat(1 << 16);
    let chunk = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let mut fed = 0;
    let failure = loop {
        decoder.feed(chunk.as_bytes());
        fed += 1;
        match decoder.next_event() {
            Some(petasos_providers::ReplyEvent::Failed(failure)) => break failure,
            _ => assert!(fed < 200, "it has a cap"),
        }
    };
    assert_eq!(failure.kind, FailureKind::BadStream);
}

#[test]
fn p03_calls_without_end_are_an_error() {
    let mut stream = Vec::new();
    for index in 0..10_000 {
        let piece =
            format!(r#"{{"index":{index},"id":"i{index}","function":{{"name":"ls","arguments":"{{}}"}}}}"#);
        stream.extend(
            format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{piece}]}}}}]}}\n\n").bytes(),
        );
    }
    let (deltas, end) = decode(&[&stream]);
    assert_eq!(end.unwrap_err().kind, FailureKind::BadStream);
    assert!(deltas.len() < 20_000);
}

#[test]
fn p03_half_a_surrogate_pair_costs_one_character_and_not_the_reply() {
    let chunk = br#"data: {"choices":[{"delta":{"content":"a\ud83db"},"finish_reason":"stop"}]}"#;
    let (deltas, end) = decode(&[chunk]);
    let text = match &deltas[..] {
        [petasos_core::turn::Delta::Text(text)] => text.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(text.starts_with("a\u{fffd}") && text.ends_with('b'), "{text}");
    assert!(end.is_ok());
}

#[test]
fn p08_tokens_from_every_shape_are_counted_once() {
    let usage = |fields: &str| {
        let stream =
            format!(r#"data: {{"choices":[{{"delta":{{"content":"a"}},"finish_reason":"stop"}}],{fields}}}"#);
        let usage = decode(&[stream.as_bytes()]).1.unwrap().usage;
        usage.map(|usage| [usage.input, usage.output, usage.cached, usage.reasoning])
    };
    let all = r#""usage":{"prompt_tokens":9,"completion_tokens":7,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}"#;
    assert_eq!(usage(all), Some([9, 7, 4, 5]));
    let beside = all.replace("16", "21");
    assert_eq!(usage(&beside), Some([9, 12, 4, 5]), "reasoning beside the completion");
    let deepseek = r#""usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_cache_hit_tokens":6,"prompt_tokens_details":null}"#;
    assert_eq!(usage(deepseek), Some([9, 7, 6, 0]));
    let groq = r#""x_groq":{"id":"r","usage":{"prompt_tokens":9,"completion_tokens":7,"queue_time":0.05}}"#;
    assert_eq!(usage(groq), Some([9, 7, 0, 0]));
    let odd = r#""usage":{"prompt_tokens":null,"completion_tokens":-1,"completion_tokens_details":{"reasoning_tokens":"x"}}"#;
    assert_eq!(usage(odd), None, "unknown is not zero");
    assert_eq!(usage(r#""usage":null"#), None);
    assert_eq!(usage(r#""usage":"none""#), None);
}

/// Bytes that look like a stream now and then.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"event: ping\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just("北".as_bytes().to_vec()),
        Just(b":".to_vec()),
        Just(b"data: [DONE]\n\n".to_vec()),
        Just(br#"data: {"choices":[{"delta":{"content":"a"}}]}"#.to_vec()),
        Just(br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{"}}]}}]}"#.to_vec()),
        Just(br#"data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"l"}}]},"finish_reason":"stop"}]}"#.to_vec()),
        Just(br#"{"error":{"message":"no"}}"#.to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn p03_any_split_of_any_bytes_gives_the_same_events(bytes in stream(), cuts in prop::collection::vec(0_usize..400, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(events(&pieces), events(&[&bytes]));
        let decoded = decode(&pieces);
        prop_assert_eq!(&decoded, &decode(&[&bytes]));
        // Core takes every delta.
        crate::say::blocks(&decoded.0);
    }
}

/// What an answer is, is told by its first bytes, however many of them come at once.
#[test]
fn p03_blanks_before_an_answer_are_the_same_in_any_split() {
    for blanks in [10, 1023, 1024, 1025, 3000] {
        let answer = ["\n".repeat(blanks).as_bytes(), b"[\n\ndata: [DONE]\n\n"].concat();
        let whole = decode(&[&answer]);
        for size in [1, 100, 1024, 1500] {
            let pieces: Vec<&[u8]> = answer.chunks(size).collect();
            assert_eq!(decode(&pieces), whole, "{blanks} blanks in pieces of {size}");
        }
    }
}
