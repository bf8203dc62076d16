//! Requests: whom, what for, and what the shell measured of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::budget::Worst;
use crate::id::{Digest, Seq, TurnId};
use crate::learnt::Learnt;
use crate::text::Text;

/// Whom a request goes to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// Who serves.
    pub provider: Text,
    /// What answers.
    pub model: Text,
    /// Which protocol.
    pub wire: Wire,
    /// How calls are written.
    pub tool_mode: ToolMode,
}

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
    /// Messages.
    Messages,
}

/// How a model is asked for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// In the wire's own form.
    Native,
    /// By a response format that allows calls and answers alone.
    Constrained,
    /// In plain text.
    Text,
}

/// What a request is for. Each is the same phase with another purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A step of the turn.
    Step,
    /// What is to be done, in words.
    Plan,
    /// Whether the task is met.
    Verify,
    /// What was reached, at the end of a budget.
    Closing,
    /// Old steps in fewer words.
    Summary,
}

/// What may differ from call to call without a break of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Params {
    /// Whether the model may call tools.
    pub tool_choice: ToolChoice,
}

/// The volatile end of a request, which the shell chose: no part of its prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tail {
    /// Output cap in tokens, if one was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// How much chance there is in the choice of words, if that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Temperature>,
}

/// A temperature, in thousandths. It is shown as a JSON number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Temperature(pub u16);

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let part = format!("{part:03}");
        write!(f, "{whole}.{}", part.trim_end_matches('0'))
    }
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may.
    Auto,
    /// It may not, though it still sees them.
    Forbidden,
}

/// Why the parts of a request do not start with those of the one before (I8): the closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Break {
    /// Another head.
    Head,
    /// Another target.
    Target,
    /// Old results are sent shorter.
    Trim,
    /// A summary stands for old steps.
    Compaction,
    /// The leaf moved.
    Leaf,
    /// A parameter or form is another: the target does not take it, or this version of the program writes requests
    /// differently.
    Adapt,
    /// Reasoning is no longer sent.
    Reasoning,
    /// Two messages became one.
    Joined,
}

/// A request as core wants it, for the shell to build and measure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Draft {
    /// Of which turn.
    pub turn: TurnId,
    /// Of which step, from 1.
    pub step: u32,
    /// Which try, from 1.
    pub attempt: u32,
    /// What for.
    pub purpose: Purpose,
    /// Whom.
    pub target: Target,
    /// The head to use.
    pub head: Seq,
    /// The last entry to put in.
    pub upto: Seq,
    /// What may differ from call to call.
    pub params: Params,
    /// What was learnt of the target.
    pub learnt: Learnt,
    /// The breaks that core knows of.
    pub breaks: Vec<Break>,
}

/// What the shell measured of a draft.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Measured {
    /// Tokens, estimated.
    pub tokens: u64,
    /// Tokens that the model takes; none if nobody knows.
    pub window: Option<u64>,
    /// Size of the body.
    pub bytes: u64,
    /// Hash of each part that the request before did not have.
    pub parts: Vec<Digest>,
    /// Hash of all parts.
    pub prefix: Digest,
    /// Hash of the body.
    pub body: Digest,
    /// The end that is no part.
    pub tail: Tail,
    /// The breaks that only the shell sees.
    pub breaks: Vec<Break>,
    /// The most it can use.
    pub worst: Worst,
}
