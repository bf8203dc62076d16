//! How a turn writes: an entry is numbered, taken in by what is told of the turn, and left for the
//! session, in one go. There is no other way for an entry of a turn to come about.

use crate::entry::{Body, ToolResult};
use crate::id::{CallId, Seq};
use crate::note::NoRun;
use crate::tool::{Outcome, ToolOutput};
use crate::turn::Effect;
use crate::turn::journal::Journal;
use crate::turn::told::Told;

/// What the entries told so far, and where the next one goes.
pub(crate) struct Pen<'a> {
    pub(crate) told: &'a mut Told,
    pub(crate) journal: &'a mut Journal,
}

impl Pen<'_> {
    /// Writes an entry.
    pub(crate) fn write(&mut self, body: impl Into<Body>) -> Seq {
        let entry = self.journal.entry(body.into());
        let seq = entry.seq;
        let closed = self.told.apply(seq, entry.at, &entry.body);
        self.journal.leave(entry, closed);
        seq
    }

    /// Writes the result of a call that ran.
    pub(crate) fn settle(&mut self, call: CallId, output: ToolOutput) {
        let ToolOutput { outcome, for_model, bytes, blob, facts, took } = output;
        self.write(ToolResult { call, outcome, text: for_model, bytes, blob, facts, took });
    }

    /// Writes the result of a call that has none of its own.
    pub(crate) fn settle_without_run(&mut self, call: CallId, why: NoRun<'_>) {
        self.settle(call, why.output());
    }

    /// Asks the shell for something.
    pub(crate) fn ask(&mut self, effect: Effect) {
        self.journal.push(effect);
    }
}

/// A tool that ran has begun, whatever it says: its outcome cannot be one of a call that did not (I3).
pub(crate) fn as_begun(output: ToolOutput) -> ToolOutput {
    let outcome = if output.outcome.began() { output.outcome } else { Outcome::Error };
    ToolOutput { outcome, ..output }
}
