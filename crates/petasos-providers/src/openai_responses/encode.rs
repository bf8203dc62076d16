//! Transcript to request: each item's bytes are made once, and what is not named here is not sent (L03).

use std::borrow::Cow;
use std::collections::BTreeSet;

use petasos_core::entry::{Block, Head, Opaque, Reply};
use petasos_core::learnt::{Learnt, Parameter};
use petasos_core::request::{Params, Target, ToolChoice};
use petasos_core::text::Text;
use petasos_core::transcript::{ClosedStep, Item};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{id_of, is_sealed_reasoning};
use crate::provider::{Body, Encoder, Tail};
use crate::quirks::{Quirks, origin};
use crate::writing::{
    CONTINUE, NOT_SHOWN, Parts, Rule, Rules, WireIds, WireNames, allowed, calls, escaped, json, note, result,
    said, text_blocks, tool_specs,
};
use crate::written::Formats;

/// The smallest cap of the output that OpenAI takes.
const LEAST_OUTPUT: u64 = 16;

/// The fields of reasoning that go back (platform.openai.com/docs/api-reference/responses/create, `input`). Its `status`
/// stays away: it is that of an answer, and the vendor has refused it in a request.
const REASONING: &[&str] = &["type", "id", "summary", "content", "encrypted_content"];

/// Writes Responses requests.
///
/// The server keeps nothing (`store` is false), so everything is sent each time, and nothing by its id alone.
#[derive(Clone, Debug)]
pub(crate) struct ResponsesEncoder {
    parts: Parts,
    learnt: Learnt,
    rules: Rules,
    origin: Text,
    has_tools: bool,
    formats: Formats,
    /// What stands at the end of the input.
    last: Last,
    ids: WireIds,
    names: WireNames,
    /// The ids of the reasoning that was sent.
    reasoning: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    /// A user's message, its text still open.
    User,
    Answer,
    Results,
}

#[derive(Serialize)]
struct ParamsPart<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: Cow<'a, RawValue>,
    /// Left out it counts as true, and the schema is changed.
    strict: bool,
}

#[derive(Serialize)]
struct UserMessage<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    role: &'static str,
    content: &'a str,
}

/// A message of the assistant's, in the one form that all servers read: vLLM wants id and status, older
/// llama.cpp takes no plain string. The id means nothing to a server that keeps nothing.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    id: String,
    role: &'static str,
    status: &'static str,
    content: Vec<OutputText<'a>>,
}

#[derive(Serialize)]
struct OutputText<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    text: Cow<'a, str>,
    annotations: [&'static str; 0],
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    call_id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct FunctionCallOutput<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    call_id: &'a str,
    output: &'a str,
}

/// What is sent of a reply, in its order.
enum Sent<'a> {
    /// Its texts that follow each other: one message.
    Texts(Vec<Cow<'a, str>>),
    /// An item as it came, in the fields that go back.
    Reasoning(Cow<'a, str>),
    /// A call and the id that it is sent with.
    Call { id: String, name: String, arguments: Cow<'a, str> },
}

impl ResponsesEncoder {
    /// An encoder for one session's requests to this target under this head.
    pub(crate) fn new(target: &Target, head: &Head, learnt: &Learnt, rules: Rules) -> Self {
        let quirks = Quirks::of(&target.provider);
        let mut encoder = Self {
            parts: Parts::default(),
            learnt: learnt.clone(),
            rules,
            origin: origin(target),
            has_tools: false,
            formats: Formats::default(),
            last: Last::Nothing,
            ids: WireIds::new(quirks.ids, rules),
            names: WireNames::new(tool_specs(head).iter().map(|spec| &*spec.name), rules),
            reasoning: BTreeSet::new(),
        };
        let is_one_of = |names: &[&str]| names.iter().any(|name| target.model.starts_with(name));
        let seals = is_one_of(quirks.sealed_reasoning)
            && !is_one_of(quirks.unsealed)
            && learnt.sends(Parameter::SealedReasoning);
        let store = learnt.sends(Parameter::Store).then_some(false);
        let include = if seals { vec!["reasoning.encrypted_content"] } else { Vec::new() };
        let mut params = json(&ParamsPart { model: &target.model, stream: true, store, include });
        params.pop();
        encoder.parts.add(&params);
        let tools = encoder.tools(head);
        encoder.has_tools = !tools.is_empty();
        encoder.parts.add(&tools);
        let mut system = String::new();
        if !head.system.is_blank() || !rules.hold(Rule::NothingEmptyIsSent) {
            system = format!(",\"instructions\":{}", json(&&*head.system));
        }
        system.push_str(",\"input\":[");
        encoder.parts.add(&system);
        encoder
    }

    /// One that asks for replies of these formats.
    pub(crate) fn with_formats(self, formats: Formats) -> Self {
        Self { formats, ..self }
    }

    fn tools(&self, head: &Head) -> String {
        let specs = tool_specs(head);
        if specs.is_empty() && self.rules.hold(Rule::NothingEmptyIsSent) {
            return String::new();
        }
        let tools = specs.iter().map(|spec| Tool {
            type_: "function",
            name: self.names.sent(&spec.name),
            description: spec.description(self.rules),
            parameters: spec.parameters(self.rules),
            strict: false,
        });
        format!(",\"tools\":{}", json(&tools.collect::<Vec<_>>()))
    }

    /// What must stand before the next item.
    fn before_item(&self) -> &'static str {
        match self.last {
            Last::Nothing => "",
            Last::Answer | Last::Results => ",",
            Last::User => "\"},",
        }
    }

    /// Something of a user's, left open so that the next can go on in the same message.
    fn user(&self, text: &str) -> String {
        let text = escaped(text);
        if self.last == Last::User && self.rules.hold(Rule::UsersAreJoined) {
            return format!("\\n\\n{text}");
        }
        format!("{}{{\"type\":\"message\",\"role\":\"user\",\"content\":\"{text}", self.before_item())
    }

    /// A step: what is sent of its reply, then the result of each of its calls, in their order.
    fn step(&mut self, step: &ClosedStep) -> String {
        let rules = self.rules;
        let before = self.before_item();
        let mut items = Vec::new();
        // Servers that make a chat of it have strict templates: the user speaks first, and between two answers.
        let between = match self.last {
            Last::Nothing if rules.hold(Rule::UserSpeaksFirst) => Some(NOT_SHOWN),
            Last::Answer if rules.hold(Rule::AnswersAreApart) => Some(CONTINUE),
            Last::Nothing | Last::Answer | Last::User | Last::Results => None,
        };
        items.extend(between.map(user_message));
        let mut ids = Vec::new();
        for (sent, place) in self.sent(step).into_iter().zip(0..) {
            items.push(match sent {
                Sent::Texts(texts) => json(&answer(texts, format!("msg_{}_{place}", step.reply_seq))),
                Sent::Reasoning(raw) => raw.into_owned(),
                Sent::Call { id, name, arguments } => {
                    let call = FunctionCall { type_: "function_call", call_id: &id, name: &name, arguments };
                    let call = json(&call);
                    ids.push(id);
                    call
                }
            });
        }
        for (place, call_id) in ids.iter().enumerate() {
            let Some(output) = result(step, place, rules) else { continue };
            items.push(json(&FunctionCallOutput { type_: "function_call_output", call_id, output }));
        }
        self.last = if ids.is_empty() { Last::Answer } else { Last::Results };
        format!("{before}{}", items.join(","))
    }

    /// What is sent of a reply: its blocks in their order, for reasoning belongs to what follows it.
    fn sent<'a>(&mut self, step: &'a ClosedStep) -> Vec<Sent<'a>> {
        let reply: &Reply = &step.reply;
        let mut sent = Vec::new();
        let mut texts = text_blocks(reply).into_iter();
        let mut made = calls(step).enumerate();
        for block in &reply.blocks {
            match block {
                Block::Text(text) if !text.is_blank() => match (sent.last_mut(), texts.next()) {
                    (Some(Sent::Texts(before)), Some(text)) => before.push(text),
                    (_, text) => sent.push(Sent::Texts(text.into_iter().collect())),
                },
                Block::Opaque(opaque) if self.goes_back(opaque) => {
                    sent.push(Sent::Reasoning(allowed(opaque.raw.as_str(), REASONING, self.rules)));
                }
                Block::Call(_) => {
                    let Some((place, call)) = made.next() else { continue };
                    let id = self.ids.take(call.made, step.reply_seq, place);
                    let name = self.names.sent(call.name()).into_owned();
                    sent.push(Sent::Call { id, name, arguments: call.arguments(self.rules) });
                }
                Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) => {}
            }
        }
        let says = |sent: &Sent<'_>| !matches!(sent, Sent::Reasoning(_));
        if self.rules.hold(Rule::ReasoningHasAFollower) {
            sent.truncate(sent.iter().rposition(says).map_or(0, |last| last + 1));
        }
        if self.rules.hold(Rule::IdsOnce) {
            sent.retain(|sent| match sent {
                Sent::Reasoning(raw) => id_of(raw).is_none_or(|id| self.reasoning.insert(id)),
                Sent::Texts(_) | Sent::Call { .. } => true,
            });
        }
        if !sent.iter().any(says) {
            // Nothing at all would join two messages of the user's.
            let nothing = if self.rules.hold(Rule::AnswersSaySomething) { "(no answer)" } else { "" };
            sent.push(Sent::Texts(vec![Cow::Borrowed(nothing)]));
        }
        sent
    }

    /// True for reasoning that its origin can open and whoever else cannot.
    fn goes_back(&self, opaque: &Opaque) -> bool {
        if !self.learnt.sends(Parameter::ReasoningBack) {
            return false;
        }
        let is_own = opaque.origin == self.origin || !self.rules.hold(Rule::OpaqueGoesHome);
        is_own && (is_sealed_reasoning(opaque.raw.as_str()) || !self.rules.hold(Rule::ReasoningIsSealed))
    }
}

impl Encoder for ResponsesEncoder {
    fn push(&mut self, item: &Item) {
        let part = match item {
            Item::Said(of) => self.user(&said(of, self.rules)),
            Item::Note(of) => self.user(&note(of)),
            Item::Step(step) => {
                let part = self.step(step);
                return self.parts.add(&part);
            }
        };
        self.parts.add(&part);
        self.last = Last::User;
    }

    fn part(&self, place: usize) -> Option<&[u8]> {
        self.parts.part(place)
    }

    fn body(&self, params: &Params, tail: &Tail) -> Body {
        // An empty input is refused, and strict servers want the last word to be the user's; as a part of the
        // tail it is gone from the next request.
        let mut end = match self.last {
            Last::User => String::from("\"}"),
            Last::Results => String::new(),
            Last::Nothing | Last::Answer if self.rules.hold(Rule::UserSpeaksLast) => {
                format!("{}{}", self.before_item(), user_message(CONTINUE))
            }
            Last::Nothing | Last::Answer => String::new(),
        };
        end.push(']');
        let may_choose = self.has_tools || !self.rules.hold(Rule::ToolChoiceNeedsTools);
        let may_choose = may_choose && self.learnt.sends(Parameter::ToolChoice);
        if may_choose && params.tool_choice == ToolChoice::Forbidden {
            end.push_str(",\"tool_choice\":\"none\"");
        }
        let format = self.formats.of(params.tool_choice);
        if let Some(schema) = format.filter(|_| self.learnt.sends(Parameter::ResponseFormat)) {
            end.push_str(&format!(
                ",\"text\":{{\"format\":{{\"type\":\"json_schema\",\"name\":\"reply\",\"schema\":{schema}}}}}"
            ));
        }
        if let Some(most) = tail.max_output {
            let least = if self.rules.hold(Rule::OutputCapIsTaken) { LEAST_OUTPUT } else { 0 };
            end.push_str(&format!(",\"max_output_tokens\":{}", most.max(least)));
        }
        if let Some(temperature) = tail.temperature.filter(|_| self.learnt.sends(Parameter::Temperature)) {
            end.push_str(&format!(",\"temperature\":{temperature}"));
        }
        end.push('}');
        self.parts.body(&end)
    }
}

fn user_message(content: &str) -> String {
    json(&UserMessage { type_: "message", role: "user", content })
}

fn answer(texts: Vec<Cow<'_, str>>, id: String) -> Answer<'_> {
    let content = texts.into_iter().map(|text| OutputText { type_: "output_text", text, annotations: [] });
    Answer { type_: "message", id, role: "assistant", status: "completed", content: content.collect() }
}
