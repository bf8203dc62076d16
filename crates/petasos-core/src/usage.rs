//! What was used, counted once.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Tokens of one or more requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Sent to the model, cached ones among them.
    pub input: u64,
    /// Made by the model, reasoning among them.
    pub output: u64,
    /// Of the input, read from the provider's cache.
    pub cached: u64,
    /// Of the output, reasoning.
    pub reasoning: u64,
    /// Of the input, written to the provider's cache, where that has a price of its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_written: u64,
}

// serde's `skip_serializing_if` hands over a reference.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Input and output; the others are parts of these.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cache_written: self.cache_written.saturating_add(other.cache_written),
        }
    }
}

/// What a turn or a session has used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Steps taken.
    pub steps: u32,
    /// Tokens that providers reported.
    pub usage: Usage,
    /// Tokens that count against a limit: reported ones, and reservations where nobody reported.
    pub tokens: u64,
    /// Millionths of a dollar; none as soon as one price is unknown, for unknown is not zero.
    pub micro_usd: Option<u64>,
    /// Time at work.
    pub worked: Span,
}

impl Default for Account {
    fn default() -> Self {
        Self { steps: 0, usage: Usage::default(), tokens: 0, micro_usd: Some(0), worked: Span(0) }
    }
}

impl Account {
    /// Adds what another account holds.
    pub fn add(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.usage = self.usage.plus(&other.usage);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.micro_usd = self.micro_usd.zip(other.micro_usd).map(|(sum, more)| sum.saturating_add(more));
        self.worked = self.worked.plus(other.worked);
    }
}
