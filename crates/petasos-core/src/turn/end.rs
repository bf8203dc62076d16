//! How a turn stops and ends: cancel, settle, write `turn_end`, finish.

use std::sync::Arc;

use crate::approval::Answer;
use crate::budget::Reservation;
use crate::entry::{Call, Decision, Next, ReplyOfTurn, RequestOutcome, TurnEnd, VerdictKind};
use crate::error::{Handled, Rejected};
use crate::id::CallId;
use crate::note::{NoRun, summary_by_rule};
use crate::stop::StopReason;
use crate::time::Span;
use crate::tool::ToolOutput;
use crate::turn::charge::{charge, used};
use crate::turn::journal::Journal;
use crate::turn::model::{nothing, write_end, write_reply};
use crate::turn::pen::Pen;
use crate::turn::slots::{Saving, Slots};
use crate::turn::{Effect, Flow, GRACE, OpenCall, Phase, ReplyEnd, Turn};

/// Ends the turn: `turn_end` goes to the disk, and the turn finishes once it is there. If the log has
/// failed it finishes at once.
pub(crate) fn end(pen: &mut Pen<'_>, reason: StopReason) -> Phase {
    let end = turn_end(pen, reason);
    if reason == StopReason::NotSaved {
        pen.ask(Effect::Finish(end));
        return Phase::Done;
    }
    let seq = pen.write(end.clone());
    Phase::Ending { seq, end }
}

fn turn_end(pen: &Pen<'_>, reason: StopReason) -> TurnEnd {
    let told = &*pen.told;
    let entries = (!told.answer.is_empty()).then(|| ReplyOfTurn::Entries(told.answer.clone()));
    let reply = match reason {
        StopReason::BudgetExhausted(limit) => entries.or_else(|| {
            let text = summary_by_rule(limit, told.account.steps, &told.tally);
            Some(ReplyOfTurn::Text(text.into()))
        }),
        StopReason::Completed
        | StopReason::ContextExhausted
        | StopReason::Stuck
        | StopReason::ToolFailed
        | StopReason::TimedOut
        | StopReason::AwaitingApproval
        | StopReason::AwaitingAnswer
        | StopReason::Denied
        | StopReason::Refused
        | StopReason::Truncated
        | StopReason::NotSaved
        | StopReason::ModelFailed(_)
        | StopReason::InternalError
        | StopReason::Interrupted => entries,
    };
    TurnEnd {
        turn: told.id,
        reason,
        reply,
        steps: told.account.steps,
        usage: told.account.usage,
        micro_usd: told.account.micro_usd,
        worked: told.worked(pen.journal.now),
        not_written: told.not_written.iter().cloned().collect(),
    }
}

impl Turn {
    /// The request that an earlier run left open is lost: nobody will say how it ended.
    pub(crate) fn lose_request(&mut self, journal: &mut Journal) {
        let mut pen = self.pen(journal);
        if let Some(open) = &pen.told.step.request {
            let charged = charge(None, None, &open.reserved);
            let next = Next::AgainAt(pen.journal.now);
            write_end(&mut pen, RequestOutcome::Lost, charged, next);
        }
    }

    /// Closes a turn that an earlier run left without its end. No run is under way, so none finishes.
    /// What it worked is told: the time since then is nobody's work.
    pub(crate) fn close(&mut self, journal: &mut Journal, reason: StopReason, worked: Span) {
        let mut pen = self.pen(journal);
        let end = TurnEnd { worked, ..turn_end(&pen, reason) };
        pen.write(end);
    }
}

/// Stops a turn at work, in whatever phase it is.
pub(crate) fn stop(pen: &mut Pen<'_>, phase: &mut Phase, why: StopReason) -> Flow {
    match phase {
        Phase::Opening | Phase::Measuring(_) | Phase::Waiting { .. } => Flow::to(end(pen, why)),
        // The ledger answers at once, and what it holds must be given back.
        Phase::Reserving { stopped: stopped @ None, .. } => {
            *stopped = Some(why);
            Flow::Stay
        }
        Phase::Recording { .. } => {
            write_end(pen, RequestOutcome::Interrupted, nothing(), Next::GiveUp);
            Flow::to(end(pen, why))
        }
        Phase::AwaitingModel { request, reply } => {
            let request = *request;
            pen.ask(Effect::CancelModel(request));
            if reply.is_visible() {
                write_reply(pen, request, std::mem::take(reply), ReplyEnd::cut());
                drop_calls(pen, NoRun::TurnStopped);
            } else {
                let reserved = pen.told.step.request.as_ref().map(|open| open.reserved);
                let charged = reserved.map_or_else(nothing, |worst| charge(None, None, &worst));
                write_end(pen, RequestOutcome::Interrupted, charged, Next::GiveUp);
            }
            Flow::to(end(pen, why))
        }
        Phase::Tools(slots) => {
            if slots.stop(pen, Saving::Works) {
                Flow::to(Phase::Stopping { slots: slots.clone(), why, until: pen.journal.now.after(GRACE) })
            } else {
                Flow::to(end(pen, why))
            }
        }
        Phase::Reserving { stopped: Some(_), .. }
        | Phase::Stopping { .. }
        | Phase::Ending { .. }
        | Phase::Done => Flow::Stale,
    }
}

/// Stops a turn whose log failed: as [`stop`], and nothing is written.
pub(crate) fn not_saved(pen: &mut Pen<'_>, phase: &mut Phase) -> Flow {
    let why = StopReason::NotSaved;
    match phase {
        Phase::Opening | Phase::Measuring(_) | Phase::Waiting { .. } | Phase::Ending { .. } => {}
        Phase::Reserving { stopped, .. } => {
            *stopped = Some(why);
            return Flow::Stay;
        }
        Phase::Recording { .. } => give_back(pen, Sent::No),
        Phase::AwaitingModel { request, .. } => {
            pen.ask(Effect::CancelModel(*request));
            give_back(pen, Sent::Yes);
        }
        Phase::Tools(slots) => {
            if slots.stop(pen, Saving::Failed) {
                let until = pen.journal.now.after(GRACE);
                return Flow::to(Phase::Stopping { slots: slots.clone(), why, until });
            }
        }
        Phase::Stopping { why: other, .. } => {
            *other = why;
            return Flow::Stay;
        }
        Phase::Done => return Flow::Stale,
    }
    Flow::to(end(pen, why))
}

/// Whether a request had been sent.
enum Sent {
    Yes,
    No,
}

fn give_back(pen: &mut Pen<'_>, sent: Sent) {
    let Some(open) = pen.told.step.request.clone() else { return };
    let (usage, micro_usd) = match sent {
        Sent::Yes => charge(None, None, &open.reserved),
        Sent::No => nothing(),
    };
    let used = used(None, &usage, micro_usd);
    let reservation = Reservation { worst: open.reserved };
    pen.ask(Effect::Settle { reservation, used });
}

/// Settles the calls whose no stopped the turn.
pub(crate) fn settle_refused(pen: &mut Pen<'_>) {
    let Some(open) = pen.told.step.reply.clone() else { return };
    for (place, call) in open.calls.iter().enumerate() {
        if let (None, None, Some(why)) = (&call.result, &call.start, refused_before(call)) {
            pen.settle_without_run(open.call_id(place), why);
        }
    }
}

/// Settles the open calls of a reply of which none may run.
pub(crate) fn drop_calls(pen: &mut Pen<'_>, why: NoRun<'_>) {
    let Some(open) = pen.told.step.reply.clone() else { return };
    for (place, call) in open.calls.iter().enumerate() {
        if call.result.is_none() {
            let is_complete = open.made(place).is_some_and(|made| made.complete);
            let why = match (&call.start, is_complete) {
                (Some(_), _) => NoRun::ProcessEnded,
                (None, true) => refused_before(call).unwrap_or(why),
                (None, false) => NoRun::incomplete(&open.reply.finish),
            };
            pen.settle_without_run(open.call_id(place), why);
        }
    }
}

/// Why a call was refused, if the log ends between that and its result.
pub(crate) fn refused_before(call: &OpenCall) -> Option<NoRun<'_>> {
    let is_final = |decision: &&Arc<Decision>| decision.answer == Answer::NoAndStop;
    let is_hard = |call: &&Arc<Call>| call.verdict == VerdictKind::Hardline;
    let said =
        call.decision.as_ref().filter(is_final).map(|_| NoRun::PersonSaidNo { reason: "no, and stop" });
    said.or_else(|| call.call.as_ref().filter(is_hard).map(|call| NoRun::Forbidden { rule: &call.rule }))
}

/// `ToolEnded` while stopping: the turn ends with the last.
pub(crate) fn ended(
    pen: &mut Pen<'_>,
    slots: &mut Slots,
    why: StopReason,
    (call, output): (CallId, ToolOutput),
) -> Result<Flow, Rejected> {
    let handled = match saving(why) {
        Saving::Failed => slots.ended_unsaved(call)?,
        Saving::Works => slots.ended(pen, call, output)?,
    };
    if handled == Handled::Stale {
        return Ok(Flow::Stale);
    }
    Ok(if slots.is_still() { Flow::to(end(pen, why)) } else { Flow::Stay })
}

/// The grace is over: the turn ends without the answers that are missing.
pub(crate) fn grace_is_over(pen: &mut Pen<'_>, slots: &mut Slots, why: StopReason) -> Flow {
    slots.give_up_on_stopping(pen, saving(why));
    Flow::to(end(pen, why))
}

fn saving(why: StopReason) -> Saving {
    if why == StopReason::NotSaved { Saving::Failed } else { Saving::Works }
}
