//! Output of a program as a person would see it: without escape codes and redraws, and always text.

/// Bytes of a line that are kept back, since a carriage return may take them away.
const LINE: usize = 8 * 1024;
/// What a zero byte is shown as.
const ZERO: &str = "\u{2400}";

/// Makes text of bytes that come in pieces.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: State,
    cursor: Cursor,
    /// The line that is being written.
    line: Vec<u8>,
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
                let is_plain =
                    |byte: &&u8| **byte >= b' ' && **byte != 0x7f || matches!(**byte, b'\n' | b'\t');
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
        text.push_str(&String::from_utf8_lossy(&self.line));
        self.line.clear();
    }

    fn byte(&mut self, byte: u8, text: &mut String) {
        self.state = match (self.state, byte) {
            (State::Text, b'\n') => {
                self.line.push(b'\n');
                self.finish(text);
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
            (State::Escape, b'[') => State::Control,
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::Title,
            (State::Escape, b'(' | b')' | b'*' | b'+' | b'#' | b'%') => State::Charset,
            (State::Control, 0x20..=0x3f) => State::Control,
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

    /// Gives on the lines that are whole.
    fn flush_lines(&mut self, text: &mut String) {
        let Some(last) = self.line.iter().rposition(|byte| *byte == b'\n') else { return };
        let kept = self.line.split_off(last + 1);
        self.finish(text);
        self.line = kept;
    }

    /// Gives on what is too long to be redrawn, up to the end of a character.
    fn flush_long(&mut self, text: &mut String) {
        if self.line.len() <= LINE {
            return;
        }
        let begun = self.line.iter().rev().take(3).position(|byte| *byte >= 0xc0).map_or(0, |at| at + 1);
        let last = self.line.len() - begun;
        // A character that is whole at the end is only kept a little longer.
        let kept = self.line.split_off(last);
        text.push_str(&String::from_utf8_lossy(&self.line));
        self.line = kept;
    }
}
