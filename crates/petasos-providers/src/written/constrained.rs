//! Replies under a response format: a JSON object that is a call or the answer, read while it comes.

use std::sync::Arc;

use petasos_core::entry::{CallForm, FinishReason};

use super::Asked;
use super::found::{Found, ends_whole};
use super::opening::Opening;
use super::reader::ReadsText;
use super::scan::{ToEnd, Unescape};
use super::text::TextReader;

/// Reads the text of one reply.
///
/// A server may not know response formats and not say so; what does not begin as an object of ours is read as plain
/// text, with the calls that stand in it.
#[derive(Clone, Debug)]
pub(crate) struct ConstrainedReader {
    asked: Arc<Asked>,
    state: State,
    /// Objects before this one.
    objects: usize,
    /// The call of this object: it is told once all of it is there, for it may only be quoted.
    call: Option<Held>,
    /// Text as it came, of which nobody knows yet whether it is ours.
    raw: String,
    found: Found,
}

#[derive(Clone, Debug)]
enum State {
    /// An object that has not told yet what it is.
    Opening(String),
    Arguments(ToEnd),
    Answer(Unescape),
    /// Behind the arguments, or the text of the answer.
    Closing(ToEnd),
    /// Behind an object, with the blanks that came.
    Between(String),
    /// What nobody asked for.
    Tail,
    /// Not what was asked for at all.
    Foreign(TextReader),
}

/// A call as far as it came.
#[derive(Clone, Debug)]
struct Held {
    name: String,
    arguments: String,
    /// The object, as it is written.
    text: String,
}

impl ConstrainedReader {
    pub(super) fn new(asked: Arc<Asked>) -> Self {
        let state = State::Opening(String::new());
        Self {
            asked,
            state,
            objects: 0,
            call: None,
            raw: String::new(),
            found: Found::new(CallForm::Constrained),
        }
    }

    /// What is none of ours is read as plain text from its beginning.
    fn foreign(&mut self, held: &str) -> TextReader {
        let found = std::mem::replace(&mut self.found, Found::new(CallForm::Text));
        let mut reader = TextReader::with(Arc::clone(&self.asked), found);
        reader.take(held);
        reader
    }

    /// Takes the first of it in; what is left.
    fn advance<'a>(&mut self, text: &'a str) -> &'a str {
        match std::mem::replace(&mut self.state, State::Tail) {
            State::Opening(held) => self.open(held, text),
            State::Arguments(mut end) => {
                let rest = end.take(text);
                let taken = text.get(..text.len() - rest.unwrap_or_default().len()).unwrap_or_default();
                if let Some(held) = &mut self.call {
                    held.arguments.push_str(taken);
                    held.text.push_str(taken);
                }
                self.state = match rest {
                    Some(_) => State::Closing(ToEnd::of(1)),
                    None => State::Arguments(end),
                };
                rest.unwrap_or_default()
            }
            State::Answer(mut unescape) => {
                let mut said = String::new();
                let rest = unescape.take(text, &mut said);
                self.found.text(&said);
                self.state = match rest {
                    Some(_) => State::Closing(ToEnd::of(2)),
                    None => State::Answer(unescape),
                };
                rest.unwrap_or_default()
            }
            State::Closing(mut end) => {
                let rest = end.take(text);
                let taken = text.get(..text.len() - rest.unwrap_or_default().len()).unwrap_or_default();
                if let Some(held) = &mut self.call {
                    held.text.push_str(taken);
                }
                match rest {
                    None => self.state = State::Closing(end),
                    Some(_) => self.close(),
                }
                rest.unwrap_or_default()
            }
            State::Between(blanks) => self.between(blanks, text),
            State::Tail => {
                self.found.text(text);
                ""
            }
            State::Foreign(mut reader) => {
                reader.take(text);
                self.state = State::Foreign(reader);
                ""
            }
        }
    }

    /// All of an object is there.
    fn close(&mut self) {
        self.objects += 1;
        self.state = State::Between(String::new());
        match self.call.take() {
            // A server that passes over formats lets the model show what it read.
            Some(held) if self.asked.is_quoted(&held.name, &held.arguments) => {
                self.found.text(&held.text);
                self.state = State::Tail;
            }
            Some(held) => {
                self.begin(&held);
                self.found.is_whole();
            }
            None => {}
        }
    }

    fn begin(&mut self, held: &Held) {
        self.found.begin(&held.name);
        self.found.arguments(&held.arguments);
    }

    fn open<'a>(&mut self, mut held: String, text: &'a str) -> &'a str {
        for (at, letter) in text.char_indices() {
            held.push(letter);
            let rest = text.get(at + letter.len_utf8()..).unwrap_or_default();
            match Opening::of(&held, &self.asked) {
                Opening::More => continue,
                Opening::Call(name) => {
                    self.call =
                        Some(Held { name, arguments: String::from('{'), text: std::mem::take(&mut held) });
                    self.state = State::Arguments(ToEnd::of(1));
                }
                Opening::Answer => self.state = State::Answer(Unescape::default()),
                Opening::Neither if self.objects > 0 => self.found.text(&held),
                Opening::Neither => self.state = State::Foreign(self.foreign(&held)),
            }
            return rest;
        }
        self.state = State::Opening(held);
        ""
    }

    fn between<'a>(&mut self, mut blanks: String, text: &'a str) -> &'a str {
        let rest = text.trim_start();
        if rest.starts_with('{') {
            self.state = State::Opening(String::new());
        } else if rest.is_empty() {
            blanks.push_str(text);
            self.state = State::Between(blanks);
        } else {
            blanks.push_str(text.strip_suffix(rest).unwrap_or_default());
            self.found.text(&blanks);
        }
        rest
    }
}

impl ReadsText for ConstrainedReader {
    fn take(&mut self, text: &str) {
        if let State::Foreign(reader) = &mut self.state {
            return reader.take(text);
        }
        self.raw.push_str(text);
        let mut rest = text;
        while !rest.is_empty() {
            rest = self.advance(rest);
        }
        match &self.state {
            // Its reader keeps what it needs.
            State::Foreign(_) => self.raw.clear(),
            State::Opening(_) if self.objects == 0 => {}
            State::Opening(_)
            | State::Arguments(_)
            | State::Answer(_)
            | State::Closing(_)
            | State::Between(_)
            | State::Tail => self.found.raw(&std::mem::take(&mut self.raw)),
        }
    }

    fn end(&mut self, finish: &FinishReason) {
        match std::mem::replace(&mut self.state, State::Tail) {
            // The beginning of a call that was cut says nothing to anybody.
            State::Opening(_) if !ends_whole(finish) => self.found.raw(&std::mem::take(&mut self.raw)),
            State::Opening(held) if self.objects > 0 => self.found.text(&held),
            State::Opening(held) => {
                let mut reader = self.foreign(&held);
                reader.end(finish);
                self.state = State::Foreign(reader);
                return;
            }
            State::Answer(mut unescape) => {
                let mut said = String::new();
                unescape.end(&mut said);
                self.found.text(&said);
            }
            State::Foreign(mut reader) => {
                reader.end(finish);
                self.state = State::Foreign(reader);
                return;
            }
            // A call that was cut: it never runs.
            State::Arguments(_) | State::Closing(_) => {
                if let Some(held) = self.call.take() {
                    self.begin(&held);
                }
            }
            State::Between(_) | State::Tail => {}
        }
        self.found.end(finish);
    }

    fn found(&mut self) -> &mut Found {
        match &mut self.state {
            State::Foreign(reader) => reader.found(),
            State::Opening(_)
            | State::Arguments(_)
            | State::Answer(_)
            | State::Closing(_)
            | State::Between(_)
            | State::Tail => &mut self.found,
        }
    }
}
