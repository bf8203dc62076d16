//! What a session learnt of a target from requests that failed: the next ones are written accordingly.
//!
//! It is kept as settings (`seam.md`), each made by the request that met it, so a run after a crash and a replay
//! go by the same. What was learnt of one target is nothing to another.

use std::collections::BTreeSet;

use crate::entry::{Lifetime, Setting, SettingSource};
use crate::id::RequestId;
use crate::text::Text;

/// What a target does not take as it was sent, and how it is sent from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Adapt {
    /// The output cap is at most so many tokens.
    MaxOutput(u64),
    /// The model takes so many tokens in all, and the request has more.
    Window(u64),
    /// The same, and the request fits with a smaller output cap.
    Room(u64),
    /// The output cap goes by the other of its names (chat completions).
    OtherCapName,
    /// This is left out.
    Without(Parameter),
}

/// A parameter that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parameter {
    /// The output cap.
    MaxOutput,
    /// How much chance there is in the choice of words.
    Temperature,
    /// That the usage of a stream is told.
    StreamOptions,
    /// That tools may not be called.
    ToolChoice,
    /// That nothing is stored at the server.
    Store,
    /// That reasoning is given in a sealed form.
    SealedReasoning,
    /// Reasoning in its sealed form, sent back.
    ReasoningBack,
    /// That the model does not think.
    Thinking,
    /// The format of the reply, as a schema.
    ResponseFormat,
}

/// What was learnt of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Learnt {
    /// The most tokens of output that it gives.
    pub max_output: Option<u64>,
    /// The tokens that it takes in all.
    pub window: Option<u64>,
    /// Whether the output cap goes by the other of its names.
    pub cap_name: CapName,
    /// What is left out.
    pub without: BTreeSet<Parameter>,
}

/// Which name of the output cap is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CapName {
    /// The one of its profile.
    #[default]
    Usual,
    /// The other.
    Other,
}

const MAX_OUTPUT: &str = "max_output";
const WINDOW: &str = "window";
const CAP_NAME: &str = "output_cap_name";
/// Stands before the name of what is left out.
const SEND: &str = "send.";

impl Parameter {
    const ALL: [Self; 9] = [
        Self::MaxOutput,
        Self::Temperature,
        Self::StreamOptions,
        Self::ToolChoice,
        Self::Store,
        Self::SealedReasoning,
        Self::ReasoningBack,
        Self::Thinking,
        Self::ResponseFormat,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::MaxOutput => "max_output",
            Self::Temperature => "temperature",
            Self::StreamOptions => "stream_options",
            Self::ToolChoice => "tool_choice",
            Self::Store => "store",
            Self::SealedReasoning => "sealed_reasoning",
            Self::ReasoningBack => "reasoning_back",
            Self::Thinking => "thinking",
            Self::ResponseFormat => "response_format",
        }
    }
}

impl Adapt {
    /// True if the same request is worth another try at once, written accordingly. A window that is too small
    /// stays too small.
    pub fn is_a_way_out(self) -> bool {
        match self {
            Self::MaxOutput(_) | Self::Room(_) | Self::OtherCapName | Self::Without(_) => true,
            Self::Window(_) => false,
        }
    }

    /// The setting that keeps it.
    pub(crate) fn setting(self, request: RequestId) -> Setting {
        let (key, value): (Text, Text) = match self {
            Self::MaxOutput(most) => (MAX_OUTPUT.into(), most.to_string().into()),
            Self::Window(tokens) | Self::Room(tokens) => (WINDOW.into(), tokens.to_string().into()),
            Self::OtherCapName => (CAP_NAME.into(), "other".into()),
            Self::Without(parameter) => (format!("{SEND}{}", parameter.name()).into(), "no".into()),
        };
        let by = SettingSource::Learnt { request };
        Setting { key, value: Some(value), by, lifetime: Lifetime::Session }
    }

    /// What a setting keeps, if it is one of these.
    fn kept_by(setting: &Setting) -> Option<Self> {
        let value = setting.value.as_deref()?;
        match &*setting.key {
            MAX_OUTPUT => value.parse().ok().map(Self::MaxOutput),
            WINDOW => value.parse().ok().map(Self::Window),
            CAP_NAME => (value == "other").then_some(Self::OtherCapName),
            key => {
                let name = key.strip_prefix(SEND).filter(|_| value == "no")?;
                Parameter::ALL.into_iter().find(|parameter| parameter.name() == name).map(Self::Without)
            }
        }
    }
}

impl Learnt {
    /// Takes in a setting that a request to the target made; others change nothing.
    pub(crate) fn take_in(&mut self, setting: &Setting) {
        if let Some(adapt) = Adapt::kept_by(setting) {
            self.adapt(adapt);
        }
    }

    /// True if it is news. Numbers only ever get smaller, so that a server cannot lead us up and down.
    pub fn is_changed_by(&self, adapt: Adapt) -> bool {
        let mut changed = self.clone();
        changed.adapt(adapt);
        changed != *self
    }

    fn adapt(&mut self, adapt: Adapt) {
        match adapt {
            Adapt::MaxOutput(most) => self.max_output = Some(self.max_output.unwrap_or(most).min(most)),
            Adapt::Window(tokens) | Adapt::Room(tokens) => {
                self.window = Some(self.window.unwrap_or(tokens).min(tokens))
            }
            Adapt::OtherCapName => self.cap_name = CapName::Other,
            Adapt::Without(parameter) => {
                self.without.insert(parameter);
            }
        }
    }

    /// True if this is sent.
    pub fn sends(&self, parameter: Parameter) -> bool {
        !self.without.contains(&parameter)
    }
}
