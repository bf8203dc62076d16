//! How a random world carries effects out, and what it looks at while it does.

use petasos_core::approval::{Answer, Proposal, Verdict};
use petasos_core::budget::Ledger;
use petasos_core::claims::Rerun;
use petasos_core::entry::{Body, Cause, Entry, Keep, SettingSource, TurnEnd, VerdictKind};
use petasos_core::id::{CallId, RequestId};
use petasos_core::request::Purpose;
use petasos_core::stop::StopReason;
use petasos_core::turn::{Effect, GRACE};

use crate::findings::Invariant;
use crate::model::are_in_each_others_way;
use crate::random::{World, chance, proposal_of};

impl World {
    pub(super) fn carry(&mut self, effect: Effect) {
        let is_of_run = !matches!(effect, Effect::Append { .. } | Effect::WakeAt(_));
        self.check(!is_of_run || self.running, Invariant::I4, || format!("after Finish: {effect:?}"));
        match effect {
            Effect::Append { entries, keep } => self.append(entries, keep),
            Effect::Measure(draft) => {
                self.check(self.out.measuring.is_none(), Invariant::I11, || "measures twice".to_owned());
                self.out.measuring = Some(draft);
            }
            Effect::Reserve(worst) => {
                self.check(self.out.reserving.is_none(), Invariant::I11, || "reserves twice".to_owned());
                self.out.reserving = Some(worst);
            }
            Effect::Settle { reservation, used } => {
                let was_held = self.ledger.settle(&reservation, &used);
                self.check(was_held, Invariant::I11, || {
                    format!("settles {reservation:?}, which is not held")
                });
            }
            Effect::CallModel { request } => self.call_model(request),
            Effect::CancelModel(request) => {
                let is_out = self.out.model.as_ref().is_some_and(|talk| talk.request == request);
                self.check(is_out, Invariant::I11, || format!("cancels {request:?}, which is not out"));
                self.out.model = None;
                self.count("model cancelled");
            }
            Effect::Prepare(call) => {
                let is_new = self.out.preparing.insert(call);
                self.check(is_new, Invariant::I11, || format!("prepares {call} twice"));
            }
            Effect::Ask { call, shown } => {
                let wants = self.prepared.get(&call).and_then(proposal_of).map(|proposal| proposal.wants);
                let is_new = self.out.asked.insert(call, (shown, wants.unwrap())).is_none();
                self.check(is_new, Invariant::I11, || format!("asks about {call} twice"));
            }
            Effect::Unask(call) => {
                let was_asked = self.out.asked.remove(&call).is_some();
                self.check(was_asked, Invariant::I11, || format!("takes back {call}, which was not asked"));
            }
            Effect::Probe(call) => {
                let is_new = self.out.probing.insert(call);
                self.check(is_new, Invariant::I11, || format!("probes {call} twice"));
            }
            Effect::RunTool(approved) => self.run_tool(approved.proposal()),
            Effect::StopTool(call) => self.stop_tool(call),
            Effect::BuildHead => {
                self.check(!self.out.building, Invariant::I11, || "builds the head twice".to_owned());
                self.out.building = true;
            }
            Effect::WakeAt(at) => self.timer = Some(self.timer.map_or(at, |timer| timer.min(at))),
            Effect::Tell(_) => self.count("told"),
            Effect::Finish(end) => self.finish(&end),
        }
    }

    fn append(&mut self, entries: Vec<Entry>, keep: Keep) {
        self.check(!self.broken, Invariant::I7, || format!("written after a failed append: {entries:?}"));
        let least = entries.iter().map(|entry| entry.body.keep()).max();
        self.check(least == Some(keep), Invariant::I7, || format!("kept as {keep:?}: {entries:?}"));
        if keep == Keep::Synced {
            self.unanswered.push_back(entries.last().unwrap().seq);
        }
        for entry in entries {
            self.told.read(&entry);
            match &entry.body {
                Body::TurnStart(start) => {
                    self.check(!self.running, Invariant::I4, || "starts inside a run".to_owned());
                    (self.running, self.stopped) = (true, false);
                    (self.grace, self.grace_is_over) = (None, false);
                    let what =
                        if matches!(start.cause, Cause::Continues { .. }) { "continues" } else { "turn" };
                    self.count(what);
                    let told = self.session.turn().unwrap().told();
                    self.ledger = Ledger::new(told.limits.clone(), told.spent());
                }
                Body::LimitAdded(_) => {
                    let limits = self.session.turn().unwrap().told().limits.clone();
                    self.ledger.set_limits(limits);
                }
                Body::TurnEnd(end) => {
                    let reason = format!("end {:?}", end.reason);
                    self.count(reason.split('(').next().unwrap_or_default());
                }
                Body::ToolResult(result) => {
                    let outcome = format!("result {:?}", result.outcome);
                    self.count(&outcome);
                    if !self.running {
                        self.count("superseded");
                    }
                }
                Body::Call(call) if call.verdict == VerdictKind::Allow && &*call.rule == "grant" => {
                    self.count("granted");
                }
                Body::Partial(_) => self.count("partial"),
                Body::Note(note) => {
                    let source = format!("note {:?}", note.source);
                    self.count(&source);
                }
                Body::Request(request) if request.attempt > 1 => self.count("another attempt"),
                Body::Setting(setting) if matches!(setting.by, SettingSource::Learnt { .. }) => {
                    self.count("learnt");
                }
                _ => {}
            }
            self.log.push(entry);
        }
    }

    fn is_safe(&self, entry: u64) -> bool {
        entry < self.safe as u64
    }

    fn call_model(&mut self, request: RequestId) {
        self.check(self.out.model.is_none(), Invariant::I11, || "calls the model twice".to_owned());
        let is_safe = self.is_safe(request.0.0);
        self.check(is_safe, Invariant::I5, || format!("{request:?} is sent and not on disk"));
        let is_within = self.ledger.is_within_limits();
        self.check(is_within, Invariant::I5, || "overdraws its limits".to_owned());
        let out = &self.out;
        let is_idle = out.running.is_empty() && out.stopping.is_empty() && out.asked.is_empty();
        let is_idle = is_idle && out.preparing.is_empty() && out.probing.is_empty();
        self.check(is_idle, Invariant::I1, || "asks the model while calls are open".to_owned());
        let purpose = match self.log.get(request.0.0 as usize).map(|entry| &entry.body) {
            Some(Body::Request(request)) => request.purpose,
            _ => Purpose::Step,
        };
        let (talk, kind) = chance::talk(&mut self.dice, request, purpose, self.temper);
        self.count(&format!("reply {kind}"));
        if purpose == Purpose::Closing {
            self.count("closing call");
        }
        self.out.model = Some(talk);
    }

    fn run_tool(&mut self, proposal: &Proposal) {
        let call = proposal.call;
        let may_run = self.may_run(proposal);
        self.check(may_run, Invariant::I2, || format!("{call} runs, and nobody allowed it"));
        let others = self.out.running.iter().chain(&self.out.stopping);
        let in_way: Vec<CallId> = others
            .filter(|(_, claims)| are_in_each_others_way(claims, &proposal.claims))
            .map(|(other, _)| *other)
            .chain(self.earlier_in_way(proposal))
            .collect();
        self.check(in_way.is_empty(), Invariant::I10, || format!("{call} runs beside {in_way:?}"));
        let rerun = proposal.claims.rerun.clone();
        let start = self.log.iter().rev().find_map(|entry| match &entry.body {
            Body::ToolStart(start) if start.call == call => Some((entry.seq.0, start.clone())),
            _ => None,
        });
        match (&rerun, &start) {
            (Rerun::Free, _) => {}
            (_, Some((seq, _))) if self.is_safe(*seq) => {}
            _ => self.check(false, Invariant::I3, || format!("{call} runs, and that is not on disk")),
        }
        let times = self.outside.began.entry(call).or_default();
        *times += 1;
        if *times > 1 {
            self.count("ran again");
        }
        let is_again = self.outside.for_good.contains(&call);
        if rerun != Rerun::Free {
            self.outside.for_good.insert(call);
        }
        if is_again {
            let key = start.and_then(|(_, start)| start.key);
            let may = match &rerun {
                Rerun::Free => true,
                Rerun::Keyed(mine) => key.as_ref() == Some(mine),
                Rerun::Never | Rerun::Child(_) => false,
            };
            self.check(may, Invariant::I3, || format!("{call} runs again as {rerun:?}, it began as {key:?}"));
        }
        let is_new = self.out.running.insert(call, proposal.claims.clone()).is_none();
        self.check(is_new, Invariant::I11, || format!("{call} runs twice at once"));
        if self.out.running.len() > 1 {
            self.count("ran beside another");
        }
    }

    /// Just what was prepared, allowed by its verdict or by a yes to just this.
    fn may_run(&self, proposal: &Proposal) -> bool {
        let said_yes = |call: CallId| {
            self.log.iter().any(|entry| match &entry.body {
                Body::Decision(decision) => {
                    decision.call == call
                        && decision.shown == proposal.shown
                        && matches!(decision.answer, Answer::Yes { .. })
                }
                _ => false,
            })
        };
        match self.prepared.get(&proposal.call) {
            Some(Verdict::Allow(approved)) => approved.proposal() == proposal,
            Some(Verdict::Ask(asked)) => asked.proposal() == proposal && said_yes(proposal.call),
            Some(Verdict::Deny { .. } | Verdict::Invalid(_)) | None => false,
        }
    }

    /// Earlier calls of the reply that are open and in the way of this one.
    fn earlier_in_way(&self, proposal: &Proposal) -> Vec<CallId> {
        let turn = self.session.turn().unwrap().told();
        let reply = proposal.call.reply;
        let settled = |call: CallId| {
            let mut entries = self.log.iter().skip(reply.0 as usize);
            entries.any(|entry| matches!(&entry.body, Body::ToolResult(result) if result.call == call))
        };
        let earlier = (0..proposal.call.place).map(|place| CallId { reply, place });
        earlier
            .filter(|call| !settled(*call))
            .filter(|call| match self.prepared.get(call).and_then(proposal_of) {
                Some(other) => turn.mode.serial || are_in_each_others_way(&other.claims, &proposal.claims),
                None => true,
            })
            .collect()
    }

    fn stop_tool(&mut self, call: CallId) {
        if self.out.preparing.remove(&call) || self.out.probing.remove(&call) {
            self.count("preparing stopped");
            return;
        }
        let claims = self.out.running.remove(&call);
        self.check(claims.is_some(), Invariant::I11, || format!("stops {call}, which does not run"));
        if let Some(claims) = claims {
            self.out.stopping.insert(call, claims);
            self.grace.get_or_insert(self.now.after(GRACE));
        }
    }

    fn finish(&mut self, end: &TurnEnd) {
        let is_saved = end.reason == StopReason::NotSaved;
        self.check(is_saved == self.broken, Invariant::I7, || format!("{:?}: the disk says no", end.reason));
        if is_saved {
            self.count("end NotSaved");
        } else {
            let written = self.log.iter().rposition(|entry| matches!(&entry.body, Body::TurnEnd(_)));
            let is_written = written.is_some_and(|place| {
                place < self.safe && matches!(&self.log[place].body, Body::TurnEnd(written) if written == end)
            });
            self.check(is_written, Invariant::I7, || format!("finished, and that is not on disk: {end:?}"));
        }
        let out = std::mem::take(&mut self.out);
        let is_idle = out.model.is_none()
            && out.running.is_empty()
            && out.asked.is_empty()
            && out.preparing.is_empty()
            && out.probing.is_empty()
            && out.reserving.is_none();
        // Of what an interrupt may overtake, the answer is still on its way.
        let may_be_late = self.stopped || self.broken || end.reason == StopReason::TimedOut;
        let is_idle = is_idle && (may_be_late || (out.measuring.is_none() && !out.building));
        self.check(is_idle, Invariant::I4, || format!("something is left running: {out:?}"));
        let is_past_grace = out.stopping.is_empty() || self.grace_is_over;
        self.check(is_past_grace, Invariant::I4, || "did not wait for what it stopped".to_owned());
        if !out.stopping.is_empty() {
            self.count("grace was over");
        }
        let held = self.ledger.held().to_vec();
        self.check(held.is_empty(), Invariant::I11, || format!("not settled: {held:?}"));
        self.running = false;
    }
}
