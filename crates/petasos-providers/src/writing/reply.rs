//! What of a reply, its calls and their results is sent, whatever the wire.

use std::borrow::Cow;
use std::iter;

use petasos_core::entry::{Block, Call, FinishReason, Head, ModelCall, Reply};
use petasos_core::transcript::ClosedStep;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::lenient::object;
use crate::writing::{Rule, Rules, json, schema_of_object};

/// The deepest arguments that are sent: many readers stop at 128, and on Messages a body stands around them.
const DEEPEST: usize = 100;
/// Of arguments that are no JSON, the characters that go back to the model.
const UNREADABLE_CAP: usize = 2_000;

/// A tool as the head has it.
#[derive(Deserialize)]
pub(crate) struct ToolSpec<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Cow<'a, str>,
    #[serde(borrow)]
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct Unreadable {
    unreadable: String,
}

impl ToolSpec<'_> {
    /// What it is for; its name where nothing is said, for some servers take no tool without.
    pub(crate) fn description(&self, rules: Rules) -> &str {
        let is_missing = self.description.trim().is_empty() && rules.hold(Rule::ToolsAreDescribed);
        if is_missing { &self.name } else { &self.description }
    }

    /// The schema of its arguments, as every server takes it.
    pub(crate) fn parameters(&self, rules: Rules) -> Cow<'_, RawValue> {
        schema_of_object(self.parameters, rules)
    }
}

/// The tools of a head: an array of objects with `name`, `description` and `parameters`; anything else in it is no
/// tool, and anything else is none at all. Of two with one name the first is kept.
pub(crate) fn tool_specs(head: &Head) -> Vec<ToolSpec<'_>> {
    let tools: Vec<&RawValue> = serde_json::from_str(head.tools.as_str()).unwrap_or_default();
    let mut specs: Vec<ToolSpec<'_>> = Vec::new();
    for spec in tools.into_iter().filter_map(object::<ToolSpec<'_>>) {
        if !specs.iter().any(|known| known.name == spec.name) {
            specs.push(spec);
        }
    }
    specs
}

/// A call as it is sent: with the name and the arguments that it ran with, if they are not the model's own.
/// Servers refuse names and arguments of another form, and models do again what they see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentCall<'a> {
    /// As the model made it.
    pub(crate) made: &'a ModelCall,
    changed: Option<&'a Call>,
}

/// The calls of a step, in order.
pub(crate) fn calls(step: &ClosedStep) -> impl Iterator<Item = SentCall<'_>> {
    let made = step.reply.blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) => None,
    });
    let changed = step.changed.iter().map(Option::as_deref).chain(iter::repeat(None));
    made.zip(changed).map(|(made, changed)| SentCall { made, changed })
}

/// The text blocks of a reply that say something, in order. What a person stopped is no finished thought, and
/// the model should not take it for one: the last says so.
pub(crate) fn text_blocks(reply: &Reply) -> Vec<Cow<'_, str>> {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    for block in &reply.blocks {
        match block {
            Block::Text(text) if !text.is_blank() => texts.push(Cow::Borrowed(text)),
            Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) | Block::Call(_) => {}
        }
    }
    if let Some(last) = texts.last_mut().filter(|_| reply.finish == FinishReason::Cut) {
        last.to_mut().push_str("\n\n[stopped here]");
    }
    texts
}

/// The text of a reply as one: its text blocks, each on a line of its own.
pub(crate) fn visible_text(reply: &Reply) -> String {
    let mut whole = String::new();
    for text in text_blocks(reply) {
        if !whole.is_empty() && !whole.ends_with('\n') && !text.starts_with('\n') {
            whole.push('\n');
        }
        whole.push_str(&text);
    }
    whole
}

/// The result of the call in this place, as text that says something.
pub(crate) fn result(step: &ClosedStep, place: usize, rules: Rules) -> Option<&str> {
    match step.results.get(place).map(|result| result.text.text()) {
        Some(text) if !text.is_blank() || !rules.hold(Rule::ResultsSaySomething) => Some(text),
        Some(_) => Some("(the tool ended and gave no output)"),
        // Core never closes a step without; if it did, the request would still be valid.
        None => rules.hold(Rule::CallsHaveResults).then_some("(the outcome of this call is not known)"),
    }
}

impl<'a> SentCall<'a> {
    /// The tool's own name, or what the model made up.
    pub(crate) fn name(&self) -> &'a str {
        self.changed.map_or(&self.made.name, |changed| &changed.tool)
    }

    /// Arguments as the wire wants them: the text of a JSON object.
    pub(crate) fn arguments(&self, rules: Rules) -> Cow<'a, str> {
        let changed = self.changed.and_then(|changed| changed.arguments.as_ref());
        arguments(changed.map_or(&self.made.arguments, |arguments| arguments.as_str()), rules)
    }
}

/// What the model sent if it is an object; `{}` for nothing; else an object that shows the text, so that the model
/// sees what it did.
fn arguments(text: &str, rules: Rules) -> Cow<'_, str> {
    let text = text.trim();
    if !rules.hold(Rule::ArgumentsAreAnObject) {
        return Cow::Borrowed(text);
    }
    if text.is_empty() {
        return Cow::Borrowed("{}");
    }
    // A raw value would let half a surrogate pair and any depth through, which strict servers refuse in
    // this and every later request. The value is only for the check: what is sent are the model's bytes.
    let read = || serde_json::from_str::<serde_json::Value>(text).ok();
    if text.starts_with('{') && read().is_some_and(|value| depth(&value) <= DEEPEST) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(json(&Unreadable { unreadable: text.chars().take(UNREADABLE_CAP).collect() }))
}

/// How deep a value is. It was read, so it is no deeper than the reader goes.
fn depth(value: &serde_json::Value) -> usize {
    let inner = match value {
        serde_json::Value::Array(items) => items.iter().map(depth).max(),
        serde_json::Value::Object(members) => members.values().map(depth).max(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => return 0,
    };
    inner.unwrap_or(0) + 1
}
