//! Going back: the leaf moves. Words are taken back, never money, settings, grants or what was done.

use crate::budget::Limits;
use crate::entry::{Cause, Leaf, LeafReason, Said, Speaker, VerdictKind, When};
use crate::error::{Handled, Rejected};
use crate::id::Seq;
use crate::note::NoRun;
use crate::session::{Session, lets_the_next_start};
use crate::stop::StopReason;
use crate::time::Time;
use crate::turn::OpenCall;
use crate::turn::end::refused_before;

impl Session {
    /// `GoTo`: the leaf moves; what was open is closed first.
    pub(super) fn go_to(&mut self, to: Seq) -> Result<Handled, Rejected> {
        if self.is_running() {
            return Err(Rejected::Running);
        }
        if !self.transcript.is_place(to) {
            return Err(Rejected::NoPlace(to));
        }
        self.supersede();
        self.write(Leaf { to: Some(to), why: LeafReason::Person });
        Ok(Handled::Taken)
    }

    /// `Undo`: what was said last is taken back, with all that came of it. One that waits still is withdrawn.
    pub(super) fn undo(&mut self) -> Result<Handled, Rejected> {
        if self.is_running() {
            return Err(Rejected::Running);
        }
        match self.last_said() {
            None => return Err(Rejected::NothingSaid),
            Some(seq) if self.queue.contains_key(&seq) => {
                let (content, notes, withdraws) = (Vec::new(), Vec::new(), Some(seq));
                self.write(Said { from: Speaker::Person, content, notes, when: When::Now, withdraws });
            }
            Some(seq) => {
                let to = self.transcript.place_before(seq);
                self.supersede();
                self.write(Leaf { to, why: LeafReason::Undo });
            }
        }
        Ok(Handled::Taken)
    }

    /// `Retry`: what was said last is answered anew, on the terms of now. One that waits is answered for the first
    /// time.
    pub(super) fn retry(&mut self) -> Result<Handled, Rejected> {
        if self.is_running() {
            return Err(Rejected::Running);
        }
        match self.last_said() {
            None => Err(Rejected::NothingSaid),
            // What waits behind a turn that was stopped is answered after that.
            Some(seq) if self.queue.contains_key(&seq) && !self.is_stopped() => {
                self.continue_with_queue(&Limits::default())
            }
            Some(_) => {
                let Some(said) = self.transcript.last_said() else { return Err(Rejected::NothingSaid) };
                self.supersede();
                self.write(Leaf { to: Some(said), why: LeafReason::Retry });
                self.absorb();
                self.begin_turn(Cause::Retry, &Limits::default());
                Ok(Handled::Taken)
            }
        }
    }

    /// What was said last and is not taken back: that `Undo` takes back, and `Retry` answers anew.
    pub fn last_said(&self) -> Option<Seq> {
        let waiting = self.queue.last_key_value().map(|(seq, _)| *seq);
        waiting.max(self.transcript.last_said())
    }

    /// True if the turn there is was to stop, so that what waits did not start by itself.
    fn is_stopped(&self) -> bool {
        let ended = self.turn.as_ref().map(|turn| turn.told().ended);
        ended.is_some_and(|ended| !ended.is_some_and(lets_the_next_start))
    }

    /// Makes a session of another one's lines, which it was folded from, a fork: it goes on from the last place among
    /// them, or from what was said there last and had not entered. Answers with that place; none is the empty
    /// transcript. What the other session used stays its own, and what was granted there is not granted here.
    ///
    /// # Errors
    /// [`Rejected::Running`] if a run is under way.
    pub fn fork(&mut self, now: Time, from: Seq) -> Result<Option<Seq>, Rejected> {
        if self.is_running() {
            return Err(Rejected::Running);
        }
        self.journal.now = now;
        let to = match self.queue.contains_key(&from) {
            true => Some(from),
            false => self.transcript.last_place(),
        };
        self.supersede();
        self.write(Leaf { to, why: LeafReason::Fork });
        self.absorb();
        Ok(to)
    }

    /// Closes what an earlier run left open, for something else takes its place (`seam.md`): asked
    /// calls are denied, those that had begun are unknown, the rest never began.
    pub(super) fn supersede(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let ended = turn.told().ended;
        let worked = turn.told().account.worked;
        turn.lose_request(&mut self.journal);
        let mut pen = turn.pen(&mut self.journal);
        let open = pen.told.step.reply.clone();
        for (place, call) in open.iter().flat_map(|open| open.calls.iter().enumerate()) {
            if let (None, Some(open)) = (&call.result, &open) {
                pen.settle_without_run(open.call_id(place), superseded(call, ended));
            }
        }
        if ended.is_none() {
            turn.close(&mut self.journal, StopReason::Interrupted, worked);
        }
        self.absorb();
    }
}

/// Why a call that something else took the place of has its result.
fn superseded(call: &OpenCall, ended: Option<StopReason>) -> NoRun<'_> {
    if !ended.is_none_or(StopReason::leaves_calls_open) {
        return NoRun::LineDamaged;
    }
    if let Some(refused) = refused_before(call) {
        return refused;
    }
    let is_asked = call.call.as_ref().is_some_and(|call| call.verdict == VerdictKind::Ask);
    match (&call.start, is_asked) {
        (Some(_), _) => NoRun::ProcessEnded,
        (None, true) => NoRun::Superseded,
        (None, false) => NoRun::TurnStopped,
    }
}
