//! What a recorded stream means.

use petasos_core::entry::FinishReason;
use petasos_core::request::{Target, ToolMode, Wire};
use petasos_core::text::Text;
use petasos_core::turn::{Delta, Failure};
use petasos_core::usage::Usage;
use petasos_providers::{AnswerDecoder, Ended, ReplyEvent};
use serde::Serialize;

/// Reads a recorded answer, piece by piece.
#[derive(Debug)]
pub struct Decoding {
    wire: Wire,
    decoder: AnswerDecoder,
    text: String,
    reasoning: String,
    calls: Vec<DecodedCall>,
    sealed: u64,
}

/// What a recorded answer means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decoded {
    /// Of this form; 1.
    pub v: u32,
    /// On which wire it was read.
    pub wire: Wire,
    /// How it ended.
    pub ended: DecodedEnd,
    /// The text of its answer.
    pub text: String,
    /// Its reasoning, as far as it can be read.
    pub reasoning: String,
    /// Blocks that only their origin can read.
    pub sealed: u64,
    /// Its calls, in order.
    pub calls: Vec<DecodedCall>,
    /// Why it ended: a name of ours, or what came; none if nothing was said.
    pub finish: Option<String>,
    /// Tokens, as far as they were told.
    pub usage: Option<DecodedUsage>,
    /// The model as the server named it.
    pub model: Option<Text>,
    /// What is wrong with it.
    pub error: Option<DecodedError>,
}

/// How a recorded answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecodedEnd {
    /// The reply is there, with its end.
    Complete,
    /// The provider told an error.
    Error,
    /// It breaks off before its end.
    Cut,
    /// What stands there is no reply.
    Unreadable,
}

/// A call of a recorded answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecodedCall {
    /// The id that the server gave it.
    pub id: Option<Text>,
    /// The tool.
    pub name: Text,
    /// Its arguments as they came.
    pub arguments: String,
    /// Whether all of its text arrived.
    pub complete: bool,
}

/// Tokens of a recorded answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DecodedUsage {
    /// Read by the model, those from a cache among them.
    pub input: u64,
    /// Written by it, its reasoning among them.
    pub output: u64,
    /// Of the input, those that came from a cache.
    pub cached: u64,
    /// Of the output, those that were reasoning.
    pub reasoning: u64,
}

/// An error of a recorded answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecodedError {
    /// Its kind, as in `error` of a result.
    pub kind: &'static str,
    /// What is wrong.
    pub message: Text,
}

impl Decoding {
    /// Of an answer on this wire, from a server that nobody knows.
    pub fn new(wire: Wire) -> Self {
        let target = Target {
            provider: "the server".into(),
            model: Text::default(),
            wire,
            tool_mode: ToolMode::Native,
        };
        Self {
            wire,
            decoder: AnswerDecoder::new(&target, "the server"),
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            sealed: 0,
        }
    }

    /// Takes the next bytes in.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.decoder.feed(bytes);
        // Deltas are taken as they come, so that a long stream is not kept twice. An end stays for later.
        while self.decoder.ended().is_none()
            && let Some(ReplyEvent::Delta(delta)) = self.decoder.next_event()
        {
            self.take(delta);
        }
    }

    /// True once the answer has ended: what may follow is no part of it.
    pub fn has_ended(&self) -> bool {
        self.decoder.ended().is_some()
    }

    /// No more bytes come.
    pub fn finish(mut self) -> Decoded {
        self.decoder.finish();
        let mut finish = None;
        let mut failure: Option<Failure> = None;
        let (mut usage, mut model) = (None, None);
        while let Some(event) = self.decoder.next_event() {
            match event {
                ReplyEvent::Delta(delta) => self.take(delta),
                ReplyEvent::Done(end) => {
                    (finish, usage, model) = (finish_name(&end.finish), end.usage, end.model);
                }
                ReplyEvent::Failed(failed) => failure = Some(failed),
            }
        }
        let usage = usage.or(failure.as_ref().and_then(|failure| failure.usage));
        let usage = usage.map(|Usage { input, output, cached, reasoning, cache_written: _ }| DecodedUsage {
            input,
            output,
            cached,
            reasoning,
        });
        let ended = match self.decoder.ended() {
            Some(Ended::Whole) => DecodedEnd::Complete,
            Some(Ended::Told) => DecodedEnd::Error,
            Some(Ended::Unreadable) => DecodedEnd::Unreadable,
            Some(Ended::Cut) | None => DecodedEnd::Cut,
        };
        let error = failure.map(|failure| DecodedError {
            kind: crate::result::failure(failure.kind),
            message: failure.message,
        });
        let Self { wire, text, reasoning, calls, sealed, decoder: _ } = self;
        Decoded { v: 1, wire, ended, text, reasoning, sealed, calls, finish, usage, model, error }
    }

    fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(&text),
            Delta::Reasoning(text) => self.reasoning.push_str(&text),
            Delta::Opaque(_) => self.sealed += 1,
            Delta::Call { wire_id: id, name, form: _ } => {
                self.calls.push(DecodedCall { id, name, arguments: String::new(), complete: false });
            }
            Delta::Arguments { place, text } => {
                if let Some(call) = self.calls.get_mut(usize::from(place)) {
                    call.arguments.push_str(&text);
                }
            }
            Delta::CallComplete { place } => {
                if let Some(call) = self.calls.get_mut(usize::from(place)) {
                    call.complete = true;
                }
            }
            Delta::Raw(_) => {}
        }
    }
}

impl Decoded {
    /// As a line of JSON.
    pub fn line(&self) -> String {
        // Texts and numbers alone: they always become JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn finish_name(finish: &FinishReason) -> Option<String> {
    Some(match finish {
        FinishReason::Stop => "stop".to_owned(),
        FinishReason::ToolUse => "tool_use".to_owned(),
        FinishReason::Length => "length".to_owned(),
        FinishReason::Refused => "refused".to_owned(),
        FinishReason::Cut => "cut".to_owned(),
        FinishReason::Other(other) if other.is_empty() => return None,
        FinishReason::Other(other) => other.to_string(),
    })
}
