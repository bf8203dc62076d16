//! What came of a tool call, as core knows it.

use serde::{Deserialize, Serialize};

use crate::bounded::Bounded;
use crate::id::{Digest, SessionId};
use crate::stop::StopReason;
use crate::text::Text;
use crate::time::Span;

/// How a call ended. *Never began*, *cut short* and *unknown* are three different things (I3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked.
    Ok,
    /// It did, and there is nothing to show.
    Empty,
    /// It ended with an error that the model can read.
    Error,
    /// Policy or a person said no.
    Denied,
    /// The call could not be understood.
    Invalid,
    /// It did not begin.
    NeverBegan,
    /// It began and was stopped.
    CutShort,
    /// It began and ran into its time limit.
    TimedOut,
    /// It began; nobody knows how it ended.
    Unknown,
}

impl Outcome {
    /// True if a call with this outcome has begun.
    pub fn began(self) -> bool {
        match self {
            Self::Ok | Self::Empty | Self::Error | Self::CutShort | Self::TimedOut | Self::Unknown => true,
            Self::Denied | Self::Invalid | Self::NeverBegan => false,
        }
    }
}

/// A whole output kept beside the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlobName {
    /// Its name: the hash of its bytes.
    pub hash: Digest,
    /// Its size.
    pub bytes: u64,
}

/// What is known to have happened: a closed list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// A file was written.
    Wrote {
        /// Its path in the workspace.
        path: Text,
        /// Its content now.
        hash: Digest,
    },
    /// A file was to be written and was not.
    NotWritten {
        /// Its path in the workspace.
        path: Text,
    },
    /// A command ran.
    Ran {
        /// Its words.
        argv: Vec<Text>,
        /// Its exit code; none if a signal ended it.
        exit: Option<i32>,
    },
    /// A child session worked.
    Child {
        /// Which.
        session: SessionId,
        /// Tokens it used.
        tokens: u64,
        /// Why it stopped.
        stop: StopReason,
    },
    /// Something was put into memory.
    Remembered {
        /// Under this key.
        key: Text,
    },
}

/// What the shell tells when a tool has really ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolOutput {
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads.
    pub for_model: Bounded,
    /// Size of the whole output.
    pub bytes: u64,
    /// Where the whole output is, if the text is a part of it.
    pub blob: Option<BlobName>,
    /// What is known to have happened.
    pub facts: Vec<Fact>,
    /// How long it ran.
    pub took: Span,
}

impl ToolOutput {
    /// An output made by core, for a call that has none of its own.
    pub(crate) fn made_up(outcome: Outcome, for_model: Bounded) -> Self {
        let bytes = for_model.text().len() as u64;
        Self { outcome, for_model, bytes, blob: None, facts: Vec::new(), took: Span(0) }
    }
}

/// An error as the model reads it (L09).
#[derive(Debug, Serialize)]
pub struct Trouble<'a> {
    /// What went wrong, in a few words.
    pub error: &'a str,
    /// Why.
    pub cause: &'a str,
    /// What to do next.
    pub hint: &'a str,
}

impl Trouble<'_> {
    /// The JSON text that stands in a tool result.
    pub fn json(&self) -> String {
        // Three strings always become JSON; the fallback only keeps this free of panics.
        serde_json::to_string(self).unwrap_or_else(|_| String::from(r#"{"error":"unknown"}"#))
    }
}
