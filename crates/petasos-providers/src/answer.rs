//! Bytes of an answer to events, on any wire. What a server sends is read as it is: a stream in any of the
//! shapes met in the wild, a whole reply where a stream was asked for, an error in a good answer. What cannot
//! be read is a failure that says what came, never a silent skip.
//!
//! What is the same on all wires is here; what a wire's events mean is in its folder, behind [`WireDecoder`].

use std::collections::VecDeque;

use petasos_core::entry::{FinishReason, Timing};
use petasos_core::request::{Target, Wire};
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::turn::{Delta, Failure, REPLY_CAP, ReplyEnd};

use crate::anthropic::MessagesDecoder;
use crate::classify::{Reported, classify_reported, is_html, printable, sample};
pub(crate) use crate::counting::Counted;
use crate::counting::{Counting, Said};
use crate::counts::Counts;
use crate::finish::given_up;
pub(crate) use crate::finish::other_finish;
use crate::openai_chat::ChatDecoder;
use crate::openai_responses::ResponsesDecoder;
use crate::packing::{is_gzip, may_be_gzip, packed};
use crate::provider::ReplyEvent;
use crate::quirks::{Quirks, origin};
use crate::secret::Secret;
use crate::spoken::{Met, other_wires, wire_name, wire_of_event};
use crate::sse::{EVENT_CAP, SseEvent, SseReader};
use crate::wire::{Ending, WireDecoder};
use crate::written::{CallReading, Reader};

/// Bytes of a stream for each byte of a reply: chunks are far larger than what they carry, and an
/// endless row of empty ones ends here.
const STREAM_CAP: usize = 64 * REPLY_CAP;
/// What may stand before the first byte that tells what the answer is.
const START_CAP: usize = 1 << 10;
/// Of what cannot be read, the characters that a message shows.
const RAW_CAP: usize = 300;

/// What a block counts as beside its text, as core counts it.
pub(crate) const BLOCK: usize = 1 << 10;

/// Reads one answer of a server.
#[derive(Debug)]
pub struct AnswerDecoder {
    form: Form,
    asked: Wire,
    met: Met,
    wire: Box<dyn WireDecoder>,
    answer: Answer,
    reader: Reader,
    /// Events that its reader has seen.
    read: VecDeque<ReplyEvent>,
}

/// What some bytes of an answer were good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// More of the reply came.
    Progress,
    /// Only what keeps a connection open: comments, pings, blanks, and events that change nothing.
    Nothing,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The reply is there, with its end; the finish reason tells whether the model was done.
    Whole,
    /// The server told an error.
    Told,
    /// It broke off before its end.
    Cut,
    /// What came is no reply, or none that can be taken in.
    Unreadable,
}

/// What came of an answer so far: where the decoder of a wire puts what it finds.
#[derive(Debug)]
pub(crate) struct Answer {
    host: Text,
    key: Option<Secret>,
    bytes: usize,
    counting: Counting,
    said: Said,
    /// The model as the server named it.
    pub(crate) model: Option<Text>,
    /// An error that the event told which is being read.
    reported: Option<Reported>,
    events: VecDeque<ReplyEvent>,
    ended: Option<Ended>,
}

/// What an answer is: its first byte tells, for servers put any content type on any body.
#[derive(Clone, Debug)]
enum Form {
    Unknown(Vec<u8>),
    Stream(SseReader),
    Whole(Vec<u8>),
}

impl AnswerDecoder {
    /// A decoder for one answer of this target. The host is named in failures; what only its origin understands
    /// gets the name of the target's [`origin`].
    pub fn new(target: &Target, host: &str) -> Self {
        let quirks = Quirks::of(&target.provider);
        let wire: Box<dyn WireDecoder> = match target.wire {
            Wire::Chat => Box::new(ChatDecoder::new(origin(target), quirks.reasoning)),
            Wire::Responses => Box::new(ResponsesDecoder::new(origin(target))),
            Wire::Messages => Box::new(MessagesDecoder::new(origin(target))),
        };
        let answer = Answer {
            host: host.into(),
            key: None,
            bytes: 0,
            counting: Counting::new(quirks.cost_told),
            said: Said::Nothing,
            model: None,
            reported: None,
            events: VecDeque::new(),
            ended: None,
        };
        let (reader, read) = (Reader::Native, VecDeque::new());
        let (asked, met) = (target.wire, Met::Nothing);
        Self { form: Form::Unknown(Vec::new()), asked, met, wire, answer, reader, read }
    }

    /// One whose failures never show this key.
    #[must_use]
    pub fn hiding(mut self, key: Secret) -> Self {
        self.answer.key = Some(key);
        self
    }

    /// One that reads calls in this way.
    #[must_use]
    pub fn reading(mut self, calls: &CallReading) -> Self {
        self.reader = Reader::new(calls);
        self
    }

    /// Takes the next bytes in. What follows from them is in [`AnswerDecoder::next_event`].
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        let answer = &mut self.answer;
        if answer.has_ended() || bytes.is_empty() {
            return Fed::Nothing;
        }
        answer.bytes = answer.bytes.saturating_add(bytes.len());
        if answer.bytes > STREAM_CAP {
            answer.fail_bad(&format!("{} sent a stream without end", answer.host));
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
                    answer.fail_bad(&format!("{} sent a body over {EVENT_CAP} bytes", answer.host));
                }
                Fed::Progress
            }
        }
    }

    /// No more bytes come. After this an end is among the events.
    pub fn finish(&mut self) {
        if self.answer.has_ended() {
            return;
        }
        match std::mem::replace(&mut self.form, Form::Unknown(Vec::new())) {
            Form::Unknown(_) => self.end(Ending::Closed),
            Form::Stream(mut reader) => {
                if let Some(event) = reader.finish() {
                    self.last_event(&event);
                }
                match reader.other().filter(|_| self.met == Met::Nothing) {
                    Some(other) => self.fail_junk(other),
                    None => self.end(Ending::Closed),
                }
            }
            Form::Whole(body) => self.whole(&String::from_utf8_lossy(&body)),
        }
    }

    /// The connection gave out: an end if a finish reason came, else this failure.
    pub fn break_off(&mut self, kind: FailureKind, message: &str) {
        if self.answer.has_ended() {
            return;
        }
        if self.has_finish() {
            self.wire.end(Ending::Closed, &mut self.answer);
        } else {
            let is_strange = self.met != Met::Asked && self.answer.bytes > 0;
            let hint = if is_strange { format!("; {}", other_wires(self.asked)) } else { String::new() };
            self.answer.fail(Ended::Cut, kind, &format!("{message}{hint}"));
        }
    }

    /// The next event, in order; the last is `Done` or `Failed`. The timing of `Done` is zero: whoever has a
    /// clock fills it in.
    pub fn next_event(&mut self) -> Option<ReplyEvent> {
        while let Some(event) = self.answer.events.pop_front() {
            self.reader.take(event, &mut self.read);
            if !self.read.is_empty() {
                break;
            }
        }
        self.read.pop_front()
    }

    /// True once a finish reason came: what may follow is the usage.
    pub fn has_finish(&self) -> bool {
        self.wire.finish().is_some()
    }

    /// How it ended; nothing before its end.
    pub fn ended(&self) -> Option<Ended> {
        self.answer.ended
    }

    fn settle_form(&mut self) -> Fed {
        let Form::Unknown(start) = &mut self.form else { return Fed::Nothing };
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
        // No further than this, so that it does not depend on how much came at once.
        let first = start.iter().take(START_CAP).copied().find(|byte| !is_blank(byte));
        if (first.is_none() && start.len() < START_CAP) || may_be_gzip(start) {
            return Fed::Nothing;
        }
        let start = std::mem::take(start);
        if is_gzip(&start) {
            let message = packed(&self.answer.host, "gzip");
            // The same address would send the same again.
            self.answer.fail(Ended::Unreadable, FailureKind::BadRequest, &message);
            return Fed::Progress;
        }
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
        let mut progress = if reader.is_larger_than(before) { Fed::Progress } else { Fed::Nothing };
        for event in &events {
            if self.answer.has_ended() {
                break;
            }
            if self.event(event) == Fed::Progress {
                progress = Fed::Progress;
            }
        }
        if let Err(error) = fed {
            self.answer.fail_bad(&format!("{}: {error}", self.answer.host));
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
        // OpenRouter tells as an error, behind the finish reason, that the cap was reached: a reply whose end was
        // told is whole. A reason that nobody knows may be the error's own.
        let is_whole = self.wire.finish().is_some_and(|finish| !matches!(finish, FinishReason::Other(_)));
        let fed = if event.name == "error" {
            let reported = Reported::read(data);
            self.answer.report(
                reported.unwrap_or_else(|| Reported { message: data.to_owned(), ..Reported::default() }),
            );
            Fed::Progress
        } else {
            let fed = self.wire.event(event, &mut self.answer);
            self.meet(event, fed);
            fed
        };
        match self.answer.reported.take() {
            Some(_) if is_whole => self.wire.end(Ending::Closed, &mut self.answer),
            Some(reported) => self.answer.fail_reported(&reported),
            None => {}
        }
        fed
    }

    /// Notes what an event tells of who speaks.
    fn meet(&mut self, event: &SseEvent, fed: Fed) {
        if self.met == Met::Asked {
            return;
        }
        // An event of another wire may hold a field that this one knows too: a usage says nothing.
        let says_something = !self.answer.events.is_empty() || self.wire.finish().is_some();
        let of = wire_of_event(&event.name, event.data.trim());
        self.met = match (self.met, of) {
            _ if says_something => Met::Asked,
            (Met::Nothing, Some(wire)) if wire != self.asked => Met::Foreign(wire),
            (Met::Nothing, Some(_)) => Met::Asked,
            (Met::Nothing, None) if fed == Fed::Progress => Met::Asked,
            (met, _) => met,
        };
    }

    /// Nothing more of a stream comes.
    fn end(&mut self, ending: Ending) {
        let answer = &mut self.answer;
        let host = &answer.host;
        match self.met {
            _ if answer.has_ended() => {}
            Met::Foreign(wire) => {
                let message = format!(
                    "{host} sent a stream of the protocol {}; {}",
                    wire_name(wire),
                    other_wires(self.asked)
                );
                // The same address would send the same again.
                answer.fail(Ended::Unreadable, FailureKind::BadRequest, &message);
            }
            Met::Nothing if ending == Ending::Closed && answer.bytes > 0 => {
                let message = format!(
                    "{host} sent a stream that broke off before anything in it was known; {}",
                    other_wires(self.asked)
                );
                answer.fail(Ended::Cut, FailureKind::BadStream, &message);
            }
            Met::Nothing | Met::Asked => self.wire.end(ending, answer),
        }
    }

    /// What came is no stream of events.
    fn fail_junk(&mut self, line: &str) {
        let answer = &mut self.answer;
        let met = sample(&answer.without_key(line), "");
        let message = format!("{} sent {met}, which is no stream; {}", answer.host, other_wires(self.asked));
        answer.fail_bad(&message);
    }

    /// What stood at the end without a blank line after it: whole, or cut.
    fn last_event(&mut self, event: &SseEvent) {
        let data = event.data.trim();
        if data == "[DONE]" || event.name == "error" || self.wire.is_whole(data) {
            self.event(event);
        }
    }

    /// An answer that is no stream: a whole reply, an error, a page.
    fn whole(&mut self, body: &str) {
        let text = body.trim_start_matches('\u{feff}').trim();
        let answer = &mut self.answer;
        if self.wire.whole(text, answer) {
            if !answer.has_ended() {
                self.wire.end(Ending::Marked, answer);
            }
        } else if let Some(reported) = Reported::read(text) {
            answer.fail_reported(&reported);
        } else {
            let next = if is_html(text) {
                String::from("is the base URL right? it usually ends in /v1")
            } else {
                format!("is this a {} server? {}", self.wire.server(), other_wires(self.asked))
            };
            let met = sample(&answer.without_key(text), "");
            let message = format!("{} sent {met}, not a reply; {next}", answer.host);
            // The same address would send the same again.
            answer.fail(Ended::Unreadable, FailureKind::BadRequest, &message);
        }
    }
}

impl Answer {
    pub(crate) fn host(&self) -> &Text {
        &self.host
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Takes in what was used, as an event tells it.
    pub(crate) fn count(&mut self, counts: Counts, counted: Counted) -> Fed {
        if self.counting.take(counts, counted) { Fed::Progress } else { Fed::Nothing }
    }

    /// What was told of the usage is all of it.
    pub(crate) fn end_counting(&mut self) {
        self.counting.end();
    }

    /// Hands deltas on; `size` is that of the whole reply so far, in bytes and [`BLOCK`]s.
    pub(crate) fn emit(&mut self, deltas: Vec<Delta>, size: usize) {
        if size > REPLY_CAP {
            self.fail_bad(&format!("the reply of {} is over {REPLY_CAP} bytes", self.host));
            return;
        }
        if !self.has_ended() {
            if !deltas.is_empty() {
                self.said = Said::Something;
            }
            self.events.extend(deltas.into_iter().map(ReplyEvent::Delta));
        }
    }

    /// The reply is whole.
    pub(crate) fn done(&mut self, finish: FinishReason) {
        if self.has_ended() {
            return;
        }
        if let Some((word, kind)) = given_up(&finish) {
            self.end_counting();
            self.fail(Ended::Told, kind, &format!("{} gave the reply up ({word})", self.host));
            return;
        }
        self.ended = Some(Ended::Whole);
        let Counts { usage, micro_usd } = self.counting.of_reply(self.said);
        self.events.push_back(ReplyEvent::Done(ReplyEnd {
            finish,
            usage,
            micro_usd,
            timing: Timing::default(),
            model: self.model.take(),
            window: None,
        }));
    }

    /// The stream ended before the reply did.
    pub(crate) fn fail_cut(&mut self) {
        let met = if self.bytes == 0 { "an empty answer" } else { "a stream that broke off before its end" };
        self.fail(Ended::Cut, FailureKind::BadStream, &format!("{} sent {met}", self.host));
    }

    /// An event cannot be read.
    pub(crate) fn fail_unreadable(&mut self, raw: &str, error: &serde_json::Error) {
        // Taken out before it is cut: half a key would not be found.
        let shown: String = self.without_key(raw).chars().take(RAW_CAP).collect();
        let shown = printable(&shown);
        self.fail_bad(&format!("{} sent a chunk that cannot be read ({error}): {shown}", self.host));
    }

    /// What came cannot be taken in.
    pub(crate) fn fail_bad(&mut self, message: &str) {
        self.fail(Ended::Unreadable, FailureKind::BadStream, message);
    }

    /// The event that is being read tells an error: the end of the reply, or what follows it.
    pub(crate) fn report(&mut self, reported: Reported) {
        self.reported = Some(reported);
    }

    /// The server told an error in place of a reply.
    pub(crate) fn fail_reported(&mut self, reported: &Reported) {
        let reported = reported.clone().without_key(self.key.as_ref());
        let failure = classify_reported(&self.host, &reported);
        self.fail_with(Ended::Told, failure);
    }

    fn fail(&mut self, ended: Ended, kind: FailureKind, message: &str) {
        let (message, usage, micro_usd) = (message.into(), None, None);
        self.fail_with(
            ended,
            Failure { kind, status: None, message, retry_after: None, remedy: None, usage, micro_usd },
        );
    }

    fn fail_with(&mut self, ended: Ended, failure: Failure) {
        if self.has_ended() {
            return;
        }
        self.ended = Some(ended);
        let Counts { usage, micro_usd } = self.counting.of_failure(self.said);
        self.events.push_back(ReplyEvent::Failed(Failure { usage, micro_usd, ..failure }));
    }

    fn without_key(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden_in(text))
    }
}
