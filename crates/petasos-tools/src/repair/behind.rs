//! What stands behind the object: words, or more of the object.
//!
//! If a quote in a text was taken for its end, or a brace was closed too early, the object goes on there.

/// True for words, behind a fence or a tag that closes what stood around the object.
pub(super) fn is_prose(rest: &str) -> bool {
    let words = behind_closings(rest);
    let goes_on = words.starts_with([',', ':', '"', '\'', '[', ']']);
    !goes_on && !words.contains(['{', '}', '[', ']']) && quotes_are_of_prose(words)
}

fn behind_closings(rest: &str) -> &str {
    let mut rest = rest.trim_start();
    loop {
        let tag = rest.strip_prefix("</").and_then(|tag| tag.split_once('>'));
        let closing = tag.filter(|(name, _)| !name.contains(|char: char| !is_of_name(char)));
        let behind = rest.strip_prefix("```").or(closing.map(|(_, behind)| behind));
        match behind {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
}

fn is_of_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '-' | ':' | '|')
}

/// True if quotes stand around words, in pairs, and single ones also within a word.
fn quotes_are_of_prose(words: &str) -> bool {
    let (mut open, mut before) = (None, None);
    let mut chars = words.chars();
    while let Some(char) = chars.next() {
        let after = chars.clone().next();
        if matches!(char, '"' | '\'') && !is_apostrophe(char, before, after) {
            open = match open {
                None if begins_quote(before, after) => Some(char),
                Some(quote) if quote == char && ends_quote(before, chars.as_str()) => None,
                // The other quote stands within words in quotes.
                Some(quote) if quote != char => open,
                None | Some(_) => return false,
            };
        }
        before = Some(char);
    }
    open.is_none()
}

fn is_apostrophe(char: char, before: Option<char>, after: Option<char>) -> bool {
    char == '\'' && [before, after].iter().all(|beside| beside.is_some_and(char::is_alphanumeric))
}

fn begins_quote(before: Option<char>, after: Option<char>) -> bool {
    before.is_none_or(|before| before.is_whitespace() || before == '(')
        && after.is_some_and(|after| !after.is_whitespace())
}

/// A colon behind the quote would make the words a name.
fn ends_quote(before: Option<char>, behind: &str) -> bool {
    before.is_some_and(|before| !before.is_whitespace())
        && !behind.trim_start().starts_with(':')
        && behind.chars().next().is_none_or(|next| next.is_whitespace() || ".,;!?)".contains(next))
}
