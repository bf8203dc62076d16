//! Everything that is under way for a session, in one set that owns it. Dropping it stops the work.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use petasos_core::approval::Approved;
use petasos_core::id::{CallId, RequestId};
use petasos_core::request::{Measured, Target};
use petasos_core::stop::FailureKind;
use petasos_core::text::Json;
use petasos_core::time::{Permille, Span, Time};
use petasos_core::tool::{Outcome, ToolOutput};
use petasos_core::turn::{Failure, Input, ReplyEnd};
use petasos_core::usage::Usage;
use petasos_providers::{Outgoing, Provider, ReplyEvent, Tariff};
use petasos_tools::{BlobTrouble, Blobs, Context, Mask, Stop, Tool, trouble};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};

use crate::clock::Clock;
use crate::front::Expected;
use crate::gate::{Gates, Left};
use crate::prepare::broke_down;

/// Pieces of a reply that may wait to be taken in: a fast server waits for us, not our memory for it.
const DELTAS: usize = 256;

/// What a piece of work is for, so that a panic in it is answered.
#[derive(Clone, Debug)]
enum Work {
    Measure(Box<Measured>),
    Model(RequestId),
    Prepare(CallId),
    Probe(CallId),
    Tool(CallId),
}

/// A call on which something is being done.
#[derive(Debug)]
struct Busy {
    abort: AbortHandle,
    /// The end that raises its stop signal; only a running tool has one.
    stop: Option<watch::Sender<bool>>,
}

/// What is under way.
pub(crate) struct InFlight {
    set: JoinSet<Option<Input>>,
    works: HashMap<tokio::task::Id, Work>,
    model: Option<(RequestId, AbortHandle)>,
    calls: HashMap<CallId, Busy>,
    pieces: (mpsc::Sender<Input>, mpsc::Receiver<Input>),
    timer: Option<(Time, BoxFuture<'static, ()>)>,
}

impl std::fmt::Debug for InFlight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InFlight").field("works", &self.works).finish_non_exhaustive()
    }
}

/// A request that is about to be sent.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) request: RequestId,
    pub(crate) target: Target,
    pub(crate) body: Outgoing,
    /// Chance, for the wait before another try.
    pub(crate) jitter: Permille,
    /// What it has to pass first.
    pub(crate) gates: Arc<Gates>,
    pub(crate) left: Left,
    /// When it had passed that.
    pub(crate) passed: Arc<OnceLock<Time>>,
    /// What its tokens cost, if that is known.
    pub(crate) tariff: Option<Tariff>,
    /// What its target is expected to read of it, if that is known.
    pub(crate) expected: Option<Expected>,
    /// What must not stand in an error: some servers tell keys back.
    pub(crate) mask: Arc<Mask>,
}

impl InFlight {
    pub(crate) fn new() -> Self {
        Self {
            set: JoinSet::new(),
            works: HashMap::new(),
            model: None,
            calls: HashMap::new(),
            pieces: mpsc::channel(DELTAS),
            timer: None,
        }
    }

    fn spawn(
        &mut self,
        work: Work,
        task: impl Future<Output = Option<Input>> + Send + 'static,
    ) -> AbortHandle {
        let abort = self.set.spawn(task);
        self.works.insert(abort.id(), work);
        abort
    }

    /// Sends a request; its deltas and its end come in order.
    pub(crate) fn call_model(&mut self, provider: Arc<dyn Provider>, sending: Sending) {
        let Sending { request, target, body, jitter, gates, left, passed, tariff, expected, mask } = sending;
        let pieces = self.pieces.0.clone();
        let task = async move {
            if let Err(failure) = gates.pass(&target, left).await {
                return Some(Input::RequestFailed { request, failure, jitter });
            }
            passed.get_or_init(|| gates.now());
            // A stream that ends without an end would leave its request unanswered.
            let mut has_begun = false;
            let mut reply = provider.call(&target, body).chain(stream::iter([broken_off()]));
            while let Some(event) = reply.next().await {
                if let ReplyEvent::Failed(failure) = &event {
                    gates.failed(&target, failure);
                } else if !std::mem::replace(&mut has_begun, true) {
                    gates.went_well(&target);
                }
                let input = match priced(event, tariff) {
                    ReplyEvent::Delta(delta) => Input::Delta { request, delta },
                    ReplyEvent::Done(end) => {
                        let window = expected.and_then(|expected| expected.window(end.usage.as_ref()));
                        Input::ReplyEnded { request, end: ReplyEnd { window, ..end } }
                    }
                    ReplyEvent::Failed(failure) => {
                        let message = mask.hide(&failure.message).as_ref().into();
                        Input::RequestFailed { request, failure: Failure { message, ..failure }, jitter }
                    }
                };
                let is_end = !matches!(&input, Input::Delta { .. });
                if pieces.send(input).await.is_err() || is_end {
                    break;
                }
            }
            None
        };
        let abort = self.spawn(Work::Model(request), task);
        self.model = Some((request, abort));
    }

    /// Keeps the parts of a request, each under its hash, before it is told what it measures. A request that is sent
    /// without them lacks nothing but what a replay would show.
    pub(crate) fn keep_parts(&mut self, blobs: Arc<dyn Blobs>, parts: Vec<Vec<u8>>, measured: Measured) {
        let work = Work::Measure(Box::new(measured.clone()));
        let task = async move {
            for part in parts {
                if let Err(error) = keep(blobs.as_ref(), part).await {
                    tracing::warn!(%error, "a part of a request is not kept");
                }
            }
            Some(Input::Measured(measured))
        };
        self.spawn(work, task);
    }

    /// Closes the connection of a request.
    pub(crate) fn cancel_model(&mut self, request: RequestId) {
        if let Some((_, abort)) = self.model.take_if(|(out, _)| *out == request) {
            abort.abort();
        }
    }

    /// Prepares a call: `decide` may wait for a disk.
    pub(crate) fn prepare(&mut self, call: CallId, decide: impl FnOnce() -> Input + Send + 'static) {
        let task = async move {
            match tokio::task::spawn_blocking(decide).await {
                Ok(input) => Some(input),
                Err(_) => Some(broke_down(call)),
            }
        };
        let abort = self.spawn(Work::Prepare(call), task);
        self.calls.insert(call, Busy { abort, stop: None });
    }

    /// Looks whether a call that had begun was done.
    pub(crate) fn probe(&mut self, call: CallId, tool: Option<Arc<dyn Tool>>, probe: Option<Json>) {
        let task = async move {
            let outcome = match (&tool, &probe) {
                (Some(tool), Some(probe)) => tool.probe(probe).await,
                (Some(_) | None, _) => Outcome::Unknown,
            };
            Some(Input::Probed { call, outcome })
        };
        let abort = self.spawn(Work::Probe(call), task);
        self.calls.insert(call, Busy { abort, stop: None });
    }

    /// Runs a tool. `clock` times it.
    pub(crate) fn run_tool(
        &mut self,
        tool: Option<Arc<dyn Tool>>,
        approved: Approved,
        context: impl FnOnce(Stop) -> Context,
        clock: Arc<dyn Clock>,
    ) {
        let call = approved.proposal().call;
        let (raise, stop) = Stop::new();
        let context = context(stop);
        let task = async move {
            let began = clock.now();
            let output = match tool {
                Some(tool) => tool.run(&approved, context).await,
                None => no_such_tool(),
            };
            let took = clock.now().since(began);
            Some(Input::ToolEnded { call, output: ToolOutput { took, ..output } })
        };
        let abort = self.spawn(Work::Tool(call), task);
        self.calls.insert(call, Busy { abort, stop: Some(raise) });
    }

    /// Tells a tool to stop; what only prepares or probes is ended.
    pub(crate) fn stop(&mut self, call: CallId) {
        if let Some(busy) = self.calls.get(&call) {
            match &busy.stop {
                Some(raise) => drop(raise.send(true)),
                None => busy.abort.abort(),
            }
        }
    }

    /// Wakes at `at`, or earlier if it is to wake earlier already.
    pub(crate) fn wake_at(&mut self, at: Time, clock: &dyn Clock) {
        if self.timer.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
            self.timer = Some((at, clock.sleep_until(at)));
        }
    }

    /// Ends whatever still runs: the run is over.
    pub(crate) fn end_all(&mut self) {
        self.set.abort_all();
        self.calls.clear();
        self.model = None;
        self.timer = None;
    }

    /// The next thing that happens; waits for ever if nothing is under way. May be dropped and called anew.
    pub(crate) async fn next(&mut self) -> Input {
        loop {
            let timer = async {
                match &mut self.timer {
                    Some((_, sleep)) => sleep.await,
                    None => pending().await,
                }
            };
            // What ends is asked in this order: the pieces of a reply keep theirs, for they come by one way.
            tokio::select! {
                biased;
                Some(input) = self.pieces.1.recv() => return input,
                Some(ended) = self.set.join_next_with_id() => {
                    if let Some(input) = self.ended(ended) {
                        return input;
                    }
                }
                () = timer => {
                    self.timer = None;
                    return Input::Woke;
                }
            }
        }
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, Option<Input>), JoinError>) -> Option<Input> {
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let work = self.works.remove(&id)?;
        if let Work::Prepare(call) | Work::Probe(call) | Work::Tool(call) = &work
            && self.calls.get(call).is_some_and(|busy| busy.abort.id() == id)
        {
            self.calls.remove(call);
        }
        match ended {
            Ok((_, input)) => input,
            Err(error) if error.is_cancelled() => None,
            Err(_) => Some(panicked(&work)),
        }
    }
}

async fn keep(blobs: &dyn Blobs, part: Vec<u8>) -> Result<(), BlobTrouble> {
    let mut blob = blobs.create().await?;
    blob.write(part).await?;
    blob.finish().await.map(drop)
}

/// The end of a reply with what its usage costs, where the server itself does not say.
fn priced(event: ReplyEvent, tariff: Option<Tariff>) -> ReplyEvent {
    let cost = |usage: Option<Usage>| tariff?.cost(&usage?);
    match event {
        ReplyEvent::Delta(delta) => ReplyEvent::Delta(delta),
        ReplyEvent::Done(end) => {
            let micro_usd = end.micro_usd.or_else(|| cost(end.usage));
            ReplyEvent::Done(ReplyEnd { micro_usd, ..end })
        }
        ReplyEvent::Failed(failure) => {
            let micro_usd = failure.micro_usd.or_else(|| cost(failure.usage));
            ReplyEvent::Failed(Failure { micro_usd, ..failure })
        }
    }
}

fn broken_off() -> ReplyEvent {
    ReplyEvent::Failed(Failure {
        kind: FailureKind::BadStream,
        status: None,
        message: "the reply has no end".into(),
        retry_after: None,
        remedy: None,
        usage: None,
        micro_usd: None,
    })
}

/// What is answered for work that panicked: nothing is left waiting for it (I11).
fn panicked(work: &Work) -> Input {
    match work {
        Work::Measure(measured) => Input::Measured(Measured::clone(measured)),
        Work::Model(request) => Input::RequestFailed {
            request: *request,
            failure: Failure {
                kind: FailureKind::Other,
                status: None,
                message: "the program met a fault of its own while it read the reply".into(),
                retry_after: None,
                remedy: None,
                usage: None,
                micro_usd: None,
            },
            jitter: Permille(0),
        },
        Work::Prepare(call) => broke_down(*call),
        Work::Probe(call) => Input::Probed { call: *call, outcome: Outcome::Unknown },
        Work::Tool(call) => Input::ToolEnded {
            call: *call,
            output: told(
                "the tool broke down",
                "it met a fault of its own while it ran",
                "look at the present state before you try it again, or do it another way",
            ),
        },
    }
}

fn no_such_tool() -> ToolOutput {
    told("there is no such tool now", "it was there when the call was allowed", "do it another way")
}

fn told(error: &str, cause: &str, hint: &str) -> ToolOutput {
    let text = trouble(error, cause, hint);
    let bytes = text.text().len() as u64;
    ToolOutput {
        outcome: Outcome::Error,
        for_model: text,
        bytes,
        blob: None,
        facts: Vec::new(),
        took: Span(0),
    }
}
