//! What a session learnt of a target from requests that failed: the next ones are written accordingly.
//!
//! It is kept as settings (`seam.md`), each made by the request that met it, so a run after a crash and a replay
//! go by the same. What was learnt of one target is nothing to another.

use std::collections::BTreeSet;

use crate::entry::{Lifetime, Setting, SettingSource};
use crate::id::RequestId;

/// What a target does not take as it was sent, and how it is sent from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Adapt {
    /// The output cap is at most so many tokens.
    MaxOutput(u64),
    /// The model takes so many tokens in all, and the request has more.
    Window(u64),
    /// The same, and the request fits with a smaller output cap: its server counted it.
    Room {
        /// Tokens that the model takes in all.
        window: u64,
        /// Tokens of output that there is room for.
        room: u32,
    },
    /// The model seems to take so many tokens in all: of a request that had more it read fewer, or it read more of one
    /// than it seemed to take.
    Seen(u64),
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
    /// The tokens that it seems to take, by what it read of requests.
    pub window_seen: Option<u64>,
    /// The tokens of output that the very next request has room for, as the server counted the one before it.
    pub room: Option<u64>,
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
const ROOM: &str = "room";
const WINDOW_SEEN: &str = "window_seen";
const CAP_NAME: &str = "output_cap_name";
/// Stands before the name of what is left out.
const SEND: &str = "send.";

/// Less room for the output than this is none, in tokens: an answer would be cut before it says anything, and paid for
/// each time that it is asked to go on.
pub const LEAST_ROOM: u64 = 256;

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
            Self::MaxOutput(_) | Self::Room { .. } | Self::OtherCapName | Self::Without(_) => true,
            Self::Window(_) | Self::Seen(_) => false,
        }
    }

    /// What it comes to for a request that was sent with this output cap: room for as much as that is no way out.
    #[must_use]
    pub(crate) fn for_cap(self, cap: Option<u64>) -> Self {
        match self {
            Self::Room { window, room } if cap.is_some_and(|cap| cap <= u64::from(room)) => {
                Self::Window(window)
            }
            Self::Room { .. }
            | Self::MaxOutput(_)
            | Self::Window(_)
            | Self::Seen(_)
            | Self::OtherCapName
            | Self::Without(_) => self,
        }
    }

    /// The settings that keep it.
    pub(crate) fn settings(self, request: RequestId) -> Vec<Setting> {
        let set = |key: &str, value: &str, lifetime| {
            let by = SettingSource::Learnt { request };
            Setting { key: key.into(), value: Some(value.into()), by, lifetime }
        };
        let always = |key: &str, value: &str| set(key, value, Lifetime::Session);
        match self {
            Self::MaxOutput(most) => vec![always(MAX_OUTPUT, &most.to_string())],
            Self::Window(tokens) => vec![always(WINDOW, &tokens.to_string())],
            Self::Seen(tokens) => vec![always(WINDOW_SEEN, &tokens.to_string())],
            // The next request is another one: its room is worked out anew.
            Self::Room { window, room } => {
                vec![always(WINDOW, &window.to_string()), set(ROOM, &room.to_string(), Lifetime::Turn)]
            }
            Self::OtherCapName => vec![always(CAP_NAME, "other")],
            Self::Without(parameter) => vec![always(&format!("{SEND}{}", parameter.name()), "no")],
        }
    }

    /// What the settings keep that the end of one request made, of a target of which this was known before.
    pub fn kept_by<'a>(settings: impl IntoIterator<Item = &'a Setting>, known: &Learnt) -> Option<Self> {
        let mut window = None;
        for Setting { key, value, .. } in settings {
            let value = value.as_deref()?;
            match &**key {
                MAX_OUTPUT => return value.parse().ok().map(Self::MaxOutput),
                WINDOW => window = Some(value.parse().ok()?),
                ROOM => {
                    let (window, room) = (window.or(known.window)?, value.parse().ok()?);
                    return Some(Self::Room { window, room });
                }
                WINDOW_SEEN => return value.parse().ok().map(Self::Seen),
                CAP_NAME => return Some(Self::OtherCapName),
                key => {
                    let name = key.strip_prefix(SEND)?;
                    let mut all = Parameter::ALL.into_iter();
                    return all.find(|parameter| parameter.name() == name).map(Self::Without);
                }
            }
        }
        window.map(Self::Window)
    }
}

impl Learnt {
    /// Takes in a setting that a request to the target made; others change nothing. True if it is news. Numbers only
    /// ever get smaller, so that a server cannot lead us up and down; but for the room, which is that of one request,
    /// and what is seen of the window, which a reply may show to be wrong.
    pub(crate) fn take_in(&mut self, setting: &Setting) -> bool {
        let Some(value) = setting.value.as_deref() else { return false };
        let before = self.clone();
        let number = || value.parse::<u64>().ok();
        let least = |known: Option<u64>| number().into_iter().chain(known).min();
        match &*setting.key {
            MAX_OUTPUT => self.max_output = least(self.max_output),
            WINDOW => self.window = least(self.window),
            ROOM => self.room = number(),
            WINDOW_SEEN => self.window_seen = number().or(self.window_seen),
            CAP_NAME if value == "other" => self.cap_name = CapName::Other,
            key => {
                let name = key.strip_prefix(SEND).filter(|_| value == "no");
                let find = |name| Parameter::ALL.into_iter().find(|parameter| parameter.name() == name);
                self.without.extend(name.and_then(find));
            }
        }
        *self != before
    }

    /// The same for another request than the next one.
    #[must_use]
    pub fn without_room(&self) -> Self {
        Self { room: None, ..self.clone() }
    }

    /// True if this is sent.
    pub fn sends(&self, parameter: Parameter) -> bool {
        !self.without.contains(&parameter)
    }
}
