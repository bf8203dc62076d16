//! Time as core knows it: a number that comes in with an input. Nothing here reads a clock.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Time {
    /// This moment and `span`; stops at the end of time instead of wrapping.
    pub fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// What passed from `earlier` to now; nothing if the clock went back.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of whole seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Both together; stops at the longest span.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s", self.0 / 1000, self.0 % 1000)
    }
}

/// Thousandths, 0 to 999: how the shell hands in randomness. Larger numbers count as 999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Permille(pub u16);

impl Permille {
    /// `span` stretched by this share of itself.
    pub fn stretch(self, span: Span) -> Span {
        span.plus(self.of(span))
    }

    /// This share of `span`.
    pub fn of(self, span: Span) -> Span {
        Span(span.0.saturating_mul(u64::from(self.0.min(999))) / 1000)
    }
}
