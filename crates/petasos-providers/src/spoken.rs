//! Which wire a server speaks, told by what it sends, and what to try where that is not the wire it was asked on.

use petasos_core::request::Wire;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::string;

/// What of an event tells its wire.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Option<&'a RawValue>,
}

/// Events that stand in each stream of Messages, and in no other.
const MESSAGES: &[&str] = &["message_start", "content_block_start", "content_block_delta", "message_delta"];

/// What a stream was found to be of, so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// Nothing that tells.
    Nothing,
    /// Another wire than the one that was asked.
    Foreign(Wire),
    /// The wire that was asked.
    Asked,
}

/// The wire that an event is of; none where it may be of any.
pub(crate) fn wire_of_event(name: &str, data: &str) -> Option<Wire> {
    let shape: Shape<'_> = data.starts_with('{').then(|| serde_json::from_str(data).ok()).flatten()?;
    if shape.choices.is_some() {
        return Some(Wire::Chat);
    }
    let type_ = shape.type_.and_then(string).unwrap_or_else(|| name.to_owned());
    if type_.starts_with("response.") {
        return Some(Wire::Responses);
    }
    MESSAGES.contains(&type_.as_str()).then_some(Wire::Messages)
}

/// What a wire is called in config, flags and origins.
pub(crate) fn wire_name(wire: Wire) -> &'static str {
    match wire {
        Wire::Chat => "chat",
        Wire::Responses => "responses",
        Wire::Messages => "messages",
    }
}

/// What to try where a server may speak another wire than this one.
pub(crate) fn other_wires(asked: Wire) -> String {
    let (one, other) = match asked {
        Wire::Chat => (Wire::Responses, Wire::Messages),
        Wire::Responses => (Wire::Chat, Wire::Messages),
        Wire::Messages => (Wire::Chat, Wire::Responses),
    };
    let [asked, one, other] = [asked, one, other].map(wire_name);
    format!("it was asked by the protocol {asked}; if it speaks another, try --api-mode {one} or {other}")
}
