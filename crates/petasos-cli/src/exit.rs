//! Exit codes: one a stop reason, so that scripts need not read text.

use std::process::ExitCode;

use petasos_core::stop::StopReason;
use petasos_runtime::RunResult;

/// Code of a fault of ours.
pub(crate) const INTERNAL: u8 = 70;

/// The signal that stopped a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    Hangup,
}

/// The exit code of a result; `signal` is what interrupted it.
pub(crate) fn code(result: &RunResult, signal: Option<Signal>) -> ExitCode {
    ExitCode::from(match result.reason {
        None => 2,
        Some(reason) => number(reason, signal),
    })
}

fn number(reason: StopReason, signal: Option<Signal>) -> u8 {
    match reason {
        StopReason::Completed => 0,
        StopReason::BudgetExhausted(_) => 10,
        StopReason::ContextExhausted => 11,
        StopReason::Stuck => 12,
        StopReason::ToolFailed => 13,
        StopReason::TimedOut => 14,
        StopReason::AwaitingApproval | StopReason::AwaitingAnswer => 15,
        StopReason::Denied => 16,
        StopReason::Refused => 17,
        StopReason::Truncated => 18,
        StopReason::NotSaved => 19,
        StopReason::ModelFailed(_) => 20,
        StopReason::InternalError => INTERNAL,
        StopReason::Interrupted => match signal {
            Some(Signal::Terminate) => 143,
            Some(Signal::Hangup) => 129,
            Some(Signal::Interrupt) | None => 130,
        },
    }
}

/// The exit code of a program that was left while nothing ran.
pub(crate) fn at_rest(signal: Option<Signal>) -> ExitCode {
    match signal {
        Some(signal) => ExitCode::from(number(StopReason::Interrupted, Some(signal))),
        None => ExitCode::SUCCESS,
    }
}
