//! What a verdict or an answer makes of a call. A call comes to run through here alone (I2).

use crate::approval::{Answer, Approved, Asked, Ends, Prepared, Proposal, Verdict, Wants};
use crate::bounded::{Bounded, Cap};
use crate::claims::Rerun;
use crate::entry::{Call, Decision, ToolStart, VerdictKind};
use crate::id::CallId;
use crate::note::NoRun;
use crate::text::Text;
use crate::tool::{Outcome, ToolOutput};
use crate::turn::pen::Pen;
use crate::turn::slots::{Attended, Slot};
use crate::turn::{Effect, OnAsk};

/// True if the verdict is about another call than the one it answers for.
pub(crate) fn is_of_other_call(verdict: &Verdict, call: CallId) -> bool {
    proposal(verdict).is_some_and(|proposal| proposal.call != call)
}

fn proposal(verdict: &Verdict) -> Option<&Proposal> {
    match verdict {
        Verdict::Allow(approved) => Some(approved.proposal()),
        Verdict::Ask(asked) => Some(asked.proposal()),
        Verdict::Deny { proposal, .. } => Some(proposal),
        Verdict::Invalid(_) => None,
    }
}

fn kind(verdict: &Verdict) -> VerdictKind {
    match verdict {
        Verdict::Allow(_) => VerdictKind::Allow,
        Verdict::Ask(_) => VerdictKind::Ask,
        Verdict::Deny { ends: Ends::Call, .. } => VerdictKind::Deny,
        Verdict::Deny { ends: Ends::Turn, .. } => VerdictKind::Hardline,
        Verdict::Invalid(_) => VerdictKind::Invalid,
    }
}

/// Writes what was judged. A `Free` call that is allowed as the model made it needs no entry: its
/// reply and its result say all. Nor does a call that was judged the same before.
pub(crate) fn write_call(pen: &mut Pen<'_>, prepared: &Prepared) {
    let Some(proposal) = proposal(&prepared.verdict) else { return };
    let verdict = kind(&prepared.verdict);
    let told = pen.told.step.call(proposal.call).and_then(|told| told.call.as_deref());
    let is_plain = verdict == VerdictKind::Allow
        && proposal.claims.rerun == Rerun::Free
        && proposal.changed_by.is_empty();
    if is_plain && told.is_none() {
        return;
    }
    let made = pen.told.step.reply.as_ref().and_then(|open| open.made(usize::from(proposal.call.place)));
    // A repaired name leaves the arguments as the model made them.
    let are_own = made.is_some_and(|made| *made.arguments == *proposal.arguments.as_str());
    let are_changed = !proposal.changed_by.is_empty() && !are_own;
    let call = Call {
        call: proposal.call,
        tool: proposal.tool.clone(),
        arguments: are_changed.then(|| proposal.arguments.clone()),
        changed_by: proposal.changed_by.clone(),
        claims: proposal.claims.clone(),
        verdict,
        rule: prepared.rule.clone(),
        policy: prepared.policy,
        shown: proposal.shown,
    };
    if told != Some(&call) {
        pen.write(call);
    }
}

/// Follows a verdict.
pub(crate) fn follow(pen: &mut Pen<'_>, call: CallId, prepared: Prepared, attended: Attended) -> Slot {
    let has_begun = pen.told.step.call(call).is_some_and(|told| told.start.is_some());
    match prepared.verdict {
        Verdict::Allow(approved) => match refusal(pen, approved.proposal()) {
            Some(reason) if !has_begun => settle(pen, call, NoRun::PersonSaidNo { reason: &reason }),
            Some(_) | None => Slot::Ready(approved),
        },
        // Nobody needs to be asked about what is not to run.
        Verdict::Ask(asked) if !has_begun && is_in_vain(pen, asked.proposal()) => {
            settle(pen, call, NoRun::Repeats)
        }
        Verdict::Ask(asked) => ask(pen, asked, has_begun, attended),
        // It began before the process ended, so nobody may say that it was refused (I3).
        Verdict::Deny { .. } | Verdict::Invalid(_) if has_begun => settle(pen, call, NoRun::ProcessEnded),
        Verdict::Deny { .. } => settle(pen, call, NoRun::Forbidden { rule: &prepared.rule }),
        Verdict::Invalid(text) => {
            pen.settle(call, ToolOutput::made_up(Outcome::Invalid, text));
            Slot::Settled
        }
    }
}

/// Why a person said no to just this, if one did: a policy that allows it today does not make it a yes.
fn refusal(pen: &Pen<'_>, proposal: &Proposal) -> Option<Text> {
    let decision = pen.told.step.call(proposal.call).and_then(|told| told.decision.as_deref());
    match &decision.filter(|decision| decision.shown == proposal.shown)?.answer {
        Answer::No { reason } => Some(reason.clone()),
        Answer::NoAndStop => Some("no, and stop".into()),
        Answer::Yes { .. } | Answer::Text(_) => None,
    }
}

/// True for one more call of a row that leads nowhere (L10).
fn is_in_vain(pen: &Pen<'_>, proposal: &Proposal) -> bool {
    pen.told.should_not_run(proposal.call, &proposal.claims.rerun)
}

fn settle(pen: &mut Pen<'_>, call: CallId, why: NoRun<'_>) -> Slot {
    pen.settle_without_run(call, why);
    Slot::Settled
}

/// Asks, unless the log holds an answer to just this: a yes is for what was shown, so what looks
/// otherwise today is asked again.
fn ask(pen: &mut Pen<'_>, asked: Asked, has_begun: bool, attended: Attended) -> Slot {
    let Proposal { call, shown, .. } = *asked.proposal();
    let decision = pen.told.step.call(call).and_then(|told| told.decision.clone());
    let wants = asked.proposal().wants;
    let answers = |decision: &Decision| decision.shown == shown && fits(wants, &decision.answer);
    if let Some(decision) = decision.filter(|decision| answers(decision)) {
        return answered(pen, asked, &decision.answer);
    }
    if has_begun {
        return settle(pen, call, NoRun::ProcessEnded);
    }
    match pen.told.mode.on_ask {
        OnAsk::Ask if attended == Attended::Parked => Slot::Asking(asked, Attended::Parked),
        OnAsk::Ask => {
            pen.ask(Effect::Ask { call, shown });
            Slot::Asking(asked, Attended::Here)
        }
        OnAsk::Refuse => settle(pen, call, NoRun::NobodyToAsk),
        OnAsk::Park => Slot::Asking(asked, Attended::Parked),
    }
}

/// True if the answer is of the sort that is wanted. A no fits both.
pub(crate) fn fits(wants: Wants, answer: &Answer) -> bool {
    match (wants, answer) {
        (_, Answer::No { .. } | Answer::NoAndStop) => true,
        (Wants::Approval, Answer::Yes { .. }) | (Wants::Answer, Answer::Text(_)) => true,
        (Wants::Approval, Answer::Text(_)) | (Wants::Answer, Answer::Yes { .. }) => false,
    }
}

/// Follows an answer.
pub(crate) fn answered(pen: &mut Pen<'_>, asked: Asked, answer: &Answer) -> Slot {
    let call = asked.proposal().call;
    match answer {
        Answer::Yes { .. } => Slot::Ready(asked.approve()),
        Answer::No { reason } => settle(pen, call, NoRun::PersonSaidNo { reason }),
        Answer::NoAndStop => settle(pen, call, NoRun::PersonSaidNo { reason: "no, and stop" }),
        Answer::Text(text) => {
            answer_question(pen, call, text);
            Slot::Settled
        }
    }
}

/// A person's text is the result of a question, which never runs.
pub(crate) fn answer_question(pen: &mut Pen<'_>, call: CallId, text: &Text) {
    let text = Bounded::new(text, Cap::RESULT, "the log has it all");
    let outcome = if text.is_blank() { Outcome::Empty } else { Outcome::Ok };
    pen.settle(call, ToolOutput::made_up(outcome, text));
}

/// Starts a call that nothing holds back: at once if it changes nothing, else when its `tool_start` is
/// on disk. One that had begun before a crash runs again only as what it began as.
pub(crate) fn start(pen: &mut Pen<'_>, approved: Approved) -> Slot {
    let Proposal { call, claims, .. } = approved.proposal();
    if let Some(begun) = pen.told.step.call(*call).and_then(|told| told.start.clone()) {
        let is_the_same = match &claims.rerun {
            Rerun::Keyed(key) => begun.key.as_ref() == Some(key),
            Rerun::Child(session) => begun.child.as_ref() == Some(session),
            Rerun::Free | Rerun::Never => false,
        };
        return if is_the_same { run(pen, approved) } else { settle(pen, *call, NoRun::ProcessEnded) };
    }
    if is_in_vain(pen, approved.proposal()) {
        return settle(pen, *call, NoRun::Repeats);
    }
    let (key, child) = match &claims.rerun {
        Rerun::Free => return run(pen, approved),
        Rerun::Keyed(key) => (Some(key.clone()), None),
        Rerun::Never => (None, None),
        Rerun::Child(session) => (None, Some(session.clone())),
    };
    let seq = pen.write(ToolStart { call: *call, key, child, probe: claims.probe.clone() });
    Slot::Starting(approved, seq)
}

/// Runs a call.
pub(crate) fn run(pen: &mut Pen<'_>, approved: Approved) -> Slot {
    let claims = approved.proposal().claims.clone();
    pen.ask(Effect::RunTool(approved));
    Slot::Running(claims)
}
