//! What came of a run: its status, and in words what a person can do about it.

use petasos_core::id::SessionId;
use petasos_core::stop::{FailureKind, Limit, StopReason};
use petasos_core::text::Text;
use petasos_core::usage::Usage;
use serde::Serialize;

use crate::agent::Asking;

/// What came of a run: the last line of `--json` (`formats.md`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunResult {
    /// The stop reason, or `not_started`.
    pub status: &'static str,
    /// What was answered; empty if nothing was.
    pub reply: Text,
    /// Steps of the turn.
    pub steps: u32,
    /// What it used.
    pub usage: UsageOfRun,
    /// The session, if one was made.
    pub session: Option<SessionId>,
    /// Which limit ran out, with `budget_exhausted`.
    pub budget: Option<&'static str>,
    /// What went wrong; none with `completed`.
    pub error: Option<ErrorTold>,
    /// What a person should know of an answer that may be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The stop reason as a type; none before a turn began.
    #[serde(skip)]
    pub reason: Option<StopReason>,
    /// What comes after it by itself.
    #[serde(skip)]
    pub follows: Follows,
}

/// What comes after a result by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing: the session rests.
    Nothing,
    /// The next turn, for something that was said and waited.
    Turn,
}

/// Tokens and money, as events tell them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageOfRun {
    /// Tokens sent.
    pub input: u64,
    /// Tokens made.
    pub output: u64,
    /// Of the input, read from a cache.
    pub cached: u64,
    /// Of the output, reasoning.
    pub reasoning: u64,
    /// Millionths of a dollar; none where a price is unknown.
    pub micro_usd: Option<u64>,
}

impl UsageOfRun {
    /// Usage with its cost.
    pub fn new(usage: &Usage, micro_usd: Option<u64>) -> Self {
        let Usage { input, output, cached, reasoning, cache_written: _ } = *usage;
        Self { input, output, cached, reasoning, micro_usd }
    }
}

/// What went wrong, for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorTold {
    /// The kind: that of `model_failed`, else `usage`, `config`, `held`, or the status.
    pub kind: &'static str,
    /// What, and where.
    pub message: String,
    /// What next.
    pub hint: String,
}

/// Why no turn began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The command line.
    Usage,
    /// A config file, the environment, the workspace, the home, or the model.
    Config,
    /// Another process holds the session.
    Held,
}

impl RunResult {
    /// The result where no turn began.
    pub fn not_started(why: NotStarted, message: String, hint: String) -> Self {
        let kind = match why {
            NotStarted::Usage => "usage",
            NotStarted::Config => "config",
            NotStarted::Held => "held",
        };
        Self {
            status: "not_started",
            reply: Text::default(),
            steps: 0,
            usage: UsageOfRun::default(),
            session: None,
            budget: None,
            error: Some(ErrorTold { kind, message, hint }),
            hint: None,
            reason: None,
            follows: Follows::Nothing,
        }
    }

    /// The result of a run that nobody can say more of: it was stopped before a turn began, or left without
    /// waiting for its end.
    pub fn without_turn(reason: StopReason, session: Option<SessionId>) -> Self {
        let message = if reason == StopReason::Interrupted {
            "the run was stopped"
        } else {
            "a fault of petasos: the session ended without a result"
        };
        let hint = match &session {
            Some(session) => format!("go on: petasos resume {session}"),
            None => "nothing was begun; run it again".to_owned(),
        };
        let error = ErrorTold { kind: status(reason), message: message.to_owned(), hint };
        Self {
            status: status(reason),
            session,
            error: Some(error),
            reason: Some(reason),
            ..Self::not_started(NotStarted::Usage, String::new(), String::new())
        }
    }
}

/// Of an answer that holds a call of this tool as text.
pub(crate) fn call_in_text(tool: &str) -> String {
    format!(
        "the model wrote a call of {tool} as text, and it was not run; for a model that does so, set `tool_mode: text` or \
         `tool_mode: constrained` under `model` in the config.yaml of the home folder"
    )
}

/// The name of a stop reason.
pub fn status(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Completed => "completed",
        StopReason::BudgetExhausted(_) => "budget_exhausted",
        StopReason::ContextExhausted => "context_exhausted",
        StopReason::Stuck => "stuck",
        StopReason::ToolFailed => "tool_failed",
        StopReason::TimedOut => "timed_out",
        StopReason::AwaitingApproval => "awaiting_approval",
        StopReason::AwaitingAnswer => "awaiting_answer",
        StopReason::Denied => "denied",
        StopReason::Refused => "refused",
        StopReason::Truncated => "truncated",
        StopReason::NotSaved => "not_saved",
        StopReason::ModelFailed(_) => "model_failed",
        StopReason::InternalError => "internal_error",
        StopReason::Interrupted => "interrupted",
    }
}

/// The name of a limit.
pub(crate) fn budget(reason: StopReason) -> Option<&'static str> {
    let StopReason::BudgetExhausted(limit) = reason else { return None };
    Some(match limit {
        Limit::Steps => "steps",
        Limit::Tokens => "tokens",
        Limit::Money => "money",
    })
}

/// The name of a failure.
pub fn failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Auth => "auth",
        FailureKind::Billing => "billing",
        FailureKind::RateLimit => "rate_limit",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Timeout => "timeout",
        FailureKind::Network => "network",
        FailureKind::NotFound => "not_found",
        FailureKind::BadRequest => "bad_request",
        FailureKind::Overflow => "overflow",
        FailureKind::Empty => "empty",
        FailureKind::BadStream => "bad_stream",
        FailureKind::Other => "other",
    }
}

/// What a person reads of a turn that did not complete. `detail` is what the provider or the disk said.
pub(crate) fn error(
    reason: StopReason,
    detail: Option<&str>,
    session: &SessionId,
    asking: &[Asking],
) -> Option<ErrorTold> {
    let resume = format!("petasos resume {session}");
    let say = format!("say how to go on: {resume} -m \"…\"");
    let (message, hint) = match reason {
        StopReason::Completed => return None,
        StopReason::BudgetExhausted(Limit::Steps) => {
            ("the step budget of the turn is used up", format!("give it more: {resume} --add-steps 20"))
        }
        StopReason::BudgetExhausted(Limit::Tokens) => {
            ("the token budget of the turn is used up", format!("give it more: {resume} --add-tokens 100000"))
        }
        StopReason::BudgetExhausted(Limit::Money) => {
            ("the money budget of the turn is used up", format!("give it more: {resume} --add-usd 1"))
        }
        StopReason::ContextExhausted => (
            "the request no longer fits the model's window",
            "begin a new session, or use a model with a larger window; if the server has a larger one by now, set \
             model.window"
                .into(),
        ),
        StopReason::Stuck => ("the model does the same again and again", say),
        StopReason::ToolFailed => ("one tool failed again and again", say),
        StopReason::TimedOut => {
            ("the turn's time at work is used up", format!("give it more: {resume} --add-time 600"))
        }
        StopReason::AwaitingApproval => ("a call waits for approval", how_to_decide(&resume, asking)),
        StopReason::AwaitingAnswer => {
            ("a question waits for its answer", format!("answer: {resume} -m \"…\""))
        }
        StopReason::Denied => ("a call was denied, and the turn stopped for it", say),
        StopReason::Refused => ("the model or its provider refused", say),
        StopReason::Truncated => {
            ("the reply was cut at its length, again and again", format!("let it go on: {resume}"))
        }
        StopReason::NotSaved => {
            ("the session's log cannot be written", format!("mend the disk, then: {resume}"))
        }
        StopReason::ModelFailed(kind) => (of_failure(kind), model_hint(kind, &resume)),
        StopReason::InternalError => ("a fault of petasos, caught", format!("go on: {resume}")),
        StopReason::Interrupted => ("the turn was interrupted", format!("go on: {resume}")),
    };
    let kind = if let StopReason::ModelFailed(kind) = reason { failure(kind) } else { status(reason) };
    let message = match detail {
        Some(detail) => format!("{message}: {detail}"),
        None => message.to_owned(),
    };
    Some(ErrorTold { kind, message, hint })
}

/// The commands with which a person decides about what waits.
pub fn how_to_decide(resume: &str, asking: &[Asking]) -> String {
    match asking {
        [] | [_] => format!("decide: {resume} --approve, or --deny"),
        several => {
            let each = several.iter().map(|one| format!("{resume} --approve={}", one.call));
            format!("decide about each: {}; --deny=… the same way", each.collect::<Vec<_>>().join("; "))
        }
    }
}

fn of_failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Auth => "the provider does not take the key",
        FailureKind::Billing => "the provider wants to be paid",
        FailureKind::RateLimit => "the provider says too many requests",
        FailureKind::Overloaded => "the provider is overloaded",
        FailureKind::Timeout => "the model did not answer in time",
        FailureKind::Network => "the model's server cannot be reached",
        FailureKind::NotFound => "there is no such model or address",
        FailureKind::BadRequest => "the provider does not take the request",
        FailureKind::Overflow => "the request is too long for the model",
        FailureKind::Empty => "the model answered nothing, twice",
        FailureKind::BadStream => "the reply cannot be read, or broke off",
        FailureKind::Other => "the model failed",
    }
}

fn model_hint(kind: FailureKind, resume: &str) -> String {
    match kind {
        FailureKind::Auth => {
            format!("set the right key in the environment (--api-key-env names its variable), then: {resume}")
        }
        FailureKind::Billing => format!("see to the account, or use another model, then: {resume}"),
        FailureKind::NotFound => format!(
            "check --base-url (most end in /v1) and --model, then: {resume} --base-url URL --model NAME"
        ),
        FailureKind::Network => format!("check --base-url and that the server runs, then: {resume}"),
        FailureKind::BadRequest => {
            format!("check --base-url (most end in /v1), or try another model: {resume} --model NAME")
        }
        FailureKind::Overflow | FailureKind::Empty => format!("try another model: {resume} --model NAME"),
        FailureKind::Other => format!("try again: {resume}; or another model with --model NAME"),
        FailureKind::RateLimit | FailureKind::Overloaded | FailureKind::Timeout | FailureKind::BadStream => {
            format!("wait a little, then: {resume}")
        }
    }
}
