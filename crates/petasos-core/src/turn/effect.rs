//! What core wants done. The closed list; each that starts work is answered once (I11).

use crate::approval::Approved;
use crate::budget::{Reservation, Used, Worst};
use crate::entry::{Entry, Keep, TurnEnd};
use crate::id::{CallId, Digest, RequestId};
use crate::request::Draft;
use crate::stop::FailureKind;
use crate::time::Time;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Put entries on the log. Synced: answered by `Appended` or `AppendFailed`; written: not awaited.
    Append {
        /// The entries, in order.
        entries: Vec<Entry>,
        /// How sure.
        keep: Keep,
    },
    /// Build a request and measure it: `Measured`.
    Measure(Draft),
    /// Hold a part of the budget: `Reserved` or `Refused`.
    Reserve(Worst),
    /// Give it back and count what was used.
    Settle {
        /// What was held.
        reservation: Reservation,
        /// What was used.
        used: Used,
    },
    /// Send the request: `Delta`s, then `ReplyEnded` or `RequestFailed`.
    CallModel {
        /// Which.
        request: RequestId,
    },
    /// Stop it; nothing more is taken of it.
    CancelModel(RequestId),
    /// Repair, hooks, claims, verdict: `Prepared`.
    Prepare(CallId),
    /// Ask a person: `Decide`, `Park`, or nothing.
    Ask {
        /// About which call.
        call: CallId,
        /// Over what is shown.
        shown: Digest,
    },
    /// The question is off.
    Unask(CallId),
    /// See whether a call that had begun was done: `Probed`.
    Probe(CallId),
    /// Run a tool: `ToolEnded`, always.
    RunTool(Approved),
    /// Stop it. A running tool still answers with `ToolEnded`; a preparing or probing one with nothing.
    StopTool(CallId),
    /// Build system text and tools: `HeadBuilt`.
    BuildHead,
    /// One timer a turn, the earliest wins: `Woke`. `Finish` ends it.
    WakeAt(Time),
    /// Something for the people who watch, kept nowhere.
    Tell(Passing),
    /// The run is over. Whatever still runs is ended.
    Finish(TurnEnd),
}

/// What is told and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    /// A request failed and is tried again.
    Retrying {
        /// What failed.
        kind: FailureKind,
        /// When it is tried again.
        at: Time,
    },
    /// A request failed and goes to the next target.
    FellBack {
        /// What failed.
        kind: FailureKind,
    },
}
