//! Prints requests that transcripts made by chance become, for a judge that is no part of this project: one JSON
//! object a line, `{"protocol", "id", "dialect"?, "body_text"}`.
//!
//! `cargo run --release -p petasos-providers --example generated_requests -- chat|responses|messages COUNT`

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

use std::io::{BufWriter, Write, stdout};

use petasos_core::request::{Params, ToolChoice, Wire};
use petasos_providers::{Quirks, Tail, encoder, origin};
use petasos_testkit::transcripts::{Counts, Origin, Transcript, targets, transcript};
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    protocol: &'a str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<&'a str>,
    body_text: &'a str,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, count] = &arguments[..] else { panic!("chat|responses|messages COUNT") };
    let wire = match protocol.as_str() {
        "chat" => Wire::Chat,
        "responses" => Wire::Responses,
        "messages" => Wire::Messages,
        other => panic!("{other} is no wire"),
    };
    let count: usize = count.parse().expect("a count");
    let mut counts = Counts::new();
    let mut out = BufWriter::new(stdout().lock());
    let mut written = 0;
    for seed in 0.. {
        for line in requests(wire, protocol, seed, &mut counts) {
            if written == count {
                drop(out);
                counts.iter().for_each(|(what, often)| eprintln!("{often:>7} times {what}"));
                return;
            }
            writeln!(out, "{line}").unwrap();
            written += 1;
        }
    }
}

/// The requests that the transcript of a seed becomes on its way, on one wire.
fn requests(wire: Wire, protocol: &str, seed: u64, counts: &mut Counts) -> Vec<String> {
    let origins: Vec<Origin> = targets().iter().map(|target| (origin(target), target.clone())).collect();
    let Transcript { head, items } = transcript(seed, &origins, counts);
    let mut lines = Vec::new();
    for target in targets().iter().filter(|target| target.wire == wire) {
        let mut encoder = encoder(target, &head);
        for (place, item) in items.iter().enumerate() {
            encoder.push(item);
            let tool_choice = if place % 3 == 2 { ToolChoice::Forbidden } else { ToolChoice::Auto };
            let max_output = if place % 2 == 0 { Some(512) } else { None };
            let body = encoder.body(&Params { tool_choice }, &Tail { max_output, ..Tail::default() });
            // What a profile adds to chat completions is not in the vendor's own types.
            let is_own = wire == Wire::Chat && Quirks::of(&target.provider) != Quirks::USUAL;
            let line = Line {
                protocol,
                id: format!("transcript {seed}, item {place}, {}", target.provider),
                dialect: is_own.then_some("compat"),
                body_text: std::str::from_utf8(&body.bytes).expect("UTF-8"),
            };
            lines.push(serde_json::to_string(&line).unwrap());
        }
    }
    lines
}
