//! Finish reasons that are the same on all wires.

use petasos_core::entry::FinishReason;
use petasos_core::stop::FailureKind;

/// Of a reason that no table knows, the characters that are kept.
const REASON_CAP: usize = 300;

/// Words that stand for a finish reason where there is no reply that finished.
const GIVEN_UP: &[(&str, FailureKind)] = &[
    // DeepSeek (api-docs.deepseek.com, chat completion, `finish_reason`).
    ("insufficient_system_resource", FailureKind::Overloaded),
    // OpenRouter, and servers that translate.
    ("error", FailureKind::Other),
    ("failed", FailureKind::Other),
];

/// The word and the kind of a failure that a server tells in place of a finish reason.
pub(crate) fn given_up(finish: &FinishReason) -> Option<(&'static str, FailureKind)> {
    let FinishReason::Other(said) = finish else { return None };
    GIVEN_UP.iter().find(|(word, _)| word.eq_ignore_ascii_case(said)).copied()
}

/// A finish reason that no table knows, as it came.
pub(crate) fn other_finish(reason: &str) -> FinishReason {
    FinishReason::Other(reason.chars().take(REASON_CAP).collect::<String>().into())
}
