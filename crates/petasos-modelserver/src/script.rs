//! A script: replies, one a line, and how each of them fails.
//!
//! Reading is strict, because a script that is half understood makes a test that shows nothing: an unknown key, a key
//! that stands twice and a value of another kind are errors that name line and column.

use std::collections::BTreeSet;

use hyper::StatusCode;
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};

use crate::ModelServerError;

mod object;

use object::{Kind, Value};

const REPLY_KEYS: &[&str] = &["text", "reasoning", "calls", "finish", "usage", "fault", "when"];
const CALL_KEYS: &[&str] = &["name", "arguments", "id"];
const USAGE_KEYS: &[&str] = &["input", "output", "cached", "reasoning"];
const FAULT_KEYS: &[&str] = &["status", "headers", "body", "cut_after_bytes", "trickle_ms"];
const WHEN_KEYS: &[&str] = &["results"];
const FAULT_WORDS: &[&str] = &["stall", "garbage"];

/// What a server says, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    replies: Vec<Reply>,
}

/// One line: a reply, or a failure instead of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it says.
    pub text: Option<String>,
    /// What it thinks before that.
    pub reasoning: Option<String>,
    /// The tools it calls, in order.
    pub calls: Vec<Call>,
    /// Why it ends.
    pub finish: Finish,
    /// What it says of its tokens.
    pub usage: UsageChoice,
    /// How it fails, if it does.
    pub fault: Option<Fault>,
    /// The number of tool results in a request that this line answers; without it lines are taken in order.
    pub results: Option<u64>,
}

/// One use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// What it is to work on.
    pub arguments: Arguments,
    /// The id that the wire gives it.
    pub id: WireId,
}

/// Arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// A JSON object, in the bytes of the script.
    Object(String),
    /// Any text, sent as it is.
    Text(String),
}

impl Arguments {
    /// What is sent.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Object(text) | Self::Text(text) => text,
        }
    }
}

/// The id of a call on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WireId {
    /// `scripted_<request>_<place>`, both counted from 1.
    #[default]
    Made,
    /// This one.
    Given(String),
    /// None is sent.
    LeftOut,
}

/// Why a reply ends, in the words of its wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// As a server would say it: for its calls if there are any, else because it is done.
    #[default]
    Usual,
    /// This word.
    Given(String),
    /// No reason is sent.
    LeftOut,
}

/// What a reply says of its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UsageChoice {
    /// A quarter of the bytes of the request and of what is said.
    #[default]
    Counted,
    /// These numbers, in the form of the wire.
    Given(Usage),
    /// This object as it stands, for shapes that a wire does not have.
    Raw(String),
    /// Nothing.
    LeftOut,
}

/// Numbers of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request, cached ones among them.
    pub input: u64,
    /// Tokens of the reply, those of its reasoning among them.
    pub output: u64,
    /// Those of the request that were served from a cache.
    pub cached: Option<u64>,
    /// Those of the reply that were reasoning.
    pub reasoning: Option<u64>,
}

/// How a reply fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another answer instead of the reply.
    Status {
        /// 200 to 599.
        status: StatusCode,
        /// Sent as they are; a content type is added if there is none.
        headers: Vec<(HeaderName, HeaderValue)>,
        /// What the answer says.
        body: FaultBody,
    },
    /// Headers of a good reply, and nothing more until the client goes away.
    Stall,
    /// The connection is closed after so many bytes of the body.
    CutAfterBytes(u64),
    /// A good status, and bytes that are neither JSON nor a stream of events.
    Garbage,
    /// A small piece of the body each so many milliseconds.
    TrickleMs(u64),
}

/// The body of a status fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultBody {
    /// A JSON error that names the status.
    Usual,
    /// Text, sent as it is.
    Text(String),
    /// JSON, in the bytes of the script.
    Json(String),
}

impl Script {
    /// Reads a script: JSON lines; blank ones are passed over.
    ///
    /// # Errors
    /// The first thing that is not on the format's page: with line, column, and the nearest known key.
    pub fn parse(text: &str) -> Result<Self, ModelServerError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let replies =
            lines.map(|(number, line)| reply(Value::of_line(number, line)?)).collect::<Result<_, _>>()?;
        Ok(Self { replies })
    }

    /// Its lines.
    pub fn replies(&self) -> &[Reply] {
        &self.replies
    }
}

fn reply(line: Value<'_>) -> Result<Reply, ModelServerError> {
    let mut reply = Reply::default();
    for member in line.members("a reply", REPLY_KEYS)? {
        let (key, value) = (&*member.key, member.value);
        let is_null = value.kind() == Kind::Null;
        match key {
            "text" if !is_null => reply.text = Some(value.text(key)?),
            "reasoning" if !is_null => reply.reasoning = Some(value.text(key)?),
            "calls" if !is_null => {
                reply.calls = value.items(key)?.into_iter().map(call).collect::<Result<_, _>>()?;
            }
            "finish" if is_null => reply.finish = Finish::LeftOut,
            "finish" => reply.finish = Finish::Given(value.text(key)?),
            "usage" => reply.usage = usage(value)?,
            "fault" if !is_null => reply.fault = Some(fault(value)?),
            "when" if !is_null => reply.results = Some(when(value)?),
            // What is null of the others is as if it were not there.
            _ => {}
        }
    }
    Ok(reply)
}

fn call(value: Value<'_>) -> Result<Call, ModelServerError> {
    let (mut name, mut arguments, mut id) = (None, Arguments::Object("{}".into()), WireId::Made);
    for member in value.members("a call", CALL_KEYS)? {
        let (key, value) = (&*member.key, member.value);
        match (key, value.kind()) {
            ("name", _) => name = Some(value.text(key)?),
            ("id", Kind::Null) => id = WireId::LeftOut,
            ("id", _) => id = WireId::Given(value.text(key)?),
            (_, Kind::Object) => arguments = Arguments::Object(value.raw().to_owned()),
            (_, Kind::Text) => arguments = Arguments::Text(value.text(key)?),
            (_, Kind::Null | Kind::Truth | Kind::Number | Kind::List) => {
                return Err(value.wrong("arguments are an object, or a text that is sent as it is"));
            }
        }
    }
    let name = name.ok_or_else(|| value.wrong("a call has no \"name\"; say which tool it calls"))?;
    Ok(Call { name, arguments, id })
}

/// An object without one of our names is of some vendor's shape and goes as it stands.
fn usage(value: Value<'_>) -> Result<UsageChoice, ModelServerError> {
    if value.kind() == Kind::Null {
        return Ok(UsageChoice::LeftOut);
    }
    let members = value.any_members("usage")?;
    let is_ours = |word: &str| object::nearest(word, USAGE_KEYS).is_some();
    if !members.is_empty() && !members.iter().any(|member| is_ours(&member.key)) {
        return Ok(UsageChoice::Raw(value.raw().to_owned()));
    }
    let mut usage = Usage::default();
    for member in value.members("usage", USAGE_KEYS)? {
        let number = member.value.number(&member.key)?;
        match &*member.key {
            "input" => usage.input = number,
            "output" => usage.output = number,
            "cached" => usage.cached = Some(number),
            _ => usage.reasoning = Some(number),
        }
    }
    Ok(UsageChoice::Given(usage))
}

fn when(value: Value<'_>) -> Result<u64, ModelServerError> {
    let members = value.members("when", WHEN_KEYS)?;
    let results = members.first().ok_or_else(|| value.wrong("when has no \"results\"; say how many"))?;
    results.value.number("results")
}

fn fault(value: Value<'_>) -> Result<Fault, ModelServerError> {
    if value.kind() != Kind::Object {
        let word = value.text("a fault that is no object")?;
        return match word.as_str() {
            "stall" => Ok(Fault::Stall),
            "garbage" => Ok(Fault::Garbage),
            _ => {
                let nearest =
                    object::nearest(&word, FAULT_WORDS).map(|word| format!("; the nearest is {word:?}"));
                let nearest = nearest.unwrap_or_default();
                Err(value
                    .wrong(format!("no fault {word:?}{nearest}; known words: {}", FAULT_WORDS.join(", "))))
            }
        };
    }
    let members = value.members("a fault", FAULT_KEYS)?;
    let keys: BTreeSet<&str> = members.iter().map(|member| &*member.key).collect();
    let find = |key: &str| members.iter().find(|member| member.key == key).map(|member| member.value);
    match (find("status"), find("cut_after_bytes"), find("trickle_ms")) {
        (Some(status), None, None) => status_fault(status, find("headers"), find("body")),
        (None, Some(bytes), None) if keys.len() == 1 => Ok(Fault::CutAfterBytes(bytes.number("cut_after_bytes")?)),
        (None, None, Some(time)) if keys.len() == 1 => Ok(Fault::TrickleMs(time.number("trickle_ms")?)),
        (_, _, _) => Err(value.wrong(
            "a fault is a status (with headers and body if you like), cut_after_bytes or trickle_ms: one of them",
        )),
    }
}

fn status_fault(
    status: Value<'_>,
    headers: Option<Value<'_>>,
    body: Option<Value<'_>>,
) -> Result<Fault, ModelServerError> {
    let number = status.number("status")?;
    // A status under 200 is no answer, and one of three other digits is none that a server sends.
    let code = u16::try_from(number).ok().filter(|code| (200..=599).contains(code));
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    let code = code.ok_or_else(|| status.wrong(format!("status is 200 to 599, not {number}")))?;
    let headers = headers.map_or(Ok(Vec::new()), fault_headers)?;
    let body = match body {
        None => FaultBody::Usual,
        Some(body) if body.kind() == Kind::Text => FaultBody::Text(body.text("body")?),
        Some(body) => FaultBody::Json(body.raw().to_owned()),
    };
    Ok(Fault::Status { status: code, headers, body })
}

fn fault_headers(value: Value<'_>) -> Result<Vec<(HeaderName, HeaderValue)>, ModelServerError> {
    let header = |(key, value): (String, Value<'_>)| {
        let name = HeaderName::from_bytes(key.as_bytes());
        let name = name.map_err(|_| value.wrong(format!("{key:?} cannot be the name of a header")))?;
        if name == CONTENT_LENGTH || name == TRANSFER_ENCODING {
            return Err(
                value.wrong(format!("{name} is set by the server; use cut_after_bytes for a body too short"))
            );
        }
        let text = match value.kind() {
            Kind::Number => value.raw().to_owned(),
            Kind::Null | Kind::Truth | Kind::Text | Kind::List | Kind::Object => value.text(&key)?,
        };
        let text = HeaderValue::from_str(&text);
        let text =
            text.map_err(|_| value.wrong(format!("{key}: a header's value is one line of visible ASCII")))?;
        Ok((name, text))
    };
    let members = value.any_members("headers")?;
    members.into_iter().map(|member| header((member.key.into_owned(), member.value))).collect()
}
