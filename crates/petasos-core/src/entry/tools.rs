//! Bodies that are about tool calls.

use serde::{Deserialize, Serialize};

use crate::approval::Answer;
use crate::bounded::Bounded;
use crate::claims::Claims;
use crate::entry::Speaker;
use crate::id::{CallId, Digest, SessionId};
use crate::text::{Json, Text};
use crate::time::Span;
use crate::tool::{BlobName, Fact, Outcome};

/// Body of `call`. May be left out for a `Free` call that is allowed as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Which call.
    pub call: CallId,
    /// The tool that it means.
    pub tool: Text,
    /// The arguments, if they are not the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// What changed them: a repair, a hook by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by: Vec<Text>,
    /// What it touches.
    pub claims: Claims,
    /// What the policy said.
    pub verdict: VerdictKind,
    /// The rule that said so.
    pub rule: Text,
    /// The policy that holds the rule.
    pub policy: Digest,
    /// What is, or would be, shown to a person.
    pub shown: Digest,
}

/// A verdict's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not run.
    Deny,
    /// It may not run, and the turn ends.
    Hardline,
    /// It is no call that could run.
    Invalid,
}

/// Body of `decision`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Decision {
    /// About which call.
    pub call: CallId,
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub by: Speaker,
    /// What was shown.
    pub shown: Digest,
}

/// Body of `tool_start`: on disk before a call that is not `Free` begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolStart {
    /// Which call.
    pub call: CallId,
    /// The key under which it may be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text>,
    /// The child session that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// What its probe needs to see, after a crash, whether it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Json>,
}

/// Body of `tool_result`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolResult {
    /// Of which call.
    pub call: CallId,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads.
    pub text: Bounded,
    /// Size of the whole result.
    pub bytes: u64,
    /// Where the whole is, if the text is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobName>,
    /// What is known to have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// How long it ran.
    pub took: Span,
}
