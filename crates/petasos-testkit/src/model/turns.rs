//! I4, I5, I12: runs and their ends, what is counted, what is bounded.

use petasos_core::approval::Answer;
use petasos_core::budget::Limits;
use petasos_core::entry::{
    Block, Body, Cause, Charge, Entry, FinishReason, Next, NoteSource, Reply, Request, RequestEnd,
    RequestOutcome, TurnEnd, TurnStart, VerdictKind,
};
use petasos_core::id::{Seq, TurnId};
use petasos_core::request::{Purpose, Target};
use petasos_core::stop::{FailureKind, Limit, StopReason};
use petasos_core::time::Time;
use petasos_core::tool::Outcome;
use petasos_core::turn::{ADAPTATIONS, CONTINUATIONS, NUDGES, TRIES, made_calls};
use petasos_core::usage::Usage;

use crate::findings::{Findings, Invariant};

/// How the last request of a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Answer { purpose: Purpose, text: bool, calls: bool, cut: bool, refused: bool },
    Failed(FailureKind, Next),
    Other,
}

/// A turn, as it is counted.
struct Turn {
    id: TurnId,
    ended: Option<StopReason>,
    limits: Limits,
    steps: u32,
    usage: Usage,
    tokens: u64,
    micro_usd: Option<u64>,
    /// Time at work of the runs before, and when this run began.
    worked: u64,
    run: Time,
    last_work: u64,
    targets: (Target, Vec<Target>),
    attempt: Option<(Purpose, u32)>,
    open: Option<Request>,
    closings: u32,
    raises: u32,
    closing: Option<Limit>,
    /// Limits were raised after that.
    is_raised: bool,
    failures: u32,
    /// Requests written otherwise after a failure, in a row at one target; and closing calls among them in all.
    adaptations: u32,
    closings_adapted: u32,
    nudges: u32,
    continuations: u32,
    last: Last,
    /// A hardline call, or a no and stop, in the open step.
    denied: bool,
}

#[derive(Default)]
struct Reader {
    turn: Option<Turn>,
    running: bool,
    /// Entries close an open step: something new must follow.
    closes: bool,
}

pub(super) fn judge(log: &[Entry], findings: &mut Findings) {
    let mut reader = Reader::default();
    for entry in log {
        reader.read(entry, findings);
    }
}

pub(super) fn is_new(start: &TurnStart) -> bool {
    !matches!(start.cause, Cause::Continues { .. })
}

impl Reader {
    fn read(&mut self, entry: &Entry, findings: &mut Findings) {
        let (seq, at) = (entry.seq, entry.at);
        self.in_its_place(entry, findings);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.ended.is_none())
            && self.running
            && is_timed(&entry.body)
        {
            turn.last_work = turn.worked + at.since(turn.run).0;
        }
        match &entry.body {
            Body::Open(_) => self.running = false,
            Body::TurnStart(start) => self.starts(seq, at, start, findings),
            Body::Leaf(_) => self.turn = None,
            Body::TurnEnd(end) => self.ends(seq, at, end, findings),
            Body::LimitAdded(limit) => {
                let fits = self.turn.as_ref().is_some_and(|turn| turn.id == limit.turn);
                findings.check(fits, Invariant::I4, || format!("limit {seq} for another turn"));
                if let Some(turn) = &mut self.turn {
                    turn.limits = turn.limits.raised_by(&limit.add);
                    turn.raises += 1;
                    turn.is_raised = turn.closing.is_some();
                }
            }
            body => {
                if let Some(turn) = &mut self.turn {
                    turn.read(seq, body, findings);
                }
            }
        }
    }

    /// Entries of a run stand in a run; between runs only what closes a step for something new.
    fn in_its_place(&mut self, entry: &Entry, findings: &mut Findings) {
        let seq = entry.seq;
        let is_close = match &entry.body {
            Body::ToolResult(result) => {
                matches!(result.outcome, Outcome::Denied | Outcome::Unknown | Outcome::NeverBegan)
            }
            Body::RequestEnd(end) => end.outcome == RequestOutcome::Lost,
            Body::TurnEnd(end) => end.reason == StopReason::Interrupted,
            _ => false,
        };
        let is_of_run = is_work(&entry.body) && !matches!(entry.body, Body::LimitAdded(_));
        let fits = !is_of_run || self.running || is_close;
        findings.check(fits, Invariant::I4, || format!("{} {seq} after the end", entry.body.kind()));
        if !self.running && is_close {
            self.closes = true;
        } else if self.closes {
            let is_new =
                matches!(entry.body, Body::Said(_) | Body::Leaf(_) | Body::Open(_) | Body::Unknown(_));
            findings.check(is_new, Invariant::I4, || format!("{seq} closed a step, and nothing new came"));
            self.closes = false;
        }
    }

    fn starts(&mut self, seq: Seq, at: Time, start: &TurnStart, findings: &mut Findings) {
        findings.check(!self.running, Invariant::I4, || format!("{seq} starts inside a run"));
        self.running = true;
        let targets = (start.target.clone(), start.fallback.clone());
        if is_new(start) {
            let is_over = self.turn.as_ref().is_none_or(|turn| turn.ended.is_some());
            findings.check(is_over, Invariant::I4, || format!("{seq} starts, and the one before has no end"));
            self.turn = Some(Turn {
                id: TurnId(seq),
                ended: None,
                limits: start.limits.clone(),
                steps: 0,
                usage: Usage::default(),
                tokens: 0,
                micro_usd: Some(0),
                worked: 0,
                run: at,
                last_work: 0,
                targets,
                attempt: None,
                open: None,
                closings: 0,
                raises: 0,
                closing: None,
                is_raised: false,
                failures: 0,
                adaptations: 0,
                closings_adapted: 0,
                nudges: 0,
                continuations: 0,
                last: Last::Nothing,
                denied: false,
            });
            return;
        }
        let turn = self.turn.as_mut().filter(|turn| start.cause == Cause::Continues { turn: turn.id });
        findings.check(turn.is_some(), Invariant::I4, || format!("{seq} continues another turn"));
        let Some(turn) = turn else { return };
        let may = turn.ended.is_none_or(StopReason::is_continuable);
        findings.check(may, Invariant::I4, || format!("{seq} continues after {:?}", turn.ended));
        findings.check(turn.limits == start.limits, Invariant::I5, || format!("{seq} has other limits"));
        turn.ended = None;
        (turn.run, turn.worked) = (at, turn.last_work);
        turn.limits = start.limits.clone();
        if turn.targets != targets {
            (turn.failures, turn.adaptations) = (0, 0);
            turn.targets = targets;
        }
    }

    fn ends(&mut self, seq: Seq, at: Time, end: &TurnEnd, findings: &mut Findings) {
        let was_running = std::mem::take(&mut self.running);
        let turn = self.turn.as_mut().filter(|turn| turn.id == end.turn && turn.ended.is_none());
        findings.check(turn.is_some(), Invariant::I4, || format!("{seq} ends what is not open"));
        let Some(turn) = turn else { return };
        let counts = (turn.steps, turn.usage, turn.micro_usd) == (end.steps, end.usage, end.micro_usd);
        findings.check(counts, Invariant::I5, || {
            format!("{seq}: {} steps, {:?}, {:?}; it says {end:?}", turn.steps, turn.usage, turn.micro_usd)
        });
        // Who closes what a run before left open did no work of that turn.
        let worked = if was_running { turn.worked + at.since(turn.run).0 } else { turn.last_work };
        turn.last_work = end.worked.0;
        findings.check(worked == end.worked.0, Invariant::I7, || format!("{seq}: worked {worked}, {end:?}"));
        let is_so = turn.ends_so(end.reason);
        findings.check(is_so, Invariant::I4, || format!("{seq}: {:?} after {:?}", end.reason, turn.last));
        turn.ended = Some(end.reason);
        match end.reason {
            StopReason::ModelFailed(_) => (turn.failures, turn.adaptations, turn.nudges) = (0, 0, 0),
            StopReason::Truncated => turn.continuations = 0,
            _ => {}
        }
    }
}

impl Turn {
    fn read(&mut self, seq: Seq, body: &Body, findings: &mut Findings) {
        match body {
            Body::Request(request) => self.asks(seq, request, findings),
            Body::RequestEnd(end) => self.fails(end),
            Body::Reply(reply) => self.answers(reply),
            Body::Note(note) => self.notes(seq, note.source, findings),
            Body::Call(call) => self.denied |= call.verdict == VerdictKind::Hardline,
            Body::Decision(decision) => self.denied |= decision.answer == Answer::NoAndStop,
            _ => {}
        }
    }

    fn notes(&mut self, seq: Seq, source: NoteSource, findings: &mut Findings) {
        if source == NoteSource::Nudge {
            self.nudges += 1;
            let is_empty = matches!(self.last, Last::Answer { text: false, calls: false, .. });
            findings.check(is_empty, Invariant::I12, || format!("{seq} nudges after {:?}", self.last));
        } else if source == NoteSource::Continue {
            self.continuations += 1;
            let is_cut = matches!(self.last, Last::Answer { cut: true, calls: false, .. });
            findings.check(is_cut, Invariant::I12, || format!("{seq} continues {:?}", self.last));
        } else if source == NoteSource::Guard {
            // Whether it has a reason is for `guards` to say.
        } else if let NoteSource::Closing(limit) = source {
            self.closing = Some(limit);
            return;
        } else {
            // Limits were raised, and the turn goes on.
            findings.check(self.is_raised, Invariant::I12, || format!("{seq}: nothing was raised"));
            (self.closing, self.is_raised) = (None, false);
        }
        self.last = Last::Nothing;
    }

    fn asks(&mut self, seq: Seq, request: &Request, findings: &mut Findings) {
        let mut check = |holds, invariant, what: &str| {
            findings.check(holds, invariant, || format!("request {seq}: {what}"));
        };
        check(request.turn == self.id, Invariant::I4, "of another turn");
        check(request.step == self.steps + 1, Invariant::I5, "another step");
        let attempt = match self.attempt {
            Some((purpose, attempt)) if purpose == request.purpose => attempt + 1,
            _ => 1,
        };
        check(request.attempt == attempt, Invariant::I12, "another attempt");
        self.attempt = Some((request.purpose, attempt));
        let is_step = request.purpose == Purpose::Step;
        check(
            !is_step || self.limits.steps.is_none_or(|limit| self.steps < limit),
            Invariant::I5,
            "no step left",
        );
        let tokens = self.tokens + request.reserved.tokens;
        check(self.limits.tokens.is_none_or(|limit| tokens <= limit), Invariant::I5, "no tokens left");
        let money = self.micro_usd.zip(request.reserved.micro_usd).map(|(sum, more)| sum + more);
        let pays = self.limits.micro_usd.is_none_or(|limit| money.is_some_and(|money| money <= limit));
        check(pays, Invariant::I5, "no money left");
        check(request.reserved.purpose == request.purpose, Invariant::I5, "reserved for something else");
        self.closings += u32::from(request.purpose == Purpose::Closing);
        check(self.closings <= 1 + self.raises + self.closings_adapted, Invariant::I12, "closes twice");
        check(self.adaptations <= ADAPTATIONS, Invariant::I12, "adapts without end");
        check(self.failures < TRIES, Invariant::I12, "one try too many");
        check(self.nudges <= NUDGES, Invariant::I12, "one nudge too many");
        check(self.continuations <= CONTINUATIONS, Invariant::I12, "one continuation too many");
        let refused = matches!(self.last, Last::Answer { refused: true, .. });
        check(!refused, Invariant::I4, "goes on after a refusal");
        self.open = Some(request.clone());
        self.last = Last::Other;
        self.denied = false;
    }

    fn charge(&mut self, charge: &Charge, micro_usd: Option<u64>) {
        match charge {
            Charge::Reported(usage) => {
                self.usage = self.usage.plus(usage);
                self.tokens += usage.total();
            }
            Charge::Reserved(tokens) => self.tokens += tokens,
        }
        self.micro_usd = self.micro_usd.zip(micro_usd).map(|(sum, more)| sum + more);
    }

    fn fails(&mut self, end: &RequestEnd) {
        self.charge(&end.usage, end.micro_usd);
        let purpose = self.open.take().map(|request| request.purpose);
        self.last = Last::Other;
        let RequestOutcome::Failed { kind, .. } = end.outcome else { return };
        self.last = Last::Failed(kind, end.next);
        self.adaptations += u32::from(end.next == Next::Adapt);
        if purpose == Some(Purpose::Closing) {
            self.closings_adapted += u32::from(end.next == Next::Adapt);
        }
        if purpose == Some(Purpose::Closing) {
            return;
        }
        match end.next {
            Next::Fallback => (self.failures, self.adaptations) = (0, 0),
            // No try of the same request.
            Next::Adapt => {}
            Next::AgainAt(_) | Next::GiveUp => self.failures += 1,
        }
    }

    fn answers(&mut self, reply: &Reply) {
        self.charge(&reply.usage, reply.micro_usd);
        let purpose = self.open.take().map_or(Purpose::Step, |request| request.purpose);
        self.steps += u32::from(purpose == Purpose::Step);
        self.failures = 0;
        self.adaptations = 0;
        self.attempt = None;
        let text = reply.blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.is_blank()));
        let calls = made_calls(reply).next().is_some();
        let cut = matches!(reply.finish, FinishReason::Length | FinishReason::Cut);
        if text || calls {
            self.nudges = 0;
        }
        if !cut {
            self.continuations = 0;
        } else if calls && reply.finish == FinishReason::Length && purpose != Purpose::Closing {
            // What a person stopped is no loop of ours.
            self.continuations += 1;
        }
        let refused = reply.finish == FinishReason::Refused && purpose != Purpose::Closing;
        self.last = Last::Answer { purpose, text, calls, cut, refused };
    }

    /// True if the log says why the turn should end so. Who stops it from outside needs no reason.
    fn ends_so(&self, reason: StopReason) -> bool {
        let answer = match self.last {
            Last::Answer { purpose, text, calls, cut, refused } => Some((purpose, text, calls, cut, refused)),
            _ => None,
        };
        match reason {
            StopReason::Completed => answer == Some((Purpose::Step, true, false, false, false)),
            StopReason::BudgetExhausted(limit) => self.closing == Some(limit) && !self.is_raised,
            StopReason::Refused => answer.is_some_and(|(.., refused)| refused),
            StopReason::Truncated => answer.is_some_and(|(.., cut, _)| cut),
            StopReason::ModelFailed(FailureKind::Empty) => {
                let is_empty = matches!(answer, Some((_, false, false, _, _)));
                is_empty || self.last == Last::Failed(FailureKind::Empty, Next::GiveUp)
            }
            StopReason::ModelFailed(kind) => self.last == Last::Failed(kind, Next::GiveUp),
            StopReason::Denied => self.denied,
            StopReason::TimedOut => self.limits.time.is_some(),
            StopReason::AwaitingApproval | StopReason::AwaitingAnswer => {
                answer.is_some_and(|(_, _, calls, ..)| calls)
            }
            // An unknown head is no request, so nothing of it is in the log.
            StopReason::ContextExhausted | StopReason::Interrupted => true,
            // Whether a guard had a reason is for `guards` to say.
            StopReason::Stuck | StopReason::ToolFailed => answer.is_some(),
            StopReason::NotSaved | StopReason::InternalError => false,
        }
    }
}

/// True for entries whose time counts as work: not what a person may write as well.
fn is_timed(body: &Body) -> bool {
    is_work(body) && !matches!(body, Body::LimitAdded(_) | Body::TurnEnd(_))
}

/// True for what only a run writes, or what closes one.
fn is_work(body: &Body) -> bool {
    matches!(
        body,
        Body::Note(_)
            | Body::Request(_)
            | Body::Partial(_)
            | Body::RequestEnd(_)
            | Body::Reply(_)
            | Body::Call(_)
            | Body::Decision(_)
            | Body::ToolStart(_)
            | Body::ToolResult(_)
            | Body::Head(_)
            | Body::LimitAdded(_)
            | Body::TurnEnd(_)
    )
}
