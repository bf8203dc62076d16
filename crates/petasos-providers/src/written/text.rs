//! Calls in plain text: marked by `<tool_call>`, or all that a reply is, bare or in a fence.
//!
//! A model shows such text too: from a file, or as an example. What is taken for a call stands at the start of a line,
//! outside of any fence of the model's own, behind a short lead-in at most, names a tool that was asked for, and stands
//! in nothing that a user said or a tool gave. Whatever is doubtful is text.

use std::borrow::Cow;
use std::sync::Arc;

use petasos_core::entry::{CallForm, FinishReason, Head};
use petasos_core::text::Text;
use petasos_core::turn::Delta;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use super::Asked;
use super::describe::tool_names;
use super::found::{Found, ends_whole};
use super::opening::{LONGEST, Opening};
use super::reader::ReadsText;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const FENCE: &str = "```";
/// The other fence of Markdown.
const TILDES: &str = "~~~";
/// What may stand behind the opening of a fence around a call.
const LANGUAGES: &[&str] = &["", "json", "tool_call", "tool_code"];
/// So many blanks are looked behind for what begins there.
const BLANKS: usize = 256;
/// So many closing marks may stand in the texts of a call, such as one that writes a file about calls: each is a
/// reading of all that came.
const MARKS: usize = 64;
/// The longest lead-in, in letters: two sentences such as "I will look at both files first."
const LEAD: usize = 200;

/// Reads the text of one reply.
#[derive(Clone, Debug)]
pub(crate) struct TextReader {
    asked: Arc<Asked>,
    state: State,
    /// Letters of the lead-in.
    lead: usize,
    /// All text, until there is a call, or what may be one has become long: then it is told as it is written too.
    raw: Raw,
    found: Found,
}

#[derive(Clone, Debug)]
enum State {
    /// At the start of a line, with blanks and what may become a mark.
    Line(String),
    /// In a line that is text.
    Lead,
    /// What stood before the mark, and what came behind it.
    Marked {
        before: String,
        inside: String,
        /// Closing marks that came.
        closed: usize,
    },
    /// What may be a call if nothing follows it.
    Loose(String),
    /// Behind a call: the same as at the start of a line, but a mark alone counts.
    Behind(String),
    /// Nothing that comes is a call.
    Plain,
}

impl State {
    /// Behind an opening mark, and what stood before it.
    fn behind_mark(before: &mut String) -> Self {
        Self::Marked { before: std::mem::take(before), inside: String::new(), closed: 0 }
    }
}

#[derive(Clone, Debug)]
enum Raw {
    Held(String),
    Told,
}

/// A call as it is written.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, alias = "parameters")]
    arguments: Option<&'a RawValue>,
}

/// What a line begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Too little to tell.
    More,
    /// A call.
    Call,
    /// What may be all of a reply: a fence or an object.
    Loose,
    /// Something that is shown.
    Quote,
    /// Nothing.
    Nothing,
}

struct Call {
    name: String,
    arguments: String,
}

impl TextReader {
    pub(super) fn new(asked: Arc<Asked>) -> Self {
        Self::with(asked, Found::new(CallForm::Text))
    }

    /// One for a reply of which this was found before.
    pub(super) fn with(asked: Arc<Asked>, found: Found) -> Self {
        let found = found.in_form(CallForm::Text);
        let raw = Raw::Held(String::new());
        Self { asked, state: State::Line(String::new()), lead: 0, raw, found }
    }

    fn letter(&mut self, letter: char, said: &mut String) {
        match &mut self.state {
            State::Lead if letter == '\n' => self.state = State::Line(String::from('\n')),
            State::Lead => {
                said.push(letter);
                self.lead += 1;
                if self.lead > LEAD {
                    self.state = State::Plain;
                }
            }
            State::Line(held) => {
                held.push(letter);
                match Mark::of(held) {
                    Mark::More => {}
                    Mark::Call => self.state = State::behind_mark(held),
                    Mark::Loose => self.state = State::Loose(std::mem::take(held)),
                    Mark::Quote => self.give_back(said),
                    Mark::Nothing => {
                        said.push_str(held);
                        self.lead += held.chars().count();
                        self.state = if self.lead > LEAD { State::Plain } else { State::Lead };
                    }
                }
            }
            State::Behind(held) => {
                held.push(letter);
                match Mark::of(held) {
                    Mark::More => {}
                    Mark::Call => self.state = State::behind_mark(held),
                    Mark::Loose | Mark::Quote | Mark::Nothing => self.give_back(said),
                }
            }
            State::Marked { inside, .. } => {
                inside.push(letter);
                if inside.len() <= BLANKS
                    && !"{".starts_with(inside.trim_start().get(..1).unwrap_or_default())
                    || inside.len() == BLANKS && inside.trim_start().is_empty()
                {
                    self.give_back(said);
                } else if letter == '>' && inside.ends_with(CLOSE) {
                    self.close(said);
                }
            }
            State::Loose(held) => {
                held.push(letter);
                if !may_be_loose(held, &self.asked) {
                    self.give_back(said);
                }
            }
            State::Plain => said.push(letter),
        }
    }

    /// What was held back is text, and so is all that follows.
    fn give_back(&mut self, said: &mut String) {
        match std::mem::replace(&mut self.state, State::Plain) {
            State::Line(held) | State::Loose(held) => said.push_str(&held),
            // The blanks behind a call were part of its mark.
            State::Behind(held) => said.push_str(held.trim_start()),
            State::Marked { before, inside, .. } => {
                said.push_str(&before);
                said.push_str(&inside);
            }
            State::Lead | State::Plain => {}
        }
    }

    /// A closing mark came: the calls before it, or none if it stands in a text of theirs.
    fn close(&mut self, said: &mut String) {
        let State::Marked { inside, closed, .. } = &mut self.state else { return };
        *closed += 1;
        let read = calls(inside.strip_suffix(CLOSE).unwrap_or(inside));
        if *closed < MARKS && matches!(&read, Err(error) if error.is_eof()) {
            return;
        }
        match self.calls(read.ok()) {
            Some(calls) => {
                self.found.text(&std::mem::take(said));
                self.tell(calls);
                self.state = State::Behind(String::new());
            }
            None => self.give_back(said),
        }
    }

    /// A mark that was not closed: some models end without it.
    fn end_marked(&mut self, before: &str, inside: &str, finish: &FinishReason) {
        let cut = (0..=CLOSE.len()).rev().filter_map(|length| CLOSE.get(..length));
        let body = cut.into_iter().find_map(|start| inside.strip_suffix(start)).unwrap_or(inside);
        if !ends_whole(finish) {
            return self.cut(before, inside);
        }
        match self.calls(calls(body).ok()) {
            Some(calls) => self.tell(calls),
            None => self.found.text(&format!("{before}{inside}")),
        }
    }

    /// The reply was cut inside of a call: it is one, and never runs.
    fn cut(&mut self, before: &str, inside: &str) {
        let ends = inside.char_indices().map(|(at, letter)| at + letter.len_utf8());
        for (opening, rest) in ends.filter_map(|end| inside.split_at_checked(end)) {
            match Opening::of(opening, &self.asked) {
                Opening::More => {}
                Opening::Call(name) => {
                    self.tell_raw();
                    self.found.begin(&name);
                    return self.found.arguments(&format!("{{{rest}"));
                }
                Opening::Answer | Opening::Neither => break,
            }
        }
        self.found.text(&format!("{before}{inside}"));
    }

    /// The calls, if each of them may be taken for one.
    fn calls(&self, read: Option<Vec<Call>>) -> Option<Vec<Call>> {
        let calls = read.filter(|calls| !calls.is_empty())?;
        let is_call = |call: &Call| {
            self.asked.has_tool(&call.name) && !self.asked.is_quoted(&call.name, &call.arguments)
        };
        calls.iter().all(is_call).then_some(calls)
    }

    fn tell(&mut self, calls: Vec<Call>) {
        self.tell_raw();
        for call in calls {
            self.found.begin(&call.name);
            self.found.arguments(&call.arguments);
            self.found.is_whole();
        }
    }

    /// There is a call, so the text as it was is kept.
    fn tell_raw(&mut self) {
        if let Raw::Held(held) = std::mem::replace(&mut self.raw, Raw::Told) {
            self.found.raw(&held);
        }
    }
}

impl ReadsText for TextReader {
    fn take(&mut self, text: &str) {
        match &mut self.raw {
            Raw::Held(held) => held.push_str(text),
            Raw::Told => self.found.raw(text),
        }
        let mut said = String::new();
        let mut rest = text.chars();
        while let Some(letter) = rest.next() {
            if matches!(self.state, State::Plain) {
                said.push(letter);
                said.push_str(rest.as_str());
                break;
            }
            self.letter(letter, &mut said);
        }
        self.found.text(&said);
        // What is held back for long is told as it is written: who looks for a reply without end sees it.
        let held = match &self.state {
            State::Marked { inside: held, .. } | State::Loose(held) => held.len(),
            State::Line(_) | State::Lead | State::Behind(_) | State::Plain => 0,
        };
        if held > LONGEST {
            self.tell_raw();
        }
    }

    fn end(&mut self, finish: &FinishReason) {
        match std::mem::replace(&mut self.state, State::Plain) {
            State::Marked { before, inside, .. } => self.end_marked(&before, &inside, finish),
            State::Loose(held) => {
                let calls = if ends_whole(finish) { self.calls(loose(&held)) } else { None };
                match calls {
                    Some(calls) => self.tell(calls),
                    None => self.found.text(&held),
                }
            }
            // Blanks at the end are nothing; a mark that was begun is text.
            State::Line(held) | State::Behind(held) => {
                if !held.trim().is_empty() {
                    self.found.text(&held);
                }
            }
            State::Lead | State::Plain => {}
        }
        self.found.end(finish);
    }

    fn found(&mut self) -> &mut Found {
        &mut self.found
    }
}

impl Mark {
    /// Of blanks, and a line behind them as far as it came.
    fn of(held: &str) -> Self {
        let begun = held.trim_start();
        let indent = held.strip_suffix(begun).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
        match begun {
            "" if held.len() > BLANKS => Self::Nothing,
            // Indented so far it is shown as code.
            _ if !begun.is_empty() && (indent.len() >= 4 || indent.contains('\t')) => Self::Quote,
            OPEN => Self::Call,
            FENCE | "{" => Self::Loose,
            TILDES => Self::Quote,
            _ if [OPEN, FENCE, TILDES].iter().any(|mark| mark.starts_with(begun)) => Self::More,
            _ => Self::Nothing,
        }
    }
}

/// The first tool of a head that a text calls, though its calls are not read from text. What users said and tools gave is
/// not looked at.
pub fn written_call(text: &str, head: &Head) -> Option<Text> {
    let asked = Asked { tools: tool_names(head), answer: Text::default(), said: Vec::new() };
    let mut reader = TextReader::new(Arc::new(asked));
    reader.take(text);
    reader.end(&FinishReason::Stop);
    reader.found.take().into_iter().find_map(|delta| match delta {
        Delta::Call { name, .. } => Some(name),
        Delta::Text(_)
        | Delta::Reasoning(_)
        | Delta::Opaque(_)
        | Delta::Arguments { .. }
        | Delta::CallComplete { .. }
        | Delta::Raw(_) => None,
    })
}

/// The calls that a text is, one behind the other.
fn calls(text: &str) -> Result<Vec<Call>, serde_json::Error> {
    let written = serde_json::Deserializer::from_str(text).into_iter::<Written<'_>>();
    written.map(|written| written.and_then(Call::of)).collect()
}

impl Call {
    /// Arguments are an object, or a text that holds one.
    fn of(written: Written<'_>) -> Result<Self, serde_json::Error> {
        let raw = written.arguments.map_or("{}", RawValue::get);
        let arguments = if raw.starts_with('"') { serde_json::from_str(raw)? } else { raw.to_owned() };
        let object: &RawValue = serde_json::from_str(&arguments)?;
        if !object.get().starts_with('{') {
            return Err(serde_json::Error::custom("arguments are an object"));
        }
        Ok(Self { name: written.name.into_owned(), arguments })
    }
}

/// The calls that a whole reply is, bare or in one fence.
fn loose(held: &str) -> Option<Vec<Call>> {
    let text = held.trim();
    let Some(fenced) = text.strip_prefix(FENCE) else { return calls(text).ok() };
    let (_, inside) = fenced.split_once('\n')?;
    calls(inside.strip_suffix(FENCE)?).ok()
}

/// False once this is no call, whatever follows.
fn may_be_loose(held: &str, asked: &Asked) -> bool {
    let text = held.trim_start();
    let body = match text.strip_prefix(FENCE).map(|fenced| fenced.split_once('\n').ok_or(fenced)) {
        None => text,
        Some(Err(language)) => return LANGUAGES.iter().any(|known| known.starts_with(language.trim_end())),
        Some(Ok((language, body))) if LANGUAGES.contains(&language.trim_end()) => body,
        Some(Ok(_)) => return false,
    };
    // Behind the opening it is read as a whole.
    body.len() > LONGEST || Opening::of(body, asked) != Opening::Neither
}
