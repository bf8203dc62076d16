//! Text in quotes: its escapes, and what models write in place of them.

use super::Repair;
use super::reader::{Fault, Reader};

const BACKSLASH: &str = "write a backslash as \\\\ and a quote as \\\"";

/// The backslashes of one text that tell whether the others were meant as escapes.
#[derive(Debug)]
struct Backslashes {
    /// Where the text begins, with its quote.
    begun: usize,
    /// One began no escape and stands for itself.
    has_kept: bool,
    /// Where `\b` or `\f` stands first: nobody means the character, and many mean a word's edge or a folder.
    rare: Option<usize>,
    /// Where `\n`, `\r`, `\t` or a character by its number stands first.
    common: Option<usize>,
}

impl Backslashes {
    /// Where an escape stands that may be a backslash and a letter, since another backslash stands for itself.
    fn unsure(&self, raw: &str) -> Option<usize> {
        let common = || self.common.filter(|_| holds_windows_path(raw));
        if self.has_kept { self.rare.or_else(common) } else { None }
    }
}

/// True if a text, as it was written, holds a path from a drive, or begins like one from a server.
fn holds_windows_path(raw: &str) -> bool {
    let from_drive = |at: &[u8]| matches!(at, [b'a'..=b'z' | b'A'..=b'Z', b':', b'\\']);
    let inside =
        |at: &[u8]| matches!(at, [before, rest @ ..] if !before.is_ascii_alphanumeric() && from_drive(rest));
    let bytes = raw.as_bytes();
    raw.starts_with("\\\\") || bytes.get(..3).is_some_and(from_drive) || bytes.windows(4).any(inside)
}

impl Reader<'_> {
    /// Reads the text in quotes that begins here. Its value is what stands there: a backslash that begins no
    /// escape, and a control character, are taken as if they had been escaped.
    ///
    /// # Errors
    /// If the text does not end, or a backslash in it can be meant in two ways.
    pub(super) fn string(&mut self) -> Result<Box<str>, Fault> {
        let begun = self.here();
        let quote = self.peek();
        self.skip(1);
        let mut text = String::new();
        let mut seen = Backslashes { begun, has_kept: false, rare: None, common: None };
        let mut piece = self.here();
        loop {
            match self.peek() {
                None => return Err(self.ends_inside(begun)),
                byte if byte == quote => break,
                Some(b'\\') => {
                    text.push_str(self.since(piece));
                    self.escape(&mut seen, &mut text)?;
                    piece = self.here();
                }
                Some(byte) => {
                    if byte < b' ' {
                        self.mark(Repair::RawControl);
                    }
                    self.skip(1);
                }
            }
        }
        text.push_str(self.since(piece));
        if let Some(at) = seen.unsure(self.since(begun + 1)) {
            return Err(Fault::unsure(
                at,
                "a backslash that may stand for itself, as another here does",
                BACKSLASH,
            ));
        }
        self.skip(1);
        Ok(text.into())
    }

    /// Reads what begins with a backslash.
    fn escape(&mut self, seen: &mut Backslashes, text: &mut String) -> Result<(), Fault> {
        let at = self.here();
        self.skip(1);
        let Some(letter) = self.peek() else { return Err(self.ends_inside(seen.begun)) };
        let is_single = self.is_at(seen.begun, b'\'');
        match letter {
            b'b' | b'f' => seen.rare = seen.rare.or(Some(at)),
            b'n' | b'r' | b't' => seen.common = seen.common.or(Some(at)),
            _ => {}
        }
        let meant = match letter {
            b'"' | b'\\' => char::from(letter),
            b'/' => {
                self.differs_in_python(at);
                '/'
            }
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'\'' if is_single => '\'',
            b'u' => return self.code(at, seen, text),
            // In a shell command the backslash may be meant, in a sentence it is not.
            b'\'' => return Err(Fault::unsure(at, "a backslash before a single quote", BACKSLASH)),
            b'\n' | b'\r' => return Err(Fault::unsure(at, "a backslash before a line break", BACKSLASH)),
            // C:\proj, \d: what follows stands for itself.
            other => {
                if matches!(other, b'a' | b'v' | b'x' | b'N' | b'U' | b'0'..=b'7') {
                    self.differs_in_python(at);
                }
                self.mark(Repair::Escape);
                seen.has_kept = true;
                text.push('\\');
                return Ok(());
            }
        };
        self.skip(1);
        text.push(meant);
        Ok(())
    }

    /// Reads a character by its number, whose backslash stands at `at`; the place is at the `u`.
    fn code(&mut self, at: usize, seen: &mut Backslashes, text: &mut String) -> Result<(), Fault> {
        let is_number = self.rest().as_bytes().get(1).is_some_and(u8::is_ascii_hexdigit);
        if !is_number {
            // C:\users
            self.differs_in_python(at);
            self.mark(Repair::Escape);
            seen.has_kept = true;
            text.push('\\');
            return Ok(());
        }
        seen.common = seen.common.or(Some(at));
        let unsure = || Fault::unsure(at, "a backslash and u without four digits", BACKSLASH);
        let first = self.four_digits().ok_or_else(unsure)?;
        let half = || Fault::no_json(at, "half of a pair of surrogates", "write the character itself");
        let code = if matches!(first, 0xD800..=0xDBFF) {
            let is_pair = self.rest().starts_with("\\u");
            self.skip(usize::from(is_pair));
            let second = self.four_digits().filter(|second| is_pair && matches!(second, 0xDC00..=0xDFFF));
            0x1_0000 + ((first - 0xD800) << 10) + (second.ok_or_else(half)? - 0xDC00)
        } else {
            first
        };
        text.push(char::from_u32(code).ok_or_else(half)?);
        Ok(())
    }

    /// The number behind the `u` that stands here.
    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.rest().get(1..5)?;
        let digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(digits)?;
        self.skip(5);
        u32::from_str_radix(digits, 16).ok()
    }
}
