//! Server-sent events, from bytes as they come: any split of the same bytes gives the same events.
//!
//! Nothing is decoded before its line is whole, so a character that is split over two reads stays one
//! character; U+FFFD stands only for bytes that are no UTF-8. Each byte is looked at once. What waits
//! for its end is never more than the cap.

/// The most that one event may hold, unless told otherwise: 8 MiB, as much as a whole reply.
pub const EVENT_CAP: usize = 8 << 20;

/// Of a line that is no field of an event, the bytes that are kept to be shown.
const OTHER_CAP: usize = 4 << 10;

/// An event that is still coming counts as progress from this size on.
const GROWN: usize = 1 << 10;

/// The fields of events (html.spec.whatwg.org, server-sent events). A comment has none.
const FIELDS: [&str; 5] = ["", "data", "event", "id", "retry"];

/// Reads server-sent events.
#[derive(Clone, Debug)]
pub struct SseReader {
    cap: usize,
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    after_return: bool,
    is_first_line: bool,
    other: Option<String>,
}

/// An event that came whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its lines of data, joined by line feeds.
    pub data: String,
}

/// An event is larger than the cap, or a line does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is over {0} bytes")]
pub struct EventTooLarge(pub usize);

impl Default for SseReader {
    fn default() -> Self {
        Self::new(EVENT_CAP)
    }
}

impl SseReader {
    /// A reader that takes events of at most so many bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            line: Vec::new(),
            name: String::new(),
            data: None,
            after_return: false,
            is_first_line: true,
            other: None,
        }
    }

    /// Takes the next bytes in; the events that end in them go to `events`, in order.
    ///
    /// # Errors
    /// [`EventTooLarge`]; nothing can be read from the stream after that.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        // A line feed after a carriage return belongs to it, also if it comes in a later read.
        if self.after_return && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            self.after_return = false;
        }
        while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, rest) = bytes.split_at(at);
            self.grow(line)?;
            self.end_line(events)?;
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
                [_, rest @ ..] => {
                    self.after_return = rest.is_empty();
                    rest
                }
                [] => rest,
            };
        }
        self.grow(bytes)
    }

    /// No more bytes come. What waited for its blank line is taken as it is: servers close right after
    /// the last line, and a line that was cut is no JSON, which whoever reads it will see.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let mut events = Vec::new();
        let may_go_on = FIELDS.iter().any(|field| field.as_bytes().starts_with(&self.line));
        let other = self.other.take();
        self.end_line(&mut events).ok()?;
        // Of a line that was cut nobody knows what it was to be.
        if may_go_on || other.is_some() {
            self.other = other;
        }
        self.end_event(&mut events);
        events.pop()
    }

    /// The first line that is no field of an event: the beginning of what is no stream at all.
    pub(crate) fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Bytes of data of an event that is not whole yet.
    pub fn waiting(&self) -> usize {
        let line = if self.line.starts_with(b":") { 0 } else { self.line.len() };
        line + self.data.as_ref().map_or(0, String::len)
    }

    /// True if a large event grew beyond so many bytes of data: what only keeps a connection open is smaller, and may
    /// come in pieces too.
    pub(crate) fn is_larger_than(&self, before: usize) -> bool {
        self.waiting() > before.max(GROWN)
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        // Of a comment only the colon is kept, until its end.
        let start = if self.line.is_empty() { bytes } else { self.line.as_slice() };
        if start.starts_with(b":") {
            self.line.resize(1, b':');
            return Ok(());
        }
        let waiting = self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len);
        if waiting + bytes.len() > self.cap {
            return Err(EventTooLarge(self.cap));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        let bytes = std::mem::take(&mut self.line);
        let mut bytes = bytes.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        if bytes.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        let line = String::from_utf8_lossy(bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments have no field name; ids and waits are of no use for a request that is not repeated.
            _ if FIELDS.contains(&field) || self.other.is_some() => {}
            _ => {
                let mut other = line.into_owned();
                other.truncate(other.floor_char_boundary(OTHER_CAP));
                self.other = Some(other);
            }
        }
        // Bytes that are no UTF-8 grow threefold.
        let size = self.name.len() + self.data.as_ref().map_or(0, String::len);
        if size > self.cap { Err(EventTooLarge(self.cap)) } else { Ok(()) }
    }

    fn end_event(&mut self, events: &mut Vec<SseEvent>) {
        let name = std::mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            events.push(SseEvent { name, data });
        }
    }
}
