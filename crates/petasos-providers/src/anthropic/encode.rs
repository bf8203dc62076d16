//! Transcript to request: each item's bytes are made once, and what is not named here is not sent (L03).
//!
//! A user's message stays open at the end of a part, behind its last block: what a user says next is a block of
//! the same message, and so are the results before it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use petasos_core::entry::{Block, Head, Reply, Said};
use petasos_core::learnt::{Learnt, Parameter};
use petasos_core::request::{Params, Target, Temperature, ToolChoice};
use petasos_core::text::Text;
use petasos_core::tool::Outcome;
use petasos_core::transcript::{ClosedStep, Item};
use serde::Serialize;
use serde_json::value::RawValue;

use super::thinking::{Made, Place, Thinking, own_block};
use crate::provider::{Body, Encoder, Tail};
use crate::quirks::{Quirks, origin};
use crate::writing::{
    CONTINUE, Marks, NOT_SHOWN, Parts, Rule, Rules, SentCall, WireIds, WireNames, calls, json, note, result,
    said, text_blocks, tool_specs,
};

/// The cap of a reply's tokens where nobody says: the wire asks for one, and older models take no more.
const MAX_OUTPUT: u64 = 8_192;
/// The wire's range ends here (docs.claude.com/en/api/messages), half as far as that of the others.
const MOST_TEMPERATURE: Temperature = Temperature(1_000);
/// What a server is to keep the prefix up to.
const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
/// Of the messages of users, so many last ones are marked: with tools and system text 4 marks, as many as a
/// server takes. Two, so that the mark of the request before is there again.
const MARKED_USERS: usize = 2;
/// Opens a message of a user's.
const USER: &str = "{\"role\":\"user\",\"content\":[";
/// Stands for an answer of which there is nothing, or nothing but thinking.
const NO_ANSWER: &str = "(no answer)";

/// Writes Messages requests.
#[derive(Clone, Debug)]
pub(crate) struct MessagesEncoder {
    parts: Parts,
    learnt: Learnt,
    rules: Rules,
    origin: Text,
    ids: WireIds,
    names: WireNames,
    head: HeadHas,
    last: Last,
    /// Where marks of tools and system text go.
    head_marks: Vec<usize>,
    /// Where the mark of each message of a user's goes.
    user_marks: Vec<usize>,
    thinking: Thinking,
}

/// Which tools the head has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HeadHas {
    Tools,
    /// None, and these names were called.
    None(BTreeSet<String>),
}

/// What stands at the end of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    /// A user's message, still open.
    Said,
    /// The same, and it begins with results.
    Results,
    /// A message that is closed.
    Closed,
}

#[derive(Serialize)]
struct ParamsPart<'a> {
    model: &'a str,
    stream: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct TextBlock<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ToolUse<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    id: &'a str,
    name: &'a str,
    input: Box<RawValue>,
}

#[derive(Serialize)]
struct ToolResultBlock<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    tool_use_id: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

/// A block of an answer, as it is sent.
enum Written {
    Thinking(String),
    Other(String),
}

impl MessagesEncoder {
    /// An encoder for one session's requests to this target under this head. `head.tools` is an array of
    /// objects with `name`, `description` and `parameters`; anything else counts as no tools.
    pub(crate) fn new(target: &Target, head: &Head, learnt: &Learnt, rules: Rules) -> Self {
        let mut encoder = Self {
            parts: Parts::default(),
            learnt: learnt.clone(),
            rules,
            origin: origin(target),
            ids: WireIds::new(Quirks::of(&target.provider).ids, rules),
            names: WireNames::new(tool_specs(head).iter().map(|spec| &*spec.name), rules),
            head: HeadHas::None(BTreeSet::new()),
            last: Last::Nothing,
            head_marks: Vec::new(),
            user_marks: Vec::new(),
            thinking: Thinking::default(),
        };
        let mut params = json(&ParamsPart { model: &target.model, stream: true });
        params.pop();
        encoder.parts.add(&params);
        encoder.add_tools(head);
        let mut system = String::new();
        if !head.system.is_blank() || !rules.hold(Rule::NothingEmptyIsSent) {
            system = format!(",\"system\":[{}", text_block(&head.system));
            encoder.head_marks.push(encoder.block_end(&system));
            system.push(']');
        }
        system.push_str(",\"messages\":[");
        encoder.parts.add(&system);
        encoder
    }

    fn add_tools(&mut self, head: &Head) {
        let rules = self.rules;
        let specs = tool_specs(head);
        let tools: Vec<String> = specs
            .iter()
            .map(|spec| {
                json(&Tool {
                    name: self.names.sent(&spec.name),
                    description: spec.description(rules),
                    input_schema: spec.parameters(rules),
                })
            })
            .collect();
        let mut part = String::new();
        if !tools.is_empty() {
            part = format!(",\"tools\":[{}", tools.join(","));
            self.head_marks.push(self.block_end(&part));
            part.push(']');
            self.head = HeadHas::Tools;
        } else if !rules.hold(Rule::NothingEmptyIsSent) {
            part.push_str(",\"tools\":[]");
        }
        self.parts.add(&part);
    }

    /// The place inside the block that this new part ends with, behind its last field.
    fn block_end(&self, part: &str) -> usize {
        self.parts.len() + part.len().saturating_sub(1)
    }

    /// What must stand before the next message.
    fn before_message(&self) -> &'static str {
        match self.last {
            Last::Nothing => "",
            Last::Said | Last::Results => "]},",
            Last::Closed => ",",
        }
    }

    /// Puts a block into the user's message that is open, or into a new one.
    fn user_block(&mut self, part: &mut String, block: &str) {
        match self.last {
            Last::Said | Last::Results => {
                part.push(',');
                self.user_marks.pop();
            }
            Last::Nothing | Last::Closed => {
                part.push_str(self.before_message());
                part.push_str(USER);
                self.last = Last::Said;
            }
        }
        part.push_str(block);
        self.user_marks.push(self.block_end(part));
    }

    /// Something of a user's, left open so that the next can go on in the same message.
    fn user(&mut self, text: &str) -> String {
        let mut part = String::new();
        let is_open = matches!(self.last, Last::Said | Last::Results);
        if is_open && !self.rules.hold(Rule::UsersAreJoined) {
            part.push_str("]}");
            self.last = Last::Closed;
        }
        self.user_block(&mut part, &text_block(text));
        part
    }

    fn said(&mut self, of: &Said) -> String {
        let place = match self.last {
            Last::Results => Place::BehindResults,
            Last::Nothing | Last::Said | Last::Closed => Place::OfItsOwn,
        };
        self.thinking.said(of, place);
        self.user(&said(of, self.rules))
    }

    /// A step: the assistant's message, then a user's with the results of its calls, in their order, left open.
    fn step(&mut self, step: &ClosedStep) -> String {
        let rules = self.rules;
        let mut part = String::new();
        // The user speaks first, and between two answers; a transcript that was cut may not have it.
        let between = match self.last {
            Last::Nothing if rules.hold(Rule::UserSpeaksFirst) => Some(NOT_SHOWN),
            Last::Closed if rules.hold(Rule::AnswersAreApart) => Some(CONTINUE),
            Last::Nothing | Last::Closed | Last::Said | Last::Results => None,
        };
        if let Some(text) = between {
            self.user_block(&mut part, &text_block(text));
        }
        let made: Vec<_> = calls(step).collect();
        let ids: Vec<String> =
            (0..).zip(&made).map(|(place, call)| self.ids.take(call.made, step.reply_seq, place)).collect();
        if let HeadHas::None(called) = &mut self.head {
            called.extend(made.iter().map(|call| self.names.sent(call.name()).into_owned()));
        }
        let blocks = self.answer(&step.reply, made.iter().zip(&ids));
        self.think(step, &ids);
        part.push_str(self.before_message());
        part.push_str(&format!("{{\"role\":\"assistant\",\"content\":[{}]}}", blocks.join(",")));
        self.last = Last::Closed;
        for (place, id) in ids.iter().enumerate() {
            let Some(content) = result(step, place, rules) else { continue };
            let outcome = step.results.get(place).map_or(Outcome::Unknown, |result| result.outcome);
            let is_error = is_error(outcome).then_some(true);
            let block = ToolResultBlock { type_: "tool_result", tool_use_id: id, content, is_error };
            self.user_block(&mut part, &json(&block));
            self.last = Last::Results;
        }
        part
    }

    /// The blocks of an answer in the order they came.
    fn answer<'a>(
        &self,
        reply: &Reply,
        mut calls: impl Iterator<Item = (&'a SentCall<'a>, &'a String)>,
    ) -> Vec<String> {
        let rules = self.rules;
        let mut texts = text_blocks(reply).into_iter();
        let write = |block: &Block| match block {
            Block::Text(text) if text.is_blank() => None,
            Block::Text(_) => texts.next().map(|text| Written::Other(text_block(&text))),
            // What can be read is a copy of what its block says.
            Block::Reasoning(_) => None,
            Block::Opaque(_) if !self.learnt.sends(Parameter::ReasoningBack) => None,
            Block::Opaque(opaque) => {
                own_block(opaque, &self.origin, rules).map(|raw| Written::Thinking(raw.into_owned()))
            }
            Block::Call(_) => {
                let write = |(call, id): (&SentCall<'_>, &String)| {
                    Written::Other(tool_use(call, id, &self.names.sent(call.name()), rules))
                };
                calls.next().map(write)
            }
        };
        let mut blocks: Vec<Written> = reply.blocks.iter().filter_map(write).collect();
        // Thinking is never taken out of a turn or changed; where nothing follows it, this does.
        let rule = match blocks.last() {
            None => Some(Rule::AnswersSaySomething),
            Some(Written::Thinking(_)) => Some(Rule::ReasoningHasAFollower),
            Some(Written::Other(_)) => None,
        };
        if rule.is_some_and(|rule| rules.hold(rule)) {
            blocks.push(Written::Other(text_block(NO_ANSWER)));
        }
        let text = |block| match block {
            Written::Thinking(text) | Written::Other(text) => text,
        };
        blocks.into_iter().map(text).collect()
    }

    /// Notes what a step tells of whether the model may think.
    fn think(&mut self, step: &ClosedStep, ids: &[String]) {
        if ids.is_empty() {
            return self.thinking.answered();
        }
        // Of a step whose request is damaged nobody knows whose it is. Most are the model's own, and one that
        // always thinks refuses to be asked without.
        let is_own = step.target.as_deref().is_none_or(|target| origin(target) == self.origin);
        // Without the thinking that stood before them its own calls stand there like those of others.
        let is_own = is_own && self.learnt.sends(Parameter::ReasoningBack);
        self.thinking.called(if is_own { Made::ByThisModel } else { Made::Elsewhere });
    }

    /// The end of the messages. As a part of the tail it is gone from the next request.
    fn end_of_messages(&self) -> String {
        match self.last {
            Last::Said | Last::Results => String::from("]}]"),
            // A last message of the assistant's is to be gone on with, which newer models refuse.
            Last::Nothing | Last::Closed if self.rules.hold(Rule::UserSpeaksLast) => {
                format!("{}{USER}{}]}}]", self.before_message(), text_block(CONTINUE))
            }
            Last::Nothing | Last::Closed => String::from("]"),
        }
    }

    /// Tools for a request whose calls have none in the head, as a server wants it: just their names.
    fn called_tools(&self) -> Option<String> {
        let HeadHas::None(called) = &self.head else { return None };
        if called.is_empty() || !self.rules.hold(Rule::CallsNeedTools) {
            return None;
        }
        let tools: Vec<String> = called.iter().map(|name| called_tool(name)).collect();
        Some(format!(",\"tools\":[{}]", tools.join(",")))
    }
}

impl Encoder for MessagesEncoder {
    fn push(&mut self, item: &Item) {
        let part = match item {
            Item::Said(of) => self.said(of),
            Item::Note(of) => self.user(&note(of)),
            Item::Step(step) => self.step(step),
        };
        self.parts.add(&part);
    }

    fn part(&self, place: usize) -> Option<&[u8]> {
        self.parts.part(place)
    }

    fn body(&self, params: &Params, tail: &Tail) -> Body {
        let mut end = self.end_of_messages();
        let called = self.called_tools();
        end.push_str(called.as_deref().unwrap_or_default());
        end.push_str(&format!(",\"max_tokens\":{}", tail.max_output.unwrap_or(MAX_OUTPUT)));
        if let Some(temperature) = tail.temperature.filter(|_| self.learnt.sends(Parameter::Temperature)) {
            end.push_str(&format!(",\"temperature\":{}", temperature.min(MOST_TEMPERATURE)));
        }
        // Tools that are there for the form alone may not be called.
        let is_forbidden = called.is_some() || params.tool_choice == ToolChoice::Forbidden;
        let is_forbidden = is_forbidden && self.learnt.sends(Parameter::ToolChoice);
        let has_tools = called.is_some() || self.head == HeadHas::Tools;
        if is_forbidden && (has_tools || !self.rules.hold(Rule::ToolChoiceNeedsTools)) {
            end.push_str(",\"tool_choice\":{\"type\":\"none\"}");
        }
        let may_forbid = self.learnt.sends(Parameter::Thinking);
        if may_forbid && self.thinking.is_off() && self.rules.hold(Rule::NoThinkingAmongForeignCalls) {
            end.push_str(",\"thinking\":{\"type\":\"disabled\"}");
        }
        end.push('}');
        let most = if self.rules.hold(Rule::FewCacheMarks) { MARKED_USERS } else { usize::MAX };
        let users = self.user_marks.iter().skip(self.user_marks.len().saturating_sub(most));
        let places: Vec<usize> = self.head_marks.iter().chain(users).copied().collect();
        self.parts.marked_body(&end, Marks { mark: CACHE_MARK, places: &places })
    }
}

/// True for a result that the model should not take for what it asked for.
fn is_error(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Ok | Outcome::Empty => false,
        Outcome::Error
        | Outcome::Denied
        | Outcome::Invalid
        | Outcome::NeverBegan
        | Outcome::CutShort
        | Outcome::TimedOut
        | Outcome::Unknown => true,
    }
}

fn text_block(text: &str) -> String {
    json(&TextBlock { type_: "text", text })
}

fn tool_use(call: &SentCall<'_>, id: &str, name: &str, rules: Rules) -> String {
    let arguments = call.arguments(rules);
    // Arguments that are no JSON, where no rule makes them an object, are text.
    let input = RawValue::from_string(arguments.clone().into_owned())
        .or_else(|_| RawValue::from_string(json(&arguments)))
        .unwrap_or_else(|_| RawValue::NULL.to_owned());
    json(&ToolUse { type_: "tool_use", id, name, input })
}

fn called_tool(name: &str) -> String {
    #[derive(Serialize)]
    struct Called<'a> {
        name: &'a str,
        description: &'static str,
        input_schema: Schema,
    }
    #[derive(Serialize)]
    struct Schema {
        #[serde(rename = "type")]
        type_: &'static str,
    }
    let input_schema = Schema { type_: "object" };
    json(&Called { name, description: "Not there any more.", input_schema })
}
