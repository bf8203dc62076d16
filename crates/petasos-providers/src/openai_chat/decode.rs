//! Events of the chat-completions wire to deltas.

use std::borrow::Cow;

use petasos_core::entry::{FinishReason, Opaque};
use petasos_core::text::{Json, Text};
use petasos_core::turn::{Delta, REPLY_CAP};

use super::Echo;
use super::calls::{Completing, GrowingCalls};
use super::chunk::{Choice, Chunk, Words};
use super::think::Think;
use crate::answer::{Answer, BLOCK, Counted, Fed, other_finish};
use crate::classify::Reported;
use crate::quirks::ReasoningBack;
use crate::sse::SseEvent;
use crate::wire::{Ending, WireDecoder};
use crate::writing::json;

/// Finish reasons as servers write them.
const FINISH_REASONS: &[(&str, FinishReason)] = &[
    ("stop", FinishReason::Stop),
    ("tool_calls", FinishReason::ToolUse),
    ("function_call", FinishReason::ToolUse),
    ("length", FinishReason::Length),
    // Mistral: the window of the model is full.
    ("model_length", FinishReason::Length),
    ("content_filter", FinishReason::Refused),
];

/// Reads one answer of a chat-completions server.
#[derive(Clone, Debug)]
pub(crate) struct ChatDecoder {
    finish: Option<FinishReason>,
    think: Think,
    calls: GrowingCalls,
    size: usize,
    last: LastBlock,
    said: Said,
    echo: Option<Reasoned>,
}

/// Reasoning that is wanted back, and where.
#[derive(Clone, Debug)]
struct Reasoned {
    origin: Text,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastBlock {
    Nothing,
    Text,
    Reasoning,
    Call,
}

/// What the reply holds for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Text,
    Refusal,
}

impl ChatDecoder {
    /// A decoder for an answer of this origin, which wants so much of its reasoning back.
    pub(crate) fn new(origin: Text, back: ReasoningBack) -> Self {
        let echo = match back {
            ReasoningBack::Nothing => None,
            ReasoningBack::Always => Some(Reasoned { origin, text: String::new() }),
        };
        Self {
            echo,
            finish: None,
            think: Think::Start(String::new()),
            calls: GrowingCalls::default(),
            size: 0,
            last: LastBlock::Nothing,
            said: Said::Nothing,
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, raw: &str, answer: &mut Answer) -> Fed {
        if let Some(model) = chunk.model().filter(|_| answer.model.is_none()) {
            answer.model = Some(model.into());
        }
        let mut is_news = false;
        let mut deltas = Vec::new();
        for choice in chunk.choices().iter().filter(|choice| choice.is_first()) {
            match self.choice(choice, &mut deltas) {
                Ok(fed) => is_news |= fed == Fed::Progress,
                Err(error) => {
                    answer.fail_unreadable(raw, &error);
                    return Fed::Progress;
                }
            }
        }
        let is_error = chunk.error().is_some() || chunk.is_error();
        let counted = if is_error || self.finish.is_some() { Counted::AtTheEnd } else { Counted::SoFar };
        is_news |= answer.count(chunk.counts(), counted) == Fed::Progress;
        self.emit(deltas, answer);
        if answer.has_ended() {
            return Fed::Progress;
        }
        if let Some(error) = chunk.error() {
            answer.report(Reported::of(error));
        } else if chunk.is_error() {
            answer.report(Reported::read(raw).unwrap_or_default());
        } else if !is_news {
            return Fed::Nothing;
        }
        Fed::Progress
    }

    /// Takes in a choice. One that says nothing is no progress: some servers keep a connection open with such.
    fn choice(&mut self, choice: &Choice<'_>, deltas: &mut Vec<Delta>) -> Result<Fed, serde_json::Error> {
        let mut fed = Fed::Nothing;
        if let Some(piece) = choice.piece() {
            for words in piece.words()? {
                if !words.text().is_empty() {
                    fed = Fed::Progress;
                }
                self.words(words, deltas);
            }
            let calls = piece.calls();
            if calls.iter().any(|call| !call.is_empty()) {
                fed = Fed::Progress;
            }
            if !calls.is_empty() {
                self.give_back(deltas);
            }
            for call in calls {
                let before = self.calls.count();
                self.calls.take(call, deltas);
                // No chunk holds more of them than a reply may.
                if self.calls.size() > REPLY_CAP {
                    break;
                }
                if self.calls.count() > before {
                    self.last = LastBlock::Call;
                }
            }
        }
        if let Some(reason) = choice.finish_reason() {
            if self.finish.is_none() {
                fed = Fed::Progress;
            }
            let is_cut = matches!(self.finish, Some(FinishReason::Length | FinishReason::Refused));
            // One that says it was cut stays, whatever a proxy adds.
            if !is_cut {
                self.finish = Some(finish_reason(&reason));
            }
        }
        Ok(fed)
    }

    fn words(&mut self, words: Words, deltas: &mut Vec<Delta>) {
        match words {
            Words::Text(text) => {
                for words in self.think.take(text) {
                    self.say(words, deltas);
                }
            }
            Words::Reasoning(_) => self.say(words, deltas),
            Words::Refusal(_) => {
                self.give_back(deltas);
                self.say(words, deltas);
            }
        }
    }

    /// Says what was held back, for something else comes now.
    fn give_back(&mut self, deltas: &mut Vec<Delta>) {
        if let Some(words) = self.think.give_back() {
            self.say(words, deltas);
        }
    }

    fn say(&mut self, words: Words, deltas: &mut Vec<Delta>) {
        let (text, block) = match words {
            Words::Text(text) => (text, LastBlock::Text),
            Words::Refusal(text) => {
                if !text.trim().is_empty() {
                    self.said = Said::Refusal;
                }
                (text, LastBlock::Text)
            }
            Words::Reasoning(text) => (text, LastBlock::Reasoning),
        };
        if text.is_empty() {
            return;
        }
        if self.last != block {
            self.size += BLOCK;
            self.calls.begin_all(deltas);
            self.last = block;
        }
        self.size += text.len();
        if block == LastBlock::Reasoning {
            if let Some(echo) = &mut self.echo {
                self.size += text.len();
                echo.text.push_str(&text);
            }
            deltas.push(Delta::Reasoning(text.into()));
            return;
        }
        if self.said == Said::Nothing && !text.trim().is_empty() {
            self.said = Said::Text;
        }
        deltas.push(Delta::Text(text.into()));
    }

    /// The block that takes the reasoning back to where it came from.
    fn echoed(&mut self) -> Option<Delta> {
        let Reasoned { origin, text } = self.echo.take().filter(|echo| !echo.text.is_empty())?;
        let raw = Json::try_from(&*json(&Echo { reasoning_content: Cow::Owned(text) })).ok()?;
        self.size += BLOCK;
        Some(Delta::Opaque(Opaque { origin, raw }))
    }

    fn emit(&self, deltas: Vec<Delta>, answer: &mut Answer) {
        answer.emit(deltas, self.size.saturating_add(self.calls.size()));
    }
}

impl WireDecoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, answer: &mut Answer) -> Fed {
        let data = event.data.trim();
        match Chunk::read(data) {
            Ok(chunk) => self.chunk(&chunk, data, answer),
            // A named event is a server's own; one without a name, or with the name that none means, is a chunk.
            Err(_) if !matches!(event.name.as_str(), "" | "message") => Fed::Nothing,
            Err(error) => {
                answer.fail_unreadable(data, &error);
                Fed::Progress
            }
        }
    }

    fn is_whole(&self, data: &str) -> bool {
        Chunk::read(data).is_ok()
    }

    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool {
        let Ok(chunk) = Chunk::read(body) else { return false };
        if chunk.error().is_some() || chunk.is_error() || chunk.choices().is_empty() {
            return false;
        }
        self.chunk(&chunk, body, answer);
        true
    }

    fn end(&mut self, ending: Ending, answer: &mut Answer) {
        if self.finish.is_some() || ending == Ending::Marked {
            answer.end_counting();
        }
        let finish = match (self.finish.take(), ending) {
            (Some(finish), _) => finish,
            (None, Ending::Marked) => FinishReason::Other(Text::default()),
            (None, Ending::Closed) => return answer.fail_cut(),
        };
        let is_refusal = self.said == Said::Refusal && finish == FinishReason::Stop;
        let finish = if is_refusal { FinishReason::Refused } else { finish };
        let completing = match &finish {
            FinishReason::Stop | FinishReason::ToolUse => Completing::All,
            FinishReason::Other(_) => Completing::Closed,
            FinishReason::Length | FinishReason::Refused | FinishReason::Cut => Completing::Nothing,
        };
        let mut deltas = Vec::new();
        self.give_back(&mut deltas);
        deltas.extend(self.echoed());
        let has_call = self.calls.complete(completing, &mut deltas);
        let is_unsaid = finish == FinishReason::Other(Text::default());
        if is_unsaid && !has_call && self.said == Said::Nothing {
            let what = if self.last == LastBlock::Nothing {
                "an empty stream"
            } else {
                "a stream without an answer"
            };
            let why = "some servers do so when a request is too long";
            return answer.fail_bad(&format!("{} sent {what}, and no finish reason; {why}", answer.host()));
        }
        self.emit(deltas, answer);
        answer.done(finish);
    }

    fn finish(&self) -> Option<&FinishReason> {
        self.finish.as_ref()
    }

    fn server(&self) -> &'static str {
        "chat-completions"
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    // Some translators leave them in capitals.
    let known = FINISH_REASONS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(reason))
        .map(|(_, finish)| finish.clone());
    known.unwrap_or_else(|| other_finish(reason))
}
