//! Entries: what a session's log is made of. The closed list of kinds, and how a line reads.
//!
//! A line is `{"v":1,"seq":17,"at":1764412345678,"kind":"reply","body":{…},"sum":"…"}` in this key
//! order. The sum is the store's; everything before it is made here. Lines are read in two passes,
//! the envelope first and the body by its kind, so an unknown kind or a newer `v` is kept as it
//! stands and a damaged line costs that line only.

mod model;
mod session;
mod tools;
mod turn;

pub use model::{
    Block, CallForm, Charge, FinishReason, Head, ModelCall, Next, Opaque, Partial, Reply, Request,
    RequestEnd, RequestOutcome, Timing,
};
pub use session::{
    Content, Damage, Leaf, LeafReason, Lifetime, Open, Origin, Said, SessionStart, Setting, SettingSource,
    Speaker, When,
};
pub use tools::{Call, Decision, ToolResult, ToolStart, VerdictKind};
pub use turn::{Cause, LimitAdded, Note, NoteSource, ReplyOfTurn, TurnEnd, TurnStart};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id::Seq;
use crate::text::{Json, Text};
use crate::time::Time;

/// Version of the line format that this program writes.
pub const FORMAT: u32 = 1;

/// How sure an entry must be on disk before what depends on it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Keep {
    /// Handed to the system in order, not awaited: survives `kill -9`, not a power cut.
    Written,
    /// On the disk, and answered.
    Synced,
}

/// Where an entry counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Follows {
    /// Only on the way to the leaf.
    Path,
    /// Wherever it stands; the last one wins.
    Always,
}

/// One line of a session's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Its place in the log.
    pub seq: Seq,
    /// When it was made.
    pub at: Time,
    /// What it says.
    pub body: Body,
}

/// The table of kinds: one row is the variant, its body, its name on disk, its keep and what it follows.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident($body:ty) $kind:literal $keep:ident $follows:ident;)*) => {
        /// What an entry says.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Body {
            $($(#[$doc])* $variant($body),)*
            /// A kind or a version that this program does not know: kept as it stands.
            Unknown(Unknown),
        }

        impl Body {
            /// The name of this kind in a line.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// How sure it must be on disk.
            pub fn keep(&self) -> Keep {
                match self {
                    $(Self::$variant(_) => Keep::$keep,)*
                    Self::Unknown(_) => Keep::Written,
                }
            }

            /// Where it counts. A grant kept for longer than its call counts wherever it stands.
            pub fn follows(&self) -> Follows {
                match self {
                    Self::Decision(decision) if decision.answer.is_kept() => Follows::Always,
                    $(Self::$variant(_) => Follows::$follows,)*
                    Self::Unknown(_) => Follows::Path,
                }
            }

            /// The kinds this program knows, in the order of `docs/format/session.md`.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            fn write(&self) -> Result<String, serde_json::Error> {
                match self {
                    $(Self::$variant(body) => serde_json::to_string(body),)*
                    Self::Unknown(unknown) => Ok(unknown.body.as_str().to_owned()),
                }
            }

            fn read(kind: &str, body: &str) -> Result<Option<Self>, serde_json::Error> {
                Ok(Some(match kind {
                    $($kind => Self::$variant(serde_json::from_str(body)?),)*
                    _ => return Ok(None),
                }))
            }
        }

        $(impl From<$body> for Body {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })*
    };
}

kinds! {
    /// The first line: whose log this is.
    SessionStart(SessionStart) "session" Synced Always;
    /// A holder opened the log for writing.
    Open(Open) "open" Synced Always;
    /// System text and tools, as the model gets them from here on.
    Head(Head) "head" Written Always;
    /// What a person, job, parent or program said.
    Said(Said) "said" Synced Path;
    /// A turn begins, or goes on in a new run.
    TurnStart(TurnStart) "turn_start" Synced Always;
    /// The limits of a turn were raised.
    LimitAdded(LimitAdded) "limit" Synced Always;
    /// What the program adds for the model.
    Note(Note) "note" Written Path;
    /// A request to the model, before it is sent.
    Request(Request) "request" Synced Always;
    /// A piece of a reply that is still coming.
    Partial(Partial) "partial" Written Always;
    /// A request that ended without a reply.
    RequestEnd(RequestEnd) "request_end" Written Always;
    /// What the model answered.
    Reply(Reply) "reply" Written Path;
    /// What became of a call before it ran: its claims and the verdict.
    Call(Call) "call" Written Path;
    /// What a person decided about a call.
    Decision(Decision) "decision" Synced Path;
    /// A call is about to begin.
    ToolStart(ToolStart) "tool_start" Synced Always;
    /// What came of a call.
    ToolResult(ToolResult) "tool_result" Written Path;
    /// A setting of the session or the turn.
    Setting(Setting) "setting" Written Always;
    /// The turn stopped, and why.
    TurnEnd(TurnEnd) "turn_end" Synced Always;
    /// The session goes on from an earlier place.
    Leaf(Leaf) "leaf" Synced Always;
}

/// A line of a kind or version that this program does not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unknown {
    /// Version of the line.
    pub v: u32,
    /// Its kind.
    pub kind: Text,
    /// Its body, byte for byte.
    pub body: Json,
}

/// Why a line is no entry. The line costs itself only.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// The envelope cannot be read.
    #[error("no entry: {0}")]
    Envelope(serde_json::Error),
    /// The envelope can be read, the body of a known kind cannot.
    #[error("entry {seq}, kind {kind}: {error}")]
    Body {
        /// Its place in the log.
        seq: Seq,
        /// Its kind.
        kind: String,
        /// What the body lacks.
        error: serde_json::Error,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    v: u32,
    seq: Seq,
    at: Time,
    #[serde(borrow)]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Serialize)]
struct Opening<'a> {
    v: u32,
    seq: Seq,
    at: Time,
    kind: &'a str,
    body: &'a RawValue,
}

impl Entry {
    /// The line up to, not including, `,"sum"`: the store closes it.
    ///
    /// # Errors
    /// None that is known: the bodies are plain data. A failure is given on, not hidden.
    pub fn open_line(&self) -> Result<String, serde_json::Error> {
        let v = if let Body::Unknown(unknown) = &self.body { unknown.v } else { FORMAT };
        let body = RawValue::from_string(self.body.write()?)?;
        let opening = Opening { v, seq: self.seq, at: self.at, kind: self.body.kind(), body: &body };
        let mut line = serde_json::to_string(&opening)?;
        line.pop();
        Ok(line)
    }

    /// Reads a whole line (with or without its sum, which the store has checked).
    ///
    /// # Errors
    /// [`BadLine`] if the envelope, or the body of a known kind in a known version, cannot be read.
    pub fn read(line: &str) -> Result<Self, BadLine> {
        let Envelope { v, seq, at, kind, body } = serde_json::from_str(line).map_err(BadLine::Envelope)?;
        let bad = |error| BadLine::Body { seq, kind: kind.to_string(), error };
        let known = if v == FORMAT { Body::read(&kind, body.get()).map_err(bad)? } else { None };
        let body = match known {
            Some(body) => body,
            None => Body::Unknown(Unknown {
                v,
                kind: Text::from(&*kind),
                body: Json::try_from(body.get())
                    .map_err(|error| BadLine::Envelope(serde::de::Error::custom(error)))?,
            }),
        };
        Ok(Self { seq, at, body })
    }
}
