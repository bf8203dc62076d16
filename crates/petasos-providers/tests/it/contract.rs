//! One contract for all wires: the same things said on each, in its published format, mean the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use petasos_core::entry::Block;
use petasos_core::request::Wire;
use petasos_core::turn::Delta;
use petasos_providers::{AnswerDecoder, Ended, ReplyEvent};

use crate::say::{Decoded, blocks, decode_on, target_on};

/// The streams of each wire by their names: every folder holds all of them.
macro_rules! cassettes {
    ($($case:literal),*) => {
        &[$(($case, [
            include_bytes!(concat!("../cassettes/chat/", $case, ".sse")).as_slice(),
            include_bytes!(concat!("../cassettes/responses/", $case, ".sse")).as_slice(),
            include_bytes!(concat!("../cassettes/messages/", $case, ".sse")).as_slice(),
        ])),*]
    };
}

const CASSETTES: &[(&str, [&[u8]; 3])] = cassettes![
    "text",
    "one_call",
    "parallel_calls",
    "no_arguments",
    "reasoning",
    "empty",
    "cut",
    "length",
    "cut_call",
    "refused",
    "overflow",
    "overloaded",
    "unicode",
    "usage"
];

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];

/// All of them, each with its wire.
pub fn all() -> Vec<(Wire, &'static [u8])> {
    CASSETTES.iter().flat_map(|(_, streams)| WIRES.into_iter().zip(*streams)).collect()
}

fn of(case: &str) -> impl Iterator<Item = (Wire, &'static [u8])> {
    let (_, streams) = CASSETTES.iter().find(|(name, _)| *name == case).expect("a cassette");
    WIRES.into_iter().zip(*streams)
}

/// What a stream means, without what is a wire's own: ids, and the sealed form of reasoning.
fn meaning(wire: Wire, stream: &[u8]) -> String {
    let Decoded { deltas, end, ended } = decode_on(wire, &[stream]);
    let mut meaning = String::new();
    for block in blocks(&deltas) {
        let line = match block {
            Block::Text(text) => format!("text: {text}"),
            Block::Reasoning(text) => format!("reasoning: {text}"),
            Block::Opaque(_) => continue,
            Block::Call(call) => {
                // No text at all and an empty object are the same call.
                let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
                let whole = if call.complete { "" } else { " (not whole)" };
                format!("call: {} {arguments}{whole}", call.name)
            }
        };
        writeln!(meaning, "{line}").unwrap();
    }
    match end {
        Ok(end) => write!(meaning, "{ended:?}: {:?}", end.finish).unwrap(),
        Err(failure) => write!(meaning, "{ended:?}: failed, {:?}", failure.kind).unwrap(),
    }
    meaning
}

fn check(case: &str, expected: &Expect) {
    for (wire, stream) in of(case) {
        let met = meaning(wire, stream);
        if wire == Wire::Chat {
            expected.assert_eq(&met);
        }
        assert_eq!(met, meaning(Wire::Chat, of(case).next().unwrap().1), "{case} on {wire:?}");
    }
}

#[test]
fn p01_text() {
    check(
        "text",
        &expect![[r#"
            text: Hello there.
            Whole: Stop"#]],
    );
    for (wire, stream) in of("text") {
        let texts = decode_on(wire, &[stream]).deltas.len();
        assert_eq!(texts, 3, "it comes in pieces on {wire:?}");
    }
}

#[test]
fn p01_one_call() {
    check(
        "one_call",
        &expect![[r#"
            call: read_file {"path":"notes.md"}
            Whole: ToolUse"#]],
    );
    for (wire, stream) in of("one_call") {
        let deltas = decode_on(wire, &[stream]).deltas;
        let pieces = deltas.iter().filter(|delta| matches!(delta, Delta::Arguments { .. })).count();
        assert!(pieces > 1, "its arguments come in pieces on {wire:?}");
        let [Block::Call(call)] = &blocks(&deltas)[..] else { panic!("one call on {wire:?}") };
        assert!(call.wire_id.is_some(), "{wire:?}");
    }
}

#[test]
fn p01_parallel_calls() {
    check(
        "parallel_calls",
        &expect![[r#"
            text: Looking.
            call: read_file {"path":"a.md"}
            call: read_file {"path":"b.md"}
            Whole: ToolUse"#]],
    );
}

#[test]
fn p01_a_call_without_arguments() {
    check(
        "no_arguments",
        &expect![[r#"
            call: current_time {}
            Whole: ToolUse"#]],
    );
}

#[test]
fn p01_reasoning() {
    check(
        "reasoning",
        &expect![[r#"
            reasoning: Let me think.
            text: 42.
            Whole: Stop"#]],
    );
}

#[test]
fn p01_an_empty_reply() {
    check("empty", &expect!["Whole: Stop"]);
}

#[test]
fn p01_a_stream_that_is_cut() {
    check(
        "cut",
        &expect![[r#"
            text: Half a
            Cut: failed, BadStream"#]],
    );
}

#[test]
fn p01_a_reply_at_its_output_cap() {
    check(
        "length",
        &expect![[r#"
            text: One, two
            Whole: Length"#]],
    );
    check(
        "cut_call",
        &expect![[r#"
            call: write_file {"path":"x","cont (not whole)
            Whole: Length"#]],
    );
}

#[test]
fn p01_a_refusal() {
    check(
        "refused",
        &expect![[r#"
            text: I cannot help with that.
            Whole: Refused"#]],
    );
}

#[test]
fn p01_an_error_in_the_stream() {
    check("overflow", &expect!["Told: failed, Overflow"]);
    check("overloaded", &expect!["Told: failed, Overloaded"]);
}

#[test]
fn p01_unicode() {
    check(
        "unicode",
        &expect![[r#"
            text: 北京 🙂 é
            Whole: Stop"#]],
    );
}

#[test]
fn p01_usage() {
    let told = |wire: Wire, stream| {
        let usage = decode_on(wire, &[stream]).end.unwrap().usage.unwrap();
        (usage.input, usage.output, usage.cached, usage.reasoning)
    };
    for (wire, stream) in of("usage") {
        // Messages does not tell how much of the output was reasoning.
        let reasoning = if wire == Wire::Messages { 0 } else { 8 };
        assert_eq!(told(wire, stream), (100, 20, 60, reasoning), "{wire:?}");
    }
}

/// Who stops a reply has its deltas so far, and nothing after them.
#[test]
fn p01_an_interrupt() {
    for (wire, stream) in of("text") {
        let whole = decode_on(wire, &[stream]).deltas;
        let mut counts = BTreeSet::new();
        for at in 0..stream.len() {
            let mut decoder = AnswerDecoder::new(&target_on(wire), "models.example");
            decoder.feed(&stream[..at]);
            let mut deltas = Vec::new();
            while let Some(event) = decoder.next_event() {
                match event {
                    ReplyEvent::Delta(delta) => deltas.push(delta),
                    ReplyEvent::Done(_) => assert_eq!(decoder.ended(), Some(Ended::Whole), "{wire:?}"),
                    ReplyEvent::Failed(failure) => panic!("{wire:?} at {at}: {failure:?}"),
                }
            }
            assert_eq!(deltas, whole[..deltas.len()], "{wire:?} at {at}");
            counts.insert(deltas.len());
        }
        assert_eq!(counts.len(), 4, "each piece comes as soon as it is there on {wire:?}");
    }
}
