//! What would help against a request that a server does not take, read from what it says of it.
//!
//! Servers say in words what they want otherwise, and each in its own. What is not understood helps nothing: the
//! request is not made again, and what the server said is shown.

use petasos_core::learnt::{Adapt, LEAST_ROOM, Parameter};
use petasos_core::stop::FailureKind;
use petasos_core::turn::Remedy;

use crate::classify::Reported;

/// Names of parameters in requests, and what they stand for. Longer names before those that they begin with.
const PARAMETERS: &[(&str, Parameter)] = &[
    ("max_completion_tokens", Parameter::MaxOutput),
    ("max_output_tokens", Parameter::MaxOutput),
    ("max_tokens", Parameter::MaxOutput),
    ("temperature", Parameter::Temperature),
    ("stream_options", Parameter::StreamOptions),
    ("tool_choice", Parameter::ToolChoice),
    ("reasoning.encrypted_content", Parameter::SealedReasoning),
    ("encrypted content", Parameter::SealedReasoning),
    ("reasoning_content", Parameter::ReasoningBack),
    ("thinking.type", Parameter::Thinking),
    ("response_format", Parameter::ResponseFormat),
    ("text.format", Parameter::ResponseFormat),
    ("json_schema", Parameter::ResponseFormat),
];

/// Names that are words of everyday English too: they count where the server names its parameter, or quotes it.
const NAMED: &[(&str, Parameter)] = &[
    ("include", Parameter::SealedReasoning),
    ("thinking", Parameter::Thinking),
    ("store", Parameter::Store),
];

/// Codes of a parameter that is not taken.
const UNSUPPORTED_CODES: &[&str] =
    &["unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"];

/// Words of a parameter that is not taken.
const UNSUPPORTED_WORDS: &[&str] = &[
    "unsupported parameter",
    "unsupported value",
    "unknown parameter",
    "unknown field",
    "unrecognized",
    "not supported",
    "does not support",
    "not permitted",
    "unexpected keyword",
    "is unavailable",
];

/// Words of an output cap that is too large.
const TOO_LARGE: &[&str] = &[
    "too large",
    "at most",
    "maximum allowed number of output tokens",
    "less than or equal to",
    "valid range of max_tokens",
    "<=",
];

/// What stands before the most tokens of output that a model gives.
const BEFORE_CAP: &[&str] = &["at most ", "less than or equal to ", "[1, ", "> ", "<= "];

/// What stands before the tokens that a model takes in all.
const BEFORE_WINDOW: &[&str] = &[
    "maximum context length is ",
    "available context size (",
    "maximum allowed input length of ",
    "maximum input length of ",
    "context window of ",
    "> ",
];

/// What stands before the tokens of the input, where a server tells them beside the window.
const BEFORE_INPUT: &[&str] = &["your request has ", "exceed context limit: "];
/// What stands behind them.
const BEHIND_INPUT: &[&str] = &[" in the messages", " of text input"];

/// What would help, if the server says so.
pub(crate) fn remedy(kind: FailureKind, reported: &Reported) -> Option<Remedy> {
    let said = reported.message.to_lowercase();
    let words = said.replace(['`', '\'', '"'], "");
    let adapt = match kind {
        FailureKind::Overflow => overflow(&words, reported.window),
        FailureKind::BadRequest | FailureKind::NotFound | FailureKind::Other => {
            sealed(&words, reported).or_else(|| cap(&words)).or_else(|| unsupported(&said, &words, reported))
        }
        FailureKind::Auth
        | FailureKind::Billing
        | FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Timeout
        | FailureKind::Network
        | FailureKind::Empty
        | FailureKind::BadStream => None,
    };
    adapt.map(Remedy::Adapt)
}

/// True if the request has what it would be written without: where it was not sent, the server means something else.
pub(crate) fn is_sent(remedy: Remedy, body: &[u8]) -> bool {
    let Remedy::Adapt(adapt) = remedy else { return true };
    let parameter = match adapt {
        Adapt::Window(_) | Adapt::Seen(_) | Adapt::Room { .. } | Adapt::Without(Parameter::ReasoningBack) => {
            return true;
        }
        Adapt::MaxOutput(_) | Adapt::OtherCapName => Parameter::MaxOutput,
        Adapt::Without(parameter) => parameter,
    };
    let names = PARAMETERS.iter().chain(NAMED).filter(|(_, of)| *of == parameter);
    // In a text the quotes are escaped, so only a key looks so.
    let keys = names.map(|(name, _)| format!(",\"{name}\":"));
    let format = (parameter == Parameter::ResponseFormat).then(|| "\"type\":\"json_schema\"".to_owned());
    keys.chain(format).any(|key| body.windows(key.len()).any(|window| window == key.as_bytes()))
}

/// A request that is too long: with less room for the output it may fit, else the window is known now.
fn overflow(words: &str, told: Option<u64>) -> Option<Adapt> {
    let window = told.or_else(|| number_behind(words, BEFORE_WINDOW))?;
    let input = number_behind(words, BEFORE_INPUT)
        .or_else(|| BEHIND_INPUT.iter().find_map(|behind| number_before(words, behind)));
    match input.and_then(|input| window.checked_sub(input)) {
        Some(room) if room >= LEAST_ROOM => {
            Some(Adapt::Room { window, room: u32::try_from(room).unwrap_or(u32::MAX) })
        }
        Some(_) | None => (window > 0).then_some(Adapt::Window(window)),
    }
}

/// Reasoning in its sealed form that its server does not take back.
fn sealed(words: &str, reported: &Reported) -> Option<Adapt> {
    let by_code = reported.codes.iter().any(|code| code == "invalid_encrypted_content");
    let is_signature = words.contains("signature") && words.contains("thinking");
    let is_changed = words.contains("thinking") && words.contains("cannot be modified");
    (by_code || is_signature || is_changed).then_some(Adapt::Without(Parameter::ReasoningBack))
}

/// An output cap that is larger than the model's.
fn cap(words: &str) -> Option<Adapt> {
    let is_cap = PARAMETERS
        .iter()
        .filter(|(_, parameter)| *parameter == Parameter::MaxOutput)
        .any(|(name, _)| words.contains(name));
    if !is_cap || !TOO_LARGE.iter().any(|known| words.contains(known)) {
        return None;
    }
    number_behind(words, BEFORE_CAP).filter(|most| *most > 0).map(Adapt::MaxOutput)
}

/// A parameter that the server or the model does not know.
fn unsupported(said: &str, words: &str, reported: &Reported) -> Option<Adapt> {
    let by_code = reported.codes.iter().any(|code| UNSUPPORTED_CODES.contains(&code.as_str()));
    if !by_code && !UNSUPPORTED_WORDS.iter().any(|known| words.contains(known)) {
        return None;
    }
    // What it names itself counts before what its words are about.
    let named = reported.parameter.as_deref().unwrap_or_default().to_lowercase();
    let find = |text: &str| PARAMETERS.iter().find(|(name, _)| has_word(text, name));
    let by_name = || NAMED.iter().find(|(name, _)| has_word(&named, name));
    let in_words = || find(words).or_else(|| quoted(said)).filter(|_| named.is_empty());
    let (name, parameter) = find(&named).or_else(by_name).or_else(in_words)?;
    if *parameter != Parameter::MaxOutput {
        return Some(Adapt::Without(*parameter));
    }
    let other = if *name == "max_tokens" { "max_completion_tokens" } else { "max_tokens" };
    let is_swapped = *name != "max_output_tokens" && has_word(words, "max_tokens") && words.contains(other);
    Some(if is_swapped { Adapt::OtherCapName } else { Adapt::Without(Parameter::MaxOutput) })
}

/// A name that is quoted, or stands before a colon at the start.
fn quoted(said: &str) -> Option<&'static (&'static str, Parameter)> {
    let is_quoted = |name: &str| {
        let mut marks = ['`', '\'', '"'].into_iter();
        marks.any(|mark| said.contains(&format!("{mark}{name}{mark}")))
            || said.starts_with(&format!("{name}:"))
    };
    NAMED.iter().find(|(name, _)| is_quoted(name))
}

/// True if the name stands in the text and is no part of a longer word.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + name.len()..).and_then(|behind| behind.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

/// The number behind the first of these words that has one.
fn number_behind(words: &str, known: &[&str]) -> Option<u64> {
    known.iter().find_map(|known| {
        words.match_indices(known).find_map(|(at, _)| {
            let rest = words.get(at + known.len()..)?;
            let digits: String = rest
                .chars()
                .take_while(|char| char.is_ascii_digit() || *char == ',')
                .filter(|char| *char != ',')
                .collect();
            digits.parse().ok()
        })
    })
}

/// The number before these words.
fn number_before(words: &str, known: &str) -> Option<u64> {
    let (before, _) = words.split_once(known)?;
    let from = before.rfind(|char: char| !char.is_ascii_digit()).map_or(0, |at| at + 1);
    before.get(from..)?.parse().ok()
}
