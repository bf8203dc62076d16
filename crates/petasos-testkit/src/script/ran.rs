//! What came of a script, in words that a test can compare as a whole.

use petasos_core::entry::{Block, Body, Content, Entry, Reply, ReplyOfTurn, Request, Said, TurnEnd};
use petasos_core::request::Draft;
use petasos_core::session::Session;
use petasos_core::stop::StopReason;
use petasos_core::tool::Outcome;
use petasos_core::transcript::Item;
use petasos_core::turn::{Effect, made_calls};

use crate::script::Script;

/// What came of a script.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How the last run that finished did so.
    pub status: Option<StopReason>,
    /// What it answered; empty if it did not.
    pub reply: String,
    /// The transcript, a line each item: `said: …`, `note: …`, `reply: text tool=outcome …`.
    pub told: Vec<String>,
    /// The log.
    pub entries: Vec<Entry>,
    /// Everything the session wanted.
    pub effects: Vec<Effect>,
    /// Everything that was measured to be sent.
    pub sent: Vec<Sent>,
    /// The session.
    pub session: Session,
    /// The script, to go on with.
    pub script: Script,
}

/// A request as it was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// What core wanted.
    pub draft: Draft,
    /// The messages in it, as in [`Ran::told`].
    pub told: Vec<String>,
}

impl Sent {
    pub(super) fn of(session: &Session, draft: &Draft) -> Self {
        Self { draft: draft.clone(), told: session.messages_for(draft).iter().map(line).collect() }
    }
}

impl Ran {
    pub(super) fn of(script: Script) -> Self {
        let session = script.session.clone();
        let end = script.effects.iter().rev().find_map(|effect| match effect {
            Effect::Finish(end) => Some(end),
            _ => None,
        });
        Self {
            status: script.status,
            reply: end.map(|end| answer(end, &script.log)).unwrap_or_default(),
            told: told(&session),
            entries: script.log.clone(),
            effects: script.effects.clone(),
            sent: script.sent.clone(),
            session,
            script,
        }
    }

    /// The kinds of the entries, in order.
    pub fn kinds(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.body.kind()).collect()
    }

    /// The requests of the log.
    pub fn requests(&self) -> Vec<&Request> {
        let request = |entry| match entry {
            &Entry { body: Body::Request(ref request), .. } => Some(request),
            _ => None,
        };
        self.entries.iter().filter_map(request).collect()
    }

    /// The results of the log, in the order they were written: `6.0 ok`.
    pub fn results(&self) -> Vec<String> {
        let result = |entry: &Entry| match &entry.body {
            Body::ToolResult(result) => Some(format!("{} {}", result.call, name(result.outcome))),
            _ => None,
        };
        self.entries.iter().filter_map(result).collect()
    }

    /// The tools that were run, in the order they began.
    pub fn ran(&self) -> Vec<String> {
        let ran = |effect: &Effect| match effect {
            Effect::RunTool(approved) => Some(approved.proposal().tool.to_string()),
            _ => None,
        };
        self.effects.iter().filter_map(ran).collect()
    }

    /// How every finished run ended, in order.
    pub fn ends(&self) -> Vec<StopReason> {
        let end = |effect: &Effect| match effect {
            Effect::Finish(end) => Some(end.reason),
            _ => None,
        };
        self.effects.iter().filter_map(end).collect()
    }
}

/// The text that a turn answered.
fn answer(end: &TurnEnd, log: &[Entry]) -> String {
    match &end.reply {
        None => String::new(),
        Some(ReplyOfTurn::Text(text)) => text.to_string(),
        Some(ReplyOfTurn::Entries(seqs)) => {
            let text = |entry: &Entry| match &entry.body {
                Body::Reply(reply) if seqs.contains(&entry.seq) => Some(text_of(reply)),
                _ => None,
            };
            log.iter().filter_map(text).collect()
        }
    }
}

/// The transcript of a session, a line each item. Panics if a step has not one result for each of its
/// calls, in their order (I1).
pub fn told(session: &Session) -> Vec<String> {
    session.transcript().items().into_iter().map(|(_, item)| line(item)).collect()
}

fn line(item: &Item) -> String {
    match item {
        Item::Said(said) => format!("said: {}", said_text(said)),
        Item::Note(note) => format!("note: {:?}", note.source),
        Item::Step(step) => {
            let calls: Vec<_> = made_calls(&step.reply).collect();
            assert_eq!(calls.len(), step.results.len(), "{step:#?}");
            let mut line = format!("reply: {}", text_of(&step.reply));
            for ((place, call), result) in (0..).zip(calls).zip(&step.results) {
                assert_eq!((result.call.reply, result.call.place), (step.reply_seq, place), "{step:#?}");
                let space = if line.ends_with(' ') { "" } else { " " };
                line.push_str(&format!("{space}{}={}", call.name, name(result.outcome)));
            }
            line
        }
    }
}

fn said_text(said: &Said) -> String {
    let piece = |content: &Content| match content {
        Content::Text(text) => text.to_string(),
        Content::Blob { media, .. } => format!("[{media}]"),
    };
    said.content.iter().map(piece).collect()
}

fn text_of(reply: &Reply) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) => Some(text.to_string()),
        Block::Reasoning(_) | Block::Opaque(_) | Block::Call(_) => None,
    };
    reply.blocks.iter().filter_map(text).collect()
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Empty => "empty",
        Outcome::Error => "error",
        Outcome::Denied => "denied",
        Outcome::Invalid => "invalid",
        Outcome::NeverBegan => "never_began",
        Outcome::CutShort => "cut_short",
        Outcome::TimedOut => "timed_out",
        Outcome::Unknown => "unknown",
    }
}
