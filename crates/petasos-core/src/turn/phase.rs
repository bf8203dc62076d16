//! Where a turn stands. Each phase owns what only it needs; what the log tells is in `Told`.

use crate::entry::TurnEnd;
use crate::id::{RequestId, Seq};
use crate::request::{Draft, Measured};
use crate::stop::StopReason;
use crate::time::Time;
use crate::turn::reply::PartialReply;
use crate::turn::slots::Slots;

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The head is being built.
    Opening,
    /// The shell builds the request and measures it.
    Measuring(Draft),
    /// The ledger is asked.
    Reserving {
        /// What is to be sent.
        draft: Draft,
        /// What it measures.
        measured: Box<Measured>,
        /// Somebody stopped the turn meanwhile: what is reserved is given back, then it ends.
        stopped: Option<StopReason>,
    },
    /// The request is on its way to the disk.
    Recording {
        /// Which.
        request: RequestId,
    },
    /// The model answers.
    AwaitingModel {
        /// Which request.
        request: RequestId,
        /// What came so far.
        reply: PartialReply,
    },
    /// A failed request waits for its next try.
    Waiting {
        /// Until then.
        until: Time,
    },
    /// The calls of the open reply are seen to.
    Tools(Slots),
    /// Running calls were told to stop.
    Stopping {
        /// The calls.
        slots: Slots,
        /// Why the turn stops.
        why: StopReason,
        /// The end of the grace.
        until: Time,
    },
    /// The end is on its way to the disk.
    Ending {
        /// The `turn_end` entry.
        seq: Seq,
        /// What it says.
        end: TurnEnd,
    },
    /// No run is under way.
    Done,
}

impl Phase {
    /// True if a run is under way.
    pub fn is_running(&self) -> bool {
        !matches!(self, Self::Done)
    }

    /// True if a stop would still change something.
    pub(crate) fn can_be_stopped(&self) -> bool {
        match self {
            Self::Opening
            | Self::Measuring(_)
            | Self::Reserving { stopped: None, .. }
            | Self::Recording { .. }
            | Self::AwaitingModel { .. }
            | Self::Waiting { .. }
            | Self::Tools(_) => true,
            Self::Reserving { stopped: Some(_), .. }
            | Self::Stopping { .. }
            | Self::Ending { .. }
            | Self::Done => false,
        }
    }

    /// When this phase itself wants to be woken.
    pub(crate) fn due(&self) -> Option<Time> {
        match self {
            Self::Waiting { until } | Self::Stopping { until, .. } => Some(*until),
            Self::Opening
            | Self::Measuring(_)
            | Self::Reserving { .. }
            | Self::Recording { .. }
            | Self::AwaitingModel { .. }
            | Self::Tools(_)
            | Self::Ending { .. }
            | Self::Done => None,
        }
    }
}
