//! Events of the Messages wire to deltas.

use std::collections::BTreeMap;

use petasos_core::entry::{CallForm, FinishReason, Opaque};
use petasos_core::text::{Json, Text};
use petasos_core::turn::Delta;
use serde::Serialize;
use serde_json::value::RawValue;

use super::event::{BlockStart, Event, EventType, Message, Piece};
use super::tokens::Tokens;
use crate::answer::{Answer, BLOCK, Counted, Fed, other_finish};
use crate::brackets::Brackets;
use crate::classify::Reported;
use crate::counts::Counts;
use crate::sse::SseEvent;
use crate::wire::{Ending, WireDecoder};
use crate::writing::json;

/// Finish reasons as servers write them.
const FINISH_REASONS: &[(&str, FinishReason)] = &[
    ("end_turn", FinishReason::Stop),
    ("stop_sequence", FinishReason::Stop),
    ("tool_use", FinishReason::ToolUse),
    ("max_tokens", FinishReason::Length),
    ("model_context_window_exceeded", FinishReason::Length),
    ("refusal", FinishReason::Refused),
    // Words of the chat wire, which servers that translate from it let through.
    ("stop", FinishReason::Stop),
    ("tool_calls", FinishReason::ToolUse),
    ("length", FinishReason::Length),
    ("content_filter", FinishReason::Refused),
];

/// Reads one answer of a Messages server.
#[derive(Clone, Debug)]
pub(crate) struct MessagesDecoder {
    origin: Text,
    /// Each block that started, by its index; one that starts under an index again takes the place.
    blocks: BTreeMap<i64, Growing>,
    /// The index of the block that started last.
    latest: i64,
    calls: Vec<GrowingCall>,
    tokens: Tokens,
    finish: Option<FinishReason>,
    last: LastBlock,
    size: usize,
}

/// A block while it comes.
#[derive(Clone, Debug)]
enum Growing {
    Text,
    Thinking(Thought),
    /// The call in this place.
    Call(usize),
    Skipped,
}

/// Thinking, kept until its seal is there.
#[derive(Clone, Debug, Default)]
struct Thought {
    text: String,
    signature: String,
}

#[derive(Clone, Debug)]
struct GrowingCall {
    id: Option<String>,
    /// What came at its start, if it is not empty: its arguments, unless deltas bring them.
    input: String,
    brackets: Brackets,
    stopped: Stopped,
}

/// Whether a block was said to be at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    No,
    Yes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastBlock {
    Nothing,
    Text,
    Reasoning,
    Other,
}

/// A thinking block as it goes back.
#[derive(Serialize)]
struct ThinkingBlock<'a> {
    #[serde(rename = "type")]
    type_: &'static str,
    thinking: &'a str,
    signature: &'a str,
}

impl MessagesDecoder {
    /// A decoder for an answer of this origin.
    pub(crate) fn new(origin: Text) -> Self {
        Self {
            origin,
            blocks: BTreeMap::new(),
            latest: 0,
            calls: Vec::new(),
            tokens: Tokens::default(),
            finish: None,
            last: LastBlock::Nothing,
            size: 0,
        }
    }

    fn take(&mut self, event: &Event<'_>, event_type: EventType, answer: &mut Answer) {
        let mut deltas = Vec::new();
        match event_type {
            EventType::MessageStart => {
                if let Some(message) = event.message() {
                    name_model(&message, answer);
                    if let Some(usage) = message.usage {
                        self.tokens.begin(usage);
                    }
                }
            }
            EventType::BlockStart => {
                if let Some(block) = event.block() {
                    self.start(event.index(), block, &mut deltas);
                }
            }
            EventType::BlockDelta => {
                if self.grow(event.index(), event.piece(), &mut deltas) == Grown::Homeless {
                    answer.fail_bad(&format!("{} sent arguments of no call", answer.host()));
                }
            }
            EventType::BlockStop => {
                let index = event.index().unwrap_or(self.latest);
                self.stop(index, &mut deltas);
            }
            EventType::MessageDelta => self.told_finish(event.stop_reason()),
            EventType::MessageStop | EventType::Error | EventType::Foreign => {}
        }
        let is_end = matches!(event_type, EventType::MessageDelta | EventType::MessageStop);
        match event.usage {
            Some(usage) if is_end => self.count_at_end(usage, answer),
            Some(usage) => self.tokens.begin(usage),
            None => {}
        }
        answer.emit(deltas, self.size);
    }

    fn count_at_end(&mut self, usage: &RawValue, answer: &mut Answer) {
        self.tokens.end(usage);
        answer.count(Counts { usage: self.tokens.usage(), micro_usd: None }, Counted::AtTheEnd);
    }

    fn told_finish(&mut self, reason: Option<String>) {
        let is_cut = matches!(self.finish, Some(FinishReason::Length | FinishReason::Refused));
        // One that says it was cut stays, whatever a proxy adds.
        if let Some(reason) = reason.filter(|_| !is_cut) {
            self.finish = Some(finish_reason(&reason));
        }
    }

    fn start(&mut self, index: Option<i64>, raw: &RawValue, deltas: &mut Vec<Delta>) {
        let index = index.unwrap_or_else(|| self.latest.saturating_add(1));
        let block = BlockStart::read(raw);
        if self.goes_on(index, &block) {
            return;
        }
        self.stop(index, deltas);
        self.latest = index;
        // Also one that is skipped has its place in the table.
        self.size += BLOCK;
        let growing = match block {
            BlockStart::Text(text) => {
                self.say(Delta::Text(text.into()), deltas);
                Growing::Text
            }
            BlockStart::Thinking { text, signature } => {
                self.say(Delta::Reasoning(text.as_str().into()), deltas);
                self.size += text.len() + signature.len();
                Growing::Thinking(Thought { text, signature })
            }
            BlockStart::Redacted => {
                self.seal(raw.get(), deltas);
                Growing::Skipped
            }
            BlockStart::Call { id, name, input } => {
                self.size += id.as_ref().map_or(0, String::len) + name.len() + input.len();
                self.last = LastBlock::Other;
                deltas.push(Delta::Call {
                    wire_id: id.as_deref().map(Text::from),
                    name: name.into(),
                    form: CallForm::Native,
                });
                let call = GrowingCall { id, input, brackets: Brackets::default(), stopped: Stopped::No };
                self.calls.push(call);
                Growing::Call(self.calls.len() - 1)
            }
            BlockStart::Foreign => Growing::Skipped,
        };
        self.blocks.insert(index, growing);
    }

    /// True if this start is that of a block that started before: llama.cpp once sent one with each token.
    fn goes_on(&self, index: i64, block: &BlockStart) -> bool {
        match (self.blocks.get(&index), block) {
            (Some(Growing::Call(place)), BlockStart::Call { id: Some(id), .. }) => {
                let open = self.calls.get(*place).filter(|call| call.stopped == Stopped::No);
                open.is_some_and(|call| call.id.as_ref() == Some(id))
            }
            _ => false,
        }
    }

    /// Takes in more of a block. What it is, its type tells and not that of its block: translating servers put
    /// thinking into text blocks (LiteLLM) and text into calls (SGLang).
    fn grow(&mut self, index: Option<i64>, piece: Piece, deltas: &mut Vec<Delta>) -> Grown {
        let block = self.blocks.get_mut(&index.unwrap_or(self.latest));
        match (piece, block) {
            (_, Some(Growing::Skipped)) | (Piece::Foreign, _) => {}
            (Piece::Text(text), _) => self.say(Delta::Text(text.into()), deltas),
            (Piece::Thinking(text), block) => {
                if let Some(Growing::Thinking(thought)) = block {
                    thought.text.push_str(&text);
                    self.size += text.len();
                }
                self.say(Delta::Reasoning(text.into()), deltas);
            }
            (Piece::Signature(signature), Some(Growing::Thinking(thought))) => {
                self.size += signature.len();
                thought.signature = signature;
            }
            (Piece::Signature(_), _) => {}
            (Piece::Arguments(text), _) if text.is_empty() => {}
            (Piece::Arguments(text), Some(Growing::Call(place))) => {
                let place = *place;
                self.argue(place, text, deltas);
            }
            (Piece::Arguments(_), Some(Growing::Text | Growing::Thinking(_)) | None) => {
                return Grown::Homeless;
            }
        }
        Grown::Fits
    }

    /// A block is at its end, if there is one.
    fn stop(&mut self, index: i64, deltas: &mut Vec<Delta>) {
        match self.blocks.get_mut(&index) {
            Some(Growing::Thinking(thought)) => {
                let Thought { text, signature } = std::mem::take(thought);
                self.size = self.size.saturating_sub(text.len() + signature.len());
                // Without a seal no server takes it back.
                if !signature.is_empty() {
                    let block = ThinkingBlock { type_: "thinking", thinking: &text, signature: &signature };
                    self.seal(&json(&block), deltas);
                }
            }
            Some(Growing::Call(place)) => {
                let place = *place;
                self.give_input(place, deltas);
                if let Some(call) = self.calls.get_mut(place) {
                    call.stopped = Stopped::Yes;
                }
            }
            Some(Growing::Text | Growing::Skipped) | None => {}
        }
    }

    /// More arguments of a call.
    fn argue(&mut self, place: usize, text: String, deltas: &mut Vec<Delta>) {
        let Some(call) = self.calls.get_mut(place) else { return };
        call.input.clear();
        call.brackets.follow(&text);
        self.size += text.len();
        let place = u16::try_from(place).unwrap_or(u16::MAX);
        deltas.push(Delta::Arguments { place, text: text.into() });
    }

    /// The arguments that came at the start of a call, if no others did.
    fn give_input(&mut self, place: usize, deltas: &mut Vec<Delta>) {
        let input = self.calls.get_mut(place).map(|call| std::mem::take(&mut call.input));
        if let Some(input) = input.filter(|input| !input.is_empty()) {
            self.argue(place, input, deltas);
        }
    }

    fn say(&mut self, delta: Delta, deltas: &mut Vec<Delta>) {
        let (text, block) = match &delta {
            Delta::Text(text) => (text, LastBlock::Text),
            Delta::Reasoning(text) => (text, LastBlock::Reasoning),
            Delta::Opaque(_)
            | Delta::Call { .. }
            | Delta::Arguments { .. }
            | Delta::CallComplete { .. }
            | Delta::Raw(_) => return,
        };
        if text.is_empty() {
            return;
        }
        if self.last != block {
            self.size += BLOCK;
            self.last = block;
        }
        self.size += text.len();
        deltas.push(delta);
    }

    /// A block that goes back to where it came from.
    fn seal(&mut self, raw: &str, deltas: &mut Vec<Delta>) {
        let Ok(raw) = Json::try_from(raw) else { return };
        self.size += BLOCK + raw.as_str().len();
        self.last = LastBlock::Other;
        deltas.push(Delta::Opaque(Opaque { origin: self.origin.clone(), raw }));
    }
}

/// What a piece was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grown {
    Fits,
    /// Arguments, and no call that they are of.
    Homeless,
}

impl WireDecoder for MessagesDecoder {
    fn event(&mut self, event: &SseEvent, answer: &mut Answer) -> Fed {
        let data = event.data.trim();
        let read = match Event::read(data) {
            Ok(read) => read,
            // What a server named itself is its own.
            Err(_) if !EventType::is_needed(&event.name) => return Fed::Nothing,
            Err(error) => {
                answer.fail_unreadable(data, &error);
                return Fed::Progress;
            }
        };
        let event_type = read.event_type(&event.name);
        match event_type {
            EventType::Foreign => return Fed::Nothing,
            EventType::Error => answer.report(Reported::read(data).unwrap_or_default()),
            EventType::MessageStart
            | EventType::BlockStart
            | EventType::BlockDelta
            | EventType::BlockStop
            | EventType::MessageDelta => self.take(&read, event_type, answer),
            EventType::MessageStop => {
                self.take(&read, event_type, answer);
                // The server says that this is all, and not why.
                self.finish.get_or_insert_with(|| other_finish(""));
                self.end(Ending::Marked, answer);
            }
        }
        Fed::Progress
    }

    fn is_whole(&self, data: &str) -> bool {
        Event::read(data).is_ok()
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let Some(message) = Message::read(body) else { return false };
        name_model(&message, answer);
        if let Some(usage) = message.usage {
            self.count_at_end(usage, answer);
        }
        let mut deltas = Vec::new();
        for (index, block) in (0..).zip(message.blocks()) {
            self.start(Some(index), block, &mut deltas);
            self.stop(index, &mut deltas);
        }
        self.finish = Some(finish_reason(&message.stop_reason().unwrap_or_default()));
        answer.emit(deltas, self.size);
        true
    }

    fn end(&mut self, _: Ending, answer: &mut Answer) {
        // `[DONE]` alone is no end here: what ends a reply is its stop reason.
        let Some(finish) = self.finish.take() else { return answer.fail_cut() };
        let mut deltas = Vec::new();
        let open: Vec<i64> = self.blocks.keys().copied().collect();
        let stopped: Vec<Stopped> = self.calls.iter().map(|call| call.stopped).collect();
        for index in open {
            self.stop(index, &mut deltas);
        }
        for ((place, call), stopped) in (0..).zip(&self.calls).zip(stopped) {
            let is_complete = match &finish {
                FinishReason::Stop | FinishReason::ToolUse => true,
                // Nobody knows whether it was cut.
                FinishReason::Other(_) => stopped == Stopped::Yes && call.brackets.are_even(),
                FinishReason::Length | FinishReason::Refused | FinishReason::Cut => false,
            };
            if is_complete {
                deltas.push(Delta::CallComplete { place });
            }
        }
        answer.emit(deltas, self.size);
        answer.done(finish);
    }

    fn finish(&self) -> Option<&FinishReason> {
        self.finish.as_ref()
    }

    fn server(&self) -> &'static str {
        "Messages"
    }
}

fn name_model(message: &Message<'_>, answer: &mut Answer) {
    if answer.model.is_none() {
        answer.model = message.model().map(Text::from);
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    let known = FINISH_REASONS.iter().find(|(known, _)| *known == reason).map(|(_, finish)| finish.clone());
    known.unwrap_or_else(|| other_finish(reason))
}
