//! What guards make of a turn (L10): when they look, and what follows.

use std::sync::Arc;

use crate::claims::Rerun;
use crate::entry::{FinishReason, Reply};
use crate::guard::repeats::repeats;
use crate::guard::{Again, Ended, Finding, Key};
use crate::id::CallId;
use crate::request::Purpose;
use crate::stop::StopReason;
use crate::turn::mode::Guards;
use crate::turn::step::OpenReply;
use crate::turn::told::Told;

impl Told {
    /// A reply came: `true` if it was cut because it repeated itself.
    pub(crate) fn watch_reply(&mut self, reply: &Reply, purpose: Purpose) -> bool {
        self.guard.replied();
        // A closing call ends the turn whatever it says.
        let may_be = self.mode.guards == Guards::On && purpose == Purpose::Step;
        let is_cut = may_be && reply.finish == FinishReason::Cut && repeats(reply);
        if is_cut {
            self.guard.cut();
            self.watch_end();
        }
        is_cut
    }

    /// A result came: what has all results before it is looked at, in the order of the calls.
    pub(crate) fn watch_results(&mut self) {
        let Some(open) = &self.step.reply else { return };
        while let Some(call) = open.calls.get(self.guard.taken())
            && let Some((_, result)) = &call.result
        {
            let place = self.guard.taken();
            let Some(key) = key(open, place) else { return };
            let rerun = call.call.as_ref().map_or(Again::Free, |call| again(&call.claims.rerun));
            self.guard.take(Ended { key, result: &Arc::clone(result), reply: open.seq, rerun });
        }
        self.watch_end();
    }

    fn watch_end(&mut self) {
        if self.mode.guards == Guards::On && self.stop.is_none() {
            self.stop = self.guard.judge();
        }
    }

    /// True if a call is one more of a row that leads nowhere, and running it is not free.
    pub(crate) fn should_not_run(&self, call: CallId, rerun: &Rerun) -> bool {
        let open = self.step.reply.as_ref().filter(|open| open.seq == call.reply);
        let key = open.and_then(|open| key(open, usize::from(call.place)));
        self.mode.guards == Guards::On
            && again(rerun) == Again::Costly
            && key.is_some_and(|key| self.guard.refuses(&key))
    }

    /// What the model is to be told before it is asked again.
    pub(crate) fn warning(&self) -> Option<Finding> {
        let is_due = self.mode.guards == Guards::On && self.guard.warns();
        if is_due { self.guard.warning() } else { None }
    }

    /// What a guard found, of a turn that ended `stuck` or `tool_failed`.
    pub fn finding(&self) -> Option<&Finding> {
        let is_by_guard = matches!(self.ended, Some(StopReason::Stuck | StopReason::ToolFailed));
        self.guard.found().filter(|_| is_by_guard)
    }
}

/// What a call asks for: as it was prepared, where an entry says that, else as the model made it.
fn key(open: &OpenReply, place: usize) -> Option<Key> {
    let made = open.made(place)?;
    let call = open.calls.get(place).and_then(|told| told.call.as_deref());
    let tool = call.map_or(&made.name, |call| &call.tool);
    let changed = call.and_then(|call| call.arguments.as_ref());
    Some(Key::new(tool, changed.map_or(&made.arguments, |changed| changed.as_str())))
}

fn again(rerun: &Rerun) -> Again {
    match rerun {
        Rerun::Free => Again::Free,
        Rerun::Keyed(_) | Rerun::Never | Rerun::Child(_) => Again::Costly,
    }
}
