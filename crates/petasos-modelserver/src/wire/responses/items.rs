//! What a reply of Responses is made of: reasoning, a message, calls.

use serde::Serialize;

use super::Ending;
use crate::wire::{Seal, Telling};

/// One thing that was said.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Item<'a> {
    pub id: String,
    #[serde(rename = "type")]
    pub of: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Part<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Vec<Part<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    #[default]
    Message,
    Reasoning,
    FunctionCall,
}

/// A text of an item.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Part<'a> {
    #[serde(rename = "type")]
    of: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<[u8; 0]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[u8; 0]>,
    pub text: &'a str,
}

impl<'a> Part<'a> {
    pub fn said(text: &'a str) -> Self {
        Self { of: "output_text", annotations: Some([]), logprobs: Some([]), text }
    }

    pub fn summary(text: &'a str) -> Self {
        Self { of: "summary_text", annotations: None, logprobs: None, text }
    }
}

impl Item<'_> {
    /// The item as it is told of before anything of it was said.
    pub fn begun(&self) -> Self {
        let mut begun = self.clone();
        begun.status = self.status.map(|_| "in_progress");
        begun.content = self.content.as_ref().map(|_| Vec::new());
        begun.summary = self.summary.as_ref().map(|_| Vec::new());
        begun.arguments = self.arguments.map(|_| "");
        // The vendor's own first one is another too; only the last one is good.
        begun.encrypted_content = self.encrypted_content.as_ref().map(|whole| format!("begun-{whole}"));
        begun
    }
}

/// All that is said, in order.
pub(super) fn items<'a>(telling: &Telling<'a>, ending: Ending<'_>) -> Vec<Item<'a>> {
    let (reply, request) = (telling.reply, telling.request);
    let mut items = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        let summary = Some(reasoning.as_str()).filter(|text| !text.is_empty()).map(Part::summary);
        let sealed = format!("scripted-reasoning_{request}==");
        items.push(Item {
            id: format!("rs_scripted_{request}"),
            of: Kind::Reasoning,
            summary: Some(summary.into_iter().collect()),
            encrypted_content: (telling.seal == Seal::Wanted).then_some(sealed),
            ..Item::default()
        });
    }
    if let Some(text) = &reply.text {
        items.push(Item {
            id: format!("msg_scripted_{request}"),
            of: Kind::Message,
            status: Some("completed"),
            role: Some("assistant"),
            content: Some(vec![Part::said(text)]),
            ..Item::default()
        });
    }
    for (place, call) in reply.calls.iter().enumerate() {
        items.push(Item {
            id: format!("fc_scripted_{request}_{}", place + 1),
            of: Kind::FunctionCall,
            status: Some("completed"),
            call_id: telling.call_id(call, place),
            name: Some(&call.name),
            arguments: Some(call.arguments.as_str()),
            ..Item::default()
        });
    }
    if let (Ending::Incomplete(_), Some(last)) = (ending, items.last_mut()) {
        last.status = last.status.map(|_| "incomplete");
    }
    items
}
