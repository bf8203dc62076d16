//! What a world may do: small alphabets instead of all that could be said.

use petasos_core::stop::FailureKind;
use petasos_core::tool::Outcome;

use crate::world::Left;

/// The choices of a world.
#[derive(Clone, Debug)]
pub struct Menu {
    /// Its name, for the report.
    pub name: &'static str,
    /// Replies of the model to a step.
    pub replies: &'static [Replying],
    /// Replies to a closing call.
    pub closing: &'static [Replying],
    /// Failures of a request.
    pub failures: &'static [FailureKind],
    /// Whether pieces of a reply may be seen before its end.
    pub pieces: &'static [Replying],
    /// Tools that a call may turn out to mean.
    pub tools: &'static [&'static str],
    /// How a tool may end.
    pub outcomes: &'static [Outcome],
    /// What a probe may see of a call that really began.
    pub probes: &'static [Outcome],
    /// What a person may answer.
    pub decisions: &'static [Deciding],
    /// Where a crash may cut the log.
    pub cuts: Cuts,
    /// How often what may happen.
    pub left: Left,
}

/// Where a crash may cut the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// After everything that was handed over (a kill) or after what is safe (a power cut).
    KillAndPower,
    /// After every entry between the two as well.
    Everywhere,
}

/// A reply, or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replying {
    /// Text and no call.
    Text,
    /// Nothing.
    Empty,
    /// As many calls.
    Calls(u16),
    /// As many calls, the last of them cut.
    CutCalls(u16),
    /// Text that was cut at its length.
    Cut,
    /// A refusal.
    Refusal,
    /// The same words without end.
    Again,
    /// Nothing, and a finish reason that nobody knows.
    Odd,
}

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deciding {
    /// Yes.
    Yes,
    /// Yes, for the session.
    YesForSession,
    /// No.
    No,
    /// No, and stop.
    NoAndStop,
    /// Nobody is there.
    Park,
}
