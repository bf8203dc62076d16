//! Transcript to request: each item's bytes are made once, and what is not named here is not sent (L03).

use std::borrow::Cow;

use petasos_core::entry::{Block, Head, Opaque, Reply};
use petasos_core::learnt::{Learnt, Parameter};
use petasos_core::request::{Params, Target, ToolChoice};
use petasos_core::text::Text;
use petasos_core::transcript::{ClosedStep, Item};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Echo;
use crate::provider::{Body, Encoder, Tail};
use crate::quirks::{AfterResults, OutputCap, Quirks, ReasoningBack, StreamUsage, origin};
use crate::writing::{
    CONTINUE, NOT_SHOWN, Parts, Rule, Rules, WireIds, WireNames, calls, escaped, json, note, result, said,
    tool_specs, visible_text,
};
use crate::written::Formats;

/// Stands between results and what a user says then, at servers that let only the assistant speak there.
const RESULTS_SEEN: &str = "I have the results.";

/// Writes chat-completions requests.
#[derive(Clone, Debug)]
pub struct ChatEncoder {
    parts: Parts,
    quirks: Quirks,
    rules: Rules,
    origin: Text,
    learnt: Learnt,
    has_tools: bool,
    formats: Formats,
    /// What stands at the end of the messages.
    last: Last,
    ids: WireIds,
    names: WireNames,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    System,
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
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    type_: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl ChatEncoder {
    /// An encoder for one session's requests to this target under this head. `head.tools` is an array of
    /// objects with `name`, `description` and `parameters`; anything else counts as no tools.
    pub(crate) fn new(target: &Target, head: &Head, learnt: &Learnt, rules: Rules) -> Self {
        let quirks = Quirks::of(&target.provider).adapted(learnt);
        let mut encoder = Self {
            parts: Parts::default(),
            quirks,
            learnt: learnt.clone(),
            rules,
            origin: origin(target),
            has_tools: false,
            formats: Formats::default(),
            last: Last::Nothing,
            ids: WireIds::new(quirks.ids, rules),
            names: WireNames::new(tool_specs(head).iter().map(|spec| &*spec.name), rules),
        };
        let stream_options = match quirks.stream_usage {
            StreamUsage::Asked => Some(StreamOptions { include_usage: true }),
            StreamUsage::Told => None,
        };
        let mut params = json(&ParamsPart { model: &target.model, stream: true, stream_options });
        params.pop();
        encoder.parts.add(&params);
        let tools = encoder.tools(head);
        encoder.has_tools = !tools.is_empty();
        encoder.parts.add(&tools);
        let mut system = String::from(",\"messages\":[");
        if !head.system.is_blank() || !rules.hold(Rule::NothingEmptyIsSent) {
            system.push_str(&json(&message("system", &head.system)));
            encoder.last = Last::System;
        }
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
            function: Function {
                name: self.names.sent(&spec.name),
                description: spec.description(self.rules),
                parameters: spec.parameters(self.rules),
            },
        });
        format!(",\"tools\":{}", json(&tools.collect::<Vec<_>>()))
    }

    /// What must stand before the next message.
    fn before_message(&self) -> &'static str {
        match self.last {
            Last::Nothing => "",
            Last::System | Last::Answer | Last::Results => ",",
            Last::User => "\"},",
        }
    }

    /// Something of a user's, left open so that the next can go on in the same message.
    fn user(&self, text: &str) -> String {
        let text = escaped(text);
        if self.last == Last::User && self.rules.hold(Rule::UsersAreJoined) {
            return format!("\\n\\n{text}");
        }
        let before = self.before_message();
        let wants_answer = self.quirks.after_results == AfterResults::Assistant;
        let gap = self.last == Last::Results && wants_answer && self.rules.hold(Rule::ResultsAreAnswered);
        let seen = if gap { json(&self.answer(RESULTS_SEEN)) + "," } else { String::new() };
        format!("{before}{seen}{{\"role\":\"user\",\"content\":\"{text}")
    }

    fn gives_reasoning_back(&self) -> bool {
        match self.quirks.reasoning {
            ReasoningBack::Nothing => false,
            ReasoningBack::Always => self.rules.hold(Rule::ReasoningIsGivenBack),
        }
    }

    /// A message of the assistant's that no model wrote.
    fn answer<'a>(&self, content: &'a str) -> Message<'a> {
        let reasoning_content = self.gives_reasoning_back().then_some(Cow::Borrowed(""));
        Message { reasoning_content, ..message("assistant", content) }
    }

    /// A step: the assistant's message, then one `tool` message for each of its calls, in their order.
    fn step(&mut self, step: &ClosedStep) -> String {
        let rules = self.rules;
        let mut part = String::from(self.before_message());
        // Strict chat templates want the user to speak first, and between two answers; a transcript that was
        // cut may not have it.
        let between = match self.last {
            Last::Nothing | Last::System if rules.hold(Rule::UserSpeaksFirst) => Some(NOT_SHOWN),
            Last::Answer if rules.hold(Rule::AnswersAreApart) => Some(CONTINUE),
            Last::Nothing | Last::System | Last::Answer | Last::User | Last::Results => None,
        };
        if let Some(text) = between {
            part.push_str(&json(&message("user", text)));
            part.push(',');
        }
        let made: Vec<_> = calls(step).collect();
        let ids: Vec<String> =
            (0..).zip(&made).map(|(place, call)| self.ids.take(call.made, step.reply_seq, place)).collect();
        let text = visible_text(&step.reply);
        let tool_calls = made.iter().zip(&ids).map(|(call, id)| Call {
            id,
            type_: "function",
            function: Called { name: self.names.sent(call.name()), arguments: call.arguments(rules) },
        });
        let content = match (text.is_empty(), made.is_empty()) {
            (false, _) => Some(text.as_str()),
            (true, false) => None,
            // Nothing at all is no valid message, and leaving it out would join two of the user's.
            (true, true) => rules.hold(Rule::AnswersSaySomething).then_some("(no answer)"),
        };
        let own = || self.own_reasoning(&step.reply).unwrap_or_default();
        let reasoning_content = self.gives_reasoning_back().then(own);
        let tool_calls = tool_calls.collect();
        let answer =
            Message { role: "assistant", content, reasoning_content, tool_calls, tool_call_id: None };
        part.push_str(&json(&answer));
        for (place, id) in ids.iter().enumerate() {
            let Some(content) = result(step, place, rules) else { continue };
            part.push(',');
            part.push_str(&json(&Message { tool_call_id: Some(id), ..message("tool", content) }));
        }
        self.last = if ids.is_empty() { Last::Answer } else { Last::Results };
        part
    }

    /// The reasoning of a reply that came from this very target.
    fn own_reasoning<'a>(&self, reply: &'a Reply) -> Option<Cow<'a, str>> {
        let own = |opaque: &&Opaque| opaque.origin == self.origin || !self.rules.hold(Rule::OpaqueGoesHome);
        let opaque = reply.blocks.iter().find_map(|block| match block {
            Block::Opaque(opaque) => Some(opaque).filter(own),
            Block::Text(_) | Block::Reasoning(_) | Block::Call(_) => None,
        })?;
        let echo: Echo<'_> = serde_json::from_str(opaque.raw.as_str()).ok()?;
        Some(echo.reasoning_content)
    }
}

impl Encoder for ChatEncoder {
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
        // Many servers want the last word to be the user's, and none takes an empty list; as a part of the
        // tail it is gone from the next request.
        let mut end = match self.last {
            Last::User => String::from("\"}"),
            Last::Results => String::new(),
            Last::Nothing | Last::System | Last::Answer if self.rules.hold(Rule::UserSpeaksLast) => {
                format!("{}{}", self.before_message(), json(&message("user", CONTINUE)))
            }
            Last::Nothing | Last::System | Last::Answer => String::new(),
        };
        end.push(']');
        // Without tools the key itself is refused.
        let may_choose = self.has_tools || !self.rules.hold(Rule::ToolChoiceNeedsTools);
        let may_choose = may_choose && self.learnt.sends(Parameter::ToolChoice);
        if may_choose && params.tool_choice == ToolChoice::Forbidden {
            end.push_str(",\"tool_choice\":\"none\"");
        }
        let format = self.formats.of(params.tool_choice);
        if let Some(schema) = format.filter(|_| self.learnt.sends(Parameter::ResponseFormat)) {
            end.push_str(&format!(
                ",\"response_format\":{{\"type\":\"json_schema\",\"json_schema\":{{\"name\":\"reply\",\
                 \"schema\":{schema}}}}}"
            ));
        }
        if let Some(most) = tail.max_output {
            let name = match self.quirks.output_cap {
                OutputCap::MaxTokens => "max_tokens",
                OutputCap::MaxCompletionTokens => "max_completion_tokens",
            };
            end.push_str(&format!(",\"{name}\":{most}"));
        }
        if let Some(temperature) = tail.temperature.filter(|_| self.learnt.sends(Parameter::Temperature)) {
            end.push_str(&format!(",\"temperature\":{temperature}"));
        }
        end.push('}');
        self.parts.body(&end)
    }
}

fn message<'a>(role: &'static str, content: &'a str) -> Message<'a> {
    Message {
        role,
        content: Some(content),
        reasoning_content: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}
