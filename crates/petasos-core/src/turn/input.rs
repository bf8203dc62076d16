//! What core is told. The closed list; every answer names what it answers.

use crate::approval::{Answer, Prepared};
use crate::budget::{Limits, Reservation};
use crate::entry::{CallForm, FinishReason, Head, Opaque, Said, Setting, Timing};
use crate::id::{CallId, Digest, RequestId, Seq};
use crate::learnt::Adapt;
use crate::request::Measured;
use crate::stop::{FailureKind, Limit};
use crate::text::Text;
use crate::time::{Permille, Span};
use crate::tool::{Outcome, ToolOutput};
use crate::usage::Usage;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Something is said.
    Say(Said),
    /// A person decides about a call, as it was shown.
    Decide {
        /// Which call.
        call: CallId,
        /// What.
        answer: Answer,
        /// Over what was shown.
        shown: Digest,
    },
    /// A person stops the turn.
    Interrupt,
    /// Nobody is there to answer: go as far as possible, then rest.
    Park,
    /// A turn at rest goes on; a running one only gets what is added.
    Continue {
        /// What is added to its limits.
        add: Limits,
    },
    /// A setting is made.
    Set(Setting),
    /// The transcript goes on from an earlier place.
    GoTo(Seq),
    /// What was said last is taken back, with all that came of it.
    Undo,
    /// What was said last is answered anew.
    Retry,

    /// A synced `Append` is on disk, up to this entry.
    Appended {
        /// The last entry of it.
        upto: Seq,
    },
    /// An `Append` failed; nothing is known of what came after the last answered one.
    AppendFailed(StoreFailure),
    /// A `Measure` is done.
    Measured(Measured),
    /// A `Reserve` is granted.
    Reserved(Reservation),
    /// A `Reserve` is refused.
    Refused(Limit),
    /// A piece of a reply.
    Delta {
        /// Of which request.
        request: RequestId,
        /// The piece.
        delta: Delta,
    },
    /// A reply is whole.
    ReplyEnded {
        /// Of which request.
        request: RequestId,
        /// How it ended.
        end: ReplyEnd,
    },
    /// A request failed.
    RequestFailed {
        /// Which.
        request: RequestId,
        /// How.
        failure: Failure,
        /// Chance, for the wait before the next try.
        jitter: Permille,
    },
    /// A `Prepare` is done.
    Prepared {
        /// Which call.
        call: CallId,
        /// Its claims and the verdict.
        prepared: Prepared,
    },
    /// A `Probe` is done.
    Probed {
        /// Which call.
        call: CallId,
        /// What the probe saw.
        outcome: Outcome,
    },
    /// A tool has really ended.
    ToolEnded {
        /// Which call.
        call: CallId,
        /// What came of it.
        output: ToolOutput,
    },
    /// A `BuildHead` is done.
    HeadBuilt(Head),
    /// The time asked for by `WakeAt` has come.
    Woke,
}

/// How the log failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreFailure {
    /// For a person: what, where, what next.
    pub message: Text,
}

/// A piece of a reply, in the order it came. Calls are told apart by their place among the calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Delta {
    /// Text; joins the text before it if nothing else came between.
    Text(Text),
    /// Reasoning; the same.
    Reasoning(Text),
    /// A block for its origin alone.
    Opaque(Opaque),
    /// A call begins; its place is the number of calls before it.
    Call {
        /// The wire's id.
        wire_id: Option<Text>,
        /// The tool's name.
        name: Text,
        /// How it is written.
        form: CallForm,
    },
    /// More of a call's arguments.
    Arguments {
        /// Which call.
        place: u16,
        /// The piece.
        text: Text,
    },
    /// All of a call has arrived.
    CallComplete {
        /// Which call.
        place: u16,
    },
    /// More of the raw text, where calls are not in the wire's own form.
    Raw(Text),
}

/// The end of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplyEnd {
    /// Why it ended.
    pub finish: FinishReason,
    /// Tokens, if the provider said.
    pub usage: Option<Usage>,
    /// Cost in millionths of a dollar, if the price is known.
    pub micro_usd: Option<u64>,
    /// How long it took.
    pub timing: Timing,
    /// The model as the server named it.
    pub model: Option<Text>,
    /// Tokens that the target seems to take, where it read far fewer than it was sent.
    pub window: Option<u64>,
}

impl ReplyEnd {
    /// The end of a reply that is cut here: nobody says what it used.
    pub(crate) fn cut() -> Self {
        let (usage, micro_usd, model, window) = (None, None, None, None);
        Self { finish: FinishReason::Cut, usage, micro_usd, timing: Timing::default(), model, window }
    }
}

/// What would help against a failure, as the shell read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// The same request, written otherwise.
    Adapt(Adapt),
    /// Another target: this one is known to be out of order for a while.
    NextTarget,
}

/// The end of a request without a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// What was said of it.
    pub message: Text,
    /// How long the provider asks to wait.
    pub retry_after: Option<Span>,
    /// What would help.
    pub remedy: Option<Remedy>,
    /// Tokens, if anybody said; a request that was turned away used none.
    pub usage: Option<Usage>,
    /// Cost in millionths of a dollar, if the price is known.
    pub micro_usd: Option<u64>,
}
