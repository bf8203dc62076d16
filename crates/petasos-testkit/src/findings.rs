//! What a world found wrong, by the invariant that it breaks.

use std::collections::BTreeMap;
use std::fmt;

/// The invariants of ARCHITECTURE.md that a world around a session can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// A request only when every call has exactly one result, in order.
    I1,
    /// A tool runs only if policy or a person allowed exactly that call.
    I2,
    /// Every tool that began leaves a result that says so.
    I3,
    /// One `Finish` a run, nothing after it, nothing left running.
    I4,
    /// No call begins that could overdraw; the walk is finite.
    I5,
    /// An input that does not fit changes nothing.
    I6,
    /// The log alone tells where things stand.
    I7,
    /// The parts of a request start with those of the one before, or a break is named.
    I8,
    /// Every text for the model has a cap.
    I9,
    /// Calls in each other's way never overlap.
    I10,
    /// Every effect that starts work is answered once; nothing legal is refused.
    I11,
    /// Retries, continuations and nudges are bounded, also over crashes.
    I12,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Violations, each invariant with its first story.
#[derive(Debug, Default)]
pub struct Findings {
    first: BTreeMap<Invariant, String>,
    story: Vec<String>,
}

impl Findings {
    /// Notes that `holds` should hold.
    pub fn check(&mut self, holds: bool, invariant: Invariant, what: impl FnOnce() -> String) {
        if !holds && !self.first.contains_key(&invariant) {
            let story = self.story.join("\n  ");
            self.first.insert(invariant, format!("{}\n  {story}", what()));
        }
    }

    /// Tells how the present state came about; shown with a finding.
    pub fn tell(&mut self, story: Vec<String>) {
        self.story = story;
    }

    /// Adds a line to the story.
    pub fn add_to_story(&mut self, line: impl FnOnce() -> String) {
        if !self.story.is_empty() {
            self.story.push(line());
        }
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The invariants that were broken, each once.
    pub fn caught(&self) -> impl Iterator<Item = Invariant> + '_ {
        self.first.keys().copied()
    }

    /// The first violation of each invariant, for people.
    pub fn report(&self) -> String {
        self.first
            .iter()
            .map(|(invariant, what)| format!("{invariant}: {what}"))
            .collect::<Vec<_>>()
            .join("\n")
    }
}
