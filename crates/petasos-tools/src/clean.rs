//! Output of a program as a person would see it: without escape codes and redraws, and always text.

use std::collections::VecDeque;

/// Bytes of a line that are kept back, since a carriage return may take them away.
const LINE: usize = 8 * 1024;
/// Lines that are kept back of a program that goes up to lines which it wrote: it may write them anew.
const ROWS: usize = 100;
/// What a zero byte is shown as.
const ZERO: &str = "\u{2400}";

/// Makes text of bytes that come in pieces.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: State,
    cursor: Cursor,
    /// The line that is being written.
    line: Vec<u8>,
    /// The first number of a control sequence.
    number: usize,
    /// The lines above and below that one, once a program has gone up. What it wrote before that is gone already: the
    /// first of its pictures stays, and of all others the last.
    rows: VecDeque<Vec<u8>>,
    /// Which of them is being written: it is empty here meanwhile.
    row: usize,
    redraws: Redraws,
}

/// Whether a program goes up to lines that it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Redraws {
    #[default]
    Lines,
    Rows,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Text.
    #[default]
    Text,
    /// After an escape.
    Escape,
    /// In an escape with one more byte to come.
    Charset,
    /// In a control sequence, up to its last byte.
    Control,
    /// In a title or the like, up to its end.
    Title,
    /// The same, after an escape that may end it.
    TitleEscape,
}

/// Where the next text stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cursor {
    /// After the line.
    #[default]
    After,
    /// Over the line, since a carriage return came: it is gone with the next character, and stays if it ends
    /// before that. Colours between the two change nothing.
    Over,
}

impl Cleaner {
    /// Adds bytes; what is sure to stay is put at the end of `text`.
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut String) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            if (self.state, self.cursor) == (State::Text, Cursor::After) {
                // Nearly all of nearly all output, taken in one go.
                let goes_on = self.redraws == Redraws::Lines;
                let is_plain = |byte: &&u8| {
                    **byte >= b' ' && **byte != 0x7f || **byte == b'\t' || (goes_on && **byte == b'\n')
                };
                let plain = rest.iter().take_while(is_plain).count();
                if let Some((run, after)) = rest.split_at_checked(plain).filter(|_| plain > 0) {
                    self.line.extend_from_slice(run);
                    self.flush_lines(text);
                    self.flush_long(text);
                    rest = after;
                    continue;
                }
                let zeros = rest.iter().take_while(|byte| **byte == 0).count();
                if let Some((_, after)) = rest.split_at_checked(zeros).filter(|_| zeros > 0) {
                    self.line.extend_from_slice(ZERO.repeat(zeros).as_bytes());
                    self.flush_long(text);
                    rest = after;
                    continue;
                }
            }
            self.byte(*byte, text);
            self.flush_long(text);
            rest = after;
        }
    }

    /// There is no more.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if self.redraws == Redraws::Rows {
            self.end_rows(text);
        }
        self.give(text);
    }

    fn give(&mut self, text: &mut String) {
        text.push_str(&String::from_utf8_lossy(&self.line));
        self.line.clear();
    }

    fn byte(&mut self, byte: u8, text: &mut String) {
        self.state = match (self.state, byte) {
            (State::Text, b'\n') if self.redraws == Redraws::Rows => {
                self.next_row(text);
                State::Text
            }
            (State::Text, b'\n') => {
                self.line.push(b'\n');
                self.give(text);
                self.cursor = Cursor::After;
                State::Text
            }
            (State::Text, b'\r') => {
                self.cursor = Cursor::Over;
                State::Text
            }
            (State::Text, 0x1b) => State::Escape,
            (State::Text, _) => {
                self.plain(byte);
                State::Text
            }
            (State::Escape, b'[') => {
                self.number = 0;
                State::Control
            }
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::Title,
            (State::Escape, b'(' | b')' | b'*' | b'+' | b'#' | b'%') => State::Charset,
            (State::Control, b'0'..=b'9') => {
                self.number = self.number.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
                State::Control
            }
            (State::Control, 0x20..=0x3f) => State::Control,
            (State::Control, b'A' | b'F') => {
                self.redraws = Redraws::Rows;
                self.go_to(self.row.saturating_sub(self.number.max(1)));
                State::Text
            }
            (State::Control, b'B' | b'E') if self.redraws == Redraws::Rows => {
                let last = self.rows.len().saturating_sub(1).max(self.row);
                self.go_to(self.row.saturating_add(self.number.max(1)).min(last));
                State::Text
            }
            (State::Control, b'J') if self.redraws == Redraws::Rows && self.cursor == Cursor::Over => {
                // All from here on is wiped.
                self.line.clear();
                self.rows.truncate(self.row + 1);
                State::Text
            }
            (State::Control, b'K') => {
                // The rest of the line is wiped, which is all of it from its beginning on.
                if self.cursor == Cursor::Over {
                    self.line.clear();
                }
                State::Text
            }
            (State::Title, 0x07) => State::Text,
            (State::Title | State::TitleEscape, 0x1b) => State::TitleEscape,
            (State::TitleEscape, b'\\') => State::Text,
            // A line's end inside means that the sequence was none.
            (State::Escape | State::Charset | State::Control | State::Title | State::TitleEscape, b'\n') => {
                self.state = State::Text;
                return self.byte(byte, text);
            }
            (State::Title | State::TitleEscape, _) => State::Title,
            (State::Escape | State::Charset | State::Control, _) => State::Text,
        };
    }

    fn plain(&mut self, byte: u8) {
        if self.cursor == Cursor::Over && !matches!(byte, 0x01..=0x08 | 0x0b..=0x1f | 0x7f) {
            self.line.clear();
            self.cursor = Cursor::After;
        }
        match byte {
            0 => self.line.extend_from_slice(ZERO.as_bytes()),
            b'\t' | 0x20..=0x7e | 0x80.. => self.line.push(byte),
            // There is nothing before the beginning of a line.
            0x08 if self.cursor == Cursor::Over => {}
            0x08 => while self.line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            0x01..=0x1f | 0x7f => {}
        }
    }

    /// Goes to the beginning of a row.
    fn go_to(&mut self, row: usize) {
        let line = std::mem::take(&mut self.line);
        match self.rows.get_mut(self.row) {
            Some(kept) => *kept = line,
            None => self.rows.push_back(line),
        }
        self.row = row;
        self.line = self.rows.get_mut(row).map(std::mem::take).unwrap_or_default();
        self.cursor = Cursor::Over;
    }

    /// Goes to the row below; what has come too far up for a program to go back to it is given on.
    fn next_row(&mut self, text: &mut String) {
        self.go_to(self.row + 1);
        while self.rows.len() > ROWS && self.row > 0 {
            let first = self.rows.pop_front().unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(&first));
            text.push('\n');
            self.row -= 1;
        }
    }

    /// The rows stay as they are; the line that is being written is the last of them.
    fn end_rows(&mut self, text: &mut String) {
        let last = self.rows.len().saturating_sub(1).max(self.row);
        self.go_to(last);
        self.rows.truncate(last);
        for row in std::mem::take(&mut self.rows) {
            text.push_str(&String::from_utf8_lossy(&row));
            text.push('\n');
        }
        (self.row, self.redraws) = (0, Redraws::Lines);
    }

    /// Gives on the lines that are whole.
    fn flush_lines(&mut self, text: &mut String) {
        if self.redraws == Redraws::Rows {
            return;
        }
        let Some(last) = self.line.iter().rposition(|byte| *byte == b'\n') else { return };
        let kept = self.line.split_off(last + 1);
        self.give(text);
        self.line = kept;
    }

    /// Gives on what is too long to be redrawn, up to the end of a character.
    fn flush_long(&mut self, text: &mut String) {
        if self.line.len() <= LINE {
            return;
        }
        if self.redraws == Redraws::Rows {
            // No picture has such a line.
            self.end_rows(text);
        }
        let begun = self.line.iter().rev().take(3).position(|byte| *byte >= 0xc0).map_or(0, |at| at + 1);
        let last = self.line.len() - begun;
        // A character that is whole at the end is only kept a little longer.
        let kept = self.line.split_off(last);
        text.push_str(&String::from_utf8_lossy(&self.line));
        self.line = kept;
    }
}
