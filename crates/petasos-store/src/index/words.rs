//! Texts as they are compared and as they are indexed, and what is looked for in them.
//!
//! What is looked for stands in a text as it was typed; only the case of letters and the kind and number of blanks do not
//! count. In scripts with blanks between words it begins where a word begins. The index finds the entries that may hold
//! it by the tokens in their order, and each of them is compared with what was typed before it is shown.
//!
//! A token is a word of a script with blanks between words, or any other single character: one of Chinese, Japanese,
//! Korean or Thai, or a sign. So words of one character are found, and so are `->` and `C++`.

/// Characters of a token. A longer word is cut into several.
const TOKEN: usize = 64;
/// ASCII signs are indexed as characters of a private area, since the index takes a sign itself for a blank.
const SIGNS: u32 = 0xe000;
/// Characters of a text that a snippet shows before what was found.
const BEFORE: usize = 60;
/// Characters that it shows behind.
const AFTER: usize = 100;

/// What is looked for: all terms have to stand in one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    first: Term,
    more: Vec<Term>,
}

/// What is typed has nothing in it that can be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing to look for")]
pub struct BadQuery;

/// One thing that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// As it is compared.
    folded: String,
    /// Its tokens, as the index takes them.
    tokens: String,
}

/// What stands around what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Before it.
    pub before: String,
    /// What was found, as it stands in the text.
    pub found: String,
    /// Behind it.
    pub after: String,
}

impl Query {
    /// Reads what was typed: terms with blanks between them; quotes (`"…"`) hold one together.
    ///
    /// # Errors
    /// Nothing of it can be looked for.
    pub fn read(text: &str) -> Result<Self, BadQuery> {
        let mut terms = typed(text).into_iter().filter_map(|term| Term::of(&term));
        let first = terms.next().ok_or(BadQuery)?;
        Ok(Self { first, more: terms.collect() })
    }

    /// What the index is asked: the phrases of all terms, the last word of each as the beginning of one.
    pub(super) fn asked(&self) -> String {
        let asked = |term: &Term| {
            let begins = if term.folded.chars().next_back().is_some_and(is_in_word) { " *" } else { "" };
            format!("\"{}\"{begins}", term.tokens)
        };
        self.terms().map(asked).collect::<Vec<_>>().join(" AND ")
    }

    /// What stands around the first term, if all of them are in these texts of an entry.
    pub(super) fn find<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Option<Snippet> {
        let texts: Vec<(&str, String)> = texts.map(|text| (text, folded(text))).collect();
        let has = |term: &Term| texts.iter().any(|(_, folded)| term.place(folded).is_some());
        if !self.more.iter().all(has) {
            return None;
        }
        texts.iter().find_map(|(text, folded)| {
            let from = self.first.place(folded)?;
            Some(Snippet::of(text, from, from + self.first.folded.len()))
        })
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.first).chain(&self.more)
    }
}

impl Term {
    fn of(typed: &str) -> Option<Self> {
        let folded = folded(typed.trim());
        let tokens = tokens(&folded);
        (!tokens.is_empty()).then_some(Self { folded, tokens })
    }

    /// The first place where it stands and does not begin inside a word.
    fn place(&self, folded: &str) -> Option<usize> {
        let first = self.folded.chars().next()?;
        let mut from = 0;
        loop {
            let at = from + folded.get(from..)?.find(&self.folded)?;
            let before = folded.get(..at).and_then(|before| before.chars().next_back());
            if !(is_in_word(first) && before.is_some_and(is_in_word)) {
                return Some(at);
            }
            // The next one may overlap this one, as 0.0 does in 10.0.0.1.
            from = at + first.len_utf8();
        }
    }
}

impl Snippet {
    /// What stands in a text around these bytes of its folded form.
    fn of(text: &str, from: usize, to: usize) -> Self {
        let mut shown: Vec<(usize, char)> = Vec::new();
        let mut length = 0;
        for (character, folded) in folding(text) {
            shown.push((length, character));
            length += folded.map(char::len_utf8).sum::<usize>();
        }
        let start = shown.partition_point(|(at, _)| *at < from);
        let end = shown.partition_point(|(at, _)| *at < to);
        let piece = |from: usize, to: usize| {
            let piece = shown.iter().skip(from).take(to.saturating_sub(from));
            piece.map(|(_, character)| *character).collect::<String>()
        };
        let first = start.saturating_sub(BEFORE);
        let dots = if first > 0 { "…" } else { "" };
        let last = shown.len().min(end + AFTER);
        let more = if last < shown.len() { "…" } else { "" };
        Self {
            before: format!("{dots}{}", piece(first, start)),
            found: piece(start, end),
            after: format!("{}{more}", piece(end, last)),
        }
    }
}

/// The terms that were typed.
fn typed(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    // A quote that is never closed is a sign like others.
    let mut quotes = text.matches('"').count() / 2 * 2;
    let mut is_quoted = false;
    for character in text.chars() {
        if character == '"' && quotes > 0 {
            quotes -= 1;
            is_quoted = !is_quoted;
            terms.push(String::new());
        } else if character.is_whitespace() && !is_quoted {
            terms.push(String::new());
        } else if let Some(term) = terms.last_mut() {
            term.push(character);
        }
    }
    terms
}

/// The text as it is compared.
pub(super) fn folded(text: &str) -> String {
    let mut folded_text = String::with_capacity(text.len());
    for (_, folded) in folding(text) {
        folded_text.extend(folded);
    }
    folded_text
}

/// The characters of a text as they are shown, each with those that it is compared by: a run of blanks is one blank.
fn folding(text: &str) -> impl Iterator<Item = (char, std::char::ToLowercase)> + '_ {
    let mut was_blank = false;
    text.chars().filter_map(move |character| {
        let is_blank = character.is_whitespace() || character.is_control();
        let is_more = is_blank && was_blank;
        was_blank = is_blank;
        let shown = if is_blank { ' ' } else { character };
        (!is_more).then(|| (shown, shown.to_lowercase()))
    })
}

/// The tokens of a folded text, with blanks between them.
pub(super) fn tokens(folded: &str) -> String {
    let mut tokens = String::with_capacity(folded.len() + folded.len() / 2);
    // Characters of the word that the tokens end with.
    let mut length = 0;
    for character in folded.chars() {
        let is_word = is_in_word(character);
        if character == ' ' {
            length = 0;
            continue;
        }
        if (!is_word || length == 0 || length == TOKEN) && !tokens.is_empty() {
            tokens.push(' ');
        }
        length = match (is_word, length) {
            (false, _) => 0,
            (true, TOKEN) => 1,
            (true, length) => length + 1,
        };
        match char::from_u32(SIGNS + u32::from(character)) {
            Some(sign) if character.is_ascii_punctuation() => tokens.push(sign),
            Some(_) | None => tokens.push(character),
        }
    }
    tokens
}

/// True for a character that is one of several of a token.
fn is_in_word(character: char) -> bool {
    character.is_alphanumeric() && !has_no_blanks(character)
}

/// True for scripts that set no blanks between words: Thai, Lao, Tibetan, Burmese, Khmer, Chinese, Japanese and Korean.
fn has_no_blanks(character: char) -> bool {
    matches!(u32::from(character),
        0x0e00..=0x0fff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x2e80..=0x2fdf | 0x3040..=0x31ff
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x323af)
}
