//! What differs between protocols: how a request is read, and how a reply is written.
//!
//! A wire is a file here and a line in [`WIRES`].

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use bytes::Bytes;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Arguments, Call, Reply, Usage, UsageChoice, WireId};

mod chat;
mod messages;
mod responses;

/// All wires that are spoken.
pub(crate) const WIRES: &[&dyn Wire] = &[&chat::Chat, &responses::Responses, &messages::Messages];

/// Tells errors that belong to no wire.
pub(crate) const PLAIN: &dyn Wire = &chat::Chat;

/// The same moment for every reply, so that its bytes do not depend on when it is given and a cut falls where it fell.
const CREATED: u64 = 1_700_000_000;

/// Pieces of a text, and of a call's arguments.
const TEXT_PIECES: usize = 4;
const ARGUMENT_PIECES: usize = 2;

/// A protocol. Pure: the same request and reply give the same bytes.
pub(crate) trait Wire: Debug + Sync {
    /// What is said of it in errors.
    fn name(&self) -> &'static str;

    /// How the paths of its requests end.
    fn path(&self) -> &'static str;

    /// Reads what a reply depends on.
    ///
    /// # Errors
    /// Why that body is no request of this wire.
    fn read(&self, body: &[u8]) -> Result<Asked, String>;

    /// The reply as one JSON object.
    ///
    /// # Errors
    /// Only if it cannot be written as JSON.
    fn whole(&self, telling: &Telling<'_>) -> Result<Bytes, serde_json::Error>;

    /// The reply as a stream, an event a frame.
    ///
    /// # Errors
    /// Only if it cannot be written as JSON.
    fn stream(&self, telling: &Telling<'_>) -> Result<Vec<Bytes>, serde_json::Error>;

    /// The body of an error of ours.
    ///
    /// # Errors
    /// Only if it cannot be written as JSON.
    fn error(&self, status: u16, message: &str) -> Result<Vec<u8>, serde_json::Error>;
}

/// What a reply depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The model that is named.
    pub model: Option<String>,
    /// How many tool results the request holds.
    pub results: u64,
    pub delivery: Delivery,
    pub seal: Seal,
}

/// How the reply is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    Stream,
}

impl Delivery {
    /// As the request says in `stream`.
    fn of(stream: Option<bool>) -> Self {
        if stream == Some(true) { Self::Stream } else { Self::Whole }
    }
}

/// Whether reasoning comes with what a later request has to bring along with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seal {
    Wanted,
    LeftOut,
}

/// A reply and what it answers.
#[derive(Debug)]
pub(crate) struct Telling<'a> {
    pub reply: &'a Reply,
    pub model: &'a str,
    /// The number of the request, from 1.
    pub request: u64,
    /// Its size in bytes.
    pub asked_bytes: usize,
    pub seal: Seal,
}

/// What is said of tokens, before a wire gives it a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told<'a> {
    Numbers(Usage),
    Raw(&'a str),
    Nothing,
}

impl Telling<'_> {
    /// The id of the call in this place, counted from 0. Not in a shape that a client would make itself: such a one is
    /// replaced, and then no test would show that an id of the wire's is kept.
    pub fn call_id(&self, call: &Call, place: usize) -> Option<String> {
        match &call.id {
            WireId::Made => Some(format!("scripted_{}_{}", self.request, place + 1)),
            WireId::Given(id) => Some(id.clone()),
            WireId::LeftOut => None,
        }
    }

    pub fn usage(&self) -> Told<'_> {
        match &self.reply.usage {
            UsageChoice::Counted => Told::Numbers(self.counted()),
            UsageChoice::Given(usage) => Told::Numbers(usage.clone()),
            UsageChoice::Raw(raw) => Told::Raw(raw),
            UsageChoice::LeftOut => Told::Nothing,
        }
    }

    fn counted(&self) -> Usage {
        let reply = self.reply;
        let said = [&reply.text, &reply.reasoning].into_iter().flatten().map(String::len);
        let called =
            reply.calls.iter().map(|call| call.name.len() + Arguments::as_str(&call.arguments).len());
        let tokens = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(4);
        Usage {
            input: tokens(self.asked_bytes),
            output: tokens(said.chain(called).sum()),
            cached: None,
            reasoning: None,
        }
    }
}

/// A text in about `parts` pieces, cut between characters; none of a long text has more than 1,000.
pub(crate) fn pieces(text: &str, parts: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(parts.max(1)).clamp(1, 1_000);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// What may be a text where it could be a list: of a text nothing is kept.
#[derive(Debug)]
struct Listed<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrList<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for TextOrList<T> {
            type Value = Listed<T>;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list")
            }

            fn visit_str<E>(self, _: &str) -> Result<Listed<T>, E> {
                Ok(Listed(Vec::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Listed<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Listed(list))
            }
        }
        deserializer.deserialize_any(TextOrList(PhantomData))
    }
}

/// An event of a stream that names its events.
fn named_frame(name: &str, event: &impl Serialize) -> Result<Bytes, serde_json::Error> {
    let json = serde_json::to_string(event)?;
    Ok(Bytes::from(format!("event: {name}\ndata: {json}\n\n")))
}

#[derive(Serialize)]
struct OpenAiError<'a> {
    error: OpenAiErrorTold<'a>,
}

#[derive(Serialize)]
struct OpenAiErrorTold<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    of: &'static str,
    code: u16,
}

/// An error of the two wires of one vendor.
fn openai_error(status: u16, message: &str) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&OpenAiError {
        error: OpenAiErrorTold { message, of: "scripted_model_server", code: status },
    })
}
