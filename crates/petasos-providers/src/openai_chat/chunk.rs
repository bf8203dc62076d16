//! A chunk of a streamed reply, or a whole reply, as servers write them: strict about JSON, lenient about
//! everything that servers disagree on.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::counts::Counts;
use crate::lenient::{object, plain, string};

/// A chunk. Each field is missing, null or of another type somewhere, which costs that field alone.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    x_groq: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timings: Option<&'a RawValue>,
}

/// What Groq adds to the last chunk, also where nobody asked for the usage.
#[derive(Deserialize)]
struct GroqFields<'a> {
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

/// What a chunk adds to the reply.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// A part of content that is an array.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
}

/// What a piece says, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words {
    Text(String),
    Reasoning(String),
    Refusal(String),
}

impl Words {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Reasoning(text) | Self::Refusal(text) => text,
        }
    }
}

/// More of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallPiece {
    pub(super) index: Option<i64>,
    /// Never empty.
    pub(super) id: Option<String>,
    /// Never empty.
    pub(super) name: Option<String>,
    pub(super) arguments: String,
}

impl CallPiece {
    /// True if it adds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.id.is_none() && self.name.is_none() && self.arguments.is_empty()
    }
}

impl<'a> Chunk<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        // A struct is also read from an array, and an array is no chunk.
        if !text.starts_with('{') {
            return Err(serde_json::Error::custom("no object"));
        }
        serde_json::from_str(text)
    }

    /// Its choices, as far as they are any.
    pub(super) fn choices(&self) -> Vec<Choice<'a>> {
        self.choices.map(items).unwrap_or_default()
    }

    /// The error that it holds.
    pub(super) fn error(&self) -> Option<&'a RawValue> {
        self.error.filter(|error| !matches!(error.get(), "{}" | "\"\"" | "false"))
    }

    /// True for vLLM's way to write an error: the fields of the error are those of the chunk.
    pub(super) fn is_error(&self) -> bool {
        self.object.and_then(string).is_some_and(|object| object == "error")
    }

    pub(super) fn model(&self) -> Option<String> {
        self.model.and_then(string).filter(|model| !model.is_empty())
    }

    /// What was used, wherever it stands: beside the choices or in one of them (Moonshot), in what Groq adds, or in
    /// llama.cpp's own words. The first place that tells counts; nothing is added up.
    pub(super) fn counts(&self) -> Counts {
        let groq = self.x_groq.and_then(object::<GroqFields<'_>>).and_then(|groq| groq.usage);
        let in_choice =
            self.choices().iter().filter(|choice| choice.is_first()).find_map(|choice| choice.usage);
        let told = [self.usage, in_choice, groq].into_iter().flatten().map(Counts::read);
        told.chain(self.timings.map(Counts::of_timings))
            .find(|counts| counts.usage.is_some())
            .unwrap_or_default()
    }
}

impl<'a> Choice<'a> {
    /// True if it is the one that was asked for; a server that sends more is not followed.
    pub(super) fn is_first(&self) -> bool {
        self.index.is_none_or(|index| plain(index).parse().unwrap_or(0_u64) == 0)
    }

    /// Its piece: of a stream, or of a whole reply.
    pub(super) fn piece(&self) -> Option<Piece<'a>> {
        [self.delta, self.message].into_iter().flatten().find_map(object)
    }

    /// Its finish reason; an empty one is none.
    pub(super) fn finish_reason(&self) -> Option<String> {
        self.finish_reason
            .map(|raw| string(raw).unwrap_or_else(|| raw.get().to_owned()))
            .filter(|text| !text.is_empty())
    }
}

impl Piece<'_> {
    /// What it says; an error if its content is nothing that could be read.
    pub(super) fn words(&self) -> Result<Vec<Words>, serde_json::Error> {
        let mut words = Vec::new();
        // Some servers send the same text under both names.
        let reasoning = [self.reasoning_content, self.reasoning];
        let reasoning = reasoning.into_iter().flatten().filter_map(string).find(|text| !text.is_empty());
        words.extend(reasoning.map(Words::Reasoning));
        if let Some(content) = self.content {
            words.extend(content_words(content)?);
        }
        words.extend(self.refusal.and_then(string).map(Words::Refusal));
        Ok(words)
    }

    /// What it adds to calls.
    pub(super) fn calls(&self) -> Vec<CallPiece> {
        let calls = self.tool_calls.map(items::<ToolCall<'_>>).unwrap_or_default();
        let calls = calls.into_iter().map(|call| CallPiece {
            index: call.index.and_then(|index| plain(index).parse().ok()),
            id: call.id.map(plain).filter(|id| !id.is_empty()),
            ..call.function.and_then(object::<Function<'_>>).map(|of| of.piece()).unwrap_or_default()
        });
        let function = self.function_call.and_then(object::<Function<'_>>);
        calls.chain(function.map(|of| of.piece())).collect()
    }
}

impl Function<'_> {
    fn piece(&self) -> CallPiece {
        CallPiece {
            name: self.name.and_then(string).filter(|name| !name.is_empty()),
            // An object where its text should stand is kept as it came.
            arguments: self.arguments.map(plain).unwrap_or_default(),
            ..CallPiece::default()
        }
    }
}

/// The objects of a list, or the one that stands in its place; what is none is passed over.
fn items<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Vec<T> {
    let list: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_else(|_| vec![raw]);
    list.into_iter().filter_map(object).collect()
}

fn content_words(content: &RawValue) -> Result<Vec<Words>, serde_json::Error> {
    if let Some(text) = string(content) {
        return Ok(vec![Words::Text(text)]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(content.get())?;
    Ok(parts.into_iter().flat_map(part_words).collect())
}

fn part_words(part: &RawValue) -> Vec<Words> {
    if let Some(text) = string(part) {
        return vec![Words::Text(text)];
    }
    let Ok(part) = serde_json::from_str::<Part<'_>>(part.get()) else { return Vec::new() };
    let mut words: Vec<Words> =
        part.thinking.map(thoughts).unwrap_or_default().into_iter().map(Words::Reasoning).collect();
    words.extend(part.text.and_then(string).map(Words::Text));
    words
}

/// The texts of `thinking`: a string, or one array of parts (Mistral). Parts below those are not followed:
/// their depth is the server's choice, and the stack is ours.
fn thoughts(thinking: &RawValue) -> Vec<String> {
    if let Some(text) = string(thinking) {
        return vec![text];
    }
    let parts: Vec<&RawValue> = serde_json::from_str(thinking.get()).unwrap_or_default();
    let text = |part: &RawValue| {
        let inner = || serde_json::from_str::<Part<'_>>(part.get()).ok()?.text.and_then(string);
        string(part).or_else(inner)
    };
    parts.into_iter().filter_map(text).collect()
}
