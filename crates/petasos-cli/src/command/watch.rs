//! Watches a run to its end: tells its events, passes signals on, and answers what was answered beforehand.

use petasos_core::approval::Answer;
use petasos_core::id::{CallId, Digest};
use petasos_runtime::{Event, Op, RunResult, SessionHandle};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use crate::exit::Signal;
use crate::print::Printer;

/// What a person decided before the run began.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub(crate) call: CallId,
    /// Over what was shown when the session was parked.
    pub(crate) shown: Digest,
    pub(crate) answer: Answer,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) result: Option<std::sync::Arc<RunResult>>,
    pub(crate) signal: Option<Signal>,
}

/// The two signals that stop a run.
#[derive(Debug)]
pub(crate) struct Stops {
    interrupt: Option<Signals>,
    terminate: Option<Signals>,
}

impl Stops {
    /// Listens from now on. Where the system gives no listener the signal ends the process, as it would.
    pub(crate) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    /// The next of them.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = receive(&mut self.interrupt) => Signal::Interrupt,
            Some(()) = receive(&mut self.terminate) => Signal::Terminate,
            else => std::future::pending().await,
        }
    }
}

async fn receive(signals: &mut Option<Signals>) -> Option<()> {
    match signals {
        Some(signals) => signals.recv().await,
        None => None,
    }
}

/// Watches until the result of the run. A second signal does not wait for it.
pub(crate) async fn watch(
    session: &mut SessionHandle,
    printer: &mut Printer,
    stops: &mut Stops,
    mut decided: Option<Decided>,
) -> Watched {
    let mut stopped_by = None;
    loop {
        let event = tokio::select! {
            event = session.next_event() => event,
            signal = stops.next() => {
                if stopped_by.replace(signal).is_some() {
                    return Watched { result: None, signal: stopped_by };
                }
                // At rest there is nothing to interrupt, and its result is on the way.
                drop(session.ask(Op::Interrupt).await);
                continue;
            }
        };
        let Some(event) = event else { return Watched { result: None, signal: stopped_by } };
        printer.event(&event);
        match event {
            Event::Asking { call, shown, .. } => {
                let op = match decided.take_if(|one| one.call == call && one.shown == shown) {
                    Some(Decided { answer, .. }) => Op::Decide { call, answer, shown },
                    // Nobody is here for another question, or for one that changed since.
                    None => Op::Park,
                };
                // Under a policy that refuses or parks by itself nothing is asked, and nothing to be answered.
                drop(session.ask(op).await);
            }
            Event::Result(result) => return Watched { result: Some(result), signal: stopped_by },
            Event::Said { .. }
            | Event::TurnStart { .. }
            | Event::StepStart { .. }
            | Event::Delta { .. }
            | Event::Reply { .. }
            | Event::ToolStart { .. }
            | Event::ToolResult { .. }
            | Event::Note { .. }
            | Event::Retrying { .. }
            | Event::TurnEnd { .. } => {}
        }
    }
}
