//! Why a turn stops, and why a request fails.

use serde::{Deserialize, Serialize};

/// Why a turn stopped; the status of its result. Never guessed from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// A finished reply without calls.
    Completed,
    /// A limit, after the closing call.
    BudgetExhausted(Limit),
    /// The request does not fit the model's window.
    ContextExhausted,
    /// A guard.
    Stuck,
    /// One tool failed again and again.
    ToolFailed,
    /// The turn's time at work.
    TimedOut,
    /// Parked: a call waits for approval.
    AwaitingApproval,
    /// Parked: a question waits for its answer.
    AwaitingAnswer,
    /// A hardline call, or a person's no and stop.
    Denied,
    /// The model or its provider refused.
    Refused,
    /// Cut at its length, and no continuation left.
    Truncated,
    /// The log cannot be written.
    NotSaved,
    /// After retries and fallbacks.
    ModelFailed(FailureKind),
    /// A fault of ours, caught.
    InternalError,
    /// A person stopped it.
    Interrupted,
}

impl StopReason {
    /// True if calls may be open after it: they wait for a person.
    pub(crate) fn leaves_calls_open(self) -> bool {
        self == Self::AwaitingApproval || self == Self::AwaitingAnswer
    }

    /// True if `resume` goes on with the turn as it is; after the others something new must be said.
    pub fn is_continuable(self) -> bool {
        match self {
            Self::BudgetExhausted(_)
            | Self::TimedOut
            | Self::AwaitingApproval
            | Self::AwaitingAnswer
            | Self::Truncated
            | Self::NotSaved
            | Self::ModelFailed(_)
            | Self::InternalError
            | Self::Interrupted => true,
            Self::Completed
            | Self::ContextExhausted
            | Self::Stuck
            | Self::ToolFailed
            | Self::Denied
            | Self::Refused => false,
        }
    }
}

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Steps.
    Steps,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
}

/// What kind of failure a request met: what the shell classified, by what core will do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The key is missing, wrong or not allowed.
    Auth,
    /// The account has no money.
    Billing,
    /// Too many requests.
    RateLimit,
    /// The provider is too busy.
    Overloaded,
    /// A time bound.
    Timeout,
    /// The network.
    Network,
    /// No such model or address.
    NotFound,
    /// The provider does not take the request.
    BadRequest,
    /// The request is too long for the model.
    Overflow,
    /// Nothing but silence, twice.
    Empty,
    /// A stream that cannot be read or broke off.
    BadStream,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// True if the same request may do better on another try. Billing and auth never do (P04).
    pub fn is_passing(self) -> bool {
        match self {
            Self::RateLimit
            | Self::Overloaded
            | Self::Timeout
            | Self::Network
            | Self::BadStream
            | Self::Other => true,
            Self::Auth | Self::Billing | Self::NotFound | Self::BadRequest | Self::Overflow | Self::Empty => {
                false
            }
        }
    }
}
