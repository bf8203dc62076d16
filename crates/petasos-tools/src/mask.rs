//! Keys, hidden in texts before anybody reads or keeps them: those that are known by value, and what has the shape of
//! one. What only names a key is left as it is.
//!
//! A key always has the same placeholder, so that a model can tell two of them apart and see one again.

mod private_key;
mod secret;
mod shapes;
pub(crate) mod unwritten;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use sha2::{Digest as _, Sha256};

pub use secret::{Origin, is_secret};
use shapes::{Judged, Looked, SHAPES, Seen};

/// A value of fewer bytes is no key: hidden, it would take words apart.
const SHORTEST: usize = 8;
/// What the placeholder of a private key begins with.
const PRIVATE_KEY: &str = "\u{ab}hidden:private-key";
/// What a placeholder begins and ends with.
const OPENS: &str = "\u{ab}hidden:";
const CLOSES: char = '\u{bb}';
/// Characters of the name in a placeholder.
const LONGEST_NAME: usize = 60;
/// Bytes before a place that tell whether a word begins there.
const BEFORE: usize = 3;

/// What is hidden, in one search.
pub struct Mask {
    /// The known values, then the beginnings of the shapes. None where they were too large for a search: then all is
    /// hidden.
    finder: Option<AhoCorasick>,
    /// The known values alone.
    values: Option<AhoCorasick>,
    patterns: Vec<Pattern>,
    longest: usize,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// A known value, and its placeholder.
    Value(String),
    /// The beginning of a shape, by its place among them.
    Shape(usize),
}

/// Whether more is to come of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    ToCome,
    Nothing,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask(…)")
    }
}

impl Default for Mask {
    /// Of shapes alone.
    fn default() -> Self {
        Self::new([])
    }
}

impl Mask {
    /// Hides these values, each with the name that stands for it, and what has the shape of a key. Values of fewer
    /// than 8 bytes are none.
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let (mut texts, mut patterns, mut met) = (Vec::new(), Vec::new(), HashSet::new());
        for (name, value) in values {
            let value = value.trim();
            if value.len() < SHORTEST {
                continue;
            }
            let name: String = name.chars().take(LONGEST_NAME).collect();
            for form in forms(value) {
                if met.insert(form.clone()) {
                    texts.push(form.into_bytes());
                    patterns.push(Pattern::Value(placeholder(&name)));
                }
            }
        }
        let values = search(&texts);
        for (at, shape) in SHAPES.iter().enumerate() {
            for begins in shape.begins {
                texts.push(begins.as_bytes().to_vec());
                patterns.push(Pattern::Shape(at));
            }
        }
        let longest = texts.iter().map(Vec::len).max().unwrap_or(1);
        Self { finder: search(&texts), values, patterns, longest }
    }

    /// A text that is whole, with its keys hidden.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_met = self.finder.as_ref().is_none_or(|finder| finder.is_match(text));
        if !is_met {
            return Cow::Borrowed(text);
        }
        let mut shown = Vec::with_capacity(text.len());
        self.pass(text.as_bytes(), 0, Rest::Nothing, &mut shown, &mut |_, _| {});
        match String::from_utf8(shown) {
            Ok(shown) if shown == text => Cow::Borrowed(text),
            Ok(shown) => Cow::Owned(shown),
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }

    /// True if there is a key in a text.
    pub fn holds(&self, text: &str) -> bool {
        matches!(self.hide(text), Cow::Owned(_))
    }

    /// What is hidden in a text, and what stands in its place.
    pub(crate) fn hidden_in(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let mut met = Vec::new();
        let mut meet = |range: &Range<usize>, stands: &str| met.push((range.clone(), stands.to_owned()));
        self.pass(text.as_bytes(), 0, Rest::Nothing, &mut Vec::new(), &mut meet);
        met
    }

    /// Goes through a text from `from` on, as far as it is sure. What it hides is told to `meet`.
    fn pass(
        &self,
        text: &[u8],
        from: usize,
        rest: Rest,
        shown: &mut Vec<u8>,
        meet: &mut dyn FnMut(&Range<usize>, &str),
    ) -> Passed {
        let looked = Looked::default();
        let mut passed = Passed { upto: from, hidden: 0, dropping: Dropping::Nothing, looked: 0 };
        let Some(finder) = &self.finder else {
            shown.extend_from_slice(placeholder("all").as_bytes());
            return Passed { upto: text.len(), ..passed };
        };
        // What begins before this is there as a whole, whichever pattern it is.
        let sure = match rest {
            Rest::Nothing => text.len(),
            Rest::ToCome => boundary(text, text.len().saturating_sub(self.longest)),
        };
        let mut look = from;
        loop {
            let met = finder.find(Input::new(text).span(look..text.len()));
            let Some(met) = met.filter(|met| met.start() < sure) else {
                passed.show(text, sure, shown);
                return passed;
            };
            let before = text.get(passed.hidden..met.start()).unwrap_or_default();
            let seen = Seen { text, before, start: met.start(), end: met.end(), looked: &looked };
            let judged = match self.patterns.get(met.pattern().as_usize()) {
                Some(Pattern::Shape(shape)) => self.judge(*shape, seen, rest),
                Some(Pattern::Value(stands)) => Judged::hidden(met.range(), stands),
                None => Judged::Nothing,
            };
            passed.looked = looked.steps();
            match judged {
                Judged::Nothing => look = met.start() + 1,
                Judged::NotSeen => {
                    passed.show(text, met.start(), shown);
                    return passed;
                }
                Judged::Hidden { range, stands } => {
                    passed.show(text, range.start, shown);
                    shown.extend_from_slice(stands.as_bytes());
                    meet(&range, &stands);
                    look = range.end;
                    (passed.upto, passed.hidden) = (look, look);
                    if look == text.len() && rest == Rest::ToCome {
                        passed.dropping = Dropping::after(&stands);
                        return passed;
                    }
                }
            }
        }
    }

    /// What is hidden of a shape that begins here. One that does not end is taken as far as it is kept back.
    fn judge(&self, shape: usize, seen: Seen<'_>, rest: Rest) -> Judged {
        let judged = shapes::judge(shape, seen, rest);
        let Judged::Hidden { range, stands } = judged else { return judged };
        let is_held = rest == Rest::ToCome && !shapes::is_long(shape, seen);
        if is_held && range.end + self.longest > seen.text.len() {
            return Judged::NotSeen;
        }
        // A value that is known is named, and hidden to its own end. No further is looked for one: that would be to the
        // end of the text for each key in it.
        let end = seen.text.len().min(range.end + self.longest);
        seen.looked.add(end - range.start);
        let inside = Input::new(seen.text).span(range.start..end);
        let value = self.values.as_ref().and_then(|values| values.find(inside));
        let Some(value) = value.filter(|value| value.start() < range.end) else {
            return Judged::Hidden { range, stands };
        };
        let whole = range.start..range.end.max(value.end());
        match self.patterns.get(value.pattern().as_usize()) {
            Some(Pattern::Value(named)) if value.start() == range.start => Judged::hidden(whole, named),
            Some(Pattern::Value(_) | Pattern::Shape(_)) | None => Judged::hidden(whole, &stands),
        }
    }
}

/// How far a pass came.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// Up to here all is given on or hidden.
    upto: usize,
    /// The end of what was hidden last.
    hidden: usize,
    dropping: Dropping,
    /// Bytes looked at for it.
    looked: u64,
}

impl Passed {
    /// Gives on what comes before `until`.
    fn show(&mut self, text: &[u8], until: usize, shown: &mut Vec<u8>) {
        shown.extend_from_slice(text.get(self.upto..until).unwrap_or_default());
        self.upto = self.upto.max(until);
    }
}

/// The forms in which a value may stand in a text: as it is, in JSON, and in a URL, as different programs write them.
fn forms(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&json).to_owned();
    let mut ascii = String::new();
    for letter in json.chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            ascii.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    let slashed = [json.replace('/', "\\/"), ascii.replace('/', "\\/")];
    let mut forms = vec![value.to_owned(), json, ascii];
    forms.extend(slashed);
    for kept in ["-._~", "-._~!'()*"] {
        for blank in ["%20", "+"] {
            forms.push(in_url(value, kept, blank, |byte| format!("%{byte:02X}")));
            forms.push(in_url(value, kept, blank, |byte| format!("%{byte:02x}")));
        }
    }
    forms
}

fn in_url(value: &str, kept: &str, blank: &str, escaped: impl Fn(u8) -> String) -> String {
    let mut url = String::new();
    for byte in value.bytes() {
        let letter = char::from(byte);
        if byte == b' ' {
            url.push_str(blank);
        } else if letter.is_ascii_alphanumeric() || kept.contains(letter) {
            url.push(letter);
        } else {
            url.push_str(&escaped(byte));
        }
    }
    url
}

fn search(texts: &[Vec<u8>]) -> Option<AhoCorasick> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts).ok()
}

/// What stands for a key.
fn placeholder(name: &str) -> String {
    format!("{OPENS}{name}{CLOSES}")
}

/// What stands for a key that is known by its shape alone: a few digits tell it from others and nothing of it.
fn placeholder_of(shape: &str, key: &[u8]) -> String {
    let digits: String = Sha256::digest(key).iter().take(2).map(|byte| format!("{byte:02x}")).collect();
    placeholder(&format!("{shape}…{digits}"))
}

/// The first placeholder in a text: what was hidden from a model, and is not to be written by it.
pub fn placeholder_in(text: &str) -> Option<&str> {
    text.match_indices(OPENS).find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let name = rest.strip_prefix(OPENS)?;
        let length = name
            .char_indices()
            .take(LONGEST_NAME + 20)
            .find_map(|(at, letter)| (letter == CLOSES).then_some(at))?;
        let is_name =
            name.get(..length).is_some_and(|name| !name.is_empty() && !name.contains(['\n', '\u{ab}']));
        rest.get(..OPENS.len() + length + CLOSES.len_utf8()).filter(|_| is_name)
    })
}

/// The last place up to `at` where a character begins.
fn boundary(text: &[u8], at: usize) -> usize {
    let inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (0..4).map(|back| at.saturating_sub(back)).find(|at| !inside(*at)).unwrap_or(at)
}

/// What is left out of what comes next: the rest of a key that was longer than what is kept back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Dropping {
    #[default]
    Nothing,
    Token,
    /// Of a private key: its lines, but for their ends.
    Lines,
}

impl Dropping {
    /// Of a key whose end was not seen, by what stands for it.
    fn after(stands: &str) -> Self {
        if stands.starts_with(PRIVATE_KEY) { Self::Lines } else { Self::Token }
    }
}

/// Hides keys in bytes that come in pieces, however they are split.
#[derive(Debug)]
pub struct Hiding {
    mask: Arc<Mask>,
    /// What was not given on yet, after a few bytes that were.
    held: Vec<u8>,
    given: usize,
    dropping: Dropping,
    looked: u64,
}

impl Hiding {
    /// Hides what `mask` hides.
    pub fn new(mask: Arc<Mask>) -> Self {
        Self { mask, held: Vec::new(), given: 0, dropping: Dropping::Nothing, looked: 0 }
    }

    /// Adds bytes; what is sure to stay is put at the end of `shown`.
    pub fn push(&mut self, bytes: &[u8], shown: &mut Vec<u8>) {
        let mut bytes = bytes;
        if self.dropping != Dropping::Nothing {
            let is_of_key = |byte: u8| match self.dropping {
                Dropping::Nothing => false,
                Dropping::Token => shapes::is_of_token(byte),
                Dropping::Lines => {
                    byte.is_ascii_whitespace() || b"+/=".contains(&byte) || byte.is_ascii_alphanumeric()
                }
            };
            let dropped = bytes.iter().take_while(|byte| is_of_key(**byte)).count();
            let (of_key, rest) = bytes.split_at_checked(dropped).unwrap_or_default();
            if self.dropping == Dropping::Lines {
                shown.extend(of_key.iter().filter(|byte| **byte == b'\n'));
            }
            bytes = rest;
            if bytes.is_empty() {
                return;
            }
            self.dropping = Dropping::Nothing;
        }
        self.held.extend_from_slice(bytes);
        self.go_on(Rest::ToCome, shown);
    }

    /// There is no more.
    pub fn finish(&mut self, shown: &mut Vec<u8>) {
        self.go_on(Rest::Nothing, shown);
        self.held.clear();
        self.given = 0;
    }

    /// Bytes that were looked at after something that may begin a key, each as often as that was done: what work it
    /// was beside one search.
    pub fn looked_at(&self) -> u64 {
        self.looked
    }

    fn go_on(&mut self, rest: Rest, shown: &mut Vec<u8>) {
        let passed = self.mask.pass(&self.held, self.given, rest, shown, &mut |_, _| {});
        self.dropping = passed.dropping;
        self.looked = self.looked.saturating_add(passed.looked);
        // What was hidden is no letter before a word.
        let keep = (passed.upto - passed.hidden).min(BEFORE);
        self.held.drain(..passed.upto - keep);
        self.given = keep;
    }
}
