//! JSON that is read while it comes: where an object ends, and what a string says.

/// Looks for the end of an object that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToEnd {
    depth: usize,
    string: InString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InString {
    No,
    Yes,
    Escaped,
}

impl ToEnd {
    /// So many brackets are open.
    pub(super) fn of(depth: usize) -> Self {
        Self { depth, string: InString::No }
    }

    /// Takes more in. Behind the bracket that closes the last one, what is left; none if it is not there yet.
    pub(super) fn take<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        for (at, letter) in text.char_indices() {
            self.string = match (self.string, letter) {
                (InString::Escaped, _) => InString::Yes,
                (InString::Yes, '\\') => InString::Escaped,
                (InString::Yes, '"') => InString::No,
                (InString::Yes, _) => InString::Yes,
                (InString::No, '"') => InString::Yes,
                (InString::No, '{' | '[') => {
                    self.depth += 1;
                    InString::No
                }
                (InString::No, '}' | ']') => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return text.get(at + letter.len_utf8()..);
                    }
                    InString::No
                }
                (InString::No, _) => InString::No,
            };
        }
        None
    }
}

/// Reads the inside of a JSON string that comes in pieces; an escape may be cut anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unescape {
    /// A backslash and what followed it so far.
    escape: String,
    /// The first half of a pair.
    high: Option<u32>,
}

impl Unescape {
    /// Takes more in and says what it means. Behind the closing quote, what is left; none if it is not there yet.
    pub(super) fn take<'a>(&mut self, text: &'a str, said: &mut String) -> Option<&'a str> {
        for (at, letter) in text.char_indices() {
            if !self.escape.is_empty() {
                self.escape.push(letter);
                self.escaped(said);
                continue;
            }
            match letter {
                '\\' => self.escape.push(letter),
                '"' => {
                    self.end(said);
                    return text.get(at + letter.len_utf8()..);
                }
                _ => {
                    self.end(said);
                    said.push(letter);
                }
            }
        }
        None
    }

    /// No more comes: half a character stands for one that cannot be read.
    pub(super) fn end(&mut self, said: &mut String) {
        if self.high.take().is_some() {
            said.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn escaped(&mut self, said: &mut String) {
        let meant = match self.escape.chars().nth(1) {
            Some('u') if self.escape.chars().count() < 6 => return,
            Some('u') => return self.unit(said),
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            // A quote, a slash, a backslash; a model that escapes anything else means that letter.
            Some(letter) => letter,
            None => return,
        };
        self.escape.clear();
        self.end(said);
        said.push(meant);
    }

    /// `\uXXXX`, of which two may be one character.
    fn unit(&mut self, said: &mut String) {
        let escape = std::mem::take(&mut self.escape);
        let unit = escape.strip_prefix("\\u").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let meant = match (self.high.take(), unit) {
            (Some(high), Some(low @ 0xdc00..=0xdfff)) => {
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            }
            (before, unit) => {
                if before.is_some() {
                    said.push(char::REPLACEMENT_CHARACTER);
                }
                if let Some(high @ 0xd800..=0xdbff) = unit {
                    self.high = Some(high);
                    return;
                }
                unit.and_then(char::from_u32)
            }
        };
        said.push(meant.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
}
