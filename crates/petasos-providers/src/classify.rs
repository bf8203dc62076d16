//! What an error answer means: (status, code, words) to the kind that core acts on, as a table, with a
//! message that names the host, what was met, and what to do next.
//!
//! Codes and types count before words, and words are looked for only where the status leaves it open: a
//! 429 about tokens a minute has the words of a request that is too long, and is none.

use std::time::{Duration, SystemTime};

use petasos_core::bounded::{Bounded, Cap};
use petasos_core::stop::FailureKind;
use petasos_core::time::Span;
use petasos_core::turn::Failure;
use petasos_core::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::remedy::remedy;
use crate::secret::Secret;

/// An answer that is an error.
#[derive(Clone, Copy, Debug)]
pub struct ErrorAnswer<'a> {
    /// Who answered.
    pub host: &'a str,
    /// HTTP status.
    pub status: u16,
    /// What its `Content-Type` says; empty if it has none.
    pub media: &'a str,
    /// What came of its body.
    pub body: &'a str,
    /// How long it asks to wait.
    pub retry_after: Option<Span>,
}

/// The headers that tell how long to wait, as they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitHeaders<'a> {
    /// `retry-after`: seconds or a date.
    pub after: Option<&'a str>,
    /// `retry-after-ms`: milliseconds.
    pub after_ms: Option<&'a str>,
    /// `date`: the time as the server has it.
    pub date: Option<&'a str>,
}

/// An error as providers write it, whatever of it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) message: String,
    /// Its `code`, its `type` and its `status`, in small letters.
    pub(crate) codes: Vec<String>,
    /// A code that is a number, where one can be a status.
    pub(crate) status: Option<u16>,
    /// The parameter that it is about.
    pub(crate) parameter: Option<String>,
    /// The tokens that the model takes (llama.cpp).
    pub(crate) window: Option<u64>,
}

/// Codes and types that say what it is, whatever the status.
const BY_CODE: &[(&str, FailureKind)] = &[
    ("insufficient_quota", FailureKind::Billing),
    ("billing_not_active", FailureKind::Billing),
    ("billing_error", FailureKind::Billing),
    ("insufficient_balance", FailureKind::Billing),
    ("insufficient_credits", FailureKind::Billing),
    ("context_length_exceeded", FailureKind::Overflow),
    ("exceed_context_size_error", FailureKind::Overflow),
    ("request_too_large", FailureKind::Overflow),
    ("string_above_max_length", FailureKind::Overflow),
    ("model_not_found", FailureKind::NotFound),
    ("not_found_error", FailureKind::NotFound),
    ("invalid_api_key", FailureKind::Auth),
    ("authentication_error", FailureKind::Auth),
    ("permission_error", FailureKind::Auth),
    ("rate_limit_exceeded", FailureKind::RateLimit),
    ("rate_limit_error", FailureKind::RateLimit),
    ("overloaded_error", FailureKind::Overloaded),
    ("server_overloaded", FailureKind::Overloaded),
    ("server_is_overloaded", FailureKind::Overloaded),
    ("slow_down", FailureKind::Overloaded),
    ("service_unavailable", FailureKind::Overloaded),
    ("invalid_prompt", FailureKind::BadRequest),
    ("timeout_error", FailureKind::Timeout),
    ("resource_exhausted", FailureKind::RateLimit),
    ("throttlingexception", FailureKind::RateLimit),
    ("throttling", FailureKind::RateLimit),
    // A policy does not change between two tries; another provider may have another.
    ("content_filter", FailureKind::BadRequest),
    ("content_policy_violation", FailureKind::BadRequest),
    ("data_inspection_failed", FailureKind::BadRequest),
];

/// Words that say what it is, at these statuses (0 is an error inside a stream); the first row that fits counts.
const BY_WORDS: &[(&[u16], &[&str], FailureKind)] = &[
    (&[400, 402, 403, 429], EMPTY_WORDS, FailureKind::Billing),
    (&[400, 402, 403, 429], LIMIT_WORDS, FailureKind::Billing),
    (&[403], &["billing"], FailureKind::Billing),
    (&[0, 400, 413, 422, 500], OVERFLOW_WORDS, FailureKind::Overflow),
    (&[400, 403], POLICY_WORDS, FailureKind::BadRequest),
    (&[429], &["overload", "high load", "too busy"], FailureKind::Overloaded),
    (&[400, 500], &["no models loaded", "model not loaded"], FailureKind::NotFound),
];

/// Words of an account that is empty. The word "billing" alone is not among them: Gemini says it of its limit a
/// minute.
const EMPTY_WORDS: &[&str] = &[
    "insufficient balance",
    "insufficient credit",
    "insufficient quota",
    "credit balance is too low",
    "余额不足",
    "欠费",
];

/// Words of a limit on money; with a time to wait it passes by itself.
const LIMIT_WORDS: &[&str] = &["spending limit", "key limit exceeded", "exceeded your monthly"];

/// Words of who refuses for what is asked, not for who asks.
const POLICY_WORDS: &[&str] = &[
    "requires moderation",
    "flagged",
    "content policy",
    "content management policy",
    "safety system",
    "usage policies",
];

/// Words of a server that is not ready, and how long to leave it: a large model is read from its disk in a minute.
const LOADING: (&str, Span) = ("loading model", Span::seconds(30));

/// What stands before the time to wait, where a message tells it.
const WAIT_WORDS: &[&str] = &["retry in ", "try again in ", "retry after "];

/// Units of a time to wait, in milliseconds.
const UNITS: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("millisecond", 1.0),
    ("milliseconds", 1.0),
    ("s", 1e3),
    ("sec", 1e3),
    ("second", 1e3),
    ("seconds", 1e3),
    ("m", 6e4),
    ("min", 6e4),
    ("minute", 6e4),
    ("minutes", 6e4),
    ("h", 36e5),
    ("hour", 36e5),
    ("hours", 36e5),
];

/// Words of a request that is too long.
const OVERFLOW_WORDS: &[&str] = &[
    "maximum context length",
    "context length exceeded",
    "exceeds the context window",
    "exceeds the available context size",
    "exceed context limit",
    "exceeds context limit",
    "prompt is too long",
    "input is too long",
    "maximum allowed input length",
    "too many tokens",
    "reduce the length of the messages",
    "too long for the context",
    "range of input length should be",
    "超出模型最大长度",
    "输入长度超过",
];

/// What an error answer means.
pub fn classify(answer: &ErrorAnswer<'_>) -> Failure {
    let reported = Reported::read(answer.body);
    let wait = answer.retry_after.or_else(|| reported.as_ref().and_then(Reported::wait));
    let kind = kind(answer.status, reported.as_ref(), wait);
    let said = match &reported {
        Some(reported) => reported.words(),
        None => sample(answer.body, answer.media),
    };
    let remedy = reported.as_ref().and_then(|reported| remedy(kind, reported));
    Failure { remedy, ..failure(answer.host, Some(answer.status), kind, &said, wait) }
}

/// What an error object inside a reply means: what an answer with that code as its status would.
pub(crate) fn classify_reported(host: &str, reported: &Reported) -> Failure {
    let wait = reported.wait();
    let kind = kind(reported.status.unwrap_or(0), Some(reported), wait);
    let mut failure = failure(host, reported.status, kind, &reported.words(), wait);
    // It began to answer, so it may have charged something.
    failure.usage = None;
    failure.micro_usd = None;
    failure.remedy = remedy(kind, reported);
    failure
}

/// How long an answer asks to wait; none if it does not say, or says nothing that can be read.
///
/// A date that has passed is no wait. `now` counts where the server does not tell its own time.
pub fn wait_asked(headers: &WaitHeaders<'_>, now: SystemTime) -> Option<Span> {
    if let Some(milliseconds) = headers.after_ms.and_then(|text| text.trim().parse::<f64>().ok()) {
        return span(milliseconds / 1000.0);
    }
    let after = headers.after?.trim();
    if let Ok(seconds) = after.parse::<f64>() {
        return span(seconds);
    }
    let now = headers.date.and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or(now);
    let until = httpdate::parse_http_date(after).ok()?;
    let wait = until.duration_since(now).unwrap_or(Duration::ZERO);
    Some(Span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
}

fn span(seconds: f64) -> Option<Span> {
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(Span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
}

/// The time that a message asks to wait, in small letters: `38.86s`, `1m26.4s`, `540ms`, `2 minutes`.
fn wait_said(words: &str) -> Option<Span> {
    let mut starts = WAIT_WORDS.iter().filter_map(|known| words.split_once(known));
    let (_, mut rest) = starts.find(|(_, rest)| rest.starts_with(|char: char| char.is_ascii_digit()))?;
    let mut milliseconds = None;
    loop {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let Ok(number) = number.parse::<f64>() else { break };
        let behind = behind.trim_start();
        let end = behind.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let Some((_, scale)) = UNITS.iter().find(|(known, _)| *known == unit) else { break };
        milliseconds = Some(milliseconds.unwrap_or(0.0) + number * scale);
        rest = behind.trim_start();
    }
    milliseconds.and_then(|milliseconds| span(milliseconds / 1000.0))
}

/// What it is. `wait` is what the answer asks for: a limit that passes by itself is no empty account.
fn kind(status: u16, reported: Option<&Reported>, wait: Option<Span>) -> FailureKind {
    let by_code = |code: &String| BY_CODE.iter().find(|(known, _)| known == code).map(|(_, kind)| *kind);
    if let Some(kind) = reported.and_then(|reported| reported.codes.iter().find_map(by_code)) {
        return kind;
    }
    let words = reported.map(|reported| reported.message.to_lowercase()).unwrap_or_default();
    let says = |list: &[&str]| list.iter().any(|known| words.contains(known));
    let by_words = || BY_WORDS.iter().find(|(at, list, _)| at.contains(&status) && says(list));
    match status {
        402 | 429 if wait.is_some() && !says(EMPTY_WORDS) => FailureKind::RateLimit,
        _ if let Some((_, _, kind)) = by_words() => *kind,
        401 | 403 => FailureKind::Auth,
        402 => FailureKind::Billing,
        404 | 410 => FailureKind::NotFound,
        408 | 504 | 522 | 524 => FailureKind::Timeout,
        413 => FailureKind::Overflow,
        429 => FailureKind::RateLimit,
        503 | 529 => FailureKind::Overloaded,
        300..=399 => FailureKind::NotFound,
        400..=499 => FailureKind::BadRequest,
        _ => FailureKind::Other,
    }
}

/// A failure with its message: who, what was met, what next.
fn failure(
    host: &str,
    status: Option<u16>,
    kind: FailureKind,
    said: &str,
    retry_after: Option<Span>,
) -> Failure {
    let met = match status {
        Some(status) => format!("{status} from {host}"),
        None => format!("an error from {host}"),
    };
    let said = if said.is_empty() { "without a word about the cause" } else { said };
    let next = match kind {
        FailureKind::Auth => "; check the key and what it may use",
        FailureKind::Billing => "; the account needs credit or another plan",
        FailureKind::NotFound => "; check the name of the model and the base URL (it usually ends in /v1)",
        // Whoever tells a person puts the kind in front: of a request that is too long nothing more is known.
        FailureKind::Overflow
        | FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Timeout
        | FailureKind::Network
        | FailureKind::BadRequest
        | FailureKind::Empty
        | FailureKind::BadStream
        | FailureKind::Other => "",
    };
    // An answer with an error status was turned away: it used nothing. One that ran out of time may have
    // been worked on.
    let is_charged = |status: &u16| matches!(status, 408 | 499 | 502 | 504 | 520 | 522 | 524);
    let usage = status.filter(|status| !is_charged(status)).map(|_| Usage::default());
    let message = Bounded::new(&printable(said), Cap(600), "the rest is not kept");
    let message = format!("{met}: {}{next}", message.text()).into();
    Failure { kind, status, message, retry_after, remedy: None, usage, micro_usd: usage.map(|_| 0) }
}

/// A server's words without what a terminal would obey.
pub(crate) fn printable(words: &str) -> String {
    words.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// A few words of a body that is no error object: an HTML page by its title, else its beginning.
pub(crate) fn sample(body: &str, media: &str) -> String {
    let body = body.trim_start_matches('\u{feff}').trim();
    if body.is_empty() {
        return String::from("an empty body");
    }
    if is_html(body) || media.starts_with("text/html") {
        return match title(body) {
            Some(title) => format!("an HTML page, title {title:?}"),
            None => String::from("an HTML page"),
        };
    }
    let beginning: String = body.chars().take(200).collect();
    format!("{beginning:?}")
}

/// True if it begins as a page does.
pub(crate) fn is_html(body: &str) -> bool {
    body.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

fn title(body: &str) -> Option<String> {
    // Small letters of other scripts may have another length, so only ASCII is made small.
    let small = body.to_ascii_lowercase();
    let open = small.find("<title")?;
    let from = open + small.get(open..)?.find('>')? + 1;
    let upto = from + small.get(from..)?.find('<')?;
    let words: Vec<&str> = body.get(from..upto)?.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(100).collect();
    (!title.is_empty()).then_some(title)
}

/// The shapes an error comes in: `{"error": {…}}`, `{"error": "…"}`, `{"object": "error", …}`, or bare.
#[derive(Deserialize)]
struct ErrorBody<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    param: Option<&'a RawValue>,
    #[serde(borrow, default)]
    n_ctx: Option<&'a RawValue>,
}

impl Reported {
    /// Reads an error body; none if it is no error as any provider writes it.
    pub(crate) fn read(body: &str) -> Option<Self> {
        let body = body.trim_start_matches('\u{feff}').trim();
        // Gemini's chat wire puts its error object into an array. One array is taken off, not any number:
        // the depth of a body is the server's choice, and the stack is ours.
        let items: Vec<&RawValue> =
            if body.starts_with('[') { serde_json::from_str(body).ok()? } else { Vec::new() };
        let body = items.first().map_or(body, |item| item.get());
        let parsed: ErrorBody<'_> = object(body)?;
        if let Some(error) = parsed.error {
            return Some(Self::of(error));
        }
        (parsed.message.is_some() || parsed.detail.is_some()).then(|| Self::of_fields(&parsed))
    }

    /// Reads the value of an `error` field.
    pub(crate) fn of(error: &RawValue) -> Self {
        match object(error.get()) {
            Some(fields) => Self::of_fields(&fields),
            None => Self { message: plain(error), ..Self::default() },
        }
    }

    fn of_fields(fields: &ErrorBody<'_>) -> Self {
        let said = fields.message.or(fields.detail).or(fields.error).or(fields.metadata);
        // Gemini's code is a number, and its word for it stands under `status`.
        let codes = [fields.code, fields.type_, fields.status].into_iter().flatten().map(plain);
        let codes: Vec<String> =
            codes.map(|code| code.to_lowercase()).filter(|code| code != "null").collect();
        let status =
            codes.iter().find_map(|code| code.parse().ok()).filter(|code| (300..=599).contains(code));
        let parameter = fields.param.map(plain).filter(|name| name != "null");
        let window = fields.n_ctx.and_then(|window| window.get().parse().ok());
        Self { message: said.map(plain).unwrap_or_default(), codes, status, parameter, window }
    }

    /// How long its message asks to wait.
    fn wait(&self) -> Option<Span> {
        let words = self.message.to_lowercase();
        let (loading, takes) = LOADING;
        wait_said(&words).or_else(|| words.contains(loading).then_some(takes))
    }

    /// Without the key, which some servers tell back.
    pub(crate) fn without_key(self, key: Option<&Secret>) -> Self {
        let Some(key) = key else { return self };
        let codes = self.codes.iter().map(|code| key.hidden_in(code)).collect();
        Self { message: key.hidden_in(&self.message), codes, ..self }
    }

    /// Its message, with its codes.
    pub(crate) fn words(&self) -> String {
        let codes = self.codes.join(", ");
        match (self.message.is_empty(), codes.is_empty()) {
            (false, false) => format!("{} ({codes})", self.message),
            (false, true) => self.message.clone(),
            (true, _) => codes,
        }
    }
}

/// The fields of an object. A struct is also read from an array, and an array is no error.
fn object(text: &str) -> Option<ErrorBody<'_>> {
    text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()
}

/// A string without its quotes, anything else as it stands.
fn plain(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}
