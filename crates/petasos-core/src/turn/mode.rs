//! How a turn works, as whoever starts it says.

use serde::{Deserialize, Serialize};

/// How a turn works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mode {
    /// Calls of a reply run one after the other, whatever they claim.
    #[serde(default)]
    pub serial: bool,
    /// What becomes of a call that asks.
    #[serde(default)]
    pub on_ask: OnAsk,
    /// Whether guards watch over it.
    #[serde(default, skip_serializing_if = "Guards::are_on")]
    pub guards: Guards,
}

/// Whether a turn that gets nowhere is told so, and ended (L10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guards {
    /// It is.
    #[default]
    On,
    /// It goes on until its budget ends.
    Off,
}

impl Guards {
    // serde's `skip_serializing_if` hands over a reference.
    fn are_on(&self) -> bool {
        *self == Self::On
    }
}

/// What becomes of a call that asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// A person is asked, and the turn waits.
    #[default]
    Ask,
    /// It is refused: there is nobody to ask.
    Refuse,
    /// The turn goes as far as it can, then is parked.
    Park,
}
