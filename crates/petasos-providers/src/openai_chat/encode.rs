//! Transcript to request: each item's bytes are made once, and what is not named here is not sent (L03).

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use petasos_core::entry::{Block, FinishReason, Head, ModelCall, Reply};
use petasos_core::id::{Digest, Seq};
use petasos_core::request::{Params, Target, ToolChoice};
use petasos_core::text::Text;
use petasos_core::transcript::{ClosedStep, Item};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::said;
use crate::catalog::output_cap;
use crate::provider::{Body, Encoder, Tail};
use crate::tokens;

/// The longest id that a server takes (OpenAI; others take more).
const ID_LENGTH: usize = 40;
/// The longest name of a tool that a server takes.
const NAME_LENGTH: usize = 64;
/// Of arguments that are no JSON, the characters that go back to the model.
const UNREADABLE_CAP: usize = 2_000;

/// Writes chat-completions requests.
#[derive(Clone, Debug)]
pub struct ChatEncoder {
    /// All parts, one after the other.
    prefix: Vec<u8>,
    parts: Vec<Digest>,
    hash: Sha256,
    tokens: u64,
    has_tools: bool,
    /// What the cap of the output is called there.
    output_cap: &'static str,
    /// What stands at the end of the messages.
    last: Last,
    /// Wire ids that were sent.
    ids: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    System,
    Answer,
    Other,
}

#[derive(Serialize)]
struct ParamsPart<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A tool as the head has it.
#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Cow<'a, str>,
    #[serde(borrow)]
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    type_: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct Unreadable {
    unreadable: String,
}

impl ChatEncoder {
    /// An encoder for one session's requests to this target under this head. `head.tools` is an array of
    /// objects with `name`, `description` and `parameters`; anything else counts as no tools.
    pub fn new(target: &Target, head: &Head) -> Self {
        let mut encoder = Self {
            prefix: Vec::new(),
            parts: Vec::new(),
            hash: Sha256::new(),
            tokens: 0,
            has_tools: false,
            output_cap: output_cap(&target.provider),
            last: Last::Nothing,
            ids: BTreeSet::new(),
        };
        let stream_options = StreamOptions { include_usage: true };
        let mut params = json(&ParamsPart { model: &target.model, stream: true, stream_options });
        params.pop();
        encoder.add_part(&params);
        let tools = tools(head);
        encoder.has_tools = !tools.is_empty();
        encoder.add_part(&tools);
        let mut system = String::from(",\"messages\":[");
        if !head.system.is_blank() {
            system.push_str(&json(&message("system", &head.system)));
            encoder.last = Last::System;
        }
        encoder.add_part(&system);
        encoder
    }

    fn add_part(&mut self, part: &str) {
        self.prefix.extend_from_slice(part.as_bytes());
        self.parts.push(digest(part.as_bytes()));
        self.hash.update(part.as_bytes());
        self.tokens = self.tokens.saturating_add(tokens::estimate(part));
    }

    /// A step: the assistant's message, then one `tool` message for each of its calls, in their order.
    fn step(&mut self, step: &ClosedStep) -> Vec<String> {
        let calls: Vec<&ModelCall> = calls(&step.reply).collect();
        let ids: Vec<String> =
            (0..).zip(&calls).map(|(place, call)| self.wire_id(call, step.reply_seq, place)).collect();
        let text = text(&step.reply);
        let called = calls.iter().zip(&ids).map(|(call, id)| Call {
            id,
            type_: "function",
            function: Called { name: tool_name(&call.name), arguments: arguments(call) },
        });
        let content = match (text.trim().is_empty(), calls.is_empty()) {
            (false, _) => Some(text.as_str()),
            (true, false) => None,
            // Nothing at all is no valid message, and leaving it out would join two of the user's.
            (true, true) => Some("(no answer)"),
        };
        let answer = Message { role: "assistant", content, tool_calls: called.collect(), tool_call_id: None };
        let mut messages = vec![json(&answer)];
        for (place, id) in ids.iter().enumerate() {
            let result = step.results.get(place).map(|result| result.text.text());
            let content = match result {
                Some(text) if !text.is_blank() => &**text,
                Some(_) => "(the tool ended and gave no output)",
                // Core never closes a step without; if it did, the request would still be valid.
                None => "(the outcome of this call is not known)",
            };
            messages.push(json(&Message { tool_call_id: Some(id), ..message("tool", content) }));
        }
        messages
    }

    /// The id that a call is sent with: the wire's own if it fits everywhere and is new, else ours.
    ///
    /// A function of the items pushed so far, so the same for ever. An id in the shape of ours is never
    /// kept; so ours, made of a place that no other call has, is always new.
    fn wire_id(&mut self, call: &ModelCall, reply: Seq, place: usize) -> String {
        let kept = call.wire_id.as_ref().filter(|id| fits(id) && !is_ours(id) && !self.ids.contains(&***id));
        let id = kept.map_or_else(|| format!("call_{reply}_{place}"), Text::to_string);
        self.ids.insert(id.clone());
        id
    }
}

impl Encoder for ChatEncoder {
    fn push(&mut self, item: &Item) {
        let (messages, last) = match item {
            Item::Said(said) => (vec![json(&message("user", &said::said(said)))], Last::Other),
            Item::Note(note) => (vec![json(&message("user", &said::note(note)))], Last::Other),
            Item::Step(step) => {
                let mut messages = self.step(step);
                let last = if messages.len() == 1 { Last::Answer } else { Last::Other };
                // Strict chat templates want the user to speak first; a transcript that was cut may not.
                if matches!(self.last, Last::Nothing | Last::System) {
                    messages.insert(0, json(&message("user", said::NOT_SHOWN)));
                }
                (messages, last)
            }
        };
        let comma = if self.last == Last::Nothing { "" } else { "," };
        self.add_part(&format!("{comma}{}", messages.join(",")));
        self.last = last;
    }

    fn body(&self, params: &Params, tail: &Tail) -> Body {
        let mut end = String::new();
        // Many servers want the last word to be the user's, and none takes an empty list; as a part of the
        // tail it is gone from the next request.
        match self.last {
            Last::Nothing => end.push_str(&json(&message("user", "Continue."))),
            Last::System | Last::Answer => {
                end.push(',');
                end.push_str(&json(&message("user", "Continue.")));
            }
            Last::Other => {}
        }
        end.push(']');
        // Without tools the key itself is refused.
        if self.has_tools && params.tool_choice == ToolChoice::Forbidden {
            end.push_str(",\"tool_choice\":\"none\"");
        }
        if let Some(most) = tail.max_output {
            end.push_str(&format!(",\"{}\":{most}", self.output_cap));
        }
        end.push('}');
        let mut bytes = Vec::with_capacity(self.prefix.len() + end.len());
        bytes.extend_from_slice(&self.prefix);
        bytes.extend_from_slice(end.as_bytes());
        let prefix = self.hash.clone();
        let whole = prefix.clone().chain_update(end.as_bytes());
        Body {
            bytes: Bytes::from(bytes),
            parts: self.parts.clone(),
            prefix: Digest(prefix.finalize().into()),
            body: Digest(whole.finalize().into()),
            tokens: self.tokens.saturating_add(tokens::estimate(&end)),
        }
    }
}

fn message<'a>(role: &'static str, content: &'a str) -> Message<'a> {
    Message { role, content: Some(content), tool_calls: Vec::new(), tool_call_id: None }
}

fn tools(head: &Head) -> String {
    let specs: Vec<Spec<'_>> = serde_json::from_str(head.tools.as_str()).unwrap_or_default();
    if specs.is_empty() {
        return String::new();
    }
    let tools = specs.iter().map(|spec| Tool {
        type_: "function",
        function: Function {
            name: tool_name(&spec.name),
            // Some servers take no tool without one.
            description: if spec.description.trim().is_empty() { &spec.name } else { &spec.description },
            parameters: spec.parameters,
        },
    });
    format!(",\"tools\":{}", json(&tools.collect::<Vec<_>>()))
}

fn calls(reply: &Reply) -> impl Iterator<Item = &ModelCall> {
    reply.blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) => None,
    })
}

/// The text of a reply: its text blocks, each on a line of its own.
fn text(reply: &Reply) -> String {
    let mut text = String::new();
    for block in &reply.blocks {
        match block {
            Block::Text(more) => {
                if !text.is_empty() && !text.ends_with('\n') && !more.starts_with('\n') {
                    text.push('\n');
                }
                text.push_str(more);
            }
            Block::Reasoning(_) | Block::Opaque(_) | Block::Call(_) => {}
        }
    }
    // What a person stopped is no finished thought, and the model should not take it for one.
    if reply.finish == FinishReason::Cut && !text.trim().is_empty() {
        text.push_str("\n\n[stopped here]");
    }
    text
}

/// Arguments as the wire wants them: the text of a JSON object. What the model sent if it is one; `{}`
/// for nothing; else an object that shows the text, so that the model sees what it did.
fn arguments(call: &ModelCall) -> Cow<'_, str> {
    let text = call.arguments.trim();
    if text.is_empty() {
        return Cow::Borrowed("{}");
    }
    // A raw value would let half a surrogate pair and any depth through, which strict servers refuse in
    // this and every later request. The value is only for the check: what is sent are the model's bytes.
    if text.starts_with('{') && serde_json::from_str::<serde_json::Value>(text).is_ok() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(json(&Unreadable { unreadable: text.chars().take(UNREADABLE_CAP).collect() }))
}

/// A name that every server takes. Those of our own tools fit; a model makes up others.
fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if (1..=NAME_LENGTH).contains(&name.len()) && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let made: String =
        name.chars().take(NAME_LENGTH).map(|char| if fits(char) { char } else { '_' }).collect();
    Cow::Owned(if made.is_empty() { String::from("unnamed") } else { made })
}

fn fits(id: &str) -> bool {
    (1..=ID_LENGTH).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// True for `call_<digits>_<digits>`.
fn is_ours(id: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = id.strip_prefix("call_").and_then(|rest| rest.split_once('_'));
    numbers.is_some_and(|(reply, place)| digits(reply) && digits(place))
}

fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Our own structs of strings always become JSON; the fallback only keeps this free of panics.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| String::from("{}"))
}
