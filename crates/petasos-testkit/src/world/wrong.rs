//! Inputs that do not fit where a session stands: each must be refused or called late, and change
//! nothing (I6).

use petasos_core::approval::{Answer, Scope, judge};
use petasos_core::budget::{Limits, Reservation, Worst};
use petasos_core::entry::{FinishReason, When};
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::request::Purpose;
use petasos_core::stop::{FailureKind, Limit};
use petasos_core::time::{Permille, Time};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Delta, Input};

use crate::findings::{Findings, Invariant};
use crate::words::{ends, failure, head, output, policy, proposal, say};
use crate::world::State;
use crate::world::moves::is_question;

impl State {
    /// Says what does not fit, and looks whether anything changed.
    pub fn check_wrong_inputs(&self, findings: &mut Findings) {
        let mut session = self.session.clone();
        for input in self.wrong_inputs() {
            let handled = session.handle(Time(self.world.now.0 + 7), input.clone());
            let is_refused = !matches!(handled, Ok(petasos_core::error::Handled::Taken));
            findings.check(is_refused, Invariant::I6, || format!("took {input:?}"));
            let effect = session.next_effect();
            findings.check(effect.is_none(), Invariant::I6, || format!("{input:?} led to {effect:?}"));
            if !is_refused || effect.is_some() {
                return;
            }
        }
        findings.check(session == self.session, Invariant::I6, || "a refused input left a trace".to_owned());
    }

    fn wrong_inputs(&self) -> Vec<Input> {
        let world = &self.world;
        let far = CallId { reply: Seq(9_999), place: 0 };
        let known = world.book.reply.as_ref().map(|(reply, _)| CallId { reply: *reply, place: 0 });
        let past = CallId { place: 99, ..known.unwrap_or(far) };
        let worst = Worst { purpose: Purpose::Step, tokens: 1, micro_usd: None };
        let far_request = RequestId(Seq(9_999));
        let yes = Answer::Yes { scope: Scope::Once };
        let mut wrong = vec![
            Input::Appended { upto: Seq(9_999) },
            Input::Delta { request: far_request, delta: Delta::Text("x".into()) },
            Input::ReplyEnded { request: far_request, end: ends(FinishReason::Stop) },
            Input::RequestFailed {
                request: far_request,
                failure: failure(FailureKind::Other),
                jitter: Permille(0),
            },
            Input::ToolEnded { call: far, output: output(Outcome::Ok, "x") },
            Input::ToolEnded { call: past, output: output(Outcome::Ok, "x") },
            Input::Probed { call: far, outcome: Outcome::Ok },
            Input::Decide { call: far, answer: yes.clone(), shown: crate::words::digest(9) },
            Input::Prepared {
                call: far,
                prepared: judge(&policy(), self.session.grants(), proposal(far, "read")),
            },
            Input::Say(say(" ", When::NextStep)),
            Input::GoTo(Seq(9_999)),
        ];
        if world.reserving.is_none() {
            wrong.push(Input::Reserved(Reservation { worst }));
            wrong.push(Input::Refused(Limit::Steps));
        }
        if !world.building {
            wrong.push(Input::HeadBuilt(head()));
        }
        if world.asked.is_empty() && world.preparing.is_empty() {
            wrong.push(Input::Park);
        }
        if self.session.is_running() {
            wrong.push(Input::Continue { add: Limits::default() });
        } else {
            wrong.push(Input::Interrupt);
        }
        for (&call, &shown) in &world.asked {
            wrong.push(Input::Decide { call, answer: yes.clone(), shown: crate::words::digest(9) });
            let answer = if is_question(shown) { yes.clone() } else { Answer::Text("yes".into()) };
            wrong.push(Input::Decide { call, answer, shown });
        }
        if let Some(call) = known {
            if !world.running.contains_key(&call) && !world.stopping.contains_key(&call) {
                wrong.push(Input::ToolEnded { call, output: output(Outcome::Ok, "x") });
            }
            if !world.preparing.contains(&call) {
                let prepared = judge(&policy(), self.session.grants(), proposal(call, "read"));
                wrong.push(Input::Prepared { call, prepared });
            }
        }
        if let Some((request, ..)) = world.model {
            wrong.push(Input::Delta { request, delta: Delta::CallComplete { place: 77 } });
        }
        wrong
    }
}
