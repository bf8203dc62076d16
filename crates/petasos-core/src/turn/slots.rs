//! The calls of the open reply, each in its slot: prepare → judge → ask → run, as many at once as are
//! not in each other's way.

use std::sync::Arc;

use crate::approval::{Answer, Approved, Asked, Prepared, Wants};
use crate::claims::{Claims, Rerun};
use crate::entry::{Decision, Speaker, ToolStart};
use crate::error::{Handled, Rejected};
use crate::id::{CallId, Digest, Seq};
use crate::note::NoRun;
use crate::stop::StopReason;
use crate::tool::{Outcome, ToolOutput};
use crate::turn::Effect;
use crate::turn::pen::{Pen, as_begun};
use crate::turn::told::Told;
use crate::turn::verdict::{answered, fits, follow, is_of_other_call, run, start, write_call};

/// Where one call stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The shell prepares it; what it touches is not known yet.
    Preparing,
    /// It had begun before a crash; a probe looks whether it was done.
    Probing,
    /// A person is asked.
    Asking(Asked, Attended),
    /// It may run, once nothing is in its way.
    Ready(Approved),
    /// Its `tool_start` is on its way to the disk.
    Starting(Approved, Seq),
    /// It runs.
    Running(Claims),
    /// It was told to stop.
    Stopping,
    /// It has its result.
    Settled,
}

/// Whether somebody is there to answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attended {
    /// Yes.
    Here,
    /// No: it waits for a later run.
    Parked,
}

/// In what way calls come to their slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entering {
    /// With their reply, or in a new run: whatever had begun is over.
    Anew,
    /// In the middle of a run whose work still goes on: whatever had begun still runs.
    InPlace,
}

/// The calls of the open reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slots {
    reply: Seq,
    slots: Vec<Slot>,
    /// Whether somebody is there for the questions that still come.
    attended: Attended,
}

impl Slots {
    /// A slot for each call of the open reply, by what the entries tell of it.
    pub(crate) fn enter(pen: &mut Pen<'_>, entering: Entering) -> Self {
        let Some(open) = pen.told.step.reply.clone() else {
            return Self { reply: Seq(0), slots: Vec::new(), attended: Attended::Here };
        };
        let mut slots = Vec::with_capacity(open.calls.len());
        for (place, told) in open.calls.iter().enumerate() {
            let call = open.call_id(place);
            let is_complete = open.made(place).is_some_and(|made| made.complete);
            let claims = || told.call.as_ref().map_or_else(Claims::unknown, |call| call.claims.clone());
            let slot = match (&told.result, &told.start, entering) {
                (Some(_), _, _) => Slot::Settled,
                (None, None, _) if !is_complete => {
                    pen.settle_without_run(call, NoRun::incomplete(&open.reply.finish));
                    Slot::Settled
                }
                (None, None, _) => prepare(pen, call),
                (None, Some(_), Entering::InPlace) => Slot::Running(claims()),
                (None, Some(start), Entering::Anew) => begin_again(pen, start, &claims().rerun),
            };
            slots.push(slot);
        }
        Self { reply: open.seq, slots, attended: Attended::Here }
    }

    fn at(&mut self, call: CallId) -> Result<&mut Slot, Rejected> {
        let slot = self.slots.get_mut(usize::from(call.place)).filter(|_| call.reply == self.reply);
        slot.ok_or(Rejected::OtherCall(call))
    }

    /// True if the call is one of an earlier reply: what is said of it is late.
    pub(crate) fn are_after(&self, call: CallId) -> bool {
        call.reply < self.reply
    }

    fn ids(&self) -> impl Iterator<Item = CallId> + use<> {
        let reply = self.reply;
        (0..).take(self.slots.len()).map(move |place| CallId { reply, place })
    }

    /// `Prepared`: the verdict is written, and followed.
    pub(crate) fn prepared(
        &mut self,
        pen: &mut Pen<'_>,
        call: CallId,
        prepared: Prepared,
    ) -> Result<Handled, Rejected> {
        let attended = self.attended;
        let slot = self.at(call)?;
        match slot {
            Slot::Preparing => {}
            Slot::Settled => return Ok(Handled::Stale),
            Slot::Probing
            | Slot::Asking(..)
            | Slot::Ready(_)
            | Slot::Starting(..)
            | Slot::Running(_)
            | Slot::Stopping => return Err(Rejected::OtherCall(call)),
        }
        if is_of_other_call(&prepared.verdict, call) {
            return Err(Rejected::OtherCall(call));
        }
        write_call(pen, &prepared);
        *slot = follow(pen, call, prepared, attended);
        Ok(Handled::Taken)
    }

    /// `Decide`: the answer is written, and followed.
    pub(crate) fn decided(
        &mut self,
        pen: &mut Pen<'_>,
        call: CallId,
        answer: Answer,
        shown: Digest,
    ) -> Result<Handled, Rejected> {
        let slot = self.at(call)?;
        let Slot::Asking(asked, Attended::Here) = slot else {
            let is_late = matches!(slot, Slot::Settled | Slot::Asking(_, Attended::Parked));
            return if is_late { Ok(Handled::Stale) } else { Err(Rejected::OtherCall(call)) };
        };
        if asked.proposal().shown != shown {
            return Err(Rejected::OtherShown(call));
        }
        if !fits(asked.proposal().wants, &answer) {
            return Err(Rejected::OtherAnswer(call));
        }
        let asked = asked.clone();
        pen.write(Decision { call, answer: answer.clone(), by: Speaker::Person, shown });
        *slot = answered(pen, asked, &answer);
        Ok(Handled::Taken)
    }

    /// `Appended`: calls whose `tool_start` is on disk begin.
    pub(crate) fn appended(&mut self, pen: &mut Pen<'_>, upto: Seq) {
        for slot in &mut self.slots {
            if let Slot::Starting(approved, start) = slot
                && *start <= upto
            {
                *slot = run(pen, approved.clone());
            }
        }
    }

    /// `ToolEnded`: the result is written.
    pub(crate) fn ended(
        &mut self,
        pen: &mut Pen<'_>,
        call: CallId,
        output: ToolOutput,
    ) -> Result<Handled, Rejected> {
        let slot = self.at(call)?;
        match slot {
            Slot::Running(_) | Slot::Stopping => {
                *slot = Slot::Settled;
                pen.settle(call, as_begun(output));
                Ok(Handled::Taken)
            }
            Slot::Settled => Ok(Handled::Stale),
            Slot::Preparing | Slot::Probing | Slot::Asking(..) | Slot::Ready(_) | Slot::Starting(..) => {
                Err(Rejected::OtherCall(call))
            }
        }
    }

    /// `ToolEnded` when nothing can be written any more.
    pub(crate) fn ended_unsaved(&mut self, call: CallId) -> Result<Handled, Rejected> {
        let slot = self.at(call)?;
        if *slot != Slot::Stopping {
            return Ok(Handled::Stale);
        }
        *slot = Slot::Settled;
        Ok(Handled::Taken)
    }

    /// `Probed`: what the probe saw is the result.
    pub(crate) fn probed(
        &mut self,
        pen: &mut Pen<'_>,
        call: CallId,
        outcome: Outcome,
    ) -> Result<Handled, Rejected> {
        let slot = self.at(call)?;
        match slot {
            Slot::Probing => {
                *slot = Slot::Settled;
                pen.settle_without_run(call, NoRun::Probed(outcome));
                Ok(Handled::Taken)
            }
            Slot::Settled => Ok(Handled::Stale),
            Slot::Preparing
            | Slot::Asking(..)
            | Slot::Ready(_)
            | Slot::Starting(..)
            | Slot::Running(_)
            | Slot::Stopping => Err(Rejected::OtherCall(call)),
        }
    }

    /// `Park`: nobody is there any more; questions wait for a later run, those still to come as well.
    pub(crate) fn park(&mut self, pen: &mut Pen<'_>) -> Result<Handled, Rejected> {
        let mut was_here = self.attended == Attended::Here && self.slots.contains(&Slot::Preparing);
        let ids = self.ids();
        for (slot, call) in self.slots.iter_mut().zip(ids) {
            if let Slot::Asking(_, attended @ Attended::Here) = slot {
                *attended = Attended::Parked;
                pen.ask(Effect::Unask(call));
                was_here = true;
            }
        }
        if was_here {
            self.attended = Attended::Parked;
        }
        if was_here { Ok(Handled::Taken) } else { Err(Rejected::NotAsked) }
    }

    /// Starts what may start: what is allowed and has no earlier open call in its way.
    pub(crate) fn start_what_may(&mut self, pen: &mut Pen<'_>) {
        for place in 0..self.slots.len() {
            let (before, after) = self.slots.split_at_mut(place);
            let Some(slot) = after.first_mut() else { continue };
            let Slot::Ready(approved) = slot else { continue };
            let claims = &approved.proposal().claims;
            if before.iter().any(|earlier| earlier.is_in_the_way_of(claims, pen.told.mode.serial)) {
                continue;
            }
            let approved = approved.clone();
            *slot = start(pen, approved);
        }
    }

    /// Why the turn rests, if all that is left waits for a person who is not there.
    pub(crate) fn rests(&self, told: &Told) -> Option<StopReason> {
        let mut reason = None;
        for (place, slot) in self.slots.iter().enumerate() {
            match slot {
                Slot::Settled => {}
                Slot::Asking(asked, Attended::Parked) => {
                    let wants = asked.proposal().wants;
                    let mine = match wants {
                        Wants::Approval => StopReason::AwaitingApproval,
                        Wants::Answer => StopReason::AwaitingAnswer,
                    };
                    // Leave to run is the more urgent of the two: an answer alone does not help then.
                    if reason != Some(StopReason::AwaitingApproval) {
                        reason = Some(mine);
                    }
                }
                Slot::Ready(approved) => {
                    let claims = &approved.proposal().claims;
                    let mut before = self.slots.iter().take(place);
                    if !before.any(|earlier| earlier.is_in_the_way_of(claims, told.mode.serial)) {
                        return None;
                    }
                }
                Slot::Preparing
                | Slot::Probing
                | Slot::Asking(_, Attended::Here)
                | Slot::Starting(..)
                | Slot::Running(_)
                | Slot::Stopping => return None,
            }
        }
        reason
    }

    /// Stops everything; `true` if something that runs must still say that it ended.
    pub(crate) fn stop(&mut self, pen: &mut Pen<'_>, saving: Saving) -> bool {
        let ids = self.ids();
        for (slot, call) in self.slots.iter_mut().zip(ids) {
            let (next, why) = match slot {
                Slot::Settled => continue,
                Slot::Running(_) | Slot::Stopping => {
                    if *slot != Slot::Stopping {
                        pen.ask(Effect::StopTool(call));
                    }
                    *slot = Slot::Stopping;
                    continue;
                }
                Slot::Preparing => {
                    pen.ask(Effect::StopTool(call));
                    (
                        Slot::Settled,
                        told_start(pen.told, call).map_or(NoRun::TurnStopped, |_| NoRun::ProcessEnded),
                    )
                }
                Slot::Probing => {
                    pen.ask(Effect::StopTool(call));
                    (Slot::Settled, NoRun::ProcessEnded)
                }
                Slot::Asking(_, attended) => {
                    if *attended == Attended::Here {
                        pen.ask(Effect::Unask(call));
                    }
                    (Slot::Settled, NoRun::TurnStopped)
                }
                Slot::Ready(_) if told_start(pen.told, call).is_some() => {
                    (Slot::Settled, NoRun::ProcessEnded)
                }
                Slot::Ready(_) | Slot::Starting(..) => (Slot::Settled, NoRun::TurnStopped),
            };
            *slot = next;
            if saving == Saving::Works {
                pen.settle_without_run(call, why);
            }
        }
        self.slots.contains(&Slot::Stopping)
    }

    /// The grace is over: what did not say how it ended is unknown.
    pub(crate) fn give_up_on_stopping(&mut self, pen: &mut Pen<'_>, saving: Saving) {
        let ids = self.ids();
        for (slot, call) in self.slots.iter_mut().zip(ids) {
            if *slot == Slot::Stopping {
                *slot = Slot::Settled;
                if saving == Saving::Works {
                    pen.settle_without_run(call, NoRun::NoAnswerToStop);
                }
            }
        }
    }

    /// True if nothing that was told to stop is still on its way.
    pub(crate) fn is_still(&self) -> bool {
        !self.slots.contains(&Slot::Stopping)
    }

    /// The reply whose calls they are.
    pub fn reply(&self) -> Seq {
        self.reply
    }

    /// The slots, in the order of the calls.
    pub fn as_slice(&self) -> &[Slot] {
        &self.slots
    }
}

/// Whether results can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saving {
    /// They can.
    Works,
    /// The log failed.
    Failed,
}

impl Slot {
    /// True if a later call with these claims must wait for this one. What a call touches that is not
    /// prepared yet nobody knows, so it is in the way of all.
    fn is_in_the_way_of(&self, claims: &Claims, serial: bool) -> bool {
        match self {
            Self::Settled => false,
            Self::Preparing | Self::Probing | Self::Stopping => true,
            Self::Asking(asked, _) => serial || asked.proposal().claims.are_in_the_way_of(claims),
            Self::Ready(approved) | Self::Starting(approved, _) => {
                serial || approved.proposal().claims.are_in_the_way_of(claims)
            }
            Self::Running(mine) => serial || mine.are_in_the_way_of(claims),
        }
    }
}

fn told_start(told: &Told, call: CallId) -> Option<&Arc<ToolStart>> {
    told.step.call(call)?.start.as_ref()
}

fn prepare(pen: &mut Pen<'_>, call: CallId) -> Slot {
    pen.ask(Effect::Prepare(call));
    Slot::Preparing
}

/// A call that had begun when the process ended: again if that is safe, else somebody must look.
fn begin_again(pen: &mut Pen<'_>, start: &ToolStart, rerun: &Rerun) -> Slot {
    match rerun {
        Rerun::Free | Rerun::Keyed(_) | Rerun::Child(_) => prepare(pen, start.call),
        Rerun::Never if start.probe.is_some() => {
            pen.ask(Effect::Probe(start.call));
            Slot::Probing
        }
        Rerun::Never => {
            pen.settle_without_run(start.call, NoRun::ProcessEnded);
            Slot::Settled
        }
    }
}
