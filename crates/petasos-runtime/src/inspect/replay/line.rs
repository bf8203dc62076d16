//! What a replay found, as a line of JSON.

use petasos_core::entry::VerdictKind;
use petasos_core::id::{CallId, Digest, Seq, SessionId};
use petasos_core::request::Purpose;
use petasos_core::text::Text;
use serde::Serialize;

use super::{Difference, LeftOut, LeftOutWhy, PartOf, Place, Replayed};
use crate::event::EVENTS;

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    session: &'a SessionId,
    same: bool,
    entries: u64,
    requests: u64,
    calls: u64,
    damage: &'a [String],
    left_out: Vec<LeftOutLine>,
    differences: Vec<DifferenceLine<'a>>,
}

#[derive(Serialize)]
struct LeftOutLine {
    from: Seq,
    to: Seq,
    why: &'static str,
}

#[derive(Serialize)]
struct RequestLine {
    entry: Seq,
    turn: Seq,
    step: u32,
    attempt: u32,
    purpose: Purpose,
}

#[derive(Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum DifferenceLine<'a> {
    Decision {
        call: CallId,
        tool: &'a Text,
        was: VerdictLine<'a>,
        now: VerdictLine<'a>,
    },
    Part {
        request: RequestLine,
        part: usize,
        of: Option<&'static str>,
        entry: Option<Seq>,
        was: Option<Digest>,
        now: Option<Digest>,
        at: Option<usize>,
        was_text: Option<&'a str>,
        now_text: Option<&'a str>,
    },
    Tail {
        request: RequestLine,
    },
    Entry {
        entry: Seq,
        kind: &'a Text,
        was: &'a str,
        now: Option<&'a str>,
        refused: Option<&'a str>,
    },
}

#[derive(Serialize)]
struct VerdictLine<'a> {
    verdict: VerdictKind,
    rule: &'a Text,
}

impl Replayed {
    /// As a line of JSON.
    pub fn line(&self) -> String {
        let line = Line {
            v: EVENTS,
            kind: "replay",
            session: &self.session,
            same: self.is_same(),
            entries: self.entries,
            requests: self.requests.len() as u64,
            calls: self.calls.len() as u64,
            damage: &self.damage,
            left_out: self.left_out.iter().map(left_out).collect(),
            differences: self.differences.iter().map(difference).collect(),
        };
        // Plain data always becomes JSON; the fallback only keeps this free of panics.
        serde_json::to_string(&line).unwrap_or_default()
    }
}

fn left_out(left: &LeftOut) -> LeftOutLine {
    let why = match left.why {
        LeftOutWhy::UnknownKind => "unknown_kind",
        LeftOutWhy::AfterUnknown => "after_unknown",
        LeftOutWhy::Damaged => "damaged",
    };
    LeftOutLine { from: left.from, to: left.to, why }
}

fn request(place: &Place) -> RequestLine {
    let Place { entry, turn, step, attempt, purpose } = *place;
    RequestLine { entry, turn, step, attempt, purpose }
}

fn difference(difference: &Difference) -> DifferenceLine<'_> {
    match difference {
        Difference::Decision { call, tool, was, now } => DifferenceLine::Decision {
            call: *call,
            tool,
            was: VerdictLine { verdict: was.0, rule: &was.1 },
            now: VerdictLine { verdict: now.0, rule: &now.1 },
        },
        Difference::Part { request: place, part, of, was, now, bytes } => {
            let (of, entry) = match of {
                Some(PartOf::Params) => (Some("parameters"), None),
                Some(PartOf::Tools) => (Some("tools"), None),
                Some(PartOf::System) => (Some("system"), None),
                Some(PartOf::Message(entry)) => (Some("message"), Some(*entry)),
                None => (None, None),
            };
            DifferenceLine::Part {
                request: request(place),
                part: *part,
                of,
                entry,
                was: *was,
                now: *now,
                at: bytes.as_ref().map(|bytes| bytes.at),
                was_text: bytes.as_ref().map(|bytes| bytes.was.as_str()),
                now_text: bytes.as_ref().map(|bytes| bytes.now.as_str()),
            }
        }
        Difference::Tail { request: place } => DifferenceLine::Tail { request: request(place) },
        Difference::Entry { entry, kind, was, now, refused } => DifferenceLine::Entry {
            entry: *entry,
            kind,
            was,
            now: now.as_deref(),
            refused: refused.as_deref(),
        },
    }
}
