//! Watches a run to its end: tells its events and passes signals on.

use std::future::Future;
use std::sync::Arc;

use petasos_core::stop::StopReason;
use petasos_runtime::{Event, Follows, Op, RunResult, SessionHandle};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::Refusal;
use super::seen::Seen;
use crate::exit::Signal;
use crate::print::Printer;

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Its result, told already.
    pub(crate) result: Arc<RunResult>,
    /// The signal that stopped it.
    pub(crate) signal: Option<Signal>,
    /// Whether the session is at rest.
    pub(crate) rest: Rest,
}

/// Whether a session is at rest when it is no longer watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is.
    Rests,
    /// Its end is not waited for.
    Left,
}

/// The signals that stop a run. They are listened for as long as this lives.
#[derive(Debug)]
pub(crate) struct Stops {
    interrupt: Option<Signals>,
    terminate: Option<Signals>,
    hangup: Option<Signals>,
}

impl Stops {
    /// Listens from now on. Where the system gives no listener the signal ends the process, as it would.
    pub(crate) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hangup: signal(SignalKind::hangup()).ok(),
        }
    }

    /// The next of them.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = receive(&mut self.interrupt) => Signal::Interrupt,
            Some(()) = receive(&mut self.terminate) => Signal::Terminate,
            Some(()) = receive(&mut self.hangup) => Signal::Hangup,
            else => std::future::pending().await,
        }
    }

    /// Waits for something that comes before a run, and gives it up for a signal.
    pub(crate) async fn or<T, E: Into<Refusal>>(
        &mut self,
        wait: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Refusal> {
        tokio::select! {
            done = wait => done.map_err(Into::into),
            signal = self.next() => Err(Refusal::Stopped(signal)),
        }
    }
}

/// The most events that are told after an end that waits for none: a model may say more as fast as that is told.
const AT_HAND: usize = 1000;

async fn receive(signals: &mut Option<Signals>) -> Option<()> {
    match signals {
        Some(signals) => signals.recv().await,
        None => None,
    }
}

/// Watches until the session rests. A second signal does not wait for that.
pub(crate) async fn watch(session: &mut SessionHandle, printer: &mut Printer, stops: &mut Stops) -> Watched {
    let (mut seen, mut stopped_by) = (Seen::default(), None);
    let reason = loop {
        let event = tokio::select! {
            event = session.next_event() => event,
            signal = stops.next() => {
                if stopped_by.replace(signal).is_some() {
                    break StopReason::Interrupted;
                }
                // At rest there is nothing to interrupt, and its result is on the way.
                drop(session.ask(Op::Interrupt).await);
                continue;
            }
        };
        let Some(event) = event else { break StopReason::InternalError };
        let is_question = matches!(event, Event::Asking { .. });
        if let Some(result) = tell(event, &mut seen, printer) {
            return Watched { result, signal: stopped_by, rest: Rest::Rests };
        }
        if is_question {
            // Nobody is here to answer.
            drop(session.ask(Op::Park).await);
        }
    };
    // What happened before that is told and counted, though no more is waited for.
    for _ in 0..AT_HAND {
        let Some(event) = at_hand(session).await else { break };
        if let Some(result) = tell(event, &mut seen, printer) {
            return Watched { result, signal: stopped_by, rest: Rest::Rests };
        }
    }
    left(session, printer, &seen, (reason, stopped_by))
}

/// Tells an event, and gives the result if it is the last one.
fn tell(event: Event, seen: &mut Seen, printer: &mut Printer) -> Option<Arc<RunResult>> {
    printer.event(&event);
    seen.event(&event);
    match event {
        Event::Result(result) if result.follows == Follows::Nothing => Some(result),
        Event::Result(_)
        | Event::Said { .. }
        | Event::TurnStart { .. }
        | Event::StepStart { .. }
        | Event::Delta { .. }
        | Event::Reply { .. }
        | Event::ToolStart { .. }
        | Event::ToolResult { .. }
        | Event::Asking { .. }
        | Event::Note { .. }
        | Event::Retrying { .. }
        | Event::Waiting { .. }
        | Event::TurnEnd { .. } => None,
    }
}

/// An event that need not be waited for.
async fn at_hand(session: &mut SessionHandle) -> Option<Event> {
    tokio::select! {
        biased;
        event = session.next_event() => event,
        () = std::future::ready(()) => None,
    }
}

/// The result of a run whose end is not waited for, or that will tell none.
pub(crate) fn left(
    session: &SessionHandle,
    printer: &mut Printer,
    seen: &Seen,
    (reason, signal): (StopReason, Option<Signal>),
) -> Watched {
    let result = RunResult {
        steps: seen.steps(),
        usage: seen.usage(),
        ..RunResult::without_turn(reason, Some(session.id().clone()))
    };
    printer.result(&result);
    Watched { result: Arc::new(result), signal, rest: Rest::Left }
}
