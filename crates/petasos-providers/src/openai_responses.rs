//! The Responses wire: requests written, replies read. Pure; bytes in, bytes out.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::string;

mod call;
mod decode;
mod encode;
mod event;
mod items;
mod words;

pub(crate) use decode::ResponsesDecoder;
pub(crate) use encode::ResponsesEncoder;

/// What of an item that only its origin can open is read all the same.
#[derive(Deserialize)]
struct Sealed<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    encrypted_content: Option<&'a RawValue>,
}

/// True for an item that holds its reasoning in the form that can go back to a server which keeps nothing: one
/// without is looked up there by its id, and not found.
fn is_sealed_reasoning(item: &str) -> bool {
    let Ok(item) = serde_json::from_str::<Sealed<'_>>(item) else { return false };
    let is_reasoning = item.type_.and_then(string).is_some_and(|type_| type_ == "reasoning");
    is_reasoning && item.encrypted_content.and_then(string).is_some_and(|sealed| !sealed.is_empty())
}

/// The id of an item, where it has one.
fn id_of(item: &str) -> Option<String> {
    serde_json::from_str::<Sealed<'_>>(item).ok()?.id.and_then(string)
}
