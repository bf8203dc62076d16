//! What of an entry can be found.

use std::borrow::Cow;

use petasos_core::entry::{Block, Body, Content};
use serde_json::Value;

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

/// The texts and numbers in arguments, as they are and not as JSON writes them: `\n` is a line end, and `\u5e93` is 库.
/// What is no JSON stays as it is.
fn argument_texts(arguments: &str) -> Vec<Cow<'_, str>> {
    let Ok(value) = serde_json::from_str::<Value>(arguments) else {
        return vec![Cow::Borrowed(arguments)];
    };
    let mut texts = Vec::new();
    values(value, &mut texts);
    texts.into_iter().map(Cow::Owned).collect()
}

/// As deep as serde_json reads, which is bounded.
fn values(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(array) => array.into_iter().for_each(|value| values(value, texts)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| values(value, texts)),
        Value::Bool(_) | Value::Null => {}
    }
}
