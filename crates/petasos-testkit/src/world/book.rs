//! What the log says, kept by a world for itself: a second, simpler reader beside core's own.

use std::collections::{BTreeMap, BTreeSet};

use petasos_core::entry::{Body, Cause, Entry, NoteSource, RequestOutcome};
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::request::Purpose;
use petasos_core::stop::StopReason;
use petasos_core::tool::Outcome;
use petasos_core::turn::{Guards, made_calls};

use crate::row::Row;

/// The open step and the counters of the turn, as the log has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Book {
    /// Whether a turn began.
    pub turn: bool,
    /// How the last run of it ended.
    pub ended: Option<StopReason>,
    /// The request without its end.
    pub request: Option<(RequestId, Purpose)>,
    /// The last reply and, for each of its calls, whether its text is whole.
    pub reply: Option<(Seq, Vec<bool>)>,
    /// Calls that began, as the log has it.
    pub starts: BTreeSet<CallId>,
    /// Results of the last reply's calls.
    pub results: BTreeMap<CallId, Outcome>,
    /// Replies of steps in this turn.
    pub steps: u32,
    /// Failed requests of the step since the last reply.
    pub failures: u32,
    /// Nudges since a reply that said something.
    pub nudges: u32,
    /// Continuations since a reply that was not cut.
    pub continuations: u32,
    /// Closing requests since limits were last raised.
    pub closings: u32,
    /// The calls of the turn, where guards watch them.
    pub row: Option<Row>,
}

impl Book {
    /// The calls of the last reply without a result.
    pub fn open_calls(&self) -> Vec<CallId> {
        let Some((reply, calls)) = &self.reply else { return Vec::new() };
        let ids = (0..u16::try_from(calls.len()).unwrap()).map(|place| CallId { reply: *reply, place });
        ids.filter(|call| !self.results.contains_key(call)).collect()
    }

    /// Takes an entry in.
    pub fn apply(&mut self, entry: &Entry) {
        self.apply_to_step(entry);
        match &entry.body {
            Body::TurnStart(start) if !matches!(start.cause, Cause::Continues { .. }) => {
                self.row = (start.mode.guards == Guards::On).then(Row::default);
            }
            _ => {}
        }
        if let Some(row) = &mut self.row {
            row.apply(entry);
        }
    }

    fn apply_to_step(&mut self, entry: &Entry) {
        match &entry.body {
            Body::TurnStart(start) => match start.cause {
                Cause::Continues { .. } => self.ended = None,
                _ => *self = Self { turn: true, ..Self::default() },
            },
            Body::LimitAdded(_) => self.closings = 0,
            Body::Request(request) => {
                self.request = Some((RequestId(entry.seq), request.purpose));
                self.closings += u32::from(request.purpose == Purpose::Closing);
            }
            Body::RequestEnd(end) => {
                let is_step = self.request.take().is_some_and(|(_, purpose)| purpose == Purpose::Step);
                let has_failed = matches!(end.outcome, RequestOutcome::Failed { .. });
                self.failures += u32::from(is_step && has_failed);
            }
            Body::Reply(reply) => {
                let purpose = self.request.take().map(|(_, purpose)| purpose);
                self.steps += u32::from(purpose == Some(Purpose::Step));
                self.failures = 0;
                let calls: Vec<bool> = made_calls(reply).map(|call| call.complete).collect();
                let says = !calls.is_empty()
                    || reply.blocks.iter().any(
                        |block| matches!(block, petasos_core::entry::Block::Text(text) if !text.is_blank()),
                    );
                if says {
                    self.nudges = 0;
                }
                use petasos_core::entry::FinishReason::{Cut, Length};
                match (matches!(reply.finish, Length | Cut), calls.is_empty()) {
                    (true, false) => self.continuations += 1,
                    (true, true) => {}
                    (false, _) => self.continuations = 0,
                }
                self.reply = Some((entry.seq, calls));
                self.starts.clear();
                self.results.clear();
            }
            Body::Note(note) => match note.source {
                NoteSource::Nudge => self.nudges += 1,
                NoteSource::Continue => self.continuations += 1,
                NoteSource::Closing(_) | NoteSource::Raised | NoteSource::Guard => {}
            },
            Body::ToolStart(start) => {
                self.starts.insert(start.call);
            }
            Body::ToolResult(result) => {
                self.results.insert(result.call, result.outcome);
            }
            Body::TurnEnd(end) => {
                self.ended = Some(end.reason);
                match end.reason {
                    StopReason::ModelFailed(_) => {
                        self.failures = 0;
                        self.nudges = 0;
                    }
                    StopReason::Truncated => self.continuations = 0,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
