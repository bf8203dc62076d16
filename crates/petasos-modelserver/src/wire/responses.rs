//! Responses.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Asked, CREATED, Delivery, Listed, Seal, Telling, Told, Wire, openai_error};
use crate::{Finish, Reply};

mod items;
mod stream;

use items::{Item, items};

#[derive(Debug)]
pub(crate) struct Responses;

#[derive(Deserialize)]
struct AskedBody {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    include: Option<Vec<String>>,
    input: Listed<AskedItem>,
}

#[derive(Deserialize)]
struct AskedItem {
    #[serde(default, rename = "type")]
    of: Option<String>,
}

/// The object that a whole reply is, and that the first and the last events of a stream carry.
#[derive(Serialize)]
struct Response<'a> {
    id: String,
    object: &'static str,
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    error: Option<Failure>,
    incomplete_details: Option<Incomplete<'a>>,
    instructions: Option<&'a str>,
    max_output_tokens: Option<u64>,
    metadata: Metadata,
    model: &'a str,
    output: Vec<Item<'a>>,
    parallel_tool_calls: bool,
    previous_response_id: Option<&'a str>,
    temperature: Option<u64>,
    text: TextFormat,
    tool_choice: &'static str,
    tools: [u8; 0],
    top_p: Option<u64>,
    truncation: &'static str,
    usage: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Failure {
    code: &'static str,
    message: &'static str,
}

#[derive(Serialize)]
struct Incomplete<'a> {
    reason: &'a str,
}

#[derive(Serialize)]
struct Metadata {}

#[derive(Serialize)]
struct TextFormat {
    format: Format,
}

#[derive(Serialize)]
struct Format {
    #[serde(rename = "type")]
    of: &'static str,
}

#[derive(Serialize)]
struct UsageOfWire {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Serialize)]
struct InputDetails {
    cached_tokens: u64,
    cache_write_tokens: u64,
}

#[derive(Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
}

/// How a reply ends, in the words of this wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending<'a> {
    Completed,
    Incomplete(&'a str),
    Failed,
    Untold,
}

impl Wire for Responses {
    fn name(&self) -> &'static str {
        "Responses"
    }

    fn path(&self) -> &'static str {
        "/responses"
    }

    fn read(&self, body: &[u8]) -> Result<Asked, String> {
        let asked: AskedBody = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let is_result = |item: &&AskedItem| item.of.as_deref() == Some("function_call_output");
        let results = asked.input.0.iter().filter(is_result).count();
        let sealed = asked.include.iter().flatten().any(|name| name == "reasoning.encrypted_content");
        Ok(Asked {
            model: asked.model,
            results: u64::try_from(results).unwrap_or(u64::MAX),
            delivery: Delivery::of(asked.stream),
            seal: if sealed { Seal::Wanted } else { Seal::LeftOut },
        })
    }

    fn whole(&self, telling: &Telling<'_>) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(&ended(telling)?).map(Bytes::from)
    }

    fn stream(&self, telling: &Telling<'_>) -> Result<Vec<Bytes>, serde_json::Error> {
        stream::frames(telling)
    }

    fn error(&self, status: u16, message: &str) -> Result<Vec<u8>, serde_json::Error> {
        openai_error(status, message)
    }
}

/// The reply when all of it was said.
fn ended<'a>(telling: &Telling<'a>) -> Result<Response<'a>, serde_json::Error> {
    let ending = ending(telling.reply);
    let mut response = begun(telling);
    response.output = items(telling, ending);
    response.usage = usage(&telling.usage())?;
    response.status = match ending {
        Ending::Completed => Some("completed"),
        Ending::Incomplete(_) => Some("incomplete"),
        Ending::Failed => Some("failed"),
        Ending::Untold => None,
    };
    match ending {
        Ending::Incomplete(reason) => response.incomplete_details = Some(Incomplete { reason }),
        Ending::Failed => {
            response.error =
                Some(Failure { code: "server_error", message: "The reply failed (as the script says)" });
        }
        Ending::Completed | Ending::Untold => {}
    }
    Ok(response)
}

/// The reply before anything was said.
fn begun<'a>(telling: &Telling<'a>) -> Response<'a> {
    Response {
        id: format!("resp_scripted_{}", telling.request),
        object: "response",
        created_at: CREATED,
        status: Some("in_progress"),
        error: None,
        incomplete_details: None,
        instructions: None,
        max_output_tokens: None,
        metadata: Metadata {},
        model: telling.model,
        output: Vec::new(),
        parallel_tool_calls: true,
        previous_response_id: None,
        temperature: None,
        text: TextFormat { format: Format { of: "text" } },
        tool_choice: "auto",
        tools: [],
        top_p: None,
        truncation: "disabled",
        usage: None,
    }
}

/// The words of the other wires say here what they say there; a word that is unknown is a reason to be incomplete.
fn ending(reply: &Reply) -> Ending<'_> {
    let word = match &reply.finish {
        Finish::Usual => return Ending::Completed,
        Finish::LeftOut => return Ending::Untold,
        Finish::Given(word) => word.as_str(),
    };
    match word {
        "completed" | "stop" | "tool_calls" | "end_turn" | "tool_use" | "stop_sequence" => Ending::Completed,
        "length" | "max_tokens" | "max_output_tokens" => Ending::Incomplete("max_output_tokens"),
        "content_filter" | "refusal" => Ending::Incomplete("content_filter"),
        "failed" => Ending::Failed,
        other => Ending::Incomplete(other),
    }
}

fn usage(told: &Told<'_>) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let json = match told {
        Told::Nothing => return Ok(None),
        Told::Raw(raw) => (*raw).to_owned(),
        Told::Numbers(usage) => serde_json::to_string(&UsageOfWire {
            input_tokens: usage.input,
            input_tokens_details: InputDetails {
                cached_tokens: usage.cached.unwrap_or_default(),
                cache_write_tokens: 0,
            },
            output_tokens: usage.output,
            output_tokens_details: OutputDetails { reasoning_tokens: usage.reasoning.unwrap_or_default() },
            total_tokens: usage.input.saturating_add(usage.output),
        })?,
    };
    RawValue::from_string(json).map(Some)
}
