//! Reads a log in pieces, as long as nothing is odd in it.

use std::io;
use std::ops::Range;
use std::path::Path;

use petasos_core::entry::{Body, Entry};
use petasos_core::id::{Seq, SessionId};

use crate::disk::Disk;
use crate::line::without_sum;
use crate::store::check_layout;

/// Bytes that are read at once; a longer line is read as a whole.
const PIECE: u64 = 1 << 20;

/// A line of a log.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) entry: Entry,
    /// Where it stands, without its newline.
    pub(super) place: Range<u64>,
}

/// What comes next in a log.
#[derive(Debug)]
pub(super) enum Piece {
    /// Lines, one at least.
    Lines(Vec<Line>),
    /// Nothing: this is its end.
    End,
    /// Something that is no line with the right sum and the next number. Only a reading of the whole log tells what it
    /// means.
    Odd,
}

/// Reads the lines of a log from a place where one begins.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) log: &'a Path,
    pub(super) session: &'a SessionId,
    /// Where the next line begins.
    pub(super) at: u64,
    /// The seq that it has to have.
    pub(super) next: Seq,
    /// Where reading ends.
    pub(super) until: u64,
}

impl Lines<'_> {
    /// The next lines.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn read(&mut self) -> io::Result<Piece> {
        if self.at >= self.until {
            return Ok(Piece::End);
        }
        let mut length = PIECE;
        loop {
            let to = self.at.saturating_add(length).min(self.until);
            let bytes = self.disk.read(self.log, self.at..to)?;
            let end = bytes.iter().rposition(|byte| *byte == b'\n');
            match end.and_then(|end| bytes.get(..=end)) {
                Some(whole) => return Ok(self.lines(whole).map_or(Piece::Odd, Piece::Lines)),
                None if to == self.until => return Ok(Piece::Odd),
                None => length = length.saturating_mul(2),
            }
        }
    }

    fn lines(&mut self, bytes: &[u8]) -> Option<Vec<Line>> {
        let mut lines = Vec::new();
        let (mut at, mut next) = (self.at, self.next);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n")?;
            without_sum(text)?;
            let entry = Entry::read(std::str::from_utf8(text).ok()?).ok()?;
            if entry.seq != next || !self.is_in_its_place(&entry) {
                return None;
            }
            lines.push(Line { entry, place: at..at.saturating_add(text.len() as u64) });
            at = at.saturating_add(line.len() as u64);
            next = next.next();
        }
        (self.at, self.next) = (at, next);
        Some(lines)
    }

    /// The first line, and no other, is that of the session.
    fn is_in_its_place(&self, entry: &Entry) -> bool {
        if let Body::SessionStart(start) = &entry.body {
            return entry.seq == Seq(0) && start.id == *self.session && check_layout(start).is_ok();
        }
        entry.seq != Seq(0)
    }
}
