//! How a world carries out effects, and what it checks while it does.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use petasos_core::bounded::Cap;
use petasos_core::budget::{Ledger, Reservation, Used};
use petasos_core::claims::{Access, Claims, Place, Rerun};
use petasos_core::entry::{Body, Cause, Entry, Keep, Request, RequestOutcome, ToolResult, TurnEnd};
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::request::{Break, Purpose};
use petasos_core::session::Session;
use petasos_core::stop::StopReason;
use petasos_core::transcript::{ClosedStep, Item};
use petasos_core::turn::{CONTINUATIONS, Effect, GRACE, NUDGES, TRIES, made_calls};
use petasos_core::usage::Account;

use crate::findings::{Findings, Invariant};
use crate::world::{Spoken, World};

impl World {
    pub(crate) fn carry(&mut self, effect: Effect, session: &Session, findings: &mut Findings) {
        let follows = matches!(&effect, Effect::Append { entries, .. }
            if matches!(entries[0].body, Body::TurnStart(_) | Body::LimitAdded(_)));
        if follows {
            self.finished = false;
            self.stopped = false;
            self.gone = false;
        }
        findings.check(!self.finished, Invariant::I4, || format!("after Finish: {effect:?}"));
        match effect {
            Effect::Append { entries, keep } => {
                findings.check(!self.broken, Invariant::I7, || "written after a failed append".to_owned());
                for entry in &entries {
                    self.written(entry, session, findings);
                }
                if keep == Keep::Synced {
                    self.unanswered.push_back(entries.last().unwrap().seq);
                }
                if let Some(log) = &mut self.log {
                    entries.iter().for_each(|entry| log.push(entry));
                }
            }
            Effect::Measure(draft) => {
                findings.check(self.measuring.is_none(), Invariant::I11, || "measures twice".to_owned());
                self.measuring = Some(draft);
            }
            Effect::Reserve(worst) => {
                findings.check(self.reserving.is_none(), Invariant::I11, || "reserves twice".to_owned());
                self.reserving = Some(worst);
            }
            Effect::Settle { reservation, used } => self.settle(&reservation, &used, findings),
            Effect::CallModel { request } => self.call_model(request, session, findings),
            Effect::CancelModel(request) => {
                let is_out = self.model.is_some_and(|(out, ..)| out == request);
                findings.check(is_out, Invariant::I11, || format!("cancels {request:?}, which is not out"));
                self.model = None;
            }
            Effect::Prepare(call) => {
                let is_new = self.preparing.insert(call);
                findings.check(is_new, Invariant::I11, || format!("prepares {call} twice"));
            }
            Effect::Ask { call, shown } => {
                let is_new = self.asked.insert(call, shown).is_none();
                findings.check(is_new, Invariant::I11, || format!("asks about {call} twice"));
            }
            Effect::Unask(call) => {
                let was_asked = self.asked.remove(&call).is_some();
                findings.check(was_asked, Invariant::I11, || {
                    format!("takes back {call}, which nobody was asked")
                });
            }
            Effect::Probe(call) => {
                let is_new = self.probing.insert(call);
                findings.check(is_new, Invariant::I11, || format!("probes {call} twice"));
            }
            Effect::RunTool(approved) => self.run(approved.proposal(), findings),
            Effect::StopTool(call) => {
                let claims = self.running.remove(&call);
                let was_there =
                    claims.is_some() || self.preparing.remove(&call) || self.probing.remove(&call);
                findings.check(was_there, Invariant::I11, || format!("stops {call}, which does not run"));
                if let Some(claims) = claims {
                    self.stopping.insert(call, claims);
                    self.told_to_stop = self.now;
                }
            }
            Effect::BuildHead => {
                findings.check(!self.building, Invariant::I11, || "builds the head twice".to_owned());
                self.building = true;
            }
            Effect::WakeAt(at) => self.timer = Some(self.timer.map_or(at, |timer| timer.min(at))),
            Effect::Tell(_) => {}
            Effect::Finish(end) => self.finish(&end, findings),
        }
    }

    fn settle(&mut self, reservation: &Reservation, used: &Used, findings: &mut Findings) {
        let was_held = self.ledger.settle(reservation, used);
        findings.check(was_held, Invariant::I11, || format!("settles what is not held: {reservation:?}"));
    }

    fn call_model(&mut self, request: RequestId, session: &Session, findings: &mut Findings) {
        findings.check(self.model.is_none(), Invariant::I11, || "calls the model twice".to_owned());
        let told = session.turn().unwrap().told();
        let purpose = self.book.request.filter(|(id, _)| *id == request).map(|(_, purpose)| purpose);
        let is_safe = purpose.is_some() && self.unsynced().all(|entry| entry.seq != request.0);
        findings.check(is_safe, Invariant::I5, || format!("{request:?} is sent and not on disk"));
        findings.check(self.ledger.is_within_limits(), Invariant::I5, || "overdraws its limits".to_owned());
        let purpose = purpose.unwrap_or(Purpose::Step);
        let (steps, limit) = (self.book.steps, told.limits.steps.unwrap_or(u32::MAX));
        let is_within = purpose != Purpose::Step || steps < limit;
        findings.check(is_within, Invariant::I5, || format!("step {} of {limit}", steps + 1));
        let targets = u32::try_from(1 + told.fallbacks()).unwrap();
        let (failures, closings) = (self.book.failures, self.book.closings);
        findings
            .check(failures < TRIES * targets, Invariant::I12, || format!("{failures} failures, and again"));
        findings.check(closings <= 1, Invariant::I12, || format!("{closings} closing calls"));
        if let Some(row) = self.book.row.as_ref().filter(|_| purpose == Purpose::Step) {
            let gets_somewhere = !row.is_stuck() && !row.has_failed() && !row.should_tell();
            findings.check(gets_somewhere, Invariant::I12, || {
                format!("asks the model, and gets nowhere: {row:?}")
            });
        }
        let is_idle = self.running.is_empty() && self.stopping.is_empty() && self.asked.is_empty();
        findings.check(is_idle, Invariant::I1, || "asks the model while calls are open".to_owned());
        self.model = Some((request, purpose, Spoken::Nothing));
    }

    fn run(&mut self, proposal: &petasos_core::approval::Proposal, findings: &mut Findings) {
        let call = proposal.call;
        let is_allowed = self.allowed.contains(&(call, proposal.shown));
        findings.check(is_allowed, Invariant::I2, || format!("{call} runs, and nobody allowed it"));
        let is_in_vain = self.book.row.as_ref().is_some_and(|row| row.is_in_vain(call.place));
        findings.check(!is_in_vain, Invariant::I12, || format!("{call} runs, and that leads nowhere"));
        let mut others = self.running.values().chain(self.stopping.values());
        let in_way = others.any(|claims| clash(claims, &proposal.claims));
        findings.check(!in_way, Invariant::I10, || format!("{call} runs beside what is in its way"));
        if proposal.claims.rerun != Rerun::Free {
            let is_safe = self.book.starts.contains(&call)
                && !self
                    .unsynced()
                    .any(|entry| matches!(&entry.body, Body::ToolStart(start) if start.call == call));
            findings.check(is_safe, Invariant::I3, || format!("{call} runs, and that is not on disk"));
        }
        if proposal.claims.rerun != Rerun::Free {
            self.never_again.insert(call);
        }
        if matches!(proposal.claims.rerun, Rerun::Keyed(_)) {
            self.keyed.insert(call);
        }
        let times = self.began.entry(call).or_default();
        *times += 1;
        let again = *times > 1 && proposal.claims.rerun == Rerun::Never;
        findings
            .check(!again, Invariant::I3, || format!("{call} runs again, and its first run left no result"));
        let is_new = self.running.insert(call, proposal.claims.clone()).is_none();
        findings.check(is_new, Invariant::I11, || format!("{call} runs twice at once"));
    }

    fn finish(&mut self, end: &TurnEnd, findings: &mut Findings) {
        let is_saved = end.reason == StopReason::NotSaved;
        findings.check(is_saved == self.broken, Invariant::I7, || {
            format!("{:?} with a disk that says otherwise", end.reason)
        });
        let is_written = is_saved
            || (self.book.ended == Some(end.reason)
                && !self.unsynced().any(|entry| matches!(entry.body, Body::TurnEnd(_))));
        findings.check(is_written, Invariant::I7, || "finished, and its end is not on disk".to_owned());
        let is_idle = self.model.is_none() && self.running.is_empty() && self.asked.is_empty();
        findings.check(is_idle, Invariant::I4, || "something is left running".to_owned());
        let is_past_grace = self.stopping.is_empty() || self.now >= self.told_to_stop.after(GRACE);
        findings.check(is_past_grace, Invariant::I4, || "did not wait for what it stopped".to_owned());
        findings.check(self.ledger.held().is_empty(), Invariant::I11, || {
            "a reservation was not settled".to_owned()
        });
        if !is_saved {
            let open: BTreeSet<CallId> = self.book.open_calls().into_iter().collect();
            // A call that waits behind a parked one may go on under its key in a later run.
            let is_parked = matches!(end.reason, StopReason::AwaitingApproval | StopReason::AwaitingAnswer);
            let may_wait = |call: &CallId| is_parked && self.keyed.contains(call);
            let lost = open.iter().find(|call| self.began.contains_key(call) && !may_wait(call));
            findings.check(lost.is_none(), Invariant::I3, || format!("{lost:?} began and left no result"));
        }
        self.finished = true;
        self.measuring = None;
        self.reserving = None;
        self.building = false;
        self.preparing.clear();
        self.probing.clear();
        self.stopping.clear();
    }

    /// An entry is handed over: it must fit what the log says so far.
    fn written(&mut self, entry: &Entry, session: &Session, findings: &mut Findings) {
        match &entry.body {
            Body::Request(request) => {
                let open = self.book.open_calls();
                findings.check(open.is_empty(), Invariant::I1, || {
                    format!("a request, and no result for {open:?}")
                });
                self.keep_prefix((entry.seq, request), session, findings);
                if self.log.is_none() {
                    self.forget_before(entry.seq);
                }
            }
            Body::TurnStart(start) if !matches!(start.cause, Cause::Continues { .. }) => {
                self.ledger = Ledger::new(start.limits.clone(), Account::default());
            }
            Body::ToolResult(result) => self.check_result(result, findings),
            Body::RequestEnd(end) => {
                if let RequestOutcome::Failed { message, .. } = &end.outcome {
                    let length = message.text().chars().count();
                    findings.check(length <= Cap::FAILURE.0, Invariant::I9, || {
                        format!("{length} characters of failure")
                    });
                }
            }
            _ => {}
        }
        self.book.apply(entry);
        let book = &self.book;
        let is_bounded = book.nudges <= NUDGES && book.continuations <= CONTINUATIONS + 1;
        findings.check(is_bounded, Invariant::I12, || {
            format!("{} nudges, {} continuations", book.nudges, book.continuations)
        });
    }

    fn check_result(&mut self, result: &ToolResult, findings: &mut Findings) {
        let call = result.call;
        let is_open = self.book.open_calls().contains(&call);
        findings.check(is_open, Invariant::I1, || format!("a result for {call}, which is not open"));
        let length = result.text.text().chars().count();
        findings.check(length <= Cap::RESULT.0, Invariant::I9, || format!("{length} characters of result"));
        let (began, may_have_begun) = (self.began.contains_key(&call), self.book.starts.contains(&call));
        let outcome = result.outcome;
        let fits = if outcome.began() { began || may_have_begun || self.answered(call) } else { !began };
        findings.check(fits, Invariant::I3, || format!("{call} is {outcome:?}, began: {began}"));
        if let Some(said) = self.said.get(&call) {
            findings.check(*said == outcome, Invariant::I3, || {
                format!("{call} said {said:?}, the log {outcome:?}")
            });
        }
    }

    /// A request is safe on disk: the calls before it are closed for good.
    pub(crate) fn forget_before(&mut self, request: Seq) {
        self.allowed.retain(|(call, _)| call.reply > request);
        self.began.retain(|call, _| call.reply > request);
        self.never_again.retain(|call| call.reply > request);
        self.keyed.retain(|call| call.reply > request);
        self.said.retain(|call, _| call.reply > request);
    }

    /// A question's result is its answer; it never ran.
    fn answered(&self, call: CallId) -> bool {
        self.allowed.iter().any(|(allowed, _)| *allowed == call)
    }

    /// The messages of a request start with those of the one before, or a break says why not.
    fn keep_prefix(&mut self, (seq, request): (Seq, &Request), session: &Session, findings: &mut Findings) {
        let messages: Vec<u64> = session.transcript().items().iter().map(|(_, item)| hash_of(item)).collect();
        if let Some((_, (head, target, before))) = self.requests.last_key_value() {
            let named = |name| request.breaks.contains(&name);
            let fits = (*head == request.head || named(Break::Head))
                && (*target == request.target || named(Break::Target))
                && (messages.starts_with(before) || named(Break::Leaf));
            findings
                .check(fits, Invariant::I8, || format!("another prefix, and breaks {:?}", request.breaks));
        }
        self.requests.insert(seq, (request.head, request.target.clone(), messages));
    }

    /// Looks at where the session stands between two inputs.
    pub(crate) fn look(&self, session: &Session, findings: &mut Findings) {
        if let Some(Item::Step(step)) = session.transcript().last() {
            check_step(step, findings);
        }
        if let Some(log) = self.log.as_ref().filter(|_| !self.broken) {
            let is_alike = log.told().is_told_as(session);
            let story = || format!("the log tells\n{:#?}\nmemory has\n{session:#?}", log.told());
            findings.check(is_alike, Invariant::I7, story);
        }
    }

    fn unsynced(&self) -> impl Iterator<Item = &Entry> {
        self.log.iter().flat_map(|log| log.unsynced())
    }
}

/// One result for each call, in the order of the calls.
fn check_step(step: &ClosedStep, findings: &mut Findings) {
    let calls = made_calls(&step.reply).count();
    let places: Vec<usize> = step.results.iter().map(|result| usize::from(result.call.place)).collect();
    let fits = places.iter().copied().eq(0..calls);
    findings.check(fits, Invariant::I1, || format!("{calls} calls, results for {places:?}"));
}

/// Whether two calls may not overlap: said here once more, and simply, so that a fault in core's own
/// answer is seen.
fn clash(one: &Claims, other: &Claims) -> bool {
    let shares = |mine: &Place| {
        other.places.iter().any(|theirs| {
            let is_written = mine.access == Access::Write || theirs.access == Access::Write;
            is_written && mine.kind == theirs.kind && mine.name == theirs.name
        })
    };
    one.alone || other.alone || one.places.iter().any(shares)
}

fn hash_of(item: &Item) -> u64 {
    let mut hasher = DefaultHasher::new();
    item.hash(&mut hasher);
    hasher.finish()
}
