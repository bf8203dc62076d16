//! The log of steps: a line a step, for people and programs that watch what it costs and how long it takes (S06).

use std::sync::Arc;
use std::time::Duration;

use petasos_core::entry::{
    Body, Charge, Entry, FinishReason, Reply, Request, RequestEnd, RequestOutcome, ToolResult, TurnEnd,
};
use petasos_core::id::{CallId, Digest, RequestId, Seq, SessionId};
use petasos_core::request::Purpose;
use petasos_core::session::Session;
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::text::Text;
use petasos_core::time::{Span, Time};
use petasos_core::tool::Outcome;
use petasos_core::turn::made_calls;
use petasos_store::{Store, StoreError};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::event::EVENTS;
use crate::manage::no_terms;
use crate::result::UsageOfRun;
use crate::setup::Setup;

/// The shortest wait between two looks, as for who looks on.
const SHORTEST: Duration = Duration::from_millis(200);
/// Waits are so many times as long as a look.
const REST: u32 = 10;

/// A line of the log of steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StepLine {
    /// A request that was answered, with the calls of its answer, or that failed.
    Step(StepTold),
    /// The end of a turn, with what the whole of it used.
    Turn(TurnTold),
}

/// A step, or a try of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepTold {
    /// The entry of its request.
    pub entry: Seq,
    /// When that was written, in milliseconds since 1970 UTC.
    pub at: Time,
    /// Its turn, by the first entry of that.
    pub turn: Seq,
    /// Which step, from 1.
    pub step: u32,
    /// Which try, from 1.
    pub attempt: u32,
    /// What for.
    pub purpose: Purpose,
    /// The model that was asked.
    pub model: Text,
    /// The calls of its answer, in order.
    pub tools: Vec<ToolOfStep>,
    /// What it used; none if nobody said.
    pub usage: Option<UsageOfRun>,
    /// From the request to the first piece of its answer, in milliseconds; none if there is no answer.
    pub first: Option<Span>,
    /// From the request to the end of its answer.
    pub asked: Option<Span>,
    /// All its tools together.
    pub worked: Span,
    /// Why the answer ended: `stop`, `tool_use`, `length`, `refused`, `cut` or what the server said; none if there is
    /// none.
    pub finish: Option<Text>,
    /// What failed, if it did.
    pub failure: Option<FailureKind>,
}

/// A call of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolOfStep {
    /// Which call.
    pub call: CallId,
    /// The tool, as the model named it.
    pub tool: Text,
    /// SHA-256 of its arguments, as the model made them.
    pub arguments: Digest,
    /// How it ended; none if it waits for a person.
    pub outcome: Option<Outcome>,
    /// How long it ran, in milliseconds.
    pub took: Span,
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnTold {
    /// Its last entry.
    pub entry: Seq,
    /// When that was written.
    pub at: Time,
    /// The turn, by its first entry.
    pub turn: Seq,
    /// Why it stopped, as in the result of a run.
    pub status: Text,
    /// Its steps.
    pub steps: u32,
    /// What it used.
    pub usage: UsageOfRun,
    /// Time at work, in milliseconds.
    pub worked: Span,
}

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(flatten)]
    line: &'a StepLine,
}

impl StepLine {
    /// As a line of JSON.
    pub fn line(&self) -> String {
        // Plain data always becomes JSON; the fallback only keeps this free of panics.
        serde_json::to_string(&Line { v: EVENTS, line: self }).unwrap_or_default()
    }
}

/// Makes lines of entries.
#[derive(Debug, Default)]
struct Steps {
    /// The request that has no end, or whose answer's calls have no results yet.
    open: Option<(RequestId, StepTold)>,
}

impl Steps {
    fn take(&mut self, entry: &Entry) -> Vec<StepLine> {
        match &entry.body {
            Body::Request(request) => self.asked(entry, request),
            Body::Reply(reply) => self.answered(entry.seq, reply),
            Body::RequestEnd(end) => self.failed(end),
            Body::ToolResult(result) => self.ended(result),
            Body::TurnEnd(end) => self.over(entry, end),
            Body::SessionStart(_)
            | Body::Open(_)
            | Body::Head(_)
            | Body::Said(_)
            | Body::TurnStart(_)
            | Body::LimitAdded(_)
            | Body::Note(_)
            | Body::Partial(_)
            | Body::Call(_)
            | Body::Decision(_)
            | Body::ToolStart(_)
            | Body::Setting(_)
            | Body::Leaf(_)
            | Body::Unknown(_) => Vec::new(),
        }
    }

    fn close(&mut self) -> Vec<StepLine> {
        self.open.take().map(|(_, told)| StepLine::Step(told)).into_iter().collect()
    }

    fn asked(&mut self, entry: &Entry, request: &Request) -> Vec<StepLine> {
        // One without an end: its line is damaged.
        let before = self.close();
        let told = StepTold {
            entry: entry.seq,
            at: entry.at,
            turn: request.turn.0,
            step: request.step,
            attempt: request.attempt,
            purpose: request.purpose,
            model: request.target.model.clone(),
            tools: Vec::new(),
            usage: None,
            first: None,
            asked: None,
            worked: Span(0),
            finish: None,
            failure: None,
        };
        self.open = Some((RequestId(entry.seq), told));
        before
    }

    fn answered(&mut self, seq: Seq, reply: &Reply) -> Vec<StepLine> {
        let Some((id, told)) = &mut self.open else { return Vec::new() };
        if *id != reply.request {
            return Vec::new();
        }
        told.usage = used(reply.usage, reply.micro_usd);
        (told.first, told.asked) = (Some(reply.timing.first), Some(reply.timing.whole));
        told.finish = Some(finish_name(&reply.finish));
        told.tools = (0..)
            .zip(made_calls(reply))
            .map(|(place, made)| ToolOfStep {
                call: CallId { reply: seq, place },
                tool: made.name.clone(),
                arguments: Digest(Sha256::digest(made.arguments.as_bytes()).into()),
                outcome: None,
                took: Span(0),
            })
            .collect();
        if told.tools.is_empty() { self.close() } else { Vec::new() }
    }

    fn failed(&mut self, end: &RequestEnd) -> Vec<StepLine> {
        let Some((id, told)) = &mut self.open else { return Vec::new() };
        if *id != end.request {
            return Vec::new();
        }
        told.usage = used(end.usage, end.micro_usd);
        match &end.outcome {
            RequestOutcome::Failed { kind, .. } => told.failure = Some(*kind),
            RequestOutcome::Interrupted | RequestOutcome::Lost => {}
        }
        self.close()
    }

    fn ended(&mut self, result: &ToolResult) -> Vec<StepLine> {
        let Some((_, told)) = &mut self.open else { return Vec::new() };
        if let Some(tool) = told.tools.iter_mut().find(|tool| tool.call == result.call) {
            (tool.outcome, tool.took) = (Some(result.outcome), result.took);
            told.worked = told.worked.plus(result.took);
        }
        if told.tools.iter().all(|tool| tool.outcome.is_some()) { self.close() } else { Vec::new() }
    }

    fn over(&mut self, entry: &Entry, end: &TurnEnd) -> Vec<StepLine> {
        let mut lines = Vec::new();
        // Calls that wait for a person get their results in a later run, and the step its line then.
        let waits = matches!(end.reason, StopReason::AwaitingApproval | StopReason::AwaitingAnswer);
        if !waits {
            lines.extend(self.close());
        }
        lines.push(StepLine::Turn(TurnTold {
            entry: entry.seq,
            at: entry.at,
            turn: end.turn.0,
            status: crate::result::status(end.reason).into(),
            steps: end.steps,
            usage: UsageOfRun::new(&end.usage, end.micro_usd),
            worked: end.worked,
        }));
        lines
    }
}

fn used(charge: Charge, micro_usd: Option<u64>) -> Option<UsageOfRun> {
    match charge {
        Charge::Reported(usage) => Some(UsageOfRun::new(&usage, micro_usd)),
        Charge::Reserved(_) => None,
    }
}

fn finish_name(finish: &FinishReason) -> Text {
    match finish {
        FinishReason::Stop => "stop".into(),
        FinishReason::ToolUse => "tool_use".into(),
        FinishReason::Length => "length".into(),
        FinishReason::Refused => "refused".into(),
        FinishReason::Cut => "cut".into(),
        FinishReason::Other(other) => other.clone(),
    }
}

/// The log of steps of a session, as far as its log tells: what is there, then what comes. Needs no lock, and changes
/// nothing.
#[derive(Debug)]
pub struct StepLog {
    store: Arc<dyn Store>,
    session: SessionId,
    steps: Steps,
    upto: Option<Seq>,
    is_at_rest: bool,
    next_look: Option<Instant>,
}

impl Setup {
    /// The log of steps of a session.
    pub fn step_log(&self, session: &SessionId) -> StepLog {
        StepLog {
            store: Arc::new(self.store()),
            session: session.clone(),
            steps: Steps::default(),
            upto: None,
            is_at_rest: true,
            next_look: None,
        }
    }
}

impl StepLog {
    /// The lines that came since the last look; waits a while before it looks again. May be dropped and called anew.
    ///
    /// # Errors
    /// What the store says.
    pub async fn look(&mut self) -> Result<Vec<StepLine>, StoreError> {
        if let Some(at) = self.next_look {
            sleep_until(at).await;
        }
        let began = Instant::now();
        let (store, id) = (Arc::clone(&self.store), self.session.clone());
        let read = spawn_blocking(move || store.read(&id)).await;
        let entries = read.map_err(|error| crate::setup::fault(&error.to_string()))??.entries;
        let now = Instant::now();
        self.next_look = Some(now + SHORTEST.max((now - began) * REST));
        let mut lines = Vec::new();
        for entry in entries.iter().filter(|entry| Some(entry.seq) > self.upto) {
            lines.extend(self.steps.take(entry));
            if matches!(entry.body, Body::TurnStart(_) | Body::TurnEnd(_)) {
                self.is_at_rest = matches!(entry.body, Body::TurnEnd(_));
            }
        }
        if self.is_at_rest && !lines.is_empty() {
            // What waits begins the next turn, though its start is not there yet.
            self.is_at_rest = !Session::fold(&entries, no_terms()).begins_the_next();
        }
        self.upto = entries.last().map(|entry| entry.seq).or(self.upto);
        Ok(lines)
    }

    /// True if the last turn that was seen is over.
    pub fn is_at_rest(&self) -> bool {
        self.is_at_rest
    }
}
