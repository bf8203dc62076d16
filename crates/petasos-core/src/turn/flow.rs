//! What a row of the table leads to.

use crate::error::Handled;
use crate::turn::Phase;

/// What a row of the table leads to.
pub(crate) enum Flow {
    /// The phase stays.
    Stay,
    /// This one follows.
    To(Box<Phase>),
    /// What the entries say is next.
    Next,
    /// The answer came too late to change anything.
    Stale,
}

impl Flow {
    pub(crate) fn to(phase: Phase) -> Self {
        Self::To(Box::new(phase))
    }
}

impl From<Handled> for Flow {
    fn from(handled: Handled) -> Self {
        match handled {
            Handled::Taken => Self::Next,
            Handled::Stale => Self::Stale,
        }
    }
}
