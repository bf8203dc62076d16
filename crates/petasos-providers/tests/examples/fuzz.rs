//! Feeds broken answers to the decoders: recorded streams of all wires, cut, joined, repeated and changed by chance.
//!
//! `cargo run --release -p petasos-providers --example fuzz -- sse|chat|responses|messages COUNT [SEED]`
//!
//! What must hold for each input: no panic; one end and nothing behind it; deltas that core takes; the same however
//! the bytes are split. At the end stands the most memory that the process ever held. CI runs a few thousand inputs
//! (`tests/it/fuzz.rs`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]

use std::path::Path;
use std::sync::Arc;

use petasos_core::entry::{Content, Head, Said, Speaker, When};
use petasos_core::id::Digest;
use petasos_core::request::{Params, Target, ToolChoice, ToolMode, Wire};
use petasos_core::text::Json;
use petasos_core::transcript::Item;
use petasos_core::turn::Delta;
use petasos_providers::{AnswerDecoder, CallReading, Ended, ReplyEvent, SseEvent, SseReader, Tail, encoder};
use petasos_testkit::random::dice::Dice;

/// An input is never longer than this.
const LONGEST: usize = 32 << 10;

/// What mutations put in: pieces of the formats, and what parsers trip over.
const TOKENS: &[&str] = &[
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    ":",
    "data:",
    "data: ",
    "data: [DONE]\n\n",
    "event: error\n",
    "event: ping\n",
    "id: 7\n",
    "\u{feff}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "1e400",
    "18446744073709551616",
    "\\ud83d",
    "\\u0000",
    "\\\"",
    "\u{0}",
    "北",
    "\"index\":",
    "\"index\":0,",
    "\"index\":99999999999,",
    "\"output_index\":4294967296,",
    "\"id\":\"x\",",
    "\"type\":\"x\",",
    "\"delta\":",
    "\"error\":{\"message\":\"x\"},",
    "\"choices\":[],",
    "[[[[[[[[",
    "{\"a\":{\"a\":",
    "data: {\"type\":\"response.completed\",\"response\":{}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
    "<tool_call>",
    "</tool_call>",
    "\\n```\\n",
    "{\\\"name\\\":\\\"read_file\\\",\\\"arguments\\\":{",
    "{\\\"name\\\":\\\"answer\\\",\\\"arguments\\\":{\\\"text\\\":\\\"",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, count, seed) = match &arguments[..] {
        [what, count] => (what, count, 0),
        [what, count, seed] => (what, count, seed.parse().expect("a seed")),
        _ => panic!("sse|chat|responses|messages COUNT [SEED]"),
    };
    let wire = match what.as_str() {
        "sse" => None,
        "chat" => Some(Wire::Chat),
        "responses" => Some(Wire::Responses),
        "messages" => Some(Wire::Messages),
        other => panic!("{other} is nothing to feed"),
    };
    let count: u64 = count.parse().expect("a count");
    let seeds = seeds(wire);
    let readings = readings();
    let mut ends = [0_u64; 4];
    for number in 0..count {
        let mut dice = Dice::new(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let input = input(&mut dice, &seeds);
        // Told first if it panics: what it was made from says how to make it again.
        let run = std::panic::AssertUnwindSafe(|| match wire {
            None => read_events(&mut dice, &input),
            Some(wire) => {
                let ended = read_answer(&mut dice, wire, &readings, &input);
                ends[ended as usize] += 1;
            }
        });
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("input {number} of seed {seed}:\n{}", String::from_utf8_lossy(&input));
            std::panic::resume_unwind(panic);
        }
    }
    let [whole, told, cut, unreadable] = ends;
    println!(
        "{what}: {count} inputs, {whole} whole, {told} told, {cut} cut, {unreadable} unreadable; at most {} KiB",
        most_memory()
    );
}

/// The streams that inputs are made from: those of this wire, else of all.
fn seeds(wire: Option<Wire>) -> Vec<Vec<u8>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = |name: &str| {
        let files = std::fs::read_dir(tests.join(name)).expect("the streams of the tests");
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        // The order of a folder is the disk's own; a seed is to say the same everywhere.
        paths.sort();
        paths.into_iter().map(|path| std::fs::read(path).unwrap())
    };
    let mut seeds: Vec<Vec<u8>> = folder("cases").chain(folder("written")).collect();
    for (name, of) in [("chat", Wire::Chat), ("responses", Wire::Responses), ("messages", Wire::Messages)] {
        if wire.is_none_or(|wire| wire == of) {
            seeds.extend(folder(&format!("cassettes/{name}")));
        }
    }
    seeds
}

fn input(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = dice.pick(seeds).clone();
    for _ in 0..=dice.below(6) {
        let at = |dice: &mut Dice, input: &[u8]| dice.below(input.len() as u64 + 1) as usize;
        let (one, other) = (at(dice, &input), at(dice, &input));
        let (from, to) = (one.min(other), one.max(other));
        match dice.below(9) {
            0 => input.truncate(from),
            1 => drop(input.drain(from..to)),
            2 => {
                let again = input[from..to].to_vec();
                input.splice(to..to, again);
            }
            3 => {
                let token = dice.pick(TOKENS).as_bytes().to_vec();
                input.splice(from..from, token);
            }
            4 => {
                let token = dice.pick(TOKENS).as_bytes().to_vec();
                let end = to.min(from + token.len());
                input.splice(from..end, token);
            }
            5 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            6 => {
                let token = dice.pick(TOKENS).as_bytes().repeat(1 + dice.below(2_000) as usize);
                input.splice(from..from, token);
            }
            7 => {
                let other = dice.pick(seeds);
                let start = at(dice, other);
                input.truncate(from);
                input.extend_from_slice(&other[start..]);
            }
            _ => {
                // A line is moved: events come in another order.
                let mut lines: Vec<Vec<u8>> =
                    input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                if !lines.is_empty() {
                    let line = lines.remove(dice.below(lines.len() as u64) as usize);
                    lines.insert(dice.below(lines.len() as u64 + 1) as usize, line);
                    input = lines.concat();
                }
            }
        }
        input.truncate(LONGEST);
    }
    input
}

/// The same bytes in pieces of any size.
fn pieces<'a>(dice: &mut Dice, mut input: &'a [u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let largest = 1 + dice.below(64).pow(2);
    while !input.is_empty() {
        let (piece, rest) = input.split_at(input.len().min(1 + dice.below(largest) as usize));
        pieces.push(piece);
        input = rest;
    }
    pieces
}

fn read_events(dice: &mut Dice, input: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let mut reader = SseReader::new(LONGEST / 4);
        let mut events: Vec<SseEvent> = Vec::new();
        let fed = pieces.iter().try_for_each(|piece| reader.feed(piece, &mut events));
        // Behind an event that is too large nothing more is read, and how much came before is the split's.
        if fed.is_ok() { Ok((events, reader.finish())) } else { Err(fed) }
    };
    assert_eq!(read(&pieces(dice, input)), read(&[input]), "the split changed the events");
}

/// How calls are read in each mode, of a request that has the tools of the streams and a result with a call in it.
fn readings() -> Vec<CallReading> {
    let tools = r#"[{"name":"read_file","parameters":{"type":"object"}},{"name":"shell","parameters":{"type":"object"}}]"#;
    let head = Head {
        system: "".into(),
        tools: Json::try_from(tools).expect("tools are JSON"),
        toolset: "default".into(),
        reason: "new".into(),
        hash: Digest([0; 32]),
    };
    let content = vec![Content::Text(r#"{"name":"shell","arguments":{"command":"ls"}}"#.into())];
    let said = Said { from: Speaker::Person, content, notes: vec![], when: When::Now, withdraws: None };
    [ToolMode::Native, ToolMode::Constrained, ToolMode::Text]
        .into_iter()
        .map(|tool_mode| {
            let target =
                Target { provider: "example".into(), model: "m".into(), wire: Wire::Chat, tool_mode };
            let mut encoder = encoder(&target, &head);
            encoder.push(&Item::Said(Arc::new(said.clone())));
            encoder.body(&Params { tool_choice: ToolChoice::Auto }, &Tail::default()).calls
        })
        .collect()
}

fn read_answer(dice: &mut Dice, wire: Wire, readings: &[CallReading], input: &[u8]) -> Ended {
    let reading = dice.pick(readings);
    let target = Target { provider: "deepseek".into(), model: "m".into(), wire, tool_mode: ToolMode::Native };
    let read = |pieces: &[&[u8]]| {
        let mut decoder = AnswerDecoder::new(&target, "models.example").reading(reading);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.feed(piece);
            events.extend(std::iter::from_fn(|| decoder.next_event()));
        }
        decoder.finish();
        events.extend(std::iter::from_fn(|| decoder.next_event()));
        (events, decoder.ended().expect("it has ended"))
    };
    let (events, ended) = read(&[input]);
    check(&events, ended);
    let split = read(&pieces(dice, input));
    assert_eq!(split, (events, ended), "the split changed the reply");
    ended
}

/// One end, at the end; calls begin in order, grow while they are open, and are whole only in a reply that is.
fn check(events: &[ReplyEvent], ended: Ended) {
    let (end, deltas) = events.split_last().expect("an end");
    assert_eq!(matches!(end, ReplyEvent::Done(_)), ended == Ended::Whole);
    assert!(!matches!(end, ReplyEvent::Delta(_)), "the end is an end");
    let mut open: Vec<bool> = Vec::new();
    for event in deltas {
        let ReplyEvent::Delta(delta) = event else { panic!("two ends") };
        match delta {
            Delta::Call { .. } => open.push(true),
            Delta::Arguments { place, .. } => {
                assert!(open[usize::from(*place)], "more of a call that is whole")
            }
            Delta::CallComplete { place } => {
                assert!(std::mem::replace(&mut open[usize::from(*place)], false), "whole twice");
            }
            Delta::Text(_) | Delta::Reasoning(_) | Delta::Opaque(_) | Delta::Raw(_) => {}
        }
    }
}

/// The most memory that this process held, in KiB; 0 where the system does not say.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
