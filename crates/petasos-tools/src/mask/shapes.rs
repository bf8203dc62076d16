//! The shapes of keys, as data: what one begins with, and what makes it one. Beginnings alone, since a rule such as
//! `password = …` hides words that are none.

use std::cell::Cell;
use std::ops::Range;

use super::private_key;
use super::{Rest, placeholder_of};

/// Bytes that are kept back until it is seen where a key ends.
const HELD: usize = 8 * 1024;
/// The same of a private key, which has many lines.
const HELD_LINES: usize = 64 * 1024;
/// Bytes of a URL's name and password that are looked at.
const LONGEST_LOGIN: usize = 1_024;
/// Bytes of a key whose letters and digits stand without a break between them.
const RANDOM_RUN: usize = 16;

/// A shape.
#[derive(Debug)]
pub(super) struct Shape {
    /// What it is called in its placeholder.
    pub(super) name: &'static str,
    /// What it begins with.
    pub(super) begins: &'static [&'static str],
    rule: Rule,
}

/// What makes a shape out of a beginning.
#[derive(Debug)]
enum Rule {
    /// A word that goes on for so many bytes at least.
    Word { letters: Letters, length: Length, look: Look },
    /// The value of a header of this name.
    Header(Bare),
    /// Name and password of a URL.
    Login,
    /// A part of a URL's query.
    Query,
    /// What stands between two marks.
    PrivateKey,
}

/// What a header's value is without the name of a scheme before it.
#[derive(Clone, Copy, Debug)]
enum Bare {
    /// A key.
    Key,
    /// Most often something else.
    Seldom,
}

/// What a word goes on with.
#[derive(Clone, Copy, Debug)]
enum Letters {
    /// Letters and digits.
    Plain,
    /// These, and `_`.
    Underscored,
    /// These, and `-`.
    Dashed,
    /// These, `-` and `.`.
    Dotted,
    /// Capitals and digits.
    Capitals,
}

/// How long a word goes on.
#[derive(Clone, Copy, Debug)]
enum Length {
    Least(usize),
    Exactly(usize),
}

/// How a word looks that nobody would write by hand.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// Not the same few letters again and again, as in examples.
    Mixed,
    /// A long run of letters and digits, both in it: `sk-` begins the names of styles and of places too.
    Random,
    /// Three parts between dots, the second an object in base 64 as well: a token that is signed.
    Parted,
}

const fn word(
    name: &'static str,
    begins: &'static [&'static str],
    letters: Letters,
    length: Length,
    look: Look,
) -> Shape {
    Shape { name, begins, rule: Rule::Word { letters, length, look } }
}

/// The shapes. Lengths are those of the tokens that these services give out.
pub(super) const SHAPES: &[Shape] = &[
    word("sk-ant-", &["sk-ant-"], Letters::Dashed, Length::Least(20), Look::Random),
    word("sk-", &["sk-"], Letters::Dashed, Length::Least(20), Look::Random),
    word("gh_", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Letters::Plain, Length::Least(36), Look::Mixed),
    word("github_pat_", &["github_pat_"], Letters::Underscored, Length::Least(60), Look::Mixed),
    word("glpat-", &["glpat-"], Letters::Dashed, Length::Least(20), Look::Mixed),
    word(
        "xox-",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-"],
        Letters::Dashed,
        Length::Least(20),
        Look::Mixed,
    ),
    word("AKIA", &["AKIA", "ASIA"], Letters::Capitals, Length::Exactly(16), Look::Mixed),
    word("AIza", &["AIza"], Letters::Dashed, Length::Least(35), Look::Mixed),
    word("hf_", &["hf_"], Letters::Plain, Length::Least(30), Look::Mixed),
    word("npm_", &["npm_"], Letters::Plain, Length::Least(36), Look::Mixed),
    word("gsk_", &["gsk_"], Letters::Plain, Length::Least(40), Look::Mixed),
    word("xai-", &["xai-"], Letters::Plain, Length::Least(40), Look::Mixed),
    word("sk_live_", &["sk_live_", "rk_live_"], Letters::Plain, Length::Least(20), Look::Mixed),
    word("jwt", &["eyJ"], Letters::Dotted, Length::Least(40), Look::Parted),
    Shape { name: "private-key", begins: &["-----BEGIN "], rule: Rule::PrivateKey },
    Shape {
        name: "authorization",
        begins: &["uthorization", "UTHORIZATION"],
        rule: Rule::Header(Bare::Seldom),
    },
    Shape {
        name: "api-key",
        begins: &["x-api-key", "X-Api-Key", "X-API-Key", "X-API-KEY", "x-goog-api-key", "X-Goog-Api-Key"],
        rule: Rule::Header(Bare::Key),
    },
    Shape { name: "api-key", begins: &["api-key", "Api-Key", "API-Key"], rule: Rule::Header(Bare::Seldom) },
    Shape { name: "login", begins: &["://"], rule: Rule::Login },
    Shape {
        name: "url-key",
        begins: &[
            "?key=",
            "&key=",
            "?api_key=",
            "&api_key=",
            "?apikey=",
            "&apikey=",
            "?access_token=",
            "&access_token=",
        ],
        rule: Rule::Query,
    },
];

/// Where a beginning was met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) text: &'a [u8],
    /// What stands before it.
    pub(super) before: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) looked: &'a Looked,
}

impl Seen<'_> {
    /// The end of a run of bytes.
    fn run(&self, from: usize, is_of_it: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_of_it(**byte)).count();
        self.looked.add(length + 1);
        from + length
    }
}

/// What was looked at in one pass. Texts such as `sk-sk-sk-…` would be gone through to their end at each beginning.
#[derive(Debug, Default)]
pub(super) struct Looked {
    steps: Cell<u64>,
    /// For each shape the end of the last run that is no key: what begins inside of it is none either.
    dull: [Cell<usize>; SHAPES.len()],
}

impl Looked {
    /// So many bytes were looked at.
    pub(super) fn add(&self, bytes: usize) {
        self.steps.set(self.steps.get().saturating_add(bytes as u64));
    }

    /// All bytes that were looked at.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    fn dull(&self, shape: usize) -> Option<&Cell<usize>> {
        self.dull.get(shape)
    }
}

/// What came of a beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It is no key.
    Nothing,
    /// The text ends before that can be seen.
    NotSeen,
    /// This is a key, and what stands for it.
    Hidden { range: Range<usize>, stands: String },
}

impl Judged {
    pub(super) fn hidden(range: Range<usize>, stands: &str) -> Self {
        Self::Hidden { range, stands: stands.to_owned() }
    }
}

/// True if more than is kept back follows a beginning.
pub(super) fn is_long(shape: usize, seen: Seen<'_>) -> bool {
    let is_of_lines = SHAPES.get(shape).is_some_and(|shape| matches!(shape.rule, Rule::PrivateKey));
    let held = if is_of_lines { HELD_LINES } else { HELD };
    seen.text.len().saturating_sub(seen.start) > held
}

/// Whether a beginning begins a key, and what of it is hidden. One that does not end is taken as far as it is kept back.
pub(super) fn judge(at: usize, seen: Seen<'_>, rest: Rest) -> Judged {
    let Some(shape) = SHAPES.get(at) else { return Judged::Nothing };
    let rest = if is_long(at, seen) { Rest::Nothing } else { rest };
    let span = match &shape.rule {
        Rule::Word { letters, length, look } => {
            let dull = seen.looked.dull(at);
            let until = dull.map_or(0, Cell::get);
            if seen.start < until && (rest == Rest::Nothing || until < seen.text.len()) {
                return Judged::Nothing;
            }
            word_at(seen, (*letters, *length, *look), dull)
        }
        Rule::Header(bare) => header(seen, *bare),
        Rule::Login => login(seen, rest),
        Rule::Query => query(seen),
        Rule::PrivateKey => return private_key::judge(shape.name, seen, rest),
    };
    match span {
        Span::OpenEnd if rest == Rest::ToCome => Judged::NotSeen,
        Span::OpenEnd | Span::None => Judged::Nothing,
        // What ends with the text may go on.
        Span::At(_, to) if to == seen.text.len() && rest == Rest::ToCome => Judged::NotSeen,
        Span::At(from, to) => {
            // Of a longer one the same is known, however much of it has come.
            let key = part(seen.text, from, to.min(from + HELD));
            Judged::hidden(from..to, &placeholder_of(word_of(key).unwrap_or(shape.name), key))
        }
    }
}

/// The name of the word that a key is wherever it stands, so that it has one placeholder.
fn word_of(key: &[u8]) -> Option<&'static str> {
    SHAPES.iter().find_map(|shape| {
        let Rule::Word { letters, length, look } = &shape.rule else { return None };
        let mut goes_on = shape.begins.iter().filter_map(|begins| key.strip_prefix(begins.as_bytes()));
        let is_it =
            goes_on.any(|rest| rest.iter().all(|byte| letters.holds(*byte)) && is_key(rest, *length, *look));
        is_it.then_some(shape.name)
    })
}

/// Where a key stands.
#[derive(Clone, Copy, Debug)]
enum Span {
    None,
    /// The text ends where it could still come.
    OpenEnd,
    At(usize, usize),
}

/// True for what a key may go on with.
pub(super) fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte)
}

fn part(text: &[u8], from: usize, to: usize) -> &[u8] {
    text.get(from..to).unwrap_or_default()
}

impl Letters {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Underscored => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Self::Dotted => Self::Dashed.holds(byte) || byte == b'.',
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

fn word_at(seen: Seen<'_>, of: (Letters, Length, Look), dull: Option<&Cell<usize>>) -> Span {
    let (Seen { text, before, start, end, .. }, (letters, length, look)) = (seen, of);
    if !begins_word(before) {
        return Span::None;
    }
    let to = seen.run(end, |byte| letters.holds(byte));
    let goes_on = matches!(length, Length::Exactly(_)) && text.get(to).is_some_and(u8::is_ascii_alphanumeric);
    if !goes_on && is_key(part(text, end, to), length, look) {
        return Span::At(start, to);
    }
    // A part of it is no key either: it is shorter, and has less in it. That does not hold for an exact length.
    if let (Some(dull), Length::Least(_)) = (dull, length) {
        dull.set(to);
    }
    if to == text.len() { Span::OpenEnd } else { Span::None }
}

/// True if what stands before a place lets a word begin there: no letter or digit, but those of an escape.
fn begins_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

fn is_key(word: &[u8], length: Length, look: Look) -> bool {
    let is_long = match length {
        Length::Least(least) => word.len() >= least,
        Length::Exactly(exactly) => word.len() == exactly,
    };
    // Such as AKIAIOSFODNN7EXAMPLE, in many a manual.
    is_long
        && !word.ends_with(b"EXAMPLE")
        && match look {
            Look::Mixed => is_mixed(word),
            Look::Random => is_random(word),
            Look::Parted => is_parted(word),
        }
}

fn is_parted(word: &[u8]) -> bool {
    let word = word.strip_suffix(b".").unwrap_or(word);
    let mut parts = word.split(|byte| *byte == b'.');
    let (first, second, third) = (parts.next(), parts.next(), parts.next());
    first.is_some_and(|part| part.len() >= 12)
        && second.is_some_and(|part| part.starts_with(b"eyJ"))
        && third.is_some_and(|part| part.len() >= 16)
        && parts.next().is_none()
}

fn is_mixed(word: &[u8]) -> bool {
    let mut met = [false; 256];
    for byte in word {
        if let Some(met) = met.get_mut(usize::from(*byte)) {
            *met = true;
        }
    }
    met.iter().filter(|met| **met).count() >= 6
}

fn is_random(word: &[u8]) -> bool {
    word.split(|byte| !byte.is_ascii_alphanumeric()).any(|run| {
        run.len() >= RANDOM_RUN
            && run.iter().any(u8::is_ascii_digit)
            && run.iter().any(u8::is_ascii_alphabetic)
            && is_mixed(run)
    })
}

/// What a header's value may begin with before the key itself.
const SCHEMES: [&[u8]; 5] = [b"bearer", b"basic", b"token", b"bot", b"apikey"];

/// The value after the name of a header, as HTTP, JSON, YAML and programs write it.
fn header(seen: Seen<'_>, bare: Bare) -> Span {
    let Seen { text, end, .. } = seen;
    let is_between = |byte: u8| b" \t\"'\\:,=>[]()`".contains(&byte);
    let begins = seen.run(end, is_between);
    if begins == text.len() {
        return Span::OpenEnd;
    }
    let between = part(text, end, begins);
    if between.len() > 16 || !between.iter().any(|byte| b":,=".contains(byte)) {
        return Span::None;
    }
    // An equals sign ends it where it is judged: in `a=b=c` each value would go on to the end of all.
    let is_of_value = |byte: u8| byte != b'=' && is_of_token(byte);
    let first = seen.run(begins, is_of_value);
    let scheme = part(text, begins, first);
    let has_scheme = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let from = if has_scheme { seen.run(first, |byte| byte == b' ') } else { begins };
    let to = if has_scheme { seen.run(from, is_of_value) } else { first };
    let value = part(text, from, to);
    let is_key = match bare {
        _ if has_scheme && scheme.eq_ignore_ascii_case(b"basic") => {
            let padding =
                part(text, to, text.len().min(to + 2)).iter().take_while(|byte| **byte == b'=').count();
            is_coded(part(text, from, to + padding))
        }
        _ if has_scheme => is_value(value) && !is_made_up(value),
        Bare::Key => is_value(value) && !is_made_up(value) && !is_code(value, text.get(to)),
        Bare::Seldom => is_random(value),
    };
    match is_key {
        true => Span::At(from, seen.run(to, is_of_token)),
        false if to == text.len() => Span::OpenEnd,
        false => Span::None,
    }
}

/// True for what is meant as it stands: a word without a digit is a name, such as YOUR_API_KEY.
fn is_value(value: &[u8]) -> bool {
    value.len() >= 8 && value.iter().any(u8::is_ascii_digit)
}

/// True for what says itself that it is none, where nothing in it looks like one.
fn is_made_up(value: &[u8]) -> bool {
    let value_small = value.to_ascii_lowercase();
    let says = |word: &&[u8]| value_small.windows(word.len()).any(|part| part == *word);
    [b"test".as_slice(), b"example", b"dummy", b"sample", b"fake"].iter().any(says) && !is_random(value)
}

/// True for what a program has there: a name within another, and what is called or picked from.
fn is_code(value: &[u8], next: Option<&u8>) -> bool {
    let is_name = |name: &[u8]| {
        name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let is_path = value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name);
    let is_called = matches!(next, Some(b'(' | b'['));
    (is_path || is_called && is_name(value)) && !is_random(value)
}

/// True for a name and a password in base 64.
fn is_coded(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) || has(u8::is_ascii_digit);
    value.len() >= 8 && value.len().is_multiple_of(4) && is_mixed
}

/// The password of a URL, or a name that is a key.
fn login(seen: Seen<'_>, rest: Rest) -> Span {
    let Seen { text, end, .. } = seen;
    let is_of_login = |byte: u8| byte.is_ascii_graphic() && !b"/?#\"'<>`\\{}|".contains(&byte);
    let to = seen.run(end, is_of_login).min(end + LONGEST_LOGIN);
    if to == text.len() && rest == Rest::ToCome {
        return Span::OpenEnd;
    }
    // A password may have one in it, a host has none.
    let whole = part(text, end, to);
    let Some(at) = whole.iter().rposition(|byte| *byte == b'@') else { return Span::None };
    if whole.get(at..).is_some_and(|host| host.starts_with(b"@sha256:")) {
        // An image by its digest.
        return Span::None;
    }
    let login = part(whole, 0, at);
    let colon = login.iter().position(|byte| *byte == b':');
    let from = colon.map_or(0, |colon| colon + 1);
    let key = part(login, from, at);
    let is_literal = match colon {
        Some(_) => key.len() >= 6 && key.iter().any(u8::is_ascii_digit) && !is_put_in(key) && !is_port(key),
        None => is_random(key) && !key.iter().any(|byte| b"@,;()".contains(byte)),
    };
    if is_literal { Span::At(end + from, end + at) } else { Span::None }
}

/// True for the name of a variable, which stands for the password.
fn is_put_in(key: &[u8]) -> bool {
    matches!(key, [b'$', next, ..] if next.is_ascii_alphabetic() || matches!(next, b'_' | b'(' | b'{'))
}

/// True for a port and what a text goes on with, such as an address of mail in the next column.
fn is_port(key: &[u8]) -> bool {
    let digits = key.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && key.get(digits).is_some_and(|byte| b",;()".contains(byte))
}

/// The value of a part of a query.
fn query(seen: Seen<'_>) -> Span {
    let Seen { text, end, .. } = seen;
    let to = seen.run(end, |byte| byte.is_ascii_alphanumeric() || b"._~%+-".contains(&byte));
    let is_long = is_random(part(text, end, to));
    if to == text.len() && !is_long {
        return Span::OpenEnd;
    }
    if is_long { Span::At(end, to) } else { Span::None }
}
