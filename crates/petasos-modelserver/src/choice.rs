//! Which line answers a request.

use std::collections::{BTreeMap, VecDeque};

use crate::Script;

/// The lines that are still to be said.
///
/// A line with `when` answers every request with its number of results, so that a request which is made again after
/// a crash gets the same reply. Of several for one number each is said once, in order, and the last one goes on.
#[derive(Debug)]
pub(crate) struct Choice {
    in_order: VecDeque<usize>,
    by_results: BTreeMap<u64, VecDeque<usize>>,
}

impl Choice {
    pub fn new(script: &Script) -> Self {
        let mut choice = Self { in_order: VecDeque::new(), by_results: BTreeMap::new() };
        for (place, reply) in script.replies().iter().enumerate() {
            match reply.results {
                Some(results) => choice.by_results.entry(results).or_default().push_back(place),
                None => choice.in_order.push_back(place),
            }
        }
        choice
    }

    /// The place of the line for a request with so many results; none if nothing is left.
    pub fn next(&mut self, results: u64) -> Option<usize> {
        let Some(lines) = self.by_results.get_mut(&results) else { return self.in_order.pop_front() };
        if lines.len() > 1 { lines.pop_front() } else { lines.front().copied() }
    }
}
