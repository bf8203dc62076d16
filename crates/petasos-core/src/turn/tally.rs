//! What the tools of a turn did, by name: what a summary by rule tells.

use std::collections::BTreeMap;

use crate::text::Text;
use crate::tool::Outcome;

/// What the tools of a turn did, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally(BTreeMap<Text, Count>);

/// Calls of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Count {
    /// All.
    pub calls: u32,
    /// Those that did not do what they were asked.
    pub failed: u32,
}

impl Tally {
    /// The tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = (&Text, &Count)> {
        self.0.iter()
    }

    pub(crate) fn add(&mut self, tool: Text, outcome: Outcome) {
        let count = self.0.entry(tool).or_default();
        count.calls += 1;
        count.failed += u32::from(!matches!(outcome, Outcome::Ok | Outcome::Empty));
    }
}
