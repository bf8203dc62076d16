//! Chat completions.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    ARGUMENT_PIECES, Asked, CREATED, Delivery, Seal, TEXT_PIECES, Telling, Told, Wire, openai_error, pieces,
};
use crate::{Finish, Reply};

#[derive(Debug)]
pub(crate) struct Chat;

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
    role: String,
}

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<Delta>,
    finish_reason: Option<&'a str>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
}

#[derive(Default, Serialize)]
struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
}

#[derive(Serialize)]
struct ToolCall {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    of: Option<&'static str>,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    arguments: String,
}

#[derive(Serialize)]
struct UsageOfWire {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl Wire for Chat {
    fn name(&self) -> &'static str {
        "chat completions"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn read(&self, body: &[u8]) -> Result<Asked, String> {
        let asked: AskedBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let results = asked.messages.iter().filter(|message| message.role == "tool").count();
        Ok(Asked {
            model: asked.model,
            results: u64::try_from(results).unwrap_or(u64::MAX),
            delivery: Delivery::of(asked.stream),
            seal: Seal::LeftOut,
        })
    }

    fn whole(&self, telling: &Telling<'_>) -> Result<Bytes, serde_json::Error> {
        let reply = telling.reply;
        let calls = reply.calls.iter().enumerate().map(|(place, call)| ToolCall {
            index: None,
            id: telling.call_id(call, place),
            of: Some("function"),
            function: Function {
                name: Some(call.name.clone()),
                arguments: call.arguments.as_str().to_owned(),
            },
        });
        let message = Message {
            role: "assistant",
            // Servers send null beside calls and a text otherwise, though an empty one.
            content: reply.text.as_deref().or(reply.calls.is_empty().then_some("")),
            reasoning_content: reply.reasoning.as_deref(),
            tool_calls: calls.collect(),
        };
        let choice = Choice { index: 0, message: Some(message), delta: None, finish_reason: finish(reply) };
        let mut completion = completion(telling, "chat.completion", vec![choice]);
        completion.usage = usage(&telling.usage())?;
        serde_json::to_vec(&completion).map(Bytes::from)
    }

    fn stream(&self, telling: &Telling<'_>) -> Result<Vec<Bytes>, serde_json::Error> {
        let reply = telling.reply;
        let mut deltas =
            vec![Delta { role: Some("assistant"), content: Some(String::new()), ..Delta::default() }];
        for piece in pieces(reply.reasoning.as_deref().unwrap_or_default(), TEXT_PIECES) {
            deltas.push(Delta { reasoning_content: Some(piece), ..Delta::default() });
        }
        for piece in pieces(reply.text.as_deref().unwrap_or_default(), TEXT_PIECES) {
            deltas.push(Delta { content: Some(piece), ..Delta::default() });
        }
        for (place, call) in reply.calls.iter().enumerate() {
            let begun = Function { name: Some(call.name.clone()), arguments: String::new() };
            let id = telling.call_id(call, place);
            deltas.push(called(ToolCall { index: Some(place), id, of: Some("function"), function: begun }));
            for arguments in pieces(call.arguments.as_str(), ARGUMENT_PIECES) {
                let function = Function { name: None, arguments };
                deltas.push(called(ToolCall { index: Some(place), id: None, of: None, function }));
            }
        }
        let mut frames = Vec::new();
        let mut push = |chunk: &Completion<'_>| {
            let json = serde_json::to_string(chunk)?;
            frames.push(Bytes::from(format!("data: {json}\n\n")));
            Ok::<(), serde_json::Error>(())
        };
        let chunk = |delta, finish_reason| {
            let choice = Choice { index: 0, message: None, delta: Some(delta), finish_reason };
            completion(telling, "chat.completion.chunk", vec![choice])
        };
        for delta in deltas {
            push(&chunk(delta, None))?;
        }
        if let Some(reason) = finish(reply) {
            push(&chunk(Delta::default(), Some(reason)))?;
        }
        if let Some(usage) = usage(&telling.usage())? {
            let mut last = completion(telling, "chat.completion.chunk", Vec::new());
            last.usage = Some(usage);
            push(&last)?;
        }
        frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
        Ok(frames)
    }

    fn error(&self, status: u16, message: &str) -> Result<Vec<u8>, serde_json::Error> {
        openai_error(status, message)
    }
}

fn completion<'a>(telling: &Telling<'a>, object: &'static str, choices: Vec<Choice<'a>>) -> Completion<'a> {
    let id = format!("chatcmpl-{}", telling.request);
    Completion { id, object, created: CREATED, model: telling.model, choices, usage: None }
}

fn called(call: ToolCall) -> Delta {
    Delta { tool_calls: vec![call], ..Delta::default() }
}

fn finish(reply: &Reply) -> Option<&str> {
    match &reply.finish {
        Finish::Usual if reply.calls.is_empty() => Some("stop"),
        Finish::Usual => Some("tool_calls"),
        Finish::Given(reason) => Some(reason),
        Finish::LeftOut => None,
    }
}

fn usage(told: &Told<'_>) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let json = match told {
        Told::Nothing => return Ok(None),
        Told::Raw(raw) => (*raw).to_owned(),
        Told::Numbers(usage) => serde_json::to_string(&UsageOfWire {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input.saturating_add(usage.output),
            prompt_tokens_details: usage.cached.map(|cached_tokens| PromptDetails { cached_tokens }),
            completion_tokens_details: usage
                .reasoning
                .map(|reasoning_tokens| CompletionDetails { reasoning_tokens }),
        })?,
    };
    RawValue::from_string(json).map(Some)
}
