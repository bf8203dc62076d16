//! An event of a streamed reply, or a whole reply, as servers write them: strict about JSON, lenient about
//! everything that servers disagree on.

use petasos_core::text::Text;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use crate::answer::{Answer, Counted};
use crate::counts::Counts;
use crate::lenient::{number, plain, string};

/// An event. Which fields it has depends on its type, and each is missing or null somewhere.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
}

/// A reply: whole, or as far as it is.
#[derive(Default, Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow, default)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    incomplete_details: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct IncompleteDetails<'a> {
    #[serde(borrow, default)]
    reason: Option<&'a RawValue>,
}

/// A piece of a reply's output.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
}

/// The items that this wire's replies are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
}

/// Which item something belongs to, as far as a server says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) index: Option<i64>,
    /// Never empty.
    pub(super) id: Option<String>,
    /// Never empty.
    pub(super) call_id: Option<String>,
}

/// Where in an item a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    Summary(u64),
    Content(u64),
}

/// What a text is to whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Text,
    Refusal,
}

/// A text of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) slot: Slot,
    pub(super) manner: Manner,
    pub(super) text: String,
}

impl<'a> Event<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        object(text)
    }

    /// Its type; where it has none, the name of the event.
    pub(super) fn type_(&self, name: &str) -> String {
        self.type_.and_then(string).unwrap_or_else(|| name.to_owned())
    }

    /// True for vLLM's way to write an error: the fields of the error are those of the event.
    pub(super) fn is_error(&self) -> bool {
        self.object.and_then(string).is_some_and(|object| object == "error")
    }

    pub(super) fn error(&self) -> Option<&'a RawValue> {
        self.error
    }

    pub(super) fn response(&self) -> Option<&'a RawValue> {
        self.response
    }

    pub(super) fn item(&self) -> Option<&'a RawValue> {
        self.item
    }

    pub(super) fn named(&self) -> Named {
        Named { index: index(self.output_index), id: word(self.item_id), call_id: word(self.call_id) }
    }

    pub(super) fn content(&self) -> Slot {
        Slot::Content(number(self.content_index))
    }

    pub(super) fn summary(&self) -> Slot {
        Slot::Summary(number(self.summary_index))
    }

    pub(super) fn name(&self) -> Option<String> {
        self.name.and_then(string).filter(|name| !name.is_empty())
    }

    /// What it adds to a text; an error if it is nothing that could be read.
    pub(super) fn delta(&self) -> Result<String, serde_json::Error> {
        let Some(delta) = self.delta else { return Ok(String::new()) };
        let inner = || object::<Part<'_>>(delta.get()).ok()?.text.and_then(string);
        string(delta).or_else(inner).ok_or_else(|| serde_json::Error::custom("a delta that is no text"))
    }

    /// The whole of a text.
    pub(super) fn text(&self) -> Option<String> {
        self.text.and_then(string)
    }

    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.and_then(string)
    }

    /// The whole of a call's arguments; an object where their text should stand is kept as it came.
    pub(super) fn arguments(&self) -> Option<String> {
        self.arguments.map(plain)
    }
}

impl<'a> Response<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        object(text)
    }

    /// Tells what it says of the model and of the usage; the last word counts.
    pub(super) fn tell(&self, counted: Counted, answer: &mut Answer) {
        if answer.model.is_none() {
            answer.model = word(self.model).map(Text::from);
        }
        answer.count(self.usage.map(Counts::read).unwrap_or_default(), counted);
    }

    pub(super) fn status(&self) -> Option<String> {
        word(self.status)
    }

    /// Its items as they came; none if there is no list of them.
    pub(super) fn output(&self) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.output?.get()).ok()
    }

    /// Why it is incomplete.
    pub(super) fn reason(&self) -> Option<String> {
        word(object::<IncompleteDetails<'_>>(self.incomplete_details?.get()).ok()?.reason)
    }
}

impl<'a> Item<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        object(raw.get()).ok()
    }

    /// What it is; none for what this program does not know.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.type_.and_then(string)?.as_str() {
            "message" => Some(Kind::Message),
            "reasoning" => Some(Kind::Reasoning),
            "function_call" => Some(Kind::Call),
            _ => None,
        }
    }

    pub(super) fn named(&self, index: Option<i64>) -> Named {
        Named { index, id: word(self.id), call_id: word(self.call_id) }
    }

    /// True if it says that it broke off.
    pub(super) fn is_incomplete(&self) -> bool {
        word(self.status).is_some_and(|status| status == "incomplete")
    }

    pub(super) fn name(&self) -> Option<String> {
        self.name.and_then(string).filter(|name| !name.is_empty())
    }

    pub(super) fn arguments(&self) -> Option<String> {
        self.arguments.map(plain)
    }

    /// The texts of its content.
    pub(super) fn content(&self) -> Vec<Words> {
        texts(self.content, Slot::Content)
    }

    /// The texts of its summary.
    pub(super) fn summary(&self) -> Vec<Words> {
        texts(self.summary, Slot::Summary)
    }
}

/// The texts of a list of parts, or one text that stands for the list.
fn texts(list: Option<&RawValue>, slot: fn(u64) -> Slot) -> Vec<Words> {
    let Some(list) = list else { return Vec::new() };
    let parts: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_else(|_| vec![list]);
    parts.into_iter().zip(0..).filter_map(|(part, at)| words(part, slot(at))).collect()
}

fn words(part: &RawValue, slot: Slot) -> Option<Words> {
    if let Some(text) = string(part) {
        return Some(Words { slot, manner: Manner::Text, text });
    }
    let part: Part<'_> = object(part.get()).ok()?;
    let text = part.text.and_then(string).map(|text| Words { slot, manner: Manner::Text, text });
    let refusal = || part.refusal.and_then(string).map(|text| Words { slot, manner: Manner::Refusal, text });
    text.or_else(refusal)
}

/// Reads an object. A struct is also read from an array, and an array is none.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    if !text.starts_with('{') {
        return Err(serde_json::Error::custom("no object"));
    }
    serde_json::from_str(text)
}

/// A word that says something; a number where one should stand counts as its digits.
fn word(raw: Option<&RawValue>) -> Option<String> {
    raw.map(plain).filter(|word| !word.is_empty())
}

fn index(raw: Option<&RawValue>) -> Option<i64> {
    plain(raw?).parse().ok()
}
