//! What does not fit, or comes too late: it must change nothing (I6).

use petasos_core::approval::{Answer, Scope};
use petasos_core::budget::{Limits, Reservation, Worst};
use petasos_core::entry::{FinishReason, When};
use petasos_core::error::Handled;
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::request::Purpose;
use petasos_core::session::Session;
use petasos_core::stop::{FailureKind, Limit};
use petasos_core::time::{Permille, Span, Time};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Delta, Input};

use crate::findings::Invariant;
use crate::random::World;
use crate::words::{digest, ends, failure, head, output, say};

impl World {
    /// Says some of what does not fit here, and looks whether anything changed.
    pub(super) fn say_wrong_things(&mut self) {
        self.count("said wrong things");
        let wrong = self.wrong_inputs();
        let mut session = self.session.clone();
        let is_taken = wrong.iter().any(|input| !is_refused(&mut session, self.now, input));
        if is_taken || session != self.session {
            // Which one it was: each alone, the slow way.
            for input in &wrong {
                let mut session = self.session.clone();
                let holds = is_refused(&mut session, self.now, input) && session == self.session;
                self.check(holds, Invariant::I6, || format!("{input:?} changed something"));
            }
            self.check(false, Invariant::I6, || "wrong inputs together changed something".to_owned());
        }
    }

    fn wrong_inputs(&mut self) -> Vec<Input> {
        // A call, and a request, of this log or of none.
        let reply = Seq(self.dice.below(self.log.len() as u64 + 2));
        let call = CallId { reply, place: self.dice.below(4) as u16 };
        let request = RequestId(Seq(self.dice.below(self.log.len() as u64 + 2)));
        let out = &self.out;
        let mut wrong = vec![
            Input::Say(say(" ", When::NextStep)),
            Input::GoTo(request.0.next()),
            Input::Decide { call, answer: Answer::Yes { scope: Scope::Once }, shown: digest(9) },
            Input::Decide { call, answer: Answer::NoAndStop, shown: digest(9) },
        ];
        if self.session.transcript().is_place(request.0.next()) && !self.session.is_running() {
            wrong.remove(1);
        }
        let is_out = out.running.contains_key(&call) || out.stopping.contains_key(&call);
        if !is_out {
            wrong.push(Input::ToolEnded { call, output: output(Outcome::Ok, "x") });
        }
        if !out.probing.contains(&call) {
            wrong.push(Input::Probed { call, outcome: Outcome::Ok });
        }
        if let Some(prepared) = self.any_verdict().filter(|_| !out.preparing.contains(&call)) {
            wrong.push(Input::Prepared { call, prepared });
        }
        if out.model.as_ref().is_none_or(|talk| talk.request != request) {
            wrong.push(Input::Delta { request, delta: Delta::Text("x".into()) });
            wrong.push(Input::ReplyEnded { request, end: ends(FinishReason::Stop) });
            let failure = failure(FailureKind::Network);
            wrong.push(Input::RequestFailed { request, failure, jitter: Permille(0) });
        } else {
            wrong.push(Input::Delta { request, delta: Delta::CallComplete { place: 77 } });
        }
        if out.reserving.is_none() {
            let worst = Worst { purpose: Purpose::Step, tokens: 1, micro_usd: None };
            wrong.push(Input::Reserved(Reservation { worst }));
            wrong.push(Input::Refused(Limit::Tokens));
        }
        if self.timer.is_none() {
            wrong.push(Input::Woke);
        }
        if !out.building {
            wrong.push(Input::HeadBuilt(head()));
        }
        if out.asked.is_empty() && out.preparing.is_empty() {
            wrong.push(Input::Park);
        }
        if self.unanswered.front() != Some(&reply) {
            wrong.push(Input::Appended { upto: reply });
        }
        if self.session.is_running() {
            wrong.push(Input::Continue { add: Limits::default() });
        } else {
            wrong.push(Input::Interrupt);
            if !self.session.can_continue() {
                wrong.push(Input::Continue { add: Limits::default() });
            }
        }
        if let Some((&call, &(shown, _))) = out.asked.first_key_value() {
            wrong.push(Input::Decide { call, answer: Answer::NoAndStop, shown: digest(9) });
            if self.out.asked[&call].1 == petasos_core::approval::Wants::Approval {
                wrong.push(Input::Decide { call, answer: Answer::Text("yes".into()), shown });
            }
        }
        wrong
    }

    fn any_verdict(&self) -> Option<petasos_core::approval::Prepared> {
        let verdict = self.prepared.values().next()?.clone();
        Some(petasos_core::approval::Prepared { verdict, rule: "x".into(), policy: digest(5) })
    }
}

/// True if it is not taken, and nothing follows from it.
fn is_refused(session: &mut Session, now: Time, input: &Input) -> bool {
    let handled = session.handle(now.after(Span(7)), input.clone());
    handled != Ok(Handled::Taken) && session.next_effect().is_none()
}
