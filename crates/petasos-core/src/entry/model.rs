//! Bodies that are about requests to a model and its replies.

use serde::{Deserialize, Serialize};

use crate::bounded::Bounded;
use crate::budget::Worst;
use crate::id::{Digest, RequestId, Seq, TurnId};
use crate::request::{Break, Params, Purpose, Tail, Target};
use crate::stop::FailureKind;
use crate::text::{Json, Text};
use crate::time::{Span, Time};
use crate::usage::Usage;

/// Body of `head`, and what `HeadBuilt` brings: system text and tools, frozen for the session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Head {
    /// The system text.
    pub system: Text,
    /// The tools, as canonical JSON text.
    pub tools: Json,
    /// Name of the toolset.
    pub toolset: Text,
    /// Why it was built.
    pub reason: Text,
    /// Over system text and tools.
    pub hash: Digest,
}

/// Body of `request`: on disk before the model is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Of which turn.
    pub turn: TurnId,
    /// Of which step of it, from 1.
    pub step: u32,
    /// Which try for that step and purpose, from 1.
    pub attempt: u32,
    /// What for.
    pub purpose: Purpose,
    /// Whom.
    pub target: Target,
    /// The `head` it is made with.
    pub head: Seq,
    /// The last entry that is in it.
    pub upto: Seq,
    /// What may differ from call to call.
    pub params: Params,
    /// Its end that is no part.
    #[serde(default, skip_serializing_if = "is_no_tail")]
    pub tail: Tail,
    /// Hash of each part that the request before did not have.
    pub parts: Vec<Digest>,
    /// Hash of all its parts.
    pub prefix: Digest,
    /// Hash of its body.
    pub body: Digest,
    /// Size of its body.
    pub bytes: u64,
    /// Its size in tokens, estimated.
    pub tokens: u64,
    /// What was reserved for it.
    pub reserved: Worst,
    /// Why its parts do not start with those of the request before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Break>,
}

/// Body of `partial`: text that came, so that a person loses at most a second of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Partial {
    /// Of which request.
    pub request: RequestId,
    /// Characters of text before this piece.
    pub from: u64,
    /// The piece.
    pub text: Text,
}

/// Body of `request_end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestEnd {
    /// Which request.
    pub request: RequestId,
    /// How it ended.
    pub outcome: RequestOutcome,
    /// What it used.
    pub usage: Charge,
    /// Its cost in millionths of a dollar, where known.
    pub micro_usd: Option<u64>,
    /// What follows.
    pub next: Next,
}

/// How a request without a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// The provider, the network or the stream failed.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// HTTP status, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// What was said of it, at most 1 KB.
        message: Bounded,
    },
    /// Somebody stopped the turn.
    Interrupted,
    /// The process ended while it was under way.
    Lost,
}

/// Tokens of a request, and how they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Charge {
    /// The provider said so.
    Reported(Usage),
    /// Nobody said; the reservation counts.
    Reserved(u64),
}

/// What follows a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// The same again, not before this time.
    AgainAt(Time),
    /// The same at once, written as the settings say that the failure taught.
    Adapt,
    /// The next target of the fallback chain.
    Fallback,
    /// Nothing: the turn ends.
    GiveUp,
}

/// Body of `reply`: its blocks in the order they came, never edited.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// Of which request.
    pub request: RequestId,
    /// What came.
    pub blocks: Vec<Block>,
    /// The raw text, where calls do not come in the wire's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Text>,
    /// Why it ended.
    pub finish: FinishReason,
    /// Tokens used.
    pub usage: Charge,
    /// Its cost in millionths of a dollar, where known.
    pub micro_usd: Option<u64>,
    /// Tokens billed above what was reserved; 0 is the rule.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overrun: u64,
    /// How long it took.
    pub timing: Timing,
    /// The model as the server named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
}

fn is_no_tail(tail: &Tail) -> bool {
    *tail == Tail::default()
}

// serde's `skip_serializing_if` hands over a reference.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text for the person.
    Text(Text),
    /// Reasoning that can be read.
    Reasoning(Text),
    /// Something that only its origin understands.
    Opaque(Opaque),
    /// A tool call.
    Call(ModelCall),
}

/// A block that goes back to its origin alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Opaque {
    /// Provider and wire it came from.
    pub origin: Text,
    /// What came, byte for byte.
    pub raw: Json,
}

/// A call as the model made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelCall {
    /// The wire's id, if it had one: data, not identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_id: Option<Text>,
    /// The tool's name as it came.
    pub name: Text,
    /// The arguments as they came, JSON or not.
    pub arguments: Text,
    /// How it was written.
    pub form: CallForm,
    /// Whether all of its text arrived. A call that is not complete never runs.
    pub complete: bool,
}

/// How a call was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallForm {
    /// In the wire's own form.
    Native,
    /// As JSON under a response format.
    Constrained,
    /// In plain text.
    Text,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The model wants its calls run.
    ToolUse,
    /// The output cap was reached.
    Length,
    /// The model or its provider refused.
    Refused,
    /// Somebody stopped it, or it broke off.
    Cut,
    /// Anything else, or nothing (empty text), as it came.
    Other(Text),
}

/// How long a reply took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Timing {
    /// From the request to the first delta.
    pub first: Span,
    /// From the request to the end.
    pub whole: Span,
}
