//! What of an entry can be found.

use std::borrow::Cow;
use std::fmt;

use petasos_core::entry::{Block, Body, Content};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The texts of an entry that can be found: what was said, what was answered, arguments of calls, their results, titles.
pub(super) fn texts(body: &Body) -> Vec<Cow<'_, str>> {
    match body {
        Body::Said(said) => said.content.iter().filter_map(said_text).collect(),
        Body::Reply(reply) => reply.blocks.iter().flat_map(block_texts).collect(),
        Body::Call(call) => call.arguments.iter().flat_map(|json| argument_texts(json.as_str())).collect(),
        Body::ToolResult(result) => vec![Cow::Borrowed(&**result.text.text())],
        Body::Setting(setting) if &*setting.key == "title" => {
            setting.value.iter().map(|title| Cow::Borrowed(&**title)).collect()
        }
        Body::Setting(_)
        | Body::SessionStart(_)
        | Body::Open(_)
        | Body::Head(_)
        | Body::TurnStart(_)
        | Body::LimitAdded(_)
        | Body::Note(_)
        | Body::Request(_)
        | Body::Partial(_)
        | Body::RequestEnd(_)
        | Body::Decision(_)
        | Body::ToolStart(_)
        | Body::TurnEnd(_)
        | Body::Leaf(_)
        | Body::Unknown(_) => Vec::new(),
    }
}

fn said_text(content: &Content) -> Option<Cow<'_, str>> {
    match content {
        Content::Text(text) => Some(Cow::Borrowed(&**text)),
        Content::Blob { .. } => None,
    }
}

fn block_texts(block: &Block) -> Vec<Cow<'_, str>> {
    match block {
        Block::Text(text) => vec![Cow::Borrowed(&**text)],
        Block::Call(call) => {
            let mut texts = vec![Cow::Borrowed(&*call.name)];
            texts.extend(argument_texts(&call.arguments));
            texts
        }
        Block::Reasoning(_) | Block::Opaque(_) => Vec::new(),
    }
}

/// The texts in arguments, as they are and not as JSON writes them: `\n` is a line end, and `\u5e93` is 库. Numbers as
/// they are written. What is no JSON stays as it is.
fn argument_texts(arguments: &str) -> Vec<Cow<'_, str>> {
    let mut texts = Vec::new();
    match serde_json::from_str::<&RawValue>(arguments) {
        Ok(value) => values(value, DEEPEST, &mut texts),
        Err(_) => texts.push(Cow::Borrowed(arguments)),
    }
    texts
}

/// What is nested deeper than this is found as it is written.
const DEEPEST: u8 = 32;

fn values<'a>(value: &'a RawValue, deeper: u8, texts: &mut Vec<Cow<'a, str>>) {
    let (raw, left) = (value.get(), deeper.checked_sub(1));
    let members = match (raw.bytes().next(), left) {
        (Some(b'"'), _) => {
            let text = serde_json::from_str(raw).map_or(Cow::Borrowed(raw), Cow::Owned);
            return texts.push(text);
        }
        (Some(b't' | b'f' | b'n'), _) => return,
        (Some(b'['), Some(_)) => serde_json::from_str::<Vec<&RawValue>>(raw).ok(),
        (Some(b'{'), Some(_)) => {
            serde_json::from_str::<Members<'_>>(raw).ok().map(|Members(members)| members)
        }
        (Some(_) | None, _) => None,
    };
    match (members, left) {
        (Some(members), Some(left)) => members.into_iter().for_each(|member| values(member, left, texts)),
        (Some(_) | None, _) => texts.push(Cow::Borrowed(raw)),
    }
}

/// The values of an object, in the order they stand, also of keys that stand twice.
struct Members<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMembers;

        impl<'de> Visitor<'de> for OfMembers {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((_, value)) = map.next_entry::<IgnoredAny, &RawValue>()? {
                    members.push(value);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(OfMembers)
    }
}
