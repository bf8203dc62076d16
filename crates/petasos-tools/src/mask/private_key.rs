//! Private keys between their marks. The marks stay, and so do the ends of the lines: a program counts them.

use super::shapes::{Judged, Seen};
use super::{Rest, placeholder_of};

/// Bytes of a mark after its dashes.
const LONGEST_MARK: usize = 60;
/// Letters of the first line of a key: a text that only tells of the mark has none.
const FIRST_LINE: usize = 16;
/// Words in a row that are no line of a key, such as headers and places, and bytes of a header.
const MOST_BETWEEN: usize = 24;
const LONGEST_HEADER: usize = 512;

/// What is hidden after the mark that begins a key.
pub(super) fn judge(name: &str, seen: Seen<'_>, rest: Rest) -> Judged {
    let after = seen.text.get(seen.end..).unwrap_or_default();
    let mark = after
        .iter()
        .take(LONGEST_MARK)
        .take_while(|byte| byte.is_ascii_uppercase() || **byte == b' ')
        .count();
    let label = after.get(..mark).unwrap_or_default();
    if mark == after.len() && rest == Rest::ToCome {
        return Judged::NotSeen;
    }
    let Some(inside) = after.get(mark..).and_then(|after| after.strip_prefix(b"-----".as_slice())) else {
        let may_come = after.len() < mark + 5 && rest == Rest::ToCome;
        return if may_come { Judged::NotSeen } else { Judged::Nothing };
    };
    if !label.windows(11).any(|part| part == b"PRIVATE KEY") {
        return Judged::Nothing;
    }
    let mut body = Body { text: inside, at: 0 };
    body.blanks();
    let from = body.at;
    let end = body.end(rest);
    seen.looked.add(body.at);
    match end {
        End::NotSeen => Judged::NotSeen,
        End::At(to) if to > from => {
            let begins = seen.text.len() - inside.len();
            let key = inside.get(from..to).unwrap_or_default();
            let lines = key.iter().filter(|byte| **byte == b'\n').count();
            let stands = format!("{}{}", placeholder_of(name, key), "\n".repeat(lines));
            Judged::hidden(begins + from..begins + to, &stands)
        }
        End::At(_) => Judged::Nothing,
    }
}

enum End {
    NotSeen,
    At(usize),
}

/// What follows the mark.
struct Body<'a> {
    text: &'a [u8],
    at: usize,
}

impl Body<'_> {
    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Passes over blanks, ends of lines, ends of lines as a string has them, and what stands between strings.
    fn blanks(&mut self) {
        loop {
            let passed = match self.rest() {
                [b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b',', ..] => 1,
                [b'+', b' ' | b'"' | b'\'' | b'\r' | b'\n', ..] => 1,
                [b'\\', b'n' | b'r' | b't', ..] => 2,
                [b'\\', b'\\', b'n' | b'r', ..] => 3,
                _ => return,
            };
            self.at += passed;
        }
    }

    /// Where the key ends: at the last of its lines, or at 0 if it has none.
    fn end(&mut self, rest: Rest) -> End {
        let (mut to, mut between) = (0, 0);
        loop {
            let length = self.rest().iter().take_while(|byte| is_of_word(**byte)).count();
            if self.at + length >= self.text.len() && rest == Rest::ToCome {
                return End::NotSeen;
            }
            between += 1;
            match Word::of(self.rest().get(..length).unwrap_or_default()) {
                // Else a text of many such words would be gone through to its end from each mark in it.
                Word::Header | Word::Place if between > MOST_BETWEEN => return End::At(to),
                Word::Header => {
                    let is_of_line = |byte: &&u8| !matches!(byte, b'\n' | b'\\');
                    self.at += self.rest().iter().take(LONGEST_HEADER).take_while(is_of_line).count();
                }
                Word::Place => self.at += length,
                Word::Letters { .. } if to == 0 && length < FIRST_LINE => return End::At(0),
                Word::Letters { ends } => {
                    self.at += length;
                    (to, between) = (self.at, 0);
                    if ends {
                        return End::At(to);
                    }
                }
                Word::Other => return End::At(to),
            }
            self.blanks();
            if self.rest().is_empty() {
                return if rest == Rest::ToCome { End::NotSeen } else { End::At(to) };
            }
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\\\"',".contains(&byte)
}

/// A word of what follows the mark.
enum Word {
    /// A header: what follows in the line belongs to it.
    Header,
    /// The place of a line in a file.
    Place,
    /// A line of the key; a short one is its last.
    Letters { ends: bool },
    /// It belongs to no key.
    Other,
}

impl Word {
    fn of(word: &[u8]) -> Self {
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        // Before it may stand what compares and what counts lines put there.
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let counted = word
            .get(digits..)
            .and_then(|rest| rest.strip_prefix(b":".as_slice()).or(rest.strip_prefix(b"-".as_slice())));
        let line = counted.filter(|_| digits > 0).or(word.strip_prefix(b"-".as_slice())).unwrap_or(word);
        // As `12`, and `path:12:` or `path-12-` of a search.
        let place = word.strip_suffix(b":".as_slice()).or(word.strip_suffix(b"-".as_slice()));
        let is_place = place.is_some_and(|place| place.last().is_some_and(u8::is_ascii_digit));
        let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit) && word.len() < FIRST_LINE;
        if is_number || is_place {
            return Self::Place;
        }
        if word.len() > 1 && word.ends_with(b":") {
            return Self::Header;
        }
        if !line.is_empty() && line.iter().all(is_base64) {
            return Self::Letters { ends: line.len() < FIRST_LINE || line.contains(&b'=') };
        }
        Self::Other
    }
}
