//! A page of a text that comes in pieces: from a line on, as much as fits, without holding the rest.

use std::sync::Arc;

use crate::mask::{Hiding, Mask};

use crate::edit::{Ends, Uniform};

/// A character of a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// Its line.
    pub(crate) line: u64,
    /// Its place in the line.
    pub(crate) column: u64,
}

impl Default for Point {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

/// Why there is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoText {
    /// The text ends before the page begins, with so many lines.
    Ended(u64),
    /// Reading ended before the page began.
    NotReached,
}

/// What is known of the size of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Nothing yet.
    Unknown,
    /// So many bytes.
    Bytes(u64),
}

/// Whether each line of a page stands behind its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// It does.
    Shown,
    /// The page is the plain text.
    None,
}

/// A page, and where the next one begins.
#[derive(Debug)]
pub(crate) struct Page {
    from: Point,
    numbers: Numbers,
    most_lines: u64,
    most_characters: usize,
    text: Vec<u8>,
    characters: usize,
    /// Where in `text` the line that is being read begins.
    line_begins: usize,
    /// The next character.
    at: Point,
    /// Whether the last byte that came ended no line.
    line_is_open: bool,
    /// Where the next page begins, once this one is full.
    next: Option<Point>,
    read: u64,
    read_when_full: u64,
    size: Size,
    ended: bool,
    notes: Vec<String>,
    /// Hides keys before the page is cut out of the text: one that a page ends in, or begins in, would be two halves that
    /// nobody knows.
    hiding: Option<Hiding>,
}

impl Page {
    /// An empty page.
    pub(crate) fn new(from: Point, most_lines: u64, most_characters: usize) -> Self {
        Self {
            from,
            numbers: Numbers::None,
            most_lines,
            most_characters,
            text: Vec::new(),
            characters: 0,
            line_begins: 0,
            at: Point::default(),
            line_is_open: false,
            next: None,
            read: 0,
            read_when_full: 0,
            size: Size::Unknown,
            ended: false,
            notes: Vec::new(),
            hiding: None,
        }
    }

    /// The same of a text whose keys are not hidden yet.
    pub(crate) fn hidden_by(self, mask: &Arc<Mask>) -> Self {
        Self { hiding: Some(Hiding::new(Arc::clone(mask))), ..self }
    }

    /// The same, with numbers or without.
    pub(crate) fn with(self, numbers: Numbers) -> Self {
        Self { numbers, ..self }
    }

    /// Tells the size of the whole.
    pub(crate) fn whole(&mut self, size: Size) {
        self.size = size;
    }

    /// Says something more below it.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// True if all of the text is on it.
    pub(crate) fn is_whole(&self) -> bool {
        self.from == Point::default() && self.next.is_none() && self.ended
    }

    /// True if nothing has come yet.
    pub(crate) fn is_at_start(&self) -> bool {
        self.read == 0
    }

    /// Bytes that came after the page was full: they only count lines.
    pub(crate) fn counted(&self) -> u64 {
        if self.next.is_some() { self.read.saturating_sub(self.read_when_full) } else { 0 }
    }

    /// Bytes that came before the page began.
    pub(crate) fn skipped(&self) -> u64 {
        if self.text.is_empty() && self.next.is_none() { self.read } else { 0 }
    }

    /// Size of the whole in bytes.
    pub(crate) fn size(&self) -> u64 {
        match self.size {
            Size::Bytes(bytes) => bytes.max(self.read),
            Size::Unknown => self.read,
        }
    }

    /// The next piece of the text, and how many bytes it had before it was made UTF-8.
    pub(crate) fn push(&mut self, piece: &[u8], bytes: u64) {
        self.read = self.read.saturating_add(bytes);
        let Some(hiding) = &mut self.hiding else { return self.take_in(piece) };
        let mut shown = Vec::with_capacity(piece.len());
        hiding.push(piece, &mut shown);
        self.take_in(&shown);
    }

    fn take_in(&mut self, piece: &[u8]) {
        if self.at.line < self.from.line && !piece.contains(&b'\n') {
            // Much of a line that is not wanted, looked at no closer.
            self.line_is_open |= !piece.is_empty();
            return;
        }
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.next.is_none() && self.at.line >= self.from.line {
                self.take(part);
            }
            self.line_is_open = !part.ends_with(b"\n");
            if !self.line_is_open {
                self.at = Point { line: self.at.line.saturating_add(1), column: 1 };
                self.line_begins = self.text.len();
            }
        }
    }

    /// There are no more pieces.
    pub(crate) fn end(&mut self) {
        let mut shown = Vec::new();
        if let Some(hiding) = &mut self.hiding {
            hiding.finish(&mut shown);
        }
        self.take_in(&shown);
        self.ended = true;
    }

    /// The page as the model reads it.
    ///
    /// # Errors
    /// [`NoText`], if the page did not begin.
    pub(crate) fn text(self) -> Result<String, NoText> {
        let lines = self.lines();
        if self.text.is_empty() && self.next.is_none() {
            return Err(if self.ended { NoText::Ended(lines) } else { NoText::NotReached });
        }
        let begins = self.from == Point::default();
        let read = String::from_utf8_lossy(&self.text);
        let is_utf8 = matches!(read, std::borrow::Cow::Borrowed(_));
        let mut text = read.replace("\r\n", "\n").replace('\0', "\u{2400}");
        if self.numbers == Numbers::Shown {
            text = numbered(&text, self.from.line);
        }
        let mut notes = Vec::new();
        if let Some(next) = self.next {
            notes.push(self.more(next, lines));
        } else if !begins {
            notes.push(format!("lines {}–{lines} of {lines}; this is the end", self.from.line));
        }
        if !is_utf8 {
            notes.push(
                "not all of it is UTF-8: other bytes are shown as \u{fffd}, edit_file keeps them".into(),
            );
        }
        notes.extend(of_ends(read.as_bytes()).map(String::from));
        if read.contains('\0') {
            notes.push("NULs are shown as \u{2400}".into());
        }
        notes.extend(self.notes);
        if !notes.is_empty() {
            if !text.ends_with('\n') {
                // The one that is put in before the brackets is not the file's.
                if self.ended && self.next.is_none() {
                    notes.push("the last line has no newline".into());
                }
                text.push('\n');
            }
            text.push_str(&format!("[{}]", notes.join("; ")));
        }
        Ok(text)
    }

    fn more(&self, next: Point, lines: u64) -> String {
        let total = if self.ended { format!("{lines}") } else { format!("more than {lines}") };
        let Point { line, column } = self.from;
        if next.column > 1 {
            let size = self.size();
            return format!(
                "line {} of {total}, characters {}–{}, of a file of {size} bytes; go on with \
                 from=\"{}:{}\", or find text in it with search_files",
                next.line,
                if next.line == line { column } else { 1 },
                next.column - 1,
                next.line,
                next.column
            );
        }
        format!("lines {line}–{} of {total}; go on with from={}", next.line.saturating_sub(1), next.line)
    }

    /// Lines that were seen; a last one without an end is one too.
    fn lines(&self) -> u64 {
        self.at.line.saturating_sub(u64::from(!self.line_is_open))
    }

    /// Takes a part of a line, as far as it fits.
    fn take(&mut self, part: &[u8]) {
        if self.at.line.saturating_sub(self.from.line) >= self.most_lines {
            self.full(Point { line: self.at.line, column: 1 });
            return;
        }
        for byte in part {
            let begins_character = *byte & 0xc0 != 0x80;
            let column = if begins_character { self.at.column } else { self.at.column.saturating_sub(1) };
            let is_wanted = self.at.line > self.from.line || column >= self.from.column;
            // Bytes that go on with no character have no end of their own, so they are counted as well.
            // The two bytes of a line end stay together.
            let ends_line = *byte == b'\n' && self.text.ends_with(b"\r");
            let is_full = (begins_character && self.characters >= self.most_characters)
                || self.text.len() >= self.most_characters.saturating_mul(4);
            if is_wanted && is_full && !ends_line {
                self.break_page();
                return;
            }
            if begins_character {
                self.at.column = self.at.column.saturating_add(1);
                self.characters += usize::from(is_wanted);
            }
            if is_wanted {
                self.text.push(*byte);
            }
        }
    }

    /// Ends the page before the line that does not fit, or inside it if it is the only one.
    fn break_page(&mut self) {
        if self.line_begins == 0 {
            self.full(self.at);
        } else {
            self.text.truncate(self.line_begins);
            self.full(Point { line: self.at.line, column: 1 });
        }
    }

    fn full(&mut self, next: Point) {
        self.next = Some(next);
        self.read_when_full = self.read;
    }
}

/// A text with the number of each line before it.
fn numbered(text: &str, first: u64) -> String {
    let lines = (first..).zip(text.split_inclusive('\n'));
    lines.map(|(number, line)| format!("{number}\t{line}")).collect()
}

/// What is said of line ends that are not shown.
fn of_ends(bytes: &[u8]) -> Option<&'static str> {
    match Ends::count(bytes) {
        (_, Uniform::No) => Some(
            "some lines end with CRLF and some with LF; edit_file keeps that, write_file gives all lines the ends that \
             most have",
        ),
        (Ends::Long, Uniform::Yes) => Some("lines end with CRLF; edit_file and write_file keep that"),
        (Ends::Short | Ends::None, Uniform::Yes) => None,
    }
}
