//! *Next* of the table: what the entries say is to be done now, begun; and how a run begins with it.

use crate::note::{self, NoRun};
use crate::stop::StopReason;
use crate::turn::journal::Journal;
use crate::turn::pen::Pen;
use crate::turn::slots::{Entering, Slots};
use crate::turn::told::Move;
use crate::turn::{PartialReply, Phase, Turn, end, model};

impl Turn {
    /// Begins a run from what the entries told: whatever was under way when they end is over.
    pub(crate) fn run(&mut self, journal: &mut Journal) {
        self.lose_request(journal);
        self.next(journal, Entering::Anew);
        if self.is_out_of_time(journal.now) {
            self.stop(journal, StopReason::TimedOut);
        }
        self.set_timer(journal);
    }

    /// Goes on in the middle of a run whose work is still under way.
    pub(crate) fn rejoin(&mut self, journal: &mut Journal) {
        if let Some(request) = &self.told.step.request {
            let reply = PartialReply::new(journal.now, &request.partial);
            self.phase = Phase::AwaitingModel { request: request.id, reply };
        } else {
            self.next(journal, Entering::InPlace);
        }
        self.set_timer(journal);
    }

    /// Does what the entries say is next, until something must be waited for.
    pub(super) fn next(&mut self, journal: &mut Journal, entering: Entering) {
        let steered = !journal.view.steers.is_empty();
        let mut pen = Pen { told: &mut self.told, journal };
        match pen.told.next(steered) {
            Move::Ask(purpose) => self.phase = model::measure(&mut pen, purpose),
            Move::Wait(until) => self.phase = Phase::Waiting { until },
            Move::Calls => self.see_to_calls(journal, entering),
            Move::DropCalls => self.drop_calls(journal, NoRun::NotNow),
            Move::DropRepeating => self.drop_calls(journal, NoRun::ReplyRepeats),
            Move::Stop(why) => match (&self.phase, entering) {
                (Phase::Tools(_), _) => {
                    self.stop(journal, why);
                }
                (Phase::Done, Entering::InPlace) => self.stop_in_place(journal, why),
                (_, Entering::Anew | Entering::InPlace) => self.drop_calls(journal, NoRun::TurnStopped),
            },
            Move::Note(source) => {
                pen.write(note::note(source));
                self.next(journal, entering);
            }
            Move::Warn(finding) => {
                pen.write(note::warning(&finding));
                self.next(journal, entering);
            }
            Move::End(reason) => self.phase = end::end(&mut pen, reason),
        }
    }

    /// Starts what may start of the open reply's calls; the turn rests if all that is left waits for a
    /// person who is not there.
    fn see_to_calls(&mut self, journal: &mut Journal, entering: Entering) {
        let mut pen = Pen { told: &mut self.told, journal };
        if !matches!(self.phase, Phase::Tools(_)) {
            self.phase = Phase::Tools(Slots::enter(&mut pen, entering));
        }
        let Phase::Tools(slots) = &mut self.phase else { return };
        slots.start_what_may(&mut pen);
        if !pen.told.step.has_open_calls() {
            self.next(journal, entering);
        } else if let Some(reason) = slots.rests(pen.told) {
            self.phase = end::end(&mut pen, reason);
        }
    }

    /// Stops in the middle of a run whose work still goes on: first what was refused, as it was then.
    fn stop_in_place(&mut self, journal: &mut Journal, why: StopReason) {
        let mut pen = Pen { told: &mut self.told, journal };
        end::settle_refused(&mut pen);
        if !pen.told.step.has_open_calls() {
            return self.next(journal, Entering::InPlace);
        }
        self.phase = Phase::Tools(Slots::enter(&mut pen, Entering::InPlace));
        self.stop(journal, why);
    }

    /// Settles the calls of a reply that none of them may run of.
    fn drop_calls(&mut self, journal: &mut Journal, why: NoRun<'_>) {
        let mut pen = Pen { told: &mut self.told, journal };
        end::drop_calls(&mut pen, why);
        self.next(journal, Entering::Anew);
    }
}
