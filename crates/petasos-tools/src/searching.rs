//! Looking for a pattern in files, one after the other, for as long and as far as a call may.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::time::{Duration, Instant};

use grep_matcher::Matcher as _;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::encoding::{Bom, Encoding, Later};
use crate::found::Found;
use crate::pattern::Pattern;
use crate::tool::Stop;

/// Memory for one line; a file with a longer one is left out and counted.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// What tells that there is a private key in a file.
const KEY: &[u8] = b"PRIVATE KEY-----";

/// How far one search goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long.
    pub(crate) time: Duration,
    /// Bytes that are read.
    pub(crate) bytes: u64,
}

/// Why not all was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The call was stopped.
    Stopped,
    /// It took as long as it may.
    Time(Duration),
    /// It read as much as it may.
    Bytes(u64),
}

/// A search as far as it has come.
#[derive(Debug)]
pub(crate) struct Searching<'a> {
    stop: &'a Stop,
    limits: Limits,
    until: Option<Instant>,
    read: u64,
    /// Set once something was not looked at because of it.
    ended: Option<Ended>,
    pattern: Pattern,
    searcher: Searcher,
    /// The beginning of the file that is searched, its room used again.
    beginning: Vec<u8>,
    pub(crate) found: Found,
    /// Files, or names, that were looked into.
    pub(crate) looked_into: u64,
    pub(crate) binary: u64,
    pub(crate) unread: u64,
}

impl<'a> Searching<'a> {
    /// One that has not begun. `around` lines are shown before and after each match.
    pub(crate) fn new(pattern: Pattern, around: usize, found: Found, stop: &'a Stop, limits: Limits) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(pattern.ends)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LONGEST_LINE))
            // The encoding is told here, not by the library: it knows only those with a byte-order mark.
            .bom_sniffing(false)
            .line_number(true)
            .before_context(around)
            .after_context(around)
            .build();
        Self {
            stop,
            limits,
            // A time that no clock reaches is no limit.
            until: Instant::now().checked_add(limits.time),
            read: 0,
            ended: None,
            pattern,
            searcher,
            beginning: vec![0; Encoding::BEGINNING],
            found,
            looked_into: 0,
            binary: 0,
            unread: 0,
        }
    }

    /// True if it goes no further: what comes next is not looked at.
    pub(crate) fn goes_no_further(&mut self) -> bool {
        self.ended = self.ended.or_else(|| ended(self.stop, self.until, self.limits, self.read));
        self.ended.is_some()
    }

    /// Why not all was searched; none if all was.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.or(self.stop.is_raised().then_some(Ended::Stopped))
    }

    /// Looks at a name.
    pub(crate) fn name(&mut self, bytes: &[u8], shown: &str) {
        self.looked_into += 1;
        if self.pattern.matcher.is_match(bytes).unwrap_or(false) {
            self.found.name(shown);
        }
    }

    /// Looks into a file.
    pub(crate) fn file(&mut self, file: &File, shown: &str) {
        self.looked_into += 1;
        self.found.begin(shown);
        let mut source =
            Source { file, stop: self.stop, until: self.until, limits: self.limits, read: self.read };
        let filled = fill(&mut source, &mut self.beginning);
        self.read = source.read;
        let Ok(length) = filled else {
            self.unread += u64::from(!self.goes_no_further());
            return;
        };
        let beginning = self.beginning.get(..length).unwrap_or_default();
        let encoding = Encoding::of(beginning);
        let is_text = matches!(encoding, Encoding::Utf16(..)) || memchr::memchr(0, beginning).is_none();
        if !is_text {
            self.binary += 1;
            return;
        }
        let is_whole = length < Encoding::BEGINNING;
        let as_it_is = matches!(encoding, Encoding::Utf8(Bom::None) | Encoding::Bytes);
        // A line of a private key alone is known to nobody: it is looked for in a text without it.
        let marked = is_whole && as_it_is && beginning.windows(KEY.len()).any(|part| part == KEY);
        let hidden = marked.then(|| self.found.hide(&String::from_utf8_lossy(beginning)));
        let beginning = hidden.as_ref().map_or(beginning, |hidden| hidden.as_bytes());
        let mut lines = Lines { pattern: &self.pattern, found: &mut self.found, is_binary: false };
        let matcher = &self.pattern.matcher;
        let searched = if is_whole && as_it_is {
            self.searcher.search_slice(matcher, beginning, &mut lines)
        } else {
            let whole = Cursor::new(beginning).chain(&mut source);
            if as_it_is && beginning.is_ascii() {
                self.searcher.search_reader(matcher, Later::new(whole), &mut lines)
            } else if as_it_is {
                self.searcher.search_reader(matcher, whole, &mut lines)
            } else {
                self.searcher.search_reader(matcher, encoding.reader(whole), &mut lines)
            }
        };
        let is_binary = lines.is_binary;
        self.read = source.read;
        if is_binary {
            self.binary += 1;
            self.found.take_back();
        } else if searched.is_err() {
            self.unread += u64::from(!self.goes_no_further());
        }
    }
}

fn ended(stop: &Stop, until: Option<Instant>, limits: Limits, read: u64) -> Option<Ended> {
    if stop.is_raised() {
        Some(Ended::Stopped)
    } else if until.is_some_and(|until| Instant::now() >= until) {
        Some(Ended::Time(limits.time))
    } else if read >= limits.bytes {
        Some(Ended::Bytes(limits.bytes))
    } else {
        None
    }
}

/// As much of a file as there is room for.
fn fill(source: &mut Source<'_>, room: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = room.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match source.read(rest) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A file that can be read for as long as the search goes on: one of them may take longer than a stop may.
struct Source<'a> {
    file: &'a File,
    stop: &'a Stop,
    until: Option<Instant>,
    limits: Limits,
    read: u64,
}

impl Read for Source<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if ended(self.stop, self.until, self.limits, self.read).is_some() {
            return Err(io::Error::other("the search ended"));
        }
        let length = self.file.read(piece)?;
        self.read = self.read.saturating_add(length as u64);
        Ok(length)
    }
}

/// Takes the lines of one file.
struct Lines<'a> {
    pattern: &'a Pattern,
    found: &'a mut Found,
    is_binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found.line(line.line_number().unwrap_or(0), line.bytes(), &self.pattern.matcher);
        Ok(!self.found.is_full())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.found.around(line.line_number().unwrap_or(0), line.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.found.gap();
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
