//! Which input led to an entry while calls are seen to.
//!
//! A free call that is allowed as the model made it needs no entry, so the log tells neither when it was prepared
//! nor what it touches. It is prepared here when that matters, and touches what others are seen to have waited for.

use petasos_core::approval::{Answer, Wants};
use petasos_core::claims::{Claims, Rerun};
use petasos_core::entry::{Call, Entry, ToolResult, VerdictKind};
use petasos_core::id::{CallId, Digest, Seq};
use petasos_core::stop::StopReason;
use petasos_core::time::Time;
use petasos_core::tool::Outcome;
use petasos_core::turn::{Input, Slot, Slots, Turn};

use super::answers::{free_proposal, in_the_way_of, invalid, judged, output_of, proposal_of};
use super::drive::{Given, Point};
use super::entries::{self, Log};
use super::explain::given;

/// The calls of the open reply, and what the log has of them.
struct Calls<'a> {
    point: &'a Point,
    log: &'a Log<'a>,
    turn: &'a Turn,
    slots: &'a Slots,
    at: Time,
}

impl Point {
    pub(super) fn tools(&self, log: &Log<'_>, turn: &Turn, slots: &Slots, entry: &Entry) -> Vec<Given> {
        let calls = Calls { point: self, log, turn, slots, at: entry.at };
        if let Some(call) = entries::call(entry) {
            return calls.or_what_is_before(calls.told(call), entry);
        }
        if let Some(decision) = entries::decision(entry) {
            if calls.slot(decision.call) == Some(&Slot::Preparing) {
                return calls.again(decision.call);
            }
            return calls.or_what_is_before(self.common(log, entry), entry);
        }
        if let Some(start) = entries::tool_start(entry) {
            if calls.slot(start.call) == Some(&Slot::Preparing) {
                return calls.again(start.call);
            }
            return calls.prepare_one(|call| call.place < start.call.place);
        }
        if let Some(result) = entries::tool_result(entry) {
            return calls.result(result, entry);
        }
        match entries::turn_end(entry).map(|end| end.reason) {
            Some(StopReason::AwaitingApproval | StopReason::AwaitingAnswer) => {
                let mut rests = calls.prepare_one(|_| true);
                rests.extend(given(entry.at, Input::Park));
                rests
            }
            Some(_) => {
                let mut stops = self.stops(log, entry.at);
                stops.extend(calls.prepare_one(|_| true));
                stops
            }
            None => self.common(log, entry),
        }
    }
}

impl<'a> Calls<'a> {
    fn slot(&self, call: CallId) -> Option<&'a Slot> {
        self.slots.as_slice().get(usize::from(call.place))
    }

    /// This, or else what must have been before it: an append was answered, a free call prepared.
    fn or_what_is_before(&self, mut first: Vec<Given>, entry: &Entry) -> Vec<Given> {
        first.extend(self.point.answered(self.log, entry));
        first.extend(self.prepare_one(|_| true));
        first
    }

    fn result(&self, result: &ToolResult, entry: &Entry) -> Vec<Given> {
        let call = result.call;
        let began = result.outcome.began();
        let mut inputs = match self.slot(call) {
            Some(Slot::Running(_)) => {
                let ended = given(self.at, Input::ToolEnded { call, output: output_of(result) });
                // Only in the last step of a run somebody may have stopped it.
                if self.log.step(self.point.at).all(|entry| entries::turn_end(entry).is_none()) {
                    return ended;
                }
                ended
            }
            Some(Slot::Starting(..)) if began => return self.point.answered(self.log, entry),
            Some(Slot::Probing) => given(self.at, Input::Probed { call, outcome: result.outcome }),
            Some(Slot::Preparing) if result.outcome == Outcome::Invalid => self.not_understood(result),
            Some(Slot::Preparing) if began => {
                let mut inputs = self.again(call);
                // It began in a run before, and is no call any more that could run.
                inputs.extend(self.not_understood(result));
                inputs
            }
            Some(Slot::Ready(_)) if began => self.prepare_one(|_| true),
            Some(
                Slot::Preparing
                | Slot::Starting(..)
                | Slot::Asking(..)
                | Slot::Ready(_)
                | Slot::Stopping
                | Slot::Settled,
            )
            | None => Vec::new(),
        };
        inputs.extend(self.point.stops(self.log, self.at));
        // One that never began was not on the disk yet.
        let is_answerable = |front: &Seq| match self.slot(call) {
            Some(Slot::Starting(_, start)) => front < start,
            Some(_) | None => true,
        };
        if self.point.unanswered.front().is_some_and(is_answerable) {
            inputs.extend(self.point.answered(self.log, entry));
        }
        inputs.extend(self.again(call));
        inputs.extend(self.prepare_one(|_| true));
        inputs
    }

    fn not_understood(&self, result: &ToolResult) -> Vec<Given> {
        let prepared = invalid(result.text.clone());
        given(self.at, Input::Prepared { call: result.call, prepared })
    }

    /// The first call that can be prepared now without an entry.
    fn prepare_one(&self, fits: impl Fn(&CallId) -> bool) -> Vec<Given> {
        let reply = self.slots.reply();
        let all = (0..).zip(self.slots.as_slice());
        let preparing = all.filter(|(_, slot)| **slot == Slot::Preparing);
        let ids = preparing.map(|(place, _)| CallId { reply, place }).filter(fits);
        ids.map(|call| self.again(call)).find(|inputs| !inputs.is_empty()).unwrap_or_default()
    }

    /// The verdict that a `call` entry tells.
    fn told(&self, call: &Call) -> Vec<Given> {
        let Some(open) = &self.turn.told().step.reply else { return Vec::new() };
        let made = open.made(usize::from(call.call.place));
        let Some(proposal) = made.and_then(|made| proposal_of(call, made, self.wants(call))) else {
            return Vec::new();
        };
        let prepared = judged(proposal, call.verdict, &call.rule, call.policy);
        given(self.at, Input::Prepared { call: call.call, prepared })
    }

    /// Whether a call asks for leave or for an answer: told by the answer that it got, or by the rule.
    fn wants(&self, call: &Call) -> Wants {
        if call.verdict != VerdictKind::Ask {
            return Wants::Approval;
        }
        let told = self.turn.told().step.call(call.call).and_then(|told| told.decision.as_deref());
        let rest = self.log.entries.get(self.point.at..).unwrap_or_default();
        let will_be =
            || rest.iter().filter_map(entries::decision).find(|decision| decision.call == call.call);
        match told.or_else(will_be).map(|decision| &decision.answer) {
            Some(Answer::Text(_)) => return Wants::Answer,
            Some(Answer::Yes { .. }) => return Wants::Approval,
            Some(Answer::No { .. } | Answer::NoAndStop) | None => {}
        }
        let is_parked = self.log.end(self.point.at) == Some(StopReason::AwaitingAnswer);
        if is_parked || &*call.rule == "question" { Wants::Answer } else { Wants::Approval }
    }

    /// The verdict on a call whose entry is not written anew: as it was before, or that of a free call.
    fn again(&self, call: CallId) -> Vec<Given> {
        let told = self.turn.told().step.call(call).and_then(|told| told.call.as_deref());
        if let Some(told) = told {
            return self.told(told);
        }
        let is_to_come = self.step().filter_map(entries::call).any(|other| other.call == call);
        // One that never ran stays unprepared, unless a later one begins: then something before it held it back.
        let one_begins = self.step().next().is_some_and(|entry| entries::tool_start(entry).is_some());
        if is_to_come || (self.never_ran(call) && !one_begins) {
            return Vec::new();
        }
        let open = self.turn.told().step.reply.as_ref();
        let made = open.and_then(|open| open.made(usize::from(call.place)));
        let Some(proposal) = made.and_then(|made| free_proposal(call, made, self.free_claims(call))) else {
            return Vec::new();
        };
        let prepared = judged(proposal, VerdictKind::Allow, &"default".into(), Digest([0; 32]));
        given(self.at, Input::Prepared { call, prepared })
    }

    /// What the log has still of this step.
    fn step(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        self.log.step(self.point.at)
    }

    fn never_ran(&self, call: CallId) -> bool {
        let mut results = self.step().filter_map(entries::tool_result);
        results.any(|result| result.call == call && !result.outcome.began())
    }

    /// What a free call must have touched: what those wrote that began when it had ended; and if it has no result in
    /// this run, what those write that wait for a person.
    fn free_claims(&self, call: CallId) -> Claims {
        let result = self
            .step()
            .position(|entry| entries::tool_result(entry).is_some_and(|result| result.call == call));
        // What begins before it ends, it does not hold back.
        let before = self.step().take(result.unwrap_or(usize::MAX));
        let begun: Vec<CallId> = before.filter_map(entries::tool_start).map(|start| start.call).collect();
        let held = self.held_back(call, &begun);
        if self.never_ran(call) {
            let before = self.slots.as_slice().iter().take(usize::from(call.place)).filter_map(claims_of);
            return in_the_way_of(before.chain(held).collect::<Vec<_>>());
        }
        let Some(result) = result else {
            let end = self.log.end(self.point.at);
            let rests = end == Some(StopReason::AwaitingApproval) || end == Some(StopReason::AwaitingAnswer);
            let asking =
                self.slots.as_slice().iter().filter(|slot| rests && matches!(slot, Slot::Asking(..)));
            return in_the_way_of(asking.filter_map(claims_of).chain(held).collect::<Vec<_>>());
        };
        let then = self.step().skip(result + 1).map_while(entries::tool_start).map(|start| start.call);
        let claims = then.filter(|began| began.place > call.place).filter_map(|began| {
            let told = self.turn.told().step.call(began).and_then(|told| told.call.as_deref());
            let coming = || self.step().filter_map(entries::call).find(|call| call.call == began);
            told.or_else(coming).map(|call| &call.claims)
        });
        in_the_way_of(claims.chain(held).collect::<Vec<_>>())
    }

    /// What later calls touch that may run, that nothing else holds back, and that have not begun.
    fn held_back(&self, call: CallId, begun: &[CallId]) -> Vec<&'a Claims> {
        let all = self.slots.as_slice();
        let mut held = Vec::new();
        for (place, slot) in (0..).zip(all).skip(usize::from(call.place) + 1) {
            let Slot::Ready(approved) = slot else { continue };
            let mine = &approved.proposal().claims;
            let later = CallId { reply: call.reply, place };
            // One that had begun in a run before begins again without an entry, as a free one does.
            let was_begun = self.turn.told().step.call(later).is_some_and(|told| told.start.is_some());
            if mine.rerun == Rerun::Free || was_begun || begun.contains(&later) {
                continue;
            }
            let mut before =
                (0..).zip(all).take(usize::from(place)).filter(|(other, _)| *other != call.place);
            if !before.any(|(_, slot)| holds(slot, mine)) {
                held.push(mine);
            }
        }
        held
    }
}

fn holds(slot: &Slot, claims: &Claims) -> bool {
    match claims_of(slot) {
        Some(other) => other.are_in_the_way_of(claims),
        // One that is not prepared may hold others back as well as not.
        None => matches!(slot, Slot::Probing | Slot::Stopping),
    }
}

/// What an open call touches, if that is known.
fn claims_of(slot: &Slot) -> Option<&Claims> {
    match slot {
        Slot::Ready(approved) | Slot::Starting(approved, _) => Some(&approved.proposal().claims),
        Slot::Asking(asked, _) => Some(&asked.proposal().claims),
        Slot::Running(claims) => Some(claims),
        Slot::Preparing | Slot::Probing | Slot::Stopping | Slot::Settled => None,
    }
}
