//! What the entries tell of a turn, and what follows from it.
//!
//! The same two functions serve a live turn and one that is folded from its log: [`Told::apply`] takes
//! an entry in, [`Told::next`] says what is to be done now. So a turn that was made from entries goes
//! on as the one that wrote them would have (I7).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::approval::Answer;
use crate::budget::Limits;
use crate::entry::{
    Body, Charge, Next, NoteSource, Reply, Request, RequestEnd, RequestOutcome, ToolResult, ToolStart,
    TurnStart,
};
use crate::entry::{FinishReason, VerdictKind};
use crate::guard::{Finding, Guard};
use crate::id::{CallId, RequestId, Seq, TurnId};
use crate::request::{Purpose, Target};
use crate::stop::{FailureKind, Limit, StopReason};
use crate::text::Text;
use crate::time::{Span, Time};
use crate::tool::Fact;
use crate::transcript::ClosedStep;
use crate::turn::Mode;
use crate::turn::charge::steps_of;
use crate::turn::retry::{ADAPTATIONS, Standing, Tries};
use crate::turn::step::{
    Asked, OpenCall, OpenReply, OpenRequest, OpenStep, Retry, has_text, is_cut_short, made_calls,
};
use crate::turn::tally::Tally;
use crate::turn::work::{is_new, is_work};
use crate::usage::{Account, Usage};

/// Continuations in a row of a reply that was cut at its length (L11).
pub const CONTINUATIONS: u32 = 4;
/// Nudges in a row after an empty reply (L10).
pub const NUDGES: u32 = 1;

/// What the entries tell of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// Which turn.
    pub id: TurnId,
    /// Its limits now.
    pub limits: Limits,
    /// How it works.
    pub mode: Mode,
    primary: Target,
    fallback: Arc<[Target]>,
    /// How far down the fallback chain it is; 0 is the primary.
    fallen: usize,
    /// What it used.
    pub account: Account,
    /// When the present run began, and the time at work before it.
    run: (Time, Span),
    /// The process of that run ended: what is written until the next is nobody's work.
    is_left: bool,
    tries: Tries,
    nudges: u32,
    continuations: u32,
    closing: Option<Closing>,
    /// Decided already: how the turn will end once its calls are settled.
    pub(super) stop: Option<StopReason>,
    /// How its last run ended.
    pub ended: Option<StopReason>,
    /// The open step.
    pub step: OpenStep,
    /// Replies whose texts are the answer so far.
    pub answer: Vec<Seq>,
    /// Whether the last of them was cut, so that the next reply is more of the same answer.
    is_answer_cut: bool,
    /// What its tools did.
    pub tally: Tally,
    /// Whether it gets anywhere.
    pub(super) guard: Guard,
    /// Files that failed to be written and were not written since.
    pub not_written: BTreeSet<Text>,
}

/// The closing call at the end of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Closing {
    limit: Limit,
    tried: bool,
    /// Limits were raised since: the model is told, and the turn goes on.
    raised: bool,
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Ask the model.
    Ask(Purpose),
    /// Wait before asking again.
    Wait(Time),
    /// See to the calls of the open reply.
    Calls,
    /// Settle the calls of a reply that was not to have any.
    DropCalls,
    /// Stop what runs and settle what is open: the turn is to end.
    Stop(StopReason),
    /// Add a note, then see again.
    Note(NoteSource),
    /// Tell the model what a guard found, then see again.
    Warn(Finding),
    /// Settle the calls of a reply that was cut because it repeated itself.
    DropRepeating,
    /// End the turn.
    End(StopReason),
}

impl Told {
    /// A turn that begins with this entry.
    pub(crate) fn begin(seq: Seq, at: Time, start: &TurnStart) -> Self {
        Self {
            id: TurnId(seq),
            limits: start.limits.clone(),
            mode: start.mode,
            primary: start.target.clone(),
            fallback: start.fallback.as_slice().into(),
            fallen: 0,
            account: Account::default(),
            run: (at, Span(0)),
            is_left: false,
            tries: Tries::default(),
            nudges: 0,
            continuations: 0,
            closing: None,
            stop: None,
            ended: None,
            step: OpenStep::default(),
            answer: Vec::new(),
            is_answer_cut: false,
            tally: Tally::default(),
            guard: Guard::default(),
            not_written: BTreeSet::new(),
        }
    }

    /// Takes an entry in. A step that it closes is handed out, to move into the transcript. What does
    /// not fit (a line before it was damaged) changes nothing.
    pub(crate) fn apply(&mut self, seq: Seq, at: Time, body: &Body) -> Option<ClosedStep> {
        self.is_left |= matches!(body, Body::Open(_));
        if self.ended.is_none() && !self.is_left && is_work(body) {
            self.account.worked = self.run.1.plus(at.since(self.run.0));
        }
        match body {
            Body::TurnStart(start) if !is_new(start) => self.goes_on(at, start),
            Body::LimitAdded(limit) => self.raise(&limit.add),
            Body::Note(note) => self.noted(note.source),
            Body::Request(request) => self.asked(RequestId(seq), request),
            Body::Partial(partial) => {
                if let Some(request) = self.step.request.as_mut().filter(|open| open.id == partial.request) {
                    request.partial.push_str(&partial.text);
                }
            }
            Body::RequestEnd(end) => self.failed(at, end),
            Body::Reply(reply) => return self.replied(seq, reply),
            Body::Call(call) => {
                if call.verdict == VerdictKind::Hardline && self.step.call(call.call).is_some() {
                    self.stop = Some(StopReason::Denied);
                }
                self.with_call(call.call, |open| open.call = Some(Arc::new(call.clone())));
            }
            Body::Decision(decision) => {
                if decision.answer == Answer::NoAndStop && self.step.call(decision.call).is_some() {
                    self.stop = Some(StopReason::Denied);
                }
                self.with_call(decision.call, |open| open.decision = Some(Arc::new(decision.clone())));
            }
            Body::ToolStart(start) => {
                self.with_call(start.call, |open| open.start = Some(Arc::new(start.clone())));
            }
            Body::ToolResult(result) => return self.settled(seq, result),
            Body::TurnEnd(end) if end.turn == self.id => {
                self.account.worked = end.worked;
                self.over(end.reason);
            }
            Body::Said(said) => self.guard.heard(said),
            Body::TurnStart(_)
            | Body::SessionStart(_)
            | Body::Open(_)
            | Body::Head(_)
            | Body::Setting(_)
            | Body::Leaf(_)
            | Body::TurnEnd(_)
            | Body::Unknown(_) => {}
        }
        None
    }

    /// What is to be done now. `steered`: something said for the next step waits.
    pub(crate) fn next(&self, steered: bool) -> Move {
        match (self.stop, &self.step.reply, self.closing) {
            (Some(reason), _, _) if self.step.has_open_calls() => Move::Stop(reason),
            (Some(reason), _, _) => Move::End(reason),
            (None, Some(reply), _) if reply.purpose == Purpose::Step && self.step.has_open_calls() => {
                if reply.is_repeating { Move::DropRepeating } else { Move::Calls }
            }
            (None, Some(_), _) if self.step.has_open_calls() => Move::DropCalls,
            (None, Some(reply), None) => self.after_answer(reply, steered),
            (None, _, Some(Closing { raised: true, .. })) => Move::Note(NoteSource::Raised),
            (None, _, Some(Closing { limit, tried: true, .. })) => {
                Move::End(StopReason::BudgetExhausted(limit))
            }
            (None, _, Some(Closing { tried: false, .. })) => Move::Ask(Purpose::Closing),
            (None, None, None) => match (self.warning(), self.step.retry) {
                (Some(finding), _) => Move::Warn(finding),
                (None, Some(retry)) => Move::Wait(retry.until),
                (None, None) => Move::Ask(Purpose::Step),
            },
        }
    }

    fn after_answer(&self, answer: &OpenReply, steered: bool) -> Move {
        if let Some(finding) = self.warning() {
            return Move::Warn(finding);
        }
        if is_cut_short(&answer.reply.finish) {
            return match self.continuations < CONTINUATIONS {
                true => Move::Note(NoteSource::Continue),
                false => Move::End(StopReason::Truncated),
            };
        }
        match (answer.has_text(), steered, self.nudges < NUDGES) {
            (_, true, _) => Move::Ask(Purpose::Step),
            (true, false, _) => Move::End(StopReason::Completed),
            (false, false, true) => Move::Note(NoteSource::Nudge),
            (false, false, false) => Move::End(StopReason::ModelFailed(FailureKind::Empty)),
        }
    }

    /// The target that is asked now.
    pub fn target(&self) -> &Target {
        let fallback = self.fallen.checked_sub(1).and_then(|place| self.fallback.get(place));
        fallback.unwrap_or(&self.primary)
    }

    /// The target that it began with, and the fallback chain.
    pub(crate) fn targets(&self) -> (&Target, &[Target]) {
        (&self.primary, &self.fallback)
    }

    /// How many targets of its fallback chain are left.
    pub fn fallbacks_left(&self) -> usize {
        self.fallback.len().saturating_sub(self.fallen)
    }

    /// How many targets its fallback chain has.
    pub fn fallbacks(&self) -> usize {
        self.fallback.len()
    }

    /// Failures of that target for the request at hand, and targets left after it.
    pub(crate) fn standing(&self) -> Standing {
        Standing { failures: self.tries.failures, fallbacks: self.fallbacks_left() }
    }

    /// True if the request at hand may be written otherwise once more.
    pub(crate) fn may_adapt(&self) -> bool {
        self.tries.adaptations < ADAPTATIONS
    }

    /// The limit whose closing call is due, under way or done.
    pub(crate) fn closing_limit(&self) -> Option<Limit> {
        self.closing.filter(|closing| !closing.raised).map(|closing| closing.limit)
    }

    /// Time at work of the whole turn, as of `now`.
    pub(crate) fn worked(&self, now: Time) -> Span {
        self.run.1.plus(now.since(self.run.0))
    }

    /// When the turn's time at work is used up.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let left = self.limits.time?.0.saturating_sub(self.run.1.0);
        Some(self.run.0.after(Span(left)))
    }

    /// A line behind the open reply is damaged, and it may have said that a call began. What cannot be
    /// known not to have begun counts as begun: better looked at again than done twice.
    pub(crate) fn doubt_open_calls(&mut self) {
        let Some(open) = &mut self.step.reply else { return };
        let seq = open.seq;
        for (place, call) in (0..).zip(&mut open.calls) {
            let id = CallId { reply: seq, place };
            if call.result.is_none() && call.start.is_none() && call.may_have_begun() {
                call.start = Some(Arc::new(ToolStart { call: id, key: None, child: None, probe: None }));
            }
        }
    }

    fn goes_on(&mut self, at: Time, start: &TurnStart) {
        self.step.retry = self.step.retry.map(|retry| retry.from(at));
        self.run = (at, self.account.worked);
        self.is_left = false;
        self.ended = None;
        self.limits = start.limits.clone();
        self.mode = start.mode;
        if self.primary != start.target || *self.fallback != *start.fallback {
            self.primary = start.target.clone();
            self.fallback = start.fallback.as_slice().into();
            self.fallen = 0;
            self.tries = Tries::default();
        }
    }

    fn raise(&mut self, add: &Limits) {
        self.limits = self.limits.raised_by(add);
        // The turn can go on, so what the closing call says is not the end of it.
        if let Some(closing) = &mut self.closing {
            closing.raised = true;
        }
    }

    fn noted(&mut self, source: NoteSource) {
        self.step.reply = None;
        match source {
            NoteSource::Nudge => self.nudges += 1,
            NoteSource::Continue => self.continuations += 1,
            NoteSource::Guard => self.guard.told(),
            NoteSource::Closing(limit) => {
                self.closing = Some(Closing { limit, tried: false, raised: false });
                self.answer.clear();
            }
            NoteSource::Raised => {
                self.closing = None;
                self.answer.clear();
            }
        }
    }

    /// What counts against its limits: what was used, and what is held for a request without its end.
    pub fn spent(&self) -> Account {
        let mut spent = self.account.clone();
        if let Some(open) = &self.step.request {
            spent.tokens = spent.tokens.saturating_add(open.reserved.tokens);
            spent.micro_usd =
                spent.micro_usd.zip(open.reserved.micro_usd).map(|(sum, more)| sum.saturating_add(more));
        }
        spent
    }

    fn asked(&mut self, id: RequestId, request: &Request) {
        if let Some(open) = self.step.request.take() {
            // Its end was on a line that is damaged.
            self.charge(&Charge::Reserved(open.reserved.tokens), open.reserved.micro_usd);
        }
        self.step.tried = Some((request.purpose, request.attempt));
        self.step.retry = None;
        self.step.reply = None;
        let (purpose, reserved) = (request.purpose, request.reserved);
        let target = Arc::new(request.target.clone());
        self.step.request = Some(OpenRequest { id, purpose, target, reserved, partial: String::new() });
        if let Some(closing) = self.closing.as_mut().filter(|_| purpose == Purpose::Closing) {
            closing.tried = true;
        }
    }

    fn failed(&mut self, at: Time, end: &RequestEnd) {
        let Some(request) = self.step.request.take_if(|open| open.id == end.request) else { return };
        self.charge(&end.usage, end.micro_usd);
        let RequestOutcome::Failed { kind, .. } = end.outcome else { return };
        self.tries.failed(end.next);
        if let Some(closing) = self.closing.as_mut().filter(|_| request.purpose == Purpose::Closing) {
            closing.tried = end.next != Next::Adapt;
            return;
        }
        match end.next {
            Next::Adapt => {}
            Next::AgainAt(until) => self.step.retry = Some(Retry { until, wait: until.since(at) }),
            Next::Fallback => self.fallen += 1,
            Next::GiveUp => self.stop = Some(StopReason::ModelFailed(kind)),
        }
    }

    fn replied(&mut self, seq: Seq, reply: &Reply) -> Option<ClosedStep> {
        let (purpose, target) = self.answered(reply.request);
        self.charge(&reply.usage, reply.micro_usd);
        self.account.steps += steps_of(purpose);
        self.tries = Tries::default();
        self.step.tried = None;
        let is_repeating = self.watch_reply(reply, purpose);
        let has_calls = made_calls(reply).next().is_some();
        let cut = is_cut_short(&reply.finish);
        if has_calls || has_text(reply) {
            self.nudges = 0;
        }
        if !self.is_answer_cut {
            self.answer.clear();
        }
        if has_text(reply) {
            self.answer.push(seq);
        }
        // However the closing call ends, the turn stops for its budget (L07).
        if purpose != Purpose::Closing {
            // Nobody asks for more of a reply that repeats itself.
            self.is_answer_cut = cut && !has_calls && !is_repeating;
            match (cut, has_calls) {
                (true, _) if is_repeating => {}
                (true, true) if self.continuations >= CONTINUATIONS => {
                    self.stop = Some(StopReason::Truncated);
                }
                (true, true) => self.continuations += 1,
                (true, false) => {}
                (false, _) => self.continuations = 0,
            }
            if reply.finish == FinishReason::Refused {
                self.stop = Some(StopReason::Refused);
            }
        }
        let open = OpenReply::new(seq, (purpose, target), Arc::new(reply.clone()));
        let open = OpenReply { is_repeating, ..open };
        let closed = open.close();
        self.step.reply = Some(open);
        closed
    }

    /// What the request of a reply was for. If its line is damaged, what the turn was about to ask.
    fn answered(&mut self, id: RequestId) -> Asked {
        if let Some(request) = self.step.request.take_if(|open| open.id == id) {
            return (request.purpose, Some(request.target));
        }
        if let Some(lost) = self.step.request.take() {
            self.charge(&Charge::Reserved(lost.reserved.tokens), lost.reserved.micro_usd);
        }
        match &mut self.closing {
            Some(closing) => {
                closing.tried = true;
                (Purpose::Closing, None)
            }
            None => (Purpose::Step, None),
        }
    }

    fn settled(&mut self, seq: Seq, result: &ToolResult) -> Option<ClosedStep> {
        let open = self.step.call_mut(result.call).filter(|open| open.result.is_none())?;
        open.result = Some((seq, Arc::new(result.clone())));
        for fact in &result.facts {
            self.learn(fact);
        }
        let reply = self.step.reply.as_ref()?;
        if let Some(made) = reply.made(usize::from(result.call.place)) {
            self.tally.add(made.name.clone(), result.outcome);
        }
        let closed = reply.close();
        self.watch_results();
        let closed = closed?;
        self.step.reply = None;
        Some(closed)
    }

    fn learn(&mut self, fact: &Fact) {
        match fact {
            Fact::Wrote { path, .. } => {
                self.not_written.remove(path);
            }
            Fact::NotWritten { path } => {
                self.not_written.insert(path.clone());
            }
            Fact::Ran { .. } | Fact::Child { .. } | Fact::Remembered { .. } => {}
        }
    }

    fn over(&mut self, reason: StopReason) {
        self.ended = Some(reason);
        self.stop = None;
        // Who goes on after one of these means to try again from the start.
        if matches!(reason, StopReason::ModelFailed(_)) {
            self.tries = Tries::default();
            self.fallen = 0;
            self.nudges = 0;
        }
        if reason == StopReason::Truncated {
            self.continuations = 0;
        }
    }

    fn charge(&mut self, charge: &Charge, micro_usd: Option<u64>) {
        let (usage, tokens) = match charge {
            Charge::Reported(usage) => (*usage, usage.total()),
            Charge::Reserved(tokens) => (Usage::default(), *tokens),
        };
        let account = &mut self.account;
        account.usage = account.usage.plus(&usage);
        account.tokens = account.tokens.saturating_add(tokens);
        account.micro_usd = account.micro_usd.zip(micro_usd).map(|(sum, more)| sum.saturating_add(more));
    }

    fn with_call(&mut self, call: CallId, change: impl FnOnce(&mut OpenCall)) {
        if let Some(open) = self.step.call_mut(call) {
            change(open);
        }
    }
}
