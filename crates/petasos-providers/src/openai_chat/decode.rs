//! Bytes of an answer to deltas. What a server sends under the name of this wire is read as it is:
//! a stream in any of the shapes met in the wild, a whole reply where a stream was asked for, an error in
//! a good answer. What cannot be read is a failure that says what came, never a silent skip.

use std::collections::VecDeque;

use petasos_core::entry::{FinishReason, Timing};
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::turn::{Delta, Failure, REPLY_CAP, ReplyEnd};
use petasos_core::usage::Usage;

use super::calls::{BLOCK, Completing, GrowingCalls};
use super::chunk::{Choice, Chunk, Words};
use super::think::Think;
use crate::classify::{Reported, classify_reported, is_html, printable, sample};
use crate::provider::ReplyEvent;
use crate::secret::Secret;
use crate::sse::{EVENT_CAP, SseEvent, SseReader};

/// Bytes of a stream for each byte of a reply: chunks are far larger than what they carry, and an
/// endless row of empty ones ends here.
const STREAM_CAP: usize = 64 * REPLY_CAP;
/// What may stand before the first byte that tells what the answer is.
const START_CAP: usize = 1 << 10;
/// Of what cannot be read, the characters that a message shows.
const RAW_CAP: usize = 300;

/// Finish reasons as servers write them.
const FINISH_REASONS: &[(&str, FinishReason)] = &[
    ("stop", FinishReason::Stop),
    ("tool_calls", FinishReason::ToolUse),
    ("function_call", FinishReason::ToolUse),
    ("length", FinishReason::Length),
    // Mistral: the window of the model is full.
    ("model_length", FinishReason::Length),
    // DeepSeek: it gave the reply up for want of room.
    ("insufficient_system_resource", FinishReason::Length),
    ("content_filter", FinishReason::Refused),
];

/// Reads one answer of a chat-completions server.
#[derive(Clone, Debug)]
pub struct ChatDecoder {
    host: Text,
    key: Option<Secret>,
    form: Form,
    bytes: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    model: Option<Text>,
    think: Think,
    calls: GrowingCalls,
    size: usize,
    last: LastBlock,
    said: Said,
    events: VecDeque<ReplyEvent>,
    has_ended: bool,
}

/// What some bytes of an answer were good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// More of the reply came.
    Progress,
    /// Only what keeps a connection open: comments, pings, blanks.
    Nothing,
}

/// What an answer is: its first byte tells, for servers put any content type on any body.
#[derive(Clone, Debug)]
enum Form {
    Unknown(Vec<u8>),
    Stream(SseReader),
    Whole(Vec<u8>),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The server said that this is the end.
    Marked,
    /// The connection closed.
    Closed,
}

impl ChatDecoder {
    /// A decoder for one answer of this host.
    pub fn new(host: &str) -> Self {
        Self {
            host: host.into(),
            key: None,
            form: Form::Unknown(Vec::new()),
            bytes: 0,
            finish: None,
            usage: None,
            model: None,
            think: Think::Start(String::new()),
            calls: GrowingCalls::default(),
            size: 0,
            last: LastBlock::Nothing,
            said: Said::Nothing,
            events: VecDeque::new(),
            has_ended: false,
        }
    }

    /// One whose failures never show this key.
    #[must_use]
    pub fn hiding(self, key: Secret) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Takes the next bytes in. What follows from them is in [`ChatDecoder::next_event`].
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        if self.has_ended || bytes.is_empty() {
            return Fed::Nothing;
        }
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > STREAM_CAP {
            self.fail_bad(&format!("{} sent a stream without end", self.host));
            return Fed::Progress;
        }
        match &mut self.form {
            Form::Unknown(start) => {
                start.extend_from_slice(bytes);
                self.settle_form()
            }
            Form::Stream(_) => self.feed_stream(bytes),
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                if body.len() > EVENT_CAP {
                    self.fail_bad(&format!("{} sent a body over {EVENT_CAP} bytes", self.host));
                }
                Fed::Progress
            }
        }
    }

    /// No more bytes come. After this an end is among the events.
    pub fn finish(&mut self) {
        if self.has_ended {
            return;
        }
        match std::mem::replace(&mut self.form, Form::Unknown(Vec::new())) {
            Form::Unknown(_) => self.end(Ending::Closed),
            Form::Stream(mut reader) => {
                if let Some(event) = reader.finish() {
                    self.last_event(&event);
                }
                if !self.has_ended {
                    self.end(Ending::Closed);
                }
            }
            Form::Whole(body) => self.whole(&String::from_utf8_lossy(&body)),
        }
    }

    /// The connection gave out: an end if a finish reason came, else this failure.
    pub fn break_off(&mut self, kind: FailureKind, message: &str) {
        if self.has_ended {
            return;
        }
        if self.has_finish() {
            self.end(Ending::Closed);
        } else {
            self.fail(kind, message);
        }
    }

    /// The next event, in order; the last is `Done` or `Failed`. The timing of `Done` is zero: whoever has a
    /// clock fills it in.
    pub fn next_event(&mut self) -> Option<ReplyEvent> {
        self.events.pop_front()
    }

    /// True once a finish reason came: what may follow is the usage.
    pub fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    fn settle_form(&mut self) -> Fed {
        let Form::Unknown(start) = &mut self.form else { return Fed::Nothing };
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
        let first = start.iter().copied().find(|byte| !is_blank(byte));
        if first.is_none() && start.len() < START_CAP {
            return Fed::Nothing;
        }
        let start = std::mem::take(start);
        if matches!(first, Some(b'{' | b'[' | b'<')) {
            self.form = Form::Whole(start);
            return Fed::Progress;
        }
        self.form = Form::Stream(SseReader::default());
        self.feed_stream(&start)
    }

    fn feed_stream(&mut self, bytes: &[u8]) -> Fed {
        let Form::Stream(reader) = &mut self.form else { return Fed::Nothing };
        let before = reader.waiting();
        let mut events = Vec::new();
        let fed = reader.feed(bytes, &mut events);
        // A large event that comes slowly is progress too.
        let mut progress = if reader.waiting() > before { Fed::Progress } else { Fed::Nothing };
        for event in &events {
            if self.has_ended {
                break;
            }
            if self.event(event) == Fed::Progress {
                progress = Fed::Progress;
            }
        }
        if let Err(error) = fed {
            self.fail_bad(&format!("{}: {error}", self.host));
        }
        progress
    }

    fn event(&mut self, event: &SseEvent) -> Fed {
        let data = event.data.trim();
        // `data: : keepalive` is a comment that a proxy put into an event.
        if data.is_empty() || data.starts_with(':') {
            return Fed::Nothing;
        }
        if data == "[DONE]" {
            self.end(Ending::Marked);
            return Fed::Progress;
        }
        if event.name == "error" {
            let reported = Reported::read(data);
            let reported =
                reported.unwrap_or_else(|| Reported { message: data.to_owned(), ..Reported::default() });
            self.fail_reported(&reported);
            return Fed::Progress;
        }
        match Chunk::read(data) {
            Ok(chunk) => self.chunk(&chunk, data),
            // A named event is a server's own; one without a name is a chunk.
            Err(_) if !event.name.is_empty() => Fed::Nothing,
            Err(error) => {
                self.fail_unreadable(data, &error);
                Fed::Progress
            }
        }
    }

    /// What stood at the end without a blank line after it: whole, or cut.
    fn last_event(&mut self, event: &SseEvent) {
        let data = event.data.trim();
        let is_whole = data == "[DONE]" || Chunk::read(data).is_ok();
        if is_whole || event.name == "error" {
            self.event(event);
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, raw: &str) -> Fed {
        if let Some(model) = chunk.model().filter(|_| self.model.is_none()) {
            self.model = Some(model.into());
        }
        // The last word counts: where a server reports with each chunk, each holds the whole so far.
        self.usage = chunk.usage().or(self.usage);
        let mut deltas = Vec::new();
        for choice in chunk.choices.iter().flatten().filter(|choice| choice.is_first()) {
            if let Err(error) = self.choice(choice, &mut deltas) {
                self.fail_unreadable(raw, &error);
                return Fed::Progress;
            }
        }
        self.emit(deltas);
        if self.has_ended {
            return Fed::Progress;
        }
        if let Some(error) = chunk.error() {
            self.fail_reported(&Reported::of(error));
        } else if chunk.is_error() {
            self.fail_reported(&Reported::read(raw).unwrap_or_default());
        } else if chunk.is_foreign() {
            return Fed::Nothing;
        }
        Fed::Progress
    }

    fn choice(&mut self, choice: &Choice<'_>, deltas: &mut Vec<Delta>) -> Result<(), serde_json::Error> {
        if let Some(piece) = choice.piece() {
            for words in piece.words()? {
                self.words(words, deltas);
            }
            let calls = piece.calls();
            if !calls.is_empty() {
                self.give_back(deltas);
            }
            for call in calls {
                let before = self.calls.count();
                self.calls.take(call, deltas);
                if self.calls.count() > before {
                    self.last = LastBlock::Call;
                }
            }
        }
        if let Some(reason) = choice.finish_reason() {
            let is_cut = matches!(self.finish, Some(FinishReason::Length | FinishReason::Refused));
            // One that says it was cut stays, whatever a proxy adds.
            if !is_cut {
                self.finish = Some(finish_reason(&reason));
            }
        }
        Ok(())
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
            deltas.push(Delta::Reasoning(text.into()));
            return;
        }
        if self.said == Said::Nothing && !text.trim().is_empty() {
            self.said = Said::Text;
        }
        deltas.push(Delta::Text(text.into()));
    }

    fn emit(&mut self, deltas: Vec<Delta>) {
        if self.size.saturating_add(self.calls.size()) > REPLY_CAP {
            self.fail_bad(&format!("the reply of {} is over {REPLY_CAP} bytes", self.host));
            return;
        }
        self.events.extend(deltas.into_iter().map(ReplyEvent::Delta));
    }

    /// An answer that is no stream: a whole reply, an error, a page.
    fn whole(&mut self, body: &str) {
        let text = body.trim_start_matches('\u{feff}').trim();
        if let Ok(chunk) = Chunk::read(text)
            && chunk.error().is_none()
            && chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty())
        {
            self.chunk(&chunk, text);
            if !self.has_ended {
                self.end(Ending::Marked);
            }
        } else if let Some(reported) = Reported::read(text) {
            self.fail_reported(&reported);
        } else {
            let next = if is_html(text) {
                "is the base URL right? it usually ends in /v1"
            } else {
                "is this a chat-completions server?"
            };
            let message =
                format!("{} sent {}, not a reply; {next}", self.host, sample(&self.without_key(text), ""));
            // The same address would send the same again.
            self.fail(FailureKind::BadRequest, &message);
        }
    }

    fn end(&mut self, ending: Ending) {
        let finish = match (self.finish.take(), ending) {
            (Some(finish), _) => finish,
            (None, Ending::Marked) => FinishReason::Other(Text::default()),
            (None, Ending::Closed) => return self.fail_cut(),
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
        let has_call = self.calls.complete(completing, &mut deltas);
        let is_unsaid = finish == FinishReason::Other(Text::default());
        if is_unsaid && !has_call && self.said == Said::Nothing {
            let what = if self.last == LastBlock::Nothing {
                "an empty stream"
            } else {
                "a stream without an answer"
            };
            return self.fail_bad(&format!(
                "{} sent {what}, and no finish reason; some servers do so when a request is too long",
                self.host
            ));
        }
        self.emit(deltas);
        if self.has_ended {
            return;
        }
        self.has_ended = true;
        self.events.push_back(ReplyEvent::Done(ReplyEnd {
            finish,
            usage: self.usage,
            micro_usd: None,
            timing: Timing::default(),
            model: self.model.take(),
        }));
    }

    fn without_key(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden_in(text))
    }

    fn fail_cut(&mut self) {
        let met = if self.bytes == 0 { "an empty answer" } else { "a stream that broke off before its end" };
        self.fail_bad(&format!("{} sent {met}", self.host));
    }

    fn fail_unreadable(&mut self, raw: &str, error: &serde_json::Error) {
        // Taken out before it is cut: half a key would not be found.
        let shown: String = self.without_key(raw).chars().take(RAW_CAP).collect();
        let shown = printable(&shown);
        self.fail_bad(&format!("{} sent a chunk that cannot be read ({error}): {shown}", self.host));
    }

    fn fail_bad(&mut self, message: &str) {
        self.fail(FailureKind::BadStream, message);
    }

    fn fail_reported(&mut self, reported: &Reported) {
        let reported = reported.clone().without_key(self.key.as_ref());
        let failure = classify_reported(&self.host, &reported);
        self.fail_with(Failure { usage: self.usage, ..failure });
    }

    fn fail(&mut self, kind: FailureKind, message: &str) {
        let message = message.into();
        self.fail_with(Failure {
            kind,
            status: None,
            message,
            retry_after: None,
            usage: self.usage,
            micro_usd: None,
        });
    }

    fn fail_with(&mut self, failure: Failure) {
        self.has_ended = true;
        self.events.push_back(ReplyEvent::Failed(failure));
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    let known = FINISH_REASONS.iter().find(|(known, _)| *known == reason).map(|(_, finish)| finish.clone());
    known.unwrap_or_else(|| FinishReason::Other(reason.chars().take(RAW_CAP).collect::<String>().into()))
}
