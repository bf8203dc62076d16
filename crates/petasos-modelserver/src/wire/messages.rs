//! Messages.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    ARGUMENT_PIECES, Asked, Delivery, Listed, Seal, TEXT_PIECES, Telling, Told, Wire, named_frame, pieces,
};
use crate::{Arguments, Call, Finish, Reply};

#[derive(Debug)]
pub(crate) struct Messages;

#[derive(Deserialize)]
struct AskedBody {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    messages: Vec<AskedMessage>,
}

#[derive(Deserialize)]
struct AskedMessage {
    content: Listed<AskedBlock>,
}

#[derive(Deserialize)]
struct AskedBlock {
    #[serde(rename = "type")]
    of: String,
}

/// One thing that is said.
#[derive(Clone, Copy, Debug)]
enum Said<'a> {
    Thinking(&'a str),
    Text(&'a str),
    Call { call: &'a Call, place: usize },
}

/// The object that a whole reply is, and that the first event of a stream carries.
#[derive(Serialize)]
struct Message<'a> {
    id: String,
    #[serde(rename = "type")]
    of: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block<'a>>,
    stop_reason: Option<&'a str>,
    stop_sequence: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Box<RawValue>>,
}

#[derive(Default, Serialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    of: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<RawValue>>,
}

#[derive(Default, Serialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    of: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_block: Option<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<Delta<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a RawValue>,
}

/// Only that of the message itself has no type; it names its keys though they are null.
#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    of: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_sequence: Option<Option<&'a str>>,
}

#[derive(Serialize)]
struct UsageOfWire {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Serialize)]
struct OutputDetails {
    thinking_tokens: u64,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    #[serde(rename = "type")]
    of: &'static str,
    error: ErrorTold<'a>,
}

#[derive(Serialize)]
struct ErrorTold<'a> {
    #[serde(rename = "type")]
    of: &'static str,
    message: &'a str,
}

/// When tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    AtTheStart,
    AtTheEnd,
}

impl Wire for Messages {
    fn name(&self) -> &'static str {
        "Messages"
    }

    fn path(&self) -> &'static str {
        "/messages"
    }

    fn read(&self, body: &[u8]) -> Result<Asked, String> {
        let asked: AskedBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let blocks = asked.messages.iter().flat_map(|message| &message.content.0);
        let results = blocks.filter(|block| block.of == "tool_result").count();
        Ok(Asked {
            model: asked.model,
            results: u64::try_from(results).unwrap_or(u64::MAX),
            delivery: Delivery::of(asked.stream),
            seal: Seal::Wanted,
        })
    }

    fn whole(&self, telling: &Telling<'_>) -> Result<Bytes, serde_json::Error> {
        let blocks: Result<_, _> = said(telling.reply).into_iter().map(|said| block(telling, said)).collect();
        let usage = usage(&telling.usage(), Counted::AtTheEnd)?;
        let stop_reason = finish(telling.reply);
        let message = Message { content: blocks?, stop_reason, usage, ..message(telling) };
        serde_json::to_vec(&message).map(Bytes::from)
    }

    fn stream(&self, telling: &Telling<'_>) -> Result<Vec<Bytes>, serde_json::Error> {
        let mut frames = Vec::new();
        let mut push = |of, event: Event<'_>| {
            frames.push(named_frame(of, &Event { of, ..event })?);
            Ok::<(), serde_json::Error>(())
        };
        let begun = usage(&telling.usage(), Counted::AtTheStart)?;
        let begun = Message { usage: begun, ..message(telling) };
        push("message_start", Event { message: Some(&begun), ..Event::default() })?;
        push("ping", Event::default())?;
        for (index, said) in said(telling.reply).into_iter().enumerate() {
            let event = || Event { index: Some(index), ..Event::default() };
            let start = Event { content_block: Some(begun_block(telling, said)?), ..event() };
            push("content_block_start", start)?;
            for delta in deltas(telling, said) {
                push("content_block_delta", Event { delta: Some(delta), ..event() })?;
            }
            push("content_block_stop", event())?;
        }
        let usage = usage(&telling.usage(), Counted::AtTheEnd)?;
        let end =
            Delta { stop_reason: Some(finish(telling.reply)), stop_sequence: Some(None), ..Delta::default() };
        push("message_delta", Event { delta: Some(end), usage: usage.as_deref(), ..Event::default() })?;
        push("message_stop", Event::default())?;
        Ok(frames)
    }

    fn error(&self, status: u16, message: &str) -> Result<Vec<u8>, serde_json::Error> {
        let of = match status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        serde_json::to_vec(&ErrorBody { of: "error", error: ErrorTold { of, message } })
    }
}

fn said(reply: &Reply) -> Vec<Said<'_>> {
    let thinking = reply.reasoning.as_deref().map(Said::Thinking);
    let text = reply.text.as_deref().map(Said::Text);
    let calls = reply.calls.iter().enumerate().map(|(place, call)| Said::Call { call, place });
    thinking.into_iter().chain(text).chain(calls).collect()
}

fn message<'a>(telling: &Telling<'a>) -> Message<'a> {
    Message {
        id: format!("msg_scripted_{}", telling.request),
        of: "message",
        role: "assistant",
        model: telling.model,
        content: Vec::new(),
        stop_reason: None,
        stop_sequence: None,
        usage: None,
    }
}

fn block<'a>(telling: &Telling<'_>, said: Said<'a>) -> Result<Block<'a>, serde_json::Error> {
    let begun = begun_block(telling, said)?;
    Ok(match said {
        Said::Thinking(text) => Block { thinking: Some(text), signature: Some(signature(telling)), ..begun },
        Said::Text(text) => Block { text: Some(text), ..begun },
        Said::Call { call, .. } => Block { input: Some(input(call)?), ..begun },
    })
}

/// A block before anything of it was said.
fn begun_block<'a>(telling: &Telling<'_>, said: Said<'a>) -> Result<Block<'a>, serde_json::Error> {
    Ok(match said {
        Said::Thinking(_) => {
            Block { of: "thinking", thinking: Some(""), signature: Some(String::new()), ..Block::default() }
        }
        Said::Text(_) => Block { of: "text", text: Some(""), ..Block::default() },
        Said::Call { call, place } => Block {
            of: "tool_use",
            id: telling.call_id(call, place),
            name: Some(&call.name),
            input: Some(RawValue::from_string("{}".into())?),
            ..Block::default()
        },
    })
}

fn deltas<'a>(telling: &Telling<'_>, said: Said<'_>) -> Vec<Delta<'a>> {
    match said {
        Said::Thinking(text) => {
            let thinking =
                |piece| Delta { of: Some("thinking_delta"), thinking: Some(piece), ..Delta::default() };
            let signature = Delta {
                of: Some("signature_delta"),
                signature: Some(signature(telling)),
                ..Delta::default()
            };
            pieces(text, TEXT_PIECES).into_iter().map(thinking).chain([signature]).collect()
        }
        Said::Text(text) => {
            let said = |piece| Delta { of: Some("text_delta"), text: Some(piece), ..Delta::default() };
            pieces(text, TEXT_PIECES).into_iter().map(said).collect()
        }
        Said::Call { call, .. } => {
            let piece =
                |piece| Delta { of: Some("input_json_delta"), partial_json: Some(piece), ..Delta::default() };
            let whole = match &call.arguments {
                // The vendor sends no delta of a call without arguments.
                Arguments::Object(text) if is_empty(text) => return Vec::new(),
                Arguments::Object(text) | Arguments::Text(text) => pieces(text, ARGUMENT_PIECES),
            };
            // Nor does the first one say anything.
            [String::new()].into_iter().chain(whole).map(piece).collect()
        }
    }
}

/// True of an object without members.
fn is_empty(object: &str) -> bool {
    object.trim_matches(['{', '}']).trim().is_empty()
}

/// A text that is no JSON stands as a text.
fn input(call: &Call) -> Result<Box<RawValue>, serde_json::Error> {
    let text = call.arguments.as_str();
    RawValue::from_string(text.to_owned()).or_else(|_| RawValue::from_string(serde_json::to_string(text)?))
}

fn signature(telling: &Telling<'_>) -> String {
    format!("scripted/signature+{}==", telling.request)
}

/// The words of the other wires say here what they say there; any other word is sent as it stands.
fn finish(reply: &Reply) -> Option<&str> {
    let usual = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    let word = match &reply.finish {
        Finish::Usual => return Some(usual),
        Finish::LeftOut => return None,
        Finish::Given(word) => word.as_str(),
    };
    Some(match word {
        "completed" => usual,
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" | "max_output_tokens" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    })
}

fn usage(told: &Told<'_>, counted: Counted) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let json = match told {
        Told::Nothing => return Ok(None),
        Told::Raw(raw) => (*raw).to_owned(),
        Told::Numbers(usage) => {
            let cached = usage.cached.unwrap_or_default();
            let details = usage.reasoning.map(|thinking_tokens| OutputDetails { thinking_tokens });
            let (output_tokens, output_tokens_details) = match counted {
                Counted::AtTheStart => (1.min(usage.output), None),
                Counted::AtTheEnd => (usage.output, details),
            };
            serde_json::to_string(&UsageOfWire {
                // Those that came from the cache are not among them on this wire.
                input_tokens: usage.input.saturating_sub(cached),
                cache_creation_input_tokens: 0,
                cache_read_input_tokens: cached,
                output_tokens,
                output_tokens_details,
            })?
        }
    };
    RawValue::from_string(json).map(Some)
}
