//! What a session's effects become: the doing half of the loop, one short method an effect.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use petasos_core::approval::Policy;
use petasos_core::bounded::Cap;
use petasos_core::budget::{Ledger, Worst};
use petasos_core::claims::Rerun;
use petasos_core::entry::{Body, Entry, Keep, Next, Reply, RequestEnd, RequestOutcome, TurnEnd};
use petasos_core::id::{CallId, Digest, RequestId, Seq, SessionId};
use petasos_core::request::ToolMode;
use petasos_core::session::Session;
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::text::Text;
use petasos_core::time::{Permille, Time};
use petasos_core::turn::{Delta, Effect, Failure, Input, OnAsk, OpenCall, Passing, StoreFailure};
use petasos_providers::{WireNames, written_call};
use petasos_tools::{Blobs, Context, Mask, Registry, SessionState};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::config::Record;
use crate::event::{CallTold, DeltaKind, Event, ToolTold, WantsTold, calls_of, told, unsaved};
use crate::front;
use crate::gate::{Gates, Left};
use crate::in_flight::{InFlight, Sending};
use crate::outbox::Outbox;
use crate::prepare::Preparing;
use crate::prompt;
use crate::requests::Requests;
use crate::result::{Follows, RunResult, UsageOfRun, budget, call_in_text, error, status};
use crate::room;
use crate::saver::{Saved, Saver};
use crate::silence::Silence;

/// What a session works with beside its log; shared by the sessions of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: fn() -> Permille,
    pub(crate) gates: Arc<Gates>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) workspace: PathBuf,
    pub(crate) result_cap: Cap,
    pub(crate) record: Record,
    pub(crate) mask: Arc<Mask>,
}

/// The doing half of a session.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) around: Around,
    pub(crate) session: SessionId,
    pub(crate) saver: Saver,
    pub(crate) requests: Requests,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) in_flight: InFlight,
    /// What its calls share for as long as it is open.
    pub(crate) shared: Arc<SessionState>,
    ledger: Ledger,
    /// Answers that are there at once.
    due: VecDeque<Input>,
    outbox: Outbox,
    calls: HashMap<CallId, ToolTold>,
    /// The `call` entries of calls that ask, and those that were told of.
    asking: HashMap<CallId, Seq>,
    told_asking: HashSet<CallId>,
    /// Questions that are out and not answered, as far as the shell was told.
    questions: HashSet<CallId>,
    /// What a provider or the disk said last.
    detail: Option<Text>,
    /// What it said first of a request that was made again in another form: that is what a person has to know.
    lesson: Option<(FailureKind, Text)>,
    /// When the last request failed, as the log has it: a wait that is told begins there.
    failed_at: Time,
    pub(crate) silence: Silence,
}

impl Shell {
    pub(crate) fn new(
        around: Around,
        session: SessionId,
        (saver, requests, blobs): (Saver, Requests, Arc<dyn Blobs>),
        events: mpsc::UnboundedSender<Event>,
        log: &[Entry],
    ) -> Self {
        let last = log.last().map(|entry| entry.seq);
        let asking = log.iter().filter_map(|entry| {
            let Body::Call(call) = &entry.body else { return None };
            Some((call.call, entry.seq))
        });
        let last_reply = log.iter().rev().find_map(|entry| {
            let Body::Reply(reply) = &entry.body else { return None };
            Some(calls_told(entry.seq, reply))
        });
        let shared = Arc::new(SessionState::new(Arc::clone(&around.mask)));
        Self {
            around,
            session,
            saver,
            requests,
            blobs,
            in_flight: InFlight::new(),
            shared,
            ledger: Ledger::default(),
            due: VecDeque::new(),
            outbox: Outbox::after(last, events),
            calls: last_reply.unwrap_or_default(),
            asking: asking.collect(),
            told_asking: HashSet::new(),
            questions: HashSet::new(),
            detail: None,
            lesson: None,
            failed_at: Time::default(),
            silence: Silence::default(),
        }
    }

    /// Goes on with a log that was opened anew, since another holder wrote to it or an append failed.
    pub(crate) fn reopened(&mut self, saver: Saver, log: &[Entry]) {
        let Self { around, session, requests, blobs, outbox, .. } = self;
        let (around, session, blobs) = (around.clone(), session.clone(), Arc::clone(blobs));
        let (events, requests) = (outbox.to.clone(), requests.anew(log));
        let shared = Arc::clone(&self.shared);
        *self = Self { shared, ..Self::new(around, session, (saver, requests, blobs), events, log) };
    }

    /// An answer that is there already.
    pub(crate) fn due(&mut self) -> Option<Input> {
        self.due.pop_front()
    }

    /// Begins what an effect asks for; never waits.
    pub(crate) fn begin(&mut self, session: &Session, effect: Effect) {
        match effect {
            Effect::Append { entries, keep } => self.append(session, entries, keep),
            Effect::Measure(draft) => {
                self.detail = None;
                let measured = self.requests.measure(session, &draft);
                match self.requests.new_parts(self.around.record, measured.parts.len()) {
                    Some(parts) => self.in_flight.keep_parts(Arc::clone(&self.blobs), parts, measured),
                    None => self.due.push_back(Input::Measured(measured)),
                }
            }
            Effect::Reserve(worst) => self.reserve(worst),
            Effect::Settle { reservation, used } => {
                if !self.ledger.settle(&reservation, &used) {
                    tracing::warn!(session = %self.session, "a reservation was settled that is not held");
                }
            }
            Effect::CallModel { request } => self.call_model(session, request),
            Effect::CancelModel(request) => {
                self.silence.ended();
                self.in_flight.cancel_model(request);
            }
            Effect::Prepare(call) => self.prepare(session, call),
            Effect::Ask { call, shown } => self.ask(session, call, shown),
            // Who was asked sees by the result that the question is off.
            Effect::Unask(call) => drop(self.questions.remove(&call)),
            Effect::Probe(call) => self.probe(session, call),
            Effect::RunTool(approved) => self.run_tool(session, approved),
            Effect::StopTool(call) => self.in_flight.stop(call),
            Effect::BuildHead => self.build_head(session),
            Effect::WakeAt(at) => self.in_flight.wake_at(at, self.around.clock.as_ref()),
            Effect::Tell(passing) => self.tell(passing),
            Effect::Finish(end) => self.finish(session, &end),
        }
    }

    fn append(&mut self, session: &Session, entries: Vec<Entry>, keep: Keep) {
        let mut before = None;
        for entry in &entries {
            self.take_note(session, entry);
            let is_asked = is_asked(session);
            if let Body::Call(call) = &entry.body
                && is_asked
            {
                self.told_asking.insert(call.call);
            }
            let is_told = is_asked || !matches!(&entry.body, Body::Call(_));
            let known = |call: CallId| self.calls.get(&call).cloned().unwrap_or_default();
            let event = if is_told { told(&self.session, entry, &known) } else { None };
            self.outbox.last_made = Some(entry.seq);
            if let Some(event) = event {
                self.outbox.put(event);
                self.silence.shown(self.around.clock.now());
            }
            if let Some(event) = front::told(before, entry, self.requests.sent()) {
                self.outbox.put(event);
            }
            before = Some(entry);
        }
        self.saver.push(entries, keep);
    }

    /// What later effects and events need to know of an entry.
    fn take_note(&mut self, session: &Session, entry: &Entry) {
        if let Body::Call(call) = &entry.body {
            self.asking.insert(call.call, entry.seq);
        }
        self.requests.take_note(&entry.body);
        if let Body::Reply(reply) = &entry.body {
            self.calls = calls_told(entry.seq, reply);
        }
        if let Body::RequestEnd(end) = &entry.body {
            self.failed_at = entry.at;
            self.take_failure(end);
        }
        if matches!(&entry.body, Body::Reply(_) | Body::TurnStart(_)) {
            self.lesson = None;
        }
        if matches!(&entry.body, Body::Request(_)) {
            self.requests.recorded();
        }
        if matches!(&entry.body, Body::Request(_) | Body::Reply(_) | Body::RequestEnd(_)) {
            self.silence.ended();
        }
        let Some(told) = session.turn().map(|turn| turn.told()) else { return };
        if matches!(&entry.body, Body::TurnStart(_)) {
            // A run that goes on after it was parked asks again.
            self.told_asking.clear();
            self.ledger = Ledger::new(told.limits.clone(), told.spent());
        }
        if matches!(&entry.body, Body::LimitAdded(_)) {
            self.ledger.set_limits(told.limits.clone());
        }
    }

    /// What is told of a failure: of those that follow each other while a request is made again in other forms, the
    /// first, unless the last is of another kind.
    fn take_failure(&mut self, end: &RequestEnd) {
        let RequestOutcome::Failed { kind, message, .. } = &end.outcome else { return };
        let first = self.lesson.take().filter(|(first, _)| first == kind);
        let first = first.map_or_else(|| message.text().clone(), |(_, said)| said);
        self.detail = Some(first.clone());
        self.lesson = (end.next == Next::Adapt).then_some((*kind, first));
    }

    /// What became of appends that were out.
    pub(crate) fn saved(&mut self, saved: Saved) {
        for job in saved.done {
            if let Some(last) = job.entries.last() {
                self.outbox.kept = Some(last.seq);
                if job.keep == Keep::Synced {
                    self.due.push_back(Input::Appended { upto: last.seq });
                }
            }
        }
        self.outbox.flush();
        if let Some(why) = saved.failure {
            self.outbox.give_up_entries();
            self.detail = Some(why.as_str().into());
            self.due.push_back(Input::AppendFailed(StoreFailure { message: why.into() }));
        }
    }

    fn reserve(&mut self, worst: Worst) {
        self.due.push_back(match self.ledger.reserve(worst) {
            Ok(reservation) => Input::Reserved(reservation),
            Err(limit) => Input::Refused(limit),
        });
    }

    fn call_model(&mut self, session: &Session, request: RequestId) {
        let jitter = (self.around.chance)();
        let (target, body) = match self.requests.take_ready() {
            Some((target, Ok(body))) => (target, body),
            Some((_, Err(why))) => return self.cannot_call(request, why),
            None => return self.cannot_call(request, "the request was not measured".to_owned()),
        };
        let tariff = self.requests.tariff(&target);
        match self.requests.serving(&target) {
            Ok(provider) => {
                let fallbacks = session.turn().map_or(0, |turn| turn.told().fallbacks_left());
                let left = if fallbacks > 0 { Left::Fallback } else { Left::Nothing };
                let gates = Arc::clone(&self.around.gates);
                let passed = self.silence.asked(&target, provider.waits(&target), self.around.clock.now());
                let mask = Arc::clone(&self.around.mask);
                let expected = self.requests.sent().map(|(_, expected)| expected);
                let sending =
                    Sending { request, target, body, jitter, gates, left, passed, tariff, expected, mask };
                self.in_flight.call_model(provider, sending);
            }
            Err(why) => self.cannot_call(request, why),
        }
    }

    fn cannot_call(&mut self, request: RequestId, why: String) {
        let failure = Failure {
            kind: FailureKind::NotFound,
            status: None,
            message: why.into(),
            retry_after: None,
            remedy: None,
            usage: None,
            micro_usd: None,
        };
        self.due.push_back(Input::RequestFailed { request, failure, jitter: Permille(0) });
    }

    fn prepare(&mut self, session: &Session, call: CallId) {
        let open = session.turn().and_then(|turn| turn.told().step.reply.as_ref());
        let Some(made) = open.and_then(|open| open.made(usize::from(call.place))) else {
            self.due.push_back(crate::prepare::broke_down(call));
            return;
        };
        let preparing = Preparing {
            call,
            made: made.clone(),
            names: session.head().map(WireNames::of).unwrap_or_default(),
            registry: Arc::clone(&self.around.registry),
            policy: Arc::clone(&self.around.policy),
            grants: session.grants().clone(),
        };
        self.in_flight.prepare(call, || preparing.decide());
    }

    fn ask(&mut self, session: &Session, call: CallId, shown: Digest) {
        self.questions.insert(call);
        let open = open_call(session, call).and_then(|open| open.call.clone());
        let told = self.calls.get(&call).cloned();
        if let (Some(open), Some(told), true) = (open, told, self.told_asking.insert(call)) {
            self.outbox.put(Event::Asking {
                entry: self.asking.get(&call).copied().unwrap_or_default(),
                call,
                tool: open.tool.clone(),
                arguments: open.arguments.as_ref().map_or(told.arguments, |json| json.as_str().into()),
                wants: told.wants,
                shown,
            });
        }
    }

    fn probe(&mut self, session: &Session, call: CallId) {
        let open = open_call(session, call);
        let probe = open.and_then(|open| open.start.as_ref()).and_then(|start| start.probe.clone());
        let tool = open.and_then(|open| open.call.as_ref()).map(|call| call.tool.clone());
        let tool = tool.and_then(|name| self.around.registry.get(&name)).cloned();
        self.in_flight.probe(call, tool, probe);
    }

    fn run_tool(&mut self, session: &Session, approved: petasos_core::approval::Approved) {
        let proposal = approved.proposal();
        let tool = self.around.registry.get(&proposal.tool).cloned();
        if proposal.claims.rerun == Rerun::Free {
            let (call, tool) = (proposal.call, proposal.tool.clone());
            self.outbox.put(Event::ToolStart { entry: None, call, tool });
        }
        let cap = room::cap(self.around.result_cap, self.requests.window(session), self.calls.len());
        let (blobs, session) = (Arc::clone(&self.blobs), Arc::clone(&self.shared));
        let now = self.around.clock.now();
        let context = move |stop| Context { stop, cap, blobs, now, session };
        self.in_flight.run_tool(tool, approved, context, Arc::clone(&self.around.clock));
    }

    fn build_head(&mut self, session: &Session) {
        let model = session.turn().map(|turn| turn.told().target().model.clone()).unwrap_or_default();
        let Around { registry, workspace, clock, .. } = &self.around;
        match prompt::head(registry, workspace, &model, clock.now()) {
            Ok(head) => self.due.push_back(Input::HeadBuilt(head)),
            // Schemas are checked JSON, so this is a fault of ours; the turn can still be interrupted.
            Err(error) => tracing::error!(%error, "the head cannot be built"),
        }
    }

    fn tell(&mut self, passing: Passing) {
        let message = self.detail.clone().unwrap_or_default();
        let now = self.around.clock.now();
        let event = match passing {
            Passing::Retrying { kind, at } => {
                if let Some(target) = self.requests.asked() {
                    self.silence.again_at(at, target, now);
                }
                Event::Retrying { kind, message, at: Some(at), wait: Some(at.since(self.failed_at)) }
            }
            Passing::FellBack { kind } => {
                if let Some(target) = self.requests.asked() {
                    self.around.gates.gave_up(target, kind);
                }
                Event::Retrying { kind, message, at: None, wait: None }
            }
        };
        self.outbox.put(event);
    }

    /// Tells what is waited for, if it is time.
    pub(crate) fn tell_silence(&mut self) {
        if let Some(event) = self.silence.take_due(self.around.clock.now()) {
            self.outbox.put(event);
        }
    }

    /// Tells a piece of a reply that was taken in.
    pub(crate) fn tell_piece(&mut self, request: RequestId, delta: &Delta) {
        let now = self.around.clock.now();
        self.silence.piece(now);
        let (kind, text) = match delta {
            Delta::Text(text) => (DeltaKind::Text, text.clone()),
            Delta::Reasoning(text) => (DeltaKind::Reasoning, text.clone()),
            Delta::Opaque(_)
            | Delta::Call { .. }
            | Delta::Arguments { .. }
            | Delta::CallComplete { .. }
            | Delta::Raw(_) => return,
        };
        self.silence.shown(now);
        self.outbox.put(Event::Delta { request, kind, text });
    }

    /// Nobody is left who could answer a question.
    pub(crate) fn take_questions(&mut self) -> bool {
        !std::mem::take(&mut self.questions).is_empty()
    }

    fn finish(&mut self, session: &Session, end: &TurnEnd) {
        self.in_flight.end_all();
        self.silence.ended();
        let usage = UsageOfRun::new(&end.usage, end.micro_usd);
        self.questions.clear();
        if end.reason == StopReason::NotSaved {
            // What was begun meanwhile is not kept either.
            self.outbox.give_up_entries();
            self.outbox.put(unsaved(end.reason, end.steps, usage));
        }
        let has_detail = matches!(end.reason, StopReason::ModelFailed(_) | StopReason::NotSaved);
        let said = self.detail.as_deref().filter(|_| has_detail).map(str::to_owned);
        let detail = said.or_else(|| crate::inspect::why(session, end));
        let detail = detail.as_deref();
        let reply = crate::inspect::reply_of(session, end);
        let result = RunResult {
            status: status(end.reason),
            hint: call_not_run(session, &reply).map(|tool| call_in_text(&tool)),
            reply,
            steps: end.steps,
            usage,
            session: Some(self.session.clone()),
            budget: budget(end.reason),
            error: error(end.reason, detail, &self.session, &crate::inspect::asking(session)),
            reason: Some(end.reason),
            follows: if session.is_running() { Follows::Turn } else { Follows::Nothing },
        };
        self.outbox.put(Event::Result(Arc::new(result)));
    }
}

/// True if a call that asks is a question that somebody may answer, now or after the turn was parked.
fn is_asked(session: &Session) -> bool {
    session.turn().is_none_or(|turn| turn.told().mode.on_ask != OnAsk::Refuse)
}

fn calls_told(seq: Seq, reply: &Reply) -> HashMap<CallId, ToolTold> {
    let told = |CallTold { call, name, arguments }| {
        (call, ToolTold { tool: name, arguments, wants: WantsTold::Approval })
    };
    calls_of(seq, &reply.blocks).into_iter().map(told).collect()
}

/// The tool that an answer calls as text, where calls are not read from text: the person takes it for a success else.
fn call_not_run(session: &Session, reply: &str) -> Option<Text> {
    let target = session.turn()?.told().target();
    match target.tool_mode {
        ToolMode::Native => written_call(reply, session.head()?),
        ToolMode::Constrained | ToolMode::Text => None,
    }
}

fn open_call(session: &Session, call: CallId) -> Option<&OpenCall> {
    session.turn().and_then(|turn| turn.told().step.call(call))
}
