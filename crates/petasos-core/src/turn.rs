//! THE LOOP: one turn, from what starts it until it stops for a reason that is named.
//!
//! Call the model, store its reply, run the tools it asked for under policy, store each result under
//! its call's id, go on. This is the table of it. A turn stands in one [`Phase`]; what it was told is
//! in [`Told`], folded from the log's entries, and [`Told::next`] says what follows from that. So the
//! table holds what a phase waits for, and nothing else; an input that stands in no row changes nothing.
//!
//! | phase | input | what happens | then |
//! |---|---|---|---|
//! | any at work | `Interrupt`, time used up | cancel, stop, settle what is open | `Stopping`, `Ending` |
//! | any at work | `AppendFailed` | stop what runs, write nothing more | `Stopping`, `Done` |
//! | `Opening` | `HeadBuilt` | write `head` | *next* |
//! | `Measuring` | `Measured` | | `Reserving`; too long: `Ending` |
//! | `Reserving` | `Reserved` | write `request`, synced; if stopped meanwhile give it back | `Recording`, `Ending` |
//! | `Reserving` | `Refused` | write the closing note; of a closing call, end | *next*, `Ending` |
//! | `Recording` | `Appended` | call the model | `AwaitingModel` |
//! | `AwaitingModel` | `Delta` | take it in, keep what was seen | stays |
//! | `AwaitingModel` | `ReplyEnded` | write `reply`, settle the budget | *next* |
//! | `AwaitingModel` | `RequestFailed` | write `request_end`, settle the budget | *next* |
//! | `Waiting` | `Woke` | | ask again |
//! | `Tools` | `Prepared` | write `call`; allow, ask, deny | *next* |
//! | `Tools` | `Decide` | write `decision` | *next* |
//! | `Tools` | `Appended` | run what was starting | stays |
//! | `Tools` | `ToolEnded`, `Probed` | write `tool_result` | *next* |
//! | `Tools` | `Park` | questions wait for a later run | *next* |
//! | `Stopping` | `ToolEnded` | write `tool_result` | `Ending` after the last |
//! | `Stopping` | `Woke` after the grace | write `unknown` for the rest | `Ending` |
//! | `Ending` | `Appended` | finish | `Done` |
//!
//! *Next* asks the model (`Measuring`), sees to its calls (`Tools`), waits (`Waiting`), adds a note and
//! looks again, or ends the turn (`Ending`).

mod charge;
mod effect;
pub(crate) mod end;
mod flow;
mod input;
pub(crate) mod journal;
pub(crate) mod late;
mod mode;
mod model;
mod next;
pub(crate) mod pen;
mod phase;
mod reply;
pub(crate) mod retry;
mod slots;
mod step;
mod tally;
pub(crate) mod told;
pub(crate) mod verdict;
mod watch;
pub(crate) mod work;

pub use effect::{Effect, Passing};
pub use input::{Delta, Failure, Input, Remedy, ReplyEnd, StoreFailure};
pub use mode::{Guards, Mode, OnAsk};
pub use phase::Phase;
pub use reply::{PartialReply, REPLY_CAP};
pub use retry::{ADAPTATIONS, LONGEST_ASKED, LONGEST_BEFORE_FALLBACK, TRIES};
pub use slots::{Attended, Slot, Slots};
pub use step::{OpenCall, OpenReply, OpenRequest, OpenStep, made_calls};
pub use tally::{Count, Tally};
pub use told::{CONTINUATIONS, NUDGES, Told};

use crate::entry::{Body, TurnStart};
use crate::error::{Handled, Rejected};
use crate::id::Seq;
use crate::request::Purpose;
use crate::stop::StopReason;
use crate::time::{Span, Time};
use crate::transcript::ClosedStep;
use flow::Flow;
use journal::Journal;
use pen::Pen;
use slots::Entering;

/// How long a tool that was told to stop has to say how it ended (`architecture.md` §4).
pub const GRACE: Span = Span::seconds(2);

/// A turn: what its entries told, and the phase of the run that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    told: Told,
    phase: Phase,
}

impl Turn {
    /// A turn at rest that begins with this entry.
    pub(crate) fn begin(seq: Seq, at: Time, start: &TurnStart) -> Self {
        Self { told: Told::begin(seq, at, start), phase: Phase::Done }
    }

    /// What its entries told.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// Where the run stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// True if a run is under way.
    pub fn is_running(&self) -> bool {
        self.phase.is_running()
    }

    /// Takes in an entry of the log.
    pub(crate) fn apply(&mut self, seq: Seq, at: Time, body: &Body) -> Option<ClosedStep> {
        self.told.apply(seq, at, body)
    }

    /// A pen for entries of this turn.
    pub(crate) fn pen<'a>(&'a mut self, journal: &'a mut Journal) -> Pen<'a> {
        Pen { told: &mut self.told, journal }
    }

    /// Takes in what happened: the table above.
    pub(crate) fn handle(&mut self, journal: &mut Journal, input: Input) -> Result<Handled, Rejected> {
        if !self.is_running() {
            return late::at_rest(&input);
        }
        let is_timer = input == Input::Woke;
        let handled = match self.anywhere(journal, &input) {
            Some(handled) => handled,
            None => {
                let flow = self.row(journal, input)?;
                self.take(journal, flow)
            }
        };
        // What comes too late changes nothing; a timer that went off must be set again.
        if is_timer || handled == Handled::Taken {
            self.set_timer(journal);
        }
        Ok(handled)
    }

    /// The rows that hold in any phase.
    fn anywhere(&mut self, journal: &mut Journal, input: &Input) -> Option<Handled> {
        if *input == Input::Woke && self.is_out_of_time(journal.now) {
            return Some(self.stop(journal, StopReason::TimedOut));
        }
        if let Input::Appended { upto } = input {
            return Some(self.appended(journal, *upto));
        }
        if matches!(input, Input::AppendFailed(_)) {
            return Some(self.not_saved(journal));
        }
        (*input == Input::Interrupt).then(|| self.stop(journal, StopReason::Interrupted))
    }

    /// The rows that belong to one phase.
    fn row(&mut self, journal: &mut Journal, input: Input) -> Result<Flow, Rejected> {
        let mut pen = Pen { told: &mut self.told, journal };
        match (&mut self.phase, input) {
            (
                Phase::Tools(slots) | Phase::Stopping { slots, .. },
                Input::Prepared { call, .. }
                | Input::Decide { call, .. }
                | Input::ToolEnded { call, .. }
                | Input::Probed { call, .. },
            ) if slots.are_after(call) => Ok(Flow::Stale),
            (Phase::Opening, Input::HeadBuilt(head)) => {
                pen.write(head);
                Ok(Flow::Next)
            }
            (Phase::Measuring(draft), Input::Measured(measured)) => {
                model::measured(&mut pen, draft, measured)
            }
            (Phase::Reserving { draft, measured, stopped: None }, Input::Reserved(reservation)) => {
                model::reserved(&mut pen, draft, measured, &reservation)
            }
            (Phase::Reserving { draft, measured, stopped: Some(why) }, Input::Reserved(reservation)) => {
                model::is_what_was_asked(draft, measured, &reservation)?;
                model::release(&mut pen, reservation, *why)
            }
            (Phase::Reserving { draft, stopped: None, .. }, Input::Refused(limit)) => {
                model::refused(&mut pen, draft, limit)
            }
            (Phase::Reserving { stopped: Some(why), .. }, Input::Refused(_)) => {
                Ok(Flow::to(end::end(&mut pen, *why)))
            }
            (Phase::AwaitingModel { request, reply }, Input::Delta { request: of, delta }) => {
                model::delta(&mut pen, (*request, of), reply, delta)
            }
            (Phase::AwaitingModel { request, reply }, Input::ReplyEnded { request: of, end }) => {
                model::reply_ended(&mut pen, (*request, of), reply, end)
            }
            (Phase::AwaitingModel { request, .. }, Input::RequestFailed { request: of, failure, jitter }) => {
                model::failed(&mut pen, (*request, of), &failure, jitter)
            }
            (Phase::Waiting { until }, Input::Woke) if *until <= pen.journal.now => {
                Ok(Flow::to(model::measure(&mut pen, Purpose::Step)))
            }
            (Phase::Tools(slots), Input::Prepared { call, prepared }) => {
                slots.prepared(&mut pen, call, prepared).map(Flow::from)
            }
            (Phase::Tools(slots), Input::Decide { call, answer, shown }) => {
                slots.decided(&mut pen, call, answer, shown).map(Flow::from)
            }
            (Phase::Tools(slots), Input::ToolEnded { call, output }) => {
                slots.ended(&mut pen, call, output).map(Flow::from)
            }
            (Phase::Tools(slots), Input::Probed { call, outcome }) => {
                slots.probed(&mut pen, call, outcome).map(Flow::from)
            }
            (Phase::Tools(slots), Input::Park) => slots.park(&mut pen).map(Flow::from),
            (Phase::Stopping { slots, why, .. }, Input::ToolEnded { call, output }) => {
                end::ended(&mut pen, slots, *why, (call, output))
            }
            (Phase::Stopping { slots, why, until }, Input::Woke) if *until <= pen.journal.now => {
                Ok(end::grace_is_over(&mut pen, slots, *why))
            }
            (phase, input) => late::in_phase(phase, &input, pen.journal.next_seq()),
        }
    }

    /// Goes where a row leads.
    fn take(&mut self, journal: &mut Journal, flow: Flow) -> Handled {
        match flow {
            Flow::Stay => Handled::Taken,
            Flow::Stale => Handled::Stale,
            Flow::To(phase) => {
                self.phase = *phase;
                Handled::Taken
            }
            Flow::Next => {
                self.next(journal, Entering::Anew);
                Handled::Taken
            }
        }
    }

    /// Stops the turn: nothing new begins, what runs is told to stop, what is open gets its outcome.
    fn stop(&mut self, journal: &mut Journal, why: StopReason) -> Handled {
        let mut pen = Pen { told: &mut self.told, journal };
        let flow = end::stop(&mut pen, &mut self.phase, why);
        self.take(journal, flow)
    }

    /// The log failed: what runs is told to stop, and nothing more is written.
    fn not_saved(&mut self, journal: &mut Journal) -> Handled {
        journal.forget_unanswered();
        let mut pen = Pen { told: &mut self.told, journal };
        let flow = end::not_saved(&mut pen, &mut self.phase);
        self.take(journal, flow)
    }

    /// Entries are on disk, up to one: what waited for that goes on. That nothing waited is no fault.
    fn appended(&mut self, journal: &mut Journal, upto: Seq) -> Handled {
        let mut pen = Pen { told: &mut self.told, journal };
        match &mut self.phase {
            Phase::Recording { request } if request.0 <= upto => {
                let request = *request;
                pen.ask(Effect::CallModel { request });
                self.phase = Phase::AwaitingModel { request, reply: PartialReply::new(pen.journal.now, "") };
            }
            Phase::Tools(slots) => slots.appended(&mut pen, upto),
            Phase::Ending { seq, end } if *seq <= upto => {
                pen.ask(Effect::Finish(end.clone()));
                self.phase = Phase::Done;
            }
            Phase::Opening
            | Phase::Measuring(_)
            | Phase::Reserving { .. }
            | Phase::Recording { .. }
            | Phase::AwaitingModel { .. }
            | Phase::Waiting { .. }
            | Phase::Stopping { .. }
            | Phase::Ending { .. }
            | Phase::Done => {}
        }
        Handled::Taken
    }

    fn is_out_of_time(&self, now: Time) -> bool {
        self.phase.can_be_stopped() && self.told.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Sets the timer to what comes first: the phase's own time or the turn's deadline.
    pub(crate) fn set_timer(&self, journal: &mut Journal) {
        let deadline = self.told.deadline().filter(|_| self.phase.can_be_stopped());
        if let Some(due) = self.phase.due().into_iter().chain(deadline).min() {
            journal.wake_at(due);
        }
    }
}
