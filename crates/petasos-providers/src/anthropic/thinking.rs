//! Thinking in requests: which blocks go back, and whether the model may think at all.

use std::borrow::Cow;

use petasos_core::entry::{Opaque, Said, When};
use serde::Deserialize;

use crate::writing::{Rule, Rules, allowed};

/// What of a block tells whether it can go back.
#[derive(Deserialize)]
struct Sealed<'a> {
    #[serde(borrow, rename = "type")]
    type_: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
}

/// What a block of this origin goes back as: the fields that the wire documents, byte for byte as they came, or not
/// at all. A server refuses a block whose seal is missing, and one that was changed.
pub(super) fn own_block<'a>(opaque: &'a Opaque, origin: &str, rules: Rules) -> Option<Cow<'a, str>> {
    let raw = opaque.raw.as_str();
    if &*opaque.origin != origin {
        return (!rules.hold(Rule::OpaqueGoesHome)).then_some(Cow::Borrowed(raw));
    }
    let block: Sealed<'_> = serde_json::from_str(raw).ok()?;
    let (seal, fields): (_, &[&str]) = match &*block.type_ {
        "thinking" => (block.signature, &["type", "thinking", "signature"]),
        "redacted_thinking" => (block.data, &["type", "data"]),
        _ => return None,
    };
    let is_sealed = seal.is_some_and(|seal| !seal.is_empty());
    (is_sealed || !rules.hold(Rule::ReasoningIsSealed)).then(|| allowed(raw, fields, rules))
}

/// Whether the model may think. A server whose model thinks refuses a request where the calls that are going on
/// do not begin with thinking of its own; after a fallback in the middle of a turn they do not. Its own calls go
/// back as it made them, thought about or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinking {
    foreign: ForeignCalls,
}

/// Calls of another origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ForeignCalls {
    #[default]
    None,
    InTurn,
    /// Something new was said behind their results. To the server it stands in the message of the results, so
    /// the turn goes on until the next answer.
    BeforeSaid,
}

/// Where something that was said stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the message of the results before it.
    BehindResults,
    /// In a message of users' own.
    OfItsOwn,
}

/// Whose calls they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    ByThisModel,
    Elsewhere,
}

impl Thinking {
    pub(super) fn said(&mut self, said: &Said, place: Place) {
        match (said.when, place) {
            // A steer belongs to the turn that goes on.
            (When::NextStep, _) => {}
            (When::Now | When::AfterTurn, Place::OfItsOwn) => self.foreign = ForeignCalls::None,
            (When::Now | When::AfterTurn, Place::BehindResults) => {
                if self.foreign == ForeignCalls::InTurn {
                    self.foreign = ForeignCalls::BeforeSaid;
                }
            }
        }
    }

    /// A step without calls.
    pub(super) fn answered(&mut self) {
        if self.foreign == ForeignCalls::BeforeSaid {
            self.foreign = ForeignCalls::None;
        }
    }

    /// A step with calls.
    pub(super) fn called(&mut self, made: Made) {
        self.answered();
        if made == Made::Elsewhere {
            self.foreign = ForeignCalls::InTurn;
        }
    }

    /// True if the model has to be asked without.
    pub(super) fn is_off(self) -> bool {
        self.foreign != ForeignCalls::None
    }
}
