//! How a script answers effects.

use petasos_core::approval::{Answer, Grants, Prepared, Proposal, Scope, Verdict, Wants, judge};
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::budget::Ledger;
use petasos_core::entry::{Body, Entry, Keep};
use petasos_core::id::{CallId, RequestId};
use petasos_core::request::{Draft, Measured};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Effect, Input, StoreFailure};

use crate::script::{Disk, Person, Script, Sent};
use crate::words::{head, measured, output, policy};

impl Script {
    pub(super) fn carry(&mut self, effect: &Effect) {
        match effect {
            Effect::Append { entries, keep } => self.append(entries, *keep),
            Effect::Measure(draft) => self.measure(draft),
            Effect::Reserve(worst) => {
                let answer = match self.ledger.reserve(*worst) {
                    Ok(reservation) => Input::Reserved(reservation),
                    Err(limit) => Input::Refused(limit),
                };
                self.due.push_back(answer);
            }
            Effect::Settle { reservation, used } => {
                assert!(self.ledger.settle(reservation, used), "{reservation:?} is not held");
            }
            Effect::CallModel { request } => self.call_model(*request),
            Effect::CancelModel(request) => self.due.retain(|input| request_of(input) != Some(*request)),
            Effect::Prepare(call) => {
                self.due.push_back(Input::Prepared { call: *call, prepared: self.prepared(*call) });
            }
            Effect::Ask { call, shown } => {
                let answer = self.answers.pop_front().or_else(|| self.obliging_answer(*call));
                let decide = |answer| Input::Decide { call: *call, answer, shown: *shown };
                self.due.extend(answer.map(decide));
            }
            Effect::Unask(call) => self
                .due
                .retain(|input| !matches!(input, Input::Decide { call: decided, .. } if decided == call)),
            Effect::Probe(call) => {
                self.due.push_back(Input::Probed { call: *call, outcome: self.probed });
            }
            Effect::RunTool(approved) => {
                let proposal = approved.proposal();
                self.running.push((proposal.call, proposal.tool.clone()));
            }
            Effect::StopTool(call) => self.stop_tool(*call),
            Effect::BuildHead => self.due.push_back(Input::HeadBuilt(head())),
            Effect::WakeAt(at) => self.timer = Some(self.timer.map_or(*at, |timer| timer.min(*at))),
            Effect::Tell(_) => {}
            Effect::Finish(end) => {
                self.status = Some(end.reason);
                self.due.retain(|input| matches!(input, Input::Appended { .. }));
                self.running.clear();
            }
        }
    }

    fn append(&mut self, entries: &[Entry], keep: Keep) {
        match self.disk {
            Disk::Works => {}
            Disk::FailsAfter(0) => {
                self.disk = Disk::Failed;
                self.due.push_back(Input::AppendFailed(disk_is_full()));
                return;
            }
            Disk::FailsAfter(more) => self.disk = Disk::FailsAfter(more - 1),
            Disk::Failed => return,
        }
        self.log.extend_from_slice(entries);
        if let (Keep::Synced, Some(last)) = (keep, entries.last()) {
            self.due.push_back(Input::Appended { upto: last.seq });
        }
        let told = self.session.turn().map(|turn| turn.told());
        for entry in entries {
            match (&entry.body, told) {
                (Body::TurnStart(_), Some(told)) => {
                    self.ledger = Ledger::new(told.limits.clone(), told.spent());
                }
                (Body::LimitAdded(_), Some(told)) => self.ledger.set_limits(told.limits.clone()),
                _ => {}
            }
        }
    }

    fn measure(&mut self, draft: &Draft) {
        self.sent.push(Sent::of(&self.session, draft));
        let measured = Measured { tokens: self.tokens, ..measured(draft) };
        self.due.push_back(Input::Measured(measured));
    }

    fn call_model(&mut self, request: RequestId) {
        assert!(self.safe().iter().any(|entry| entry.seq == request.0), "{request:?} is not on disk");
        let saying = self.replies.pop_front().unwrap_or_else(|| panic!("no reply left for {request:?}"));
        self.due.extend(saying.deltas.into_iter().map(|delta| Input::Delta { request, delta }));
        self.due.push_back(match saying.end {
            Ok(end) => Input::ReplyEnded { request, end },
            Err((failure, jitter)) => Input::RequestFailed { request, failure, jitter },
        });
    }

    fn obliging_answer(&self, call: CallId) -> Option<Answer> {
        let answer = match self.proposal(call).wants {
            Wants::Approval => Answer::Yes { scope: Scope::Once },
            Wants::Answer => Answer::Text("yes".into()),
        };
        (self.person == Person::Obliging).then_some(answer)
    }

    fn stop_tool(&mut self, call: CallId) {
        self.due.retain(|input| match input {
            Input::Prepared { call: about, .. } | Input::Probed { call: about, .. } => *about != call,
            _ => true,
        });
        let hears = |(running, tool): &(CallId, _)| *running == call && !self.deaf.contains(tool);
        if self.running.iter().any(hears) {
            self.running.retain(|(running, _)| *running != call);
            let output = output(Outcome::CutShort, "stopped");
            self.due.push_back(Input::ToolEnded { call, output });
        }
    }
}

pub(super) fn disk_is_full() -> StoreFailure {
    StoreFailure { message: "the disk is full".into() }
}

/// Judges by the name of the tool; an `invalid` one is no call at all.
pub(super) fn prepared(grants: &Grants, proposal: Proposal, tool: &str) -> Prepared {
    let prepared = judge(&policy(), grants, proposal);
    if tool != "invalid" {
        return prepared;
    }
    let text = Bounded::new(r#"{"error":"there is no such tool"}"#, Cap::RESULT, "");
    Prepared { verdict: Verdict::Invalid(text), ..prepared }
}

fn request_of(input: &Input) -> Option<RequestId> {
    match input {
        Input::Delta { request, .. }
        | Input::ReplyEnded { request, .. }
        | Input::RequestFailed { request, .. } => Some(*request),
        _ => None,
    }
}
