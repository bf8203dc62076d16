//! Whether the parts of a request stand at the start of the next one (I8).
//!
//! Parts are all bytes up to the end of the last message's content. What a user says stays open: what is said next is
//! joined into the same message, so that the bytes before only grow. Cache marks are no parts.

use std::collections::BTreeMap;

use petasos_core::request::Wire;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A cache mark, with the comma that stands before it.
pub const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// All that a user's message says which only asks the model to go on. It is gone from the next request.
const CONTINUE: &str = "Continue.";

/// What may stand behind the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A text that may be gone on with on another line.
    Text,
    /// A list that may get more.
    List,
}

/// The parts of a request.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    pub bytes: &'a str,
    end: End,
}

impl<'a> Parts<'a> {
    /// Those of a body.
    pub fn of(wire: Wire, body: &'a str) -> Result<Self, String> {
        let key = match wire {
            Wire::Chat | Wire::Messages => "messages",
            Wire::Responses => "input",
        };
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(body).map_err(|error| error.to_string())?;
        let list = members.get(key).ok_or_else(|| format!("it has no {key}"))?;
        let all: Vec<&RawValue> =
            serde_json::from_str(list.get()).map_err(|_| format!("its {key} are no list"))?;
        let begin_of = |raw: &RawValue| raw.get().as_ptr() as usize - body.as_ptr() as usize;
        let end_of = |raw: &RawValue| begin_of(raw) + raw.get().len();
        let closed = |raw: Option<&&RawValue>| Parts {
            bytes: &body[..raw.map_or(begin_of(list) + 1, |raw| end_of(raw))],
            end: End::List,
        };
        let Some((last, before)) = all.split_last() else { return Ok(closed(None)) };
        if asks_to_go_on(last)
            && before.last().is_none_or(|before| matches!(role(before).as_str(), "assistant" | "system"))
        {
            return Ok(closed(before.last()));
        }
        let content = if role(last) == "user" { content(last) } else { None };
        // The bracket or the quote that closes it may stand behind more, the next time.
        Ok(match content {
            Some(content) if content.get().starts_with('"') => {
                Parts { bytes: &body[..end_of(content) - 1], end: End::Text }
            }
            Some(content) if content.get().starts_with('[') => {
                Parts { bytes: body[..end_of(content) - 1].trim_ascii_end(), end: End::List }
            }
            Some(_) | None => closed(Some(last)),
        })
    }

    /// Whether what stands behind them in the next request makes of the last message another one.
    pub fn go_on(&self, behind: &str) -> bool {
        match self.end {
            End::Text => !behind.starts_with('"') && !behind.starts_with("\\n"),
            End::List => !self.bytes.ends_with('[') && !behind.trim_start().starts_with([',', ']']),
        }
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    role: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block {
    text: String,
}

fn role(message: &RawValue) -> String {
    let message: Result<Message<'_>, _> = serde_json::from_str(message.get());
    message.ok().and_then(|message| message.role).unwrap_or_default()
}

fn content(message: &RawValue) -> Option<&RawValue> {
    serde_json::from_str::<Message<'_>>(message.get()).ok().and_then(|message| message.content)
}

fn asks_to_go_on(message: &RawValue) -> bool {
    let Some(content) = content(message).filter(|_| role(message) == "user") else { return false };
    let blocks: Result<Vec<Block>, _> = serde_json::from_str(content.get());
    let text: Result<String, _> = serde_json::from_str(content.get());
    text.is_ok_and(|text| text == CONTINUE)
        || matches!(blocks.as_deref(), Ok([only]) if only.text == CONTINUE)
}
