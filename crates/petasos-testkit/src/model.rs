//! The slow and simple model: what a whole log must look like, read entry by entry, in plain passes.
//!
//! It shares no code with the fold: it knows the kinds of entries and I1–I12, nothing of `Told`, slots
//! or phases. What the log alone cannot tell (whether a tool really ran) comes as [`Outside`].

mod calls;
mod caps;
mod guards;
mod prefixes;
mod requests;
mod turns;

pub(crate) use calls::are_in_each_others_way;
pub use prefixes::path;

use std::collections::{BTreeMap, BTreeSet};

use petasos_core::entry::{Body, Entry};
use petasos_core::id::CallId;
use petasos_core::tool::Outcome;

use crate::findings::{Findings, Invariant};

/// What really happened outside, for the calls whose replies are in the log.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// How often a call really began.
    pub began: BTreeMap<CallId, u32>,
    /// Those that may not simply be run again, and began as such.
    pub for_good: BTreeSet<CallId>,
    /// What its tool said at its end, where the session took that and the log still has it.
    pub said: BTreeMap<CallId, Outcome>,
    /// What a probe saw, likewise.
    pub probed: BTreeMap<CallId, Outcome>,
}

impl Outside {
    /// The process ended, and the log has this many entries: what is no longer in it never was.
    pub fn cut(&mut self, log: &[Entry]) {
        let length = log.len() as u64;
        let mut settled = BTreeSet::new();
        for entry in log {
            if let Body::ToolResult(result) = &entry.body {
                settled.insert(result.call);
            }
        }
        self.began.retain(|call, _| call.reply.0 < length);
        self.for_good.retain(|call| call.reply.0 < length);
        self.said.retain(|call, _| settled.contains(call));
        self.probed.retain(|call, _| settled.contains(call));
    }
}

/// Judges a whole log. It may end anywhere: a crash can be after any entry.
pub fn judge(log: &[Entry], outside: &Outside, findings: &mut Findings) {
    for (place, entry) in log.iter().enumerate() {
        let fits = entry.seq.0 == place as u64;
        findings.check(fits, Invariant::I7, || format!("entry {} stands at place {place}", entry.seq));
    }
    requests::judge(log, findings);
    calls::judge(log, outside, findings);
    turns::judge(log, findings);
    prefixes::judge(log, findings);
    caps::judge(log, findings);
    guards::judge(log, findings);
}
