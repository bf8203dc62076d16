//! A reader of JSON that takes some of what models write instead, and keeps in mind what it took.

use std::collections::HashSet;

use super::{Repair, Repairs, Unreadable};
use crate::node::Node;

/// The deepest arguments: many servers read a body of 128 levels and no deeper, and it stands around them.
pub(super) const DEEPEST: usize = 100;
/// The most values in the arguments of a call, so that 16 MiB of brackets take no gigabyte.
pub(super) const MOST: usize = 500_000;
/// Characters shown before and after the place of a fault.
const SHOWN: usize = 24;

const NO_JSON: &str = "the arguments are no JSON";
const UNSURE: &str = "the arguments can be read in two ways";
const TOO_MUCH: &str = "the arguments are too much";
const OBJECT: &str = "send one JSON object";
const SMALLER: &str = "send the whole object; if it is long, do it in smaller parts";
const QUOTES: &str = "a quote inside a text is written \\\"";

/// Why a text has no reading, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    error: &'static str,
    at: usize,
    cause: String,
    hint: &'static str,
}

impl Fault {
    pub(super) fn no_json(at: usize, cause: impl Into<String>, hint: &'static str) -> Self {
        Self { error: NO_JSON, at, cause: cause.into(), hint }
    }

    pub(super) fn unsure(at: usize, cause: impl Into<String>, hint: &'static str) -> Self {
        Self { error: UNSURE, at, cause: cause.into(), hint: if hint.is_empty() { OBJECT } else { hint } }
    }

    fn too_much(at: usize, cause: impl Into<String>) -> Self {
        Self { error: TOO_MUCH, at, cause: cause.into(), hint: "send less at once, and flatter" }
    }

    /// The fault as it is told: by line and column, and by what stands there, since models do not count.
    pub(super) fn told(self, text: &str, inside: &str) -> Unreadable {
        let (before, after) = text.split_at_checked(self.at).unwrap_or((text, ""));
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        // In backticks and without escapes: it stands in JSON, where each would be escaped again.
        let shown = |char: char| if char.is_control() { ' ' } else { char };
        let near: Vec<char> = before.chars().rev().take(SHOWN).map(shown).collect();
        let near: String = near.into_iter().rev().collect();
        let next: String = after.chars().take(SHOWN).map(shown).collect();
        let place = match (near.is_empty(), next.is_empty()) {
            (true, true) => String::new(),
            (false, true) => format!(" (behind `{near}`)"),
            (true, false) => format!(" (before `{next}`)"),
            (false, false) => format!(" (between `{near}` and `{next}`)"),
        };
        let cause = format!("{inside}at line {line}, column {column}{place}: {}", self.cause);
        Unreadable { error: self.error, cause, hint: self.hint }
    }
}

/// What stands last before the place of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Text,
    Other,
}

/// A reader of one text.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    repairs: Repairs,
    last: Last,
    /// Where something stands that Python reads otherwise.
    python_differs: Option<usize>,
    /// Where a comment holds a double quote, and where one holds a single quote.
    quote_in_comment: [Option<usize>; 2],
    has_double_quotes: bool,
    /// Where the last number ends, or a comment behind it.
    number_end: Option<usize>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            values: 0,
            repairs: Repairs::new(),
            last: Last::Other,
            python_differs: None,
            quote_in_comment: [None; 2],
            has_double_quotes: false,
            number_end: None,
        }
    }

    pub(super) fn here(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn is_at(&self, at: usize, byte: u8) -> bool {
        self.text.as_bytes().get(at) == Some(&byte)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.peek().is_none()
    }

    pub(super) fn mark(&mut self, repair: Repair) {
        self.repairs.insert(repair);
    }

    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The text from there to the place of the reader.
    pub(super) fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    pub(super) fn differs_in_python(&mut self, at: usize) {
        self.python_differs.get_or_insert(at);
    }

    /// A byte-order mark is no content.
    pub(super) fn skip_mark_of_order(&mut self) {
        if self.rest().starts_with('\u{feff}') {
            self.skip('\u{feff}'.len_utf8());
            self.mark(Repair::Around);
        }
    }

    /// What was taken that is no strict JSON.
    ///
    /// # Errors
    /// If two things were taken that give another meaning together.
    pub(super) fn finish(&self) -> Result<Repairs, Fault> {
        let has_single = self.repairs.contains(&Repair::SingleQuotes);
        if let Some(at) = self.python_differs.filter(|_| has_single) {
            let hint = "send strict JSON: double quotes, and a backslash written \\\\";
            return Err(Fault::unsure(at, "an escape that JSON and Python read differently", hint));
        }
        let [double, single] = self.quote_in_comment;
        let hidden = double.filter(|_| self.has_double_quotes).or(single.filter(|_| has_single));
        match hidden {
            Some(at) => Err(Fault::unsure(at, "a comment, or a text with a quote in it", QUOTES)),
            None => Ok(self.repairs.clone()),
        }
    }

    /// Passes over blanks and comments.
    pub(super) fn blanks(&mut self) -> Result<(), Fault> {
        loop {
            while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let (rest, begun) = (self.rest(), self.at);
            let length = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(inside) = rest.strip_prefix("/*") {
                let unclosed = || Fault::no_json(begun, "a comment begins here and does not end", SMALLER);
                inside.find("*/").ok_or_else(unclosed)? + 4
            } else {
                return Ok(());
            };
            self.at += length;
            self.mark(Repair::Comment);
            let comment = self.since(begun);
            self.may_be_reckoned(begun, comment)?;
            for (hidden, quote) in self.quote_in_comment.iter_mut().zip(['"', '\'']) {
                *hidden = hidden.or_else(|| comment.contains(quote).then_some(begun));
            }
        }
    }

    /// Refuses `10 // 2` on one line: a comment, or a number and what is done with it.
    fn may_be_reckoned(&mut self, begun: usize, comment: &str) -> Result<(), Fault> {
        let is_blank = |between: &str| between.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
        let follows = |end: &usize| self.text.get(*end..begun).is_some_and(is_blank);
        if self.number_end.take().filter(follows).is_none() {
            return Ok(());
        }
        let inside = comment.strip_prefix("/*").and_then(|inside| inside.strip_suffix("*/"));
        let words = inside.unwrap_or_else(|| comment.trim_start_matches(['/', '#'])).trim_start();
        let is_reckoning =
            words.starts_with(|char: char| char.is_ascii_digit() || "+-*/%^<>=&|(.".contains(char));
        if is_reckoning {
            let hint = "send the number that is meant, and no comment";
            return Err(Fault::unsure(begun, "a comment, or something to reckon", hint));
        }
        self.number_end = Some(self.at);
        Ok(())
    }

    /// Reads a value that begins here.
    pub(super) fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        self.values += 1;
        if self.values > MOST {
            return Err(Fault::too_much(self.at, format!("more than {MOST} values")));
        }
        self.last = Last::Other;
        match self.peek() {
            Some(b'{' | b'[') if depth >= DEEPEST => {
                Err(Fault::too_much(self.at, format!("more than {DEEPEST} levels")))
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"' | b'\'') => {
                let text = self.quoted()?;
                self.last = Last::Text;
                Ok(Node::String(text))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, Fault> {
        self.at += 1;
        let (mut members, mut keys) = (Vec::new(), HashSet::new());
        self.blanks()?;
        if self.eats(b'}') {
            return Ok(Node::Object(members));
        }
        loop {
            let begun = self.at;
            if !matches!(self.peek(), Some(b'"' | b'\'')) {
                return Err(self.unexpected("a name in double quotes"));
            }
            let key = self.quoted()?;
            self.last = Last::Text;
            self.blanks()?;
            if !self.eats(b':') {
                return Err(self.unexpected("a colon"));
            }
            self.blanks()?;
            if !keys.insert(key.clone()) {
                return Err(Fault::unsure(begun, format!("{key:?} comes twice"), "send each name once"));
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if self.closes(b'}')? {
                self.last = Last::Other;
                return Ok(Node::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Node, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks()?;
        if self.eats(b']') {
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.closes(b']')? {
                self.last = Last::Other;
                return Ok(Node::Array(items));
            }
        }
    }

    /// Behind a member or an item: true if this was the last.
    fn closes(&mut self, bracket: u8) -> Result<bool, Fault> {
        self.blanks()?;
        if self.eats(bracket) {
            return Ok(true);
        }
        if !self.eats(b',') {
            return Err(self.unexpected(if bracket == b'}' { "a comma or }" } else { "a comma or ]" }));
        }
        self.blanks()?;
        let is_trailing = self.eats(bracket);
        if is_trailing {
            self.mark(Repair::TrailingComma);
        }
        self.last = Last::Other;
        Ok(is_trailing)
    }

    fn eats(&mut self, wanted: u8) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn quoted(&mut self) -> Result<Box<str>, Fault> {
        if self.peek() == Some(b'"') {
            self.has_double_quotes = true;
        } else {
            self.mark(Repair::SingleQuotes);
        }
        self.string()
    }

    fn number(&mut self) -> Result<Node, Fault> {
        let begun = self.at;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'_');
        let length = self.rest().bytes().take_while(is_part).count();
        self.at += length;
        let digits = self.since(begun);
        if !is_number(digits) {
            let shown: String = digits.chars().take(SHOWN).collect();
            return Err(Fault::no_json(begun, format!("{shown:?} is no JSON number"), OBJECT));
        }
        self.number_end = Some(self.at);
        Ok(Node::Number(digits.into()))
    }

    fn word(&mut self) -> Result<Node, Fault> {
        let length =
            self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (node, is_python) = match self.rest().get(..length) {
            Some("null") => (Node::Null, false),
            Some("true") => (Node::Bool(true), false),
            Some("false") => (Node::Bool(false), false),
            Some("None") => (Node::Null, true),
            Some("True") => (Node::Bool(true), true),
            Some("False") => (Node::Bool(false), true),
            _ => return Err(self.unexpected("a value")),
        };
        self.at += length;
        if is_python {
            self.mark(Repair::PythonWord);
        }
        Ok(node)
    }

    /// The fault of what stands here.
    pub(super) fn unexpected(&self, wanted: &str) -> Fault {
        if self.is_at_end() {
            return Fault::no_json(self.at, format!("the text ends where {wanted} is missing"), SMALLER);
        }
        let hint = match self.last {
            Last::Text => QUOTES,
            Last::Other => OBJECT,
        };
        Fault::no_json(self.at, format!("{wanted} is wanted here"), hint)
    }

    pub(super) fn ends_inside(&self, begun: usize) -> Fault {
        Fault::no_json(begun, "the text in quotes that begins here does not end", SMALLER)
    }
}

/// True for a number as JSON writes it.
fn is_number(digits: &str) -> bool {
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    all_digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(all_digits)
        && exponent.is_none_or(|part| all_digits(part.strip_prefix(['+', '-']).unwrap_or(part)))
}
