//! An event of a streamed reply, or a whole reply, as servers write them: strict about JSON, lenient about
//! everything that is not needed.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::lenient::{object, plain, string};

/// An event. Which fields it has depends on its type.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
}

/// A reply: whole, or what its first event tells of it.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

/// A content block, as it starts or whole.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// What an event adds: to a block, or to the message.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Option<&'a RawValue>,
}

/// The types of events that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventType {
    MessageStart,
    BlockStart,
    BlockDelta,
    BlockStop,
    MessageDelta,
    MessageStop,
    Error,
    /// A ping, or what a server added.
    Foreign,
}

/// What a block is.
pub(super) enum BlockStart {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// Thinking that nobody but its origin can read.
    Redacted,
    Call {
        id: Option<String>,
        name: String,
        input: String,
    },
    /// A tool that the server runs itself, its result, or what is not known yet.
    Foreign,
}

/// More of a block.
pub(super) enum Piece {
    Text(String),
    Thinking(String),
    Signature(String),
    Arguments(String),
    Foreign,
}

impl EventType {
    fn named(name: &str) -> Self {
        match name {
            "message_start" => Self::MessageStart,
            "content_block_start" => Self::BlockStart,
            "content_block_delta" => Self::BlockDelta,
            "content_block_stop" => Self::BlockStop,
            "message_delta" => Self::MessageDelta,
            "message_stop" => Self::MessageStop,
            "error" => Self::Error,
            _ => Self::Foreign,
        }
    }

    /// True if an event of this name is one without which the reply is another.
    pub(super) fn is_needed(name: &str) -> bool {
        name.is_empty() || Self::named(name) != Self::Foreign
    }
}

impl<'a> Event<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        // A struct is also read from an array, and an array is no event.
        if !text.starts_with('{') {
            return Err(serde_json::Error::custom("no object"));
        }
        serde_json::from_str(text)
    }

    /// Its type: its own word, or the name of the event that it came in.
    pub(super) fn event_type(&self, name: &str) -> EventType {
        match self.type_.and_then(string) {
            // vLLM's way to write an error: the fields of the error are those of the event, its type among them.
            _ if self.object.and_then(string).is_some_and(|object| object == "error") => EventType::Error,
            Some(own) => EventType::named(&own),
            None if self.error.is_some_and(|error| error.get() != "null") => EventType::Error,
            None => EventType::named(name),
        }
    }

    pub(super) fn index(&self) -> Option<i64> {
        self.index.and_then(|index| plain(index).parse().ok())
    }

    pub(super) fn message(&self) -> Option<Message<'a>> {
        self.message.and_then(object)
    }

    /// The block that starts, as it stands.
    pub(super) fn block(&self) -> Option<&'a RawValue> {
        self.content_block
    }

    /// What it adds to a block.
    pub(super) fn piece(&self) -> Piece {
        let Some(delta) = self.delta.and_then(object::<Delta<'_>>) else { return Piece::Foreign };
        let text = |raw: Option<&RawValue>| raw.and_then(string).unwrap_or_default();
        match delta.type_.and_then(string).unwrap_or_default().as_str() {
            "text_delta" => Piece::Text(text(delta.text)),
            "thinking_delta" => Piece::Thinking(text(delta.thinking)),
            "signature_delta" => Piece::Signature(text(delta.signature)),
            // An object where its text should stand is kept as it came.
            "input_json_delta" => Piece::Arguments(delta.partial_json.map(plain).unwrap_or_default()),
            _ => Piece::Foreign,
        }
    }

    /// The stop reason that it tells; an empty one is none.
    pub(super) fn stop_reason(&self) -> Option<String> {
        word(self.delta.and_then(object::<Delta<'_>>)?.stop_reason)
    }
}

impl<'a> Message<'a> {
    /// Reads a whole reply; none if it is no reply of this wire.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let message: Self = text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()?;
        message.content.is_some_and(|content| content.get().starts_with('[')).then_some(message)
    }

    pub(super) fn model(&self) -> Option<String> {
        self.model.and_then(string).filter(|model| !model.is_empty())
    }

    pub(super) fn blocks(&self) -> Vec<&'a RawValue> {
        self.content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default()
    }

    /// Its stop reason; an empty one is none.
    pub(super) fn stop_reason(&self) -> Option<String> {
        word(self.stop_reason)
    }
}

impl BlockStart {
    pub(super) fn read(raw: &RawValue) -> Self {
        let Some(block) = object::<Block<'_>>(raw) else { return Self::Foreign };
        let text = |raw: Option<&RawValue>| raw.and_then(string).unwrap_or_default();
        match text(block.type_).as_str() {
            "text" => Self::Text(text(block.text)),
            "thinking" => Self::Thinking { text: text(block.thinking), signature: text(block.signature) },
            "redacted_thinking" => Self::Redacted,
            "tool_use" => Self::Call {
                id: block.id.map(plain).filter(|id| !id.is_empty() && id != "null"),
                name: text(block.name),
                input: block.input.map(plain).filter(|input| !is_nothing(input)).unwrap_or_default(),
            },
            _ => Self::Foreign,
        }
    }
}

/// True for an input that stands where deltas bring the arguments.
fn is_nothing(input: &str) -> bool {
    let bare: String = input.chars().filter(|char| !char.is_ascii_whitespace()).take(5).collect();
    matches!(bare.as_str(), "" | "{}" | "null")
}

/// A word, whatever its type.
fn word(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw.filter(|raw| raw.get() != "null")?;
    Some(plain(raw)).filter(|word| !word.is_empty())
}
