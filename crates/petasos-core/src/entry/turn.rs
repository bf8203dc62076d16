//! Bodies that begin, bound and end a turn.

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::id::{Seq, TurnId};
use crate::request::Target;
use crate::stop::{Limit, StopReason};
use crate::text::Text;
use crate::time::Span;
use crate::turn::Mode;
use crate::usage::Usage;

/// Body of `turn_start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnStart {
    /// What starts it, or that it goes on.
    pub cause: Cause,
    /// The limits in force from here on, for the whole turn.
    pub limits: Limits,
    /// How it works.
    pub mode: Mode,
    /// Whom it asks.
    pub target: Target,
    /// Whom it asks when that one fails, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Target>,
}

/// Why a `turn_start` stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Something was said.
    Said {
        /// That entry.
        said: Seq,
    },
    /// A turn goes on in a new run.
    Continues {
        /// Its first `turn_start`.
        turn: TurnId,
    },
    /// What was said last is answered anew.
    Retry,
}

/// Body of `limit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LimitAdded {
    /// Whose.
    pub turn: TurnId,
    /// What is added.
    pub add: Limits,
}

/// Body of `note`: what the program adds for the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Note {
    /// What made it.
    pub source: NoteSource,
    /// What the model reads.
    pub text: Text,
}

/// What makes notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteSource {
    /// An empty reply.
    Nudge,
    /// A reply cut at its length.
    Continue,
    /// The end of a budget: which limit.
    Closing(Limit),
    /// Limits were raised after that.
    Raised,
    /// A guard: the same calls again and again, or a reply that repeated itself.
    Guard,
}

/// Body of `turn_end`, and what `Finish` brings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Whose.
    pub turn: TurnId,
    /// Why it stopped.
    pub reason: StopReason,
    /// What it answered.
    pub reply: Option<ReplyOfTurn>,
    /// Steps of the whole turn.
    pub steps: u32,
    /// Tokens of the whole turn.
    pub usage: Usage,
    /// Its cost in millionths of a dollar; none where a price is unknown.
    pub micro_usd: Option<u64>,
    /// Time at work of the whole turn.
    pub worked: Span,
    /// Files that failed to be written and were not written since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_written: Vec<Text>,
}

/// What a turn answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyOfTurn {
    /// The text of these `reply` entries; more than one where a reply was cut and continued.
    Entries(Vec<Seq>),
    /// A summary made by rule, where the model gave none.
    Text(Text),
}
