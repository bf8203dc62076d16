//! A transcript for a model that writes its calls as text: no wire sees a call, or a result.

use std::iter;
use std::sync::Arc;

use petasos_core::entry::{Block, CallForm, Content, Head, Reply, Said, Speaker, When};
use petasos_core::request::{Params, ToolMode};
use petasos_core::text::{Json, Text};
use petasos_core::transcript::{ClosedStep, Item};

use super::describe::{Formats, answer_name, constrained_system, text_system, tool_names};
use super::{Asked, CallReading};
use crate::provider::{Body, Encoder, Tail};
use crate::writing::{Rules, SentCall, calls, json, result};

/// Writes requests whose replies hold calls as text, with the encoder of a wire.
#[derive(Debug)]
pub(crate) struct WrittenEncoder {
    wire: Box<dyn Encoder>,
    rules: Rules,
    manner: Manner,
    asked: Asked,
}

/// How calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Constrained,
    Text,
}

impl WrittenEncoder {
    /// An encoder for requests under this head; `wire` makes the one of the wire.
    pub(crate) fn new(
        head: &Head,
        rules: Rules,
        manner: Manner,
        wire: impl FnOnce(&Head, Formats) -> Box<dyn Encoder>,
    ) -> Self {
        let answer = answer_name(head);
        let asked = Asked { tools: tool_names(head), answer: answer.into(), said: Vec::new() };
        let (system, formats) = match manner {
            _ if asked.tools.is_empty() => (head.system.clone(), Formats::default()),
            Manner::Constrained => (constrained_system(head, answer), Formats::new(head, answer)),
            Manner::Text => (text_system(head), Formats::default()),
        };
        let head = Head { system, tools: no_tools(head), ..head.clone() };
        Self { wire: wire(&head, formats), rules, manner, asked }
    }

    /// A step as an answer in text and what a user says then.
    fn step(&mut self, step: &ClosedStep) {
        let reply = &*step.reply;
        // Blocks that only their origin understands go on being judged by its wire.
        let opaque = reply.blocks.iter().filter(|block| matches!(block, Block::Opaque(_))).cloned();
        let text = Block::Text(self.text(step));
        let answer = Reply { blocks: opaque.chain([text]).collect(), ..reply.clone() };
        let answer = ClosedStep { reply: Arc::new(answer), results: Vec::new(), ..step.clone() };
        self.wire.push(&Item::Step(answer));
        let results = calls(step).enumerate().filter_map(|(place, call)| {
            let text = result(step, place, self.rules)?;
            Some(format!("Result of {}: {text}", call.name()))
        });
        let results: Vec<Content> = results.map(|text| Content::Text(text.into())).collect();
        if results.is_empty() {
            return;
        }
        self.asked.said.extend(step.results.iter().map(|result| result.text.text().clone()));
        let results = Said {
            from: Speaker::Person,
            content: results,
            notes: Vec::new(),
            when: When::Now,
            withdraws: None,
        };
        self.wire.push(&Item::Said(Arc::new(results)));
    }

    /// What the model wrote, or what it would have in this mode.
    fn text(&self, step: &ClosedStep) -> Text {
        if let Some(raw) = step.reply.raw.as_ref().filter(|_| self.is_own(step)) {
            return raw.clone();
        }
        let said: Vec<&str> = step.reply.blocks.iter().filter_map(text_of).collect();
        let said = said.join("\n");
        let calls: Vec<String> = calls(step).map(|call| self.call(&call)).collect();
        let parts = match self.manner {
            // What was said before a call was no answer yet.
            _ if said.trim().is_empty() => calls,
            Manner::Constrained if calls.is_empty() && !self.asked.tools.is_empty() => {
                vec![self.answer(&said)]
            }
            Manner::Constrained | Manner::Text => iter::once(said).chain(calls).collect(),
        };
        parts.join("\n").into()
    }

    /// True for a reply in this mode, none of whose calls was repaired: what ran is what goes back.
    fn is_own(&self, step: &ClosedStep) -> bool {
        let (mode, form) = match self.manner {
            Manner::Constrained => (ToolMode::Constrained, CallForm::Constrained),
            Manner::Text => (ToolMode::Text, CallForm::Text),
        };
        step.target.as_ref().is_some_and(|target| target.tool_mode == mode)
            && step.changed.iter().all(Option::is_none)
            && calls(step).all(|call| call.made.form == form)
    }

    fn answer(&self, said: &str) -> String {
        let (name, text) = (json(&&*self.asked.answer), json(&said));
        format!("{{\"name\": {name}, \"arguments\": {{\"text\": {text}}}}}")
    }

    fn call(&self, call: &SentCall<'_>) -> String {
        let (name, arguments) = (json(&call.name()), call.arguments(self.rules));
        let call = format!("{{\"name\": {name}, \"arguments\": {arguments}}}");
        match self.manner {
            Manner::Constrained => call,
            Manner::Text => format!("<tool_call>\n{call}\n</tool_call>"),
        }
    }
}

impl Encoder for WrittenEncoder {
    fn push(&mut self, item: &Item) {
        match item {
            Item::Said(said) => {
                self.asked.said.extend(said.content.iter().filter_map(|content| match content {
                    Content::Text(text) => Some(text.clone()),
                    Content::Blob { .. } => None,
                }));
                self.asked.said.extend(said.notes.iter().cloned());
                self.wire.push(item);
            }
            Item::Note(_) => self.wire.push(item),
            Item::Step(step) => self.step(step),
        }
    }

    fn part(&self, place: usize) -> Option<&[u8]> {
        self.wire.part(place)
    }

    fn body(&self, params: &Params, tail: &Tail) -> Body {
        let asked = Arc::new(self.asked.clone());
        let calls = match self.manner {
            _ if asked.tools.is_empty() => CallReading::Native,
            Manner::Constrained => CallReading::Constrained(asked),
            Manner::Text => CallReading::Text(asked),
        };
        Body { calls, ..self.wire.body(params, tail) }
    }
}

/// The wire is to know of none.
fn no_tools(head: &Head) -> Json {
    // An empty list is JSON; the fallback only keeps this free of panics.
    Json::try_from("[]").unwrap_or_else(|_| head.tools.clone())
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(text),
        Block::Reasoning(_) | Block::Opaque(_) | Block::Call(_) => None,
    }
}
