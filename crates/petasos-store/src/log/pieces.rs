//! Splits the bytes of a log into lines whose sum is right, and what is between them.

use super::Ending;
use crate::line::{BEFORE_SUM, SUM_LENGTH, without_sum};

/// How many places of a damaged segment are tried for a whole line in it. Bounds the time for bytes that
/// look like many lines.
const TRIES: usize = 32;
/// How a line begins.
const LINE_START: &[u8] = b"{\"v\":";

/// A part of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Its first byte.
    pub(super) from: usize,
    /// Its bytes; those of a line without the newline.
    pub(super) bytes: &'a [u8],
    /// What it is.
    pub(super) what: What,
}

/// What a part of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A line with the right sum.
    Line(Ending),
    /// Anything else.
    Bad,
}

impl Piece<'_> {
    /// The byte after it, and after its newline if it is a line that has one.
    pub(super) fn end(&self) -> usize {
        let newline = usize::from(self.what == What::Line(Ending::Newline));
        self.from + self.bytes.len() + newline
    }
}

/// All parts of a log, in their order, without gaps. Two bad ones never stand side by side.
pub(super) fn pieces(bytes: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut from = 0;
    for segment in bytes.split_inclusive(|byte| *byte == b'\n') {
        for piece in of_segment(from, segment) {
            match pieces.last_mut() {
                Some(last) if last.what == What::Bad && piece.what == What::Bad => {
                    last.bytes = bytes.get(last.from..piece.end()).unwrap_or(last.bytes);
                }
                _ => pieces.push(piece),
            }
        }
        from += segment.len();
    }
    pieces
}

/// The parts of what stands between two newlines. A damaged newline makes one segment of two lines, which
/// costs neither of them: a whole line at the beginning or the end of a segment is found. Inside it none is
/// looked for, since the body of an unknown kind may hold what looks like a line.
fn of_segment(from: usize, segment: &[u8]) -> Vec<Piece<'_>> {
    let (line, ending) = match segment.strip_suffix(b"\n") {
        Some(line) => (line, Ending::Newline),
        None => (segment, Ending::Bare),
    };
    if without_sum(line).is_some() {
        return vec![Piece { from, bytes: line, what: What::Line(ending) }];
    }
    let head = places(line, BEFORE_SUM)
        .filter_map(|at| line.get(..at + SUM_LENGTH))
        .find(|candidate| without_sum(candidate).is_some())
        .map_or(0, <[u8]>::len);
    let tail = places(line, LINE_START)
        .filter(|at| ending == Ending::Newline && *at > head)
        .find(|at| line.get(*at..).is_some_and(|candidate| without_sum(candidate).is_some()))
        .unwrap_or(segment.len());
    let part = |start: usize, end: usize, what| Piece {
        from: from + start,
        bytes: segment.get(start..end).unwrap_or_default(),
        what,
    };
    let head_line = part(0, head, What::Line(Ending::Bare));
    let between = part(head, tail, What::Bad);
    let tail_line = part(tail, line.len(), What::Line(ending));
    [head_line, between, tail_line].into_iter().filter(|piece| !piece.bytes.is_empty()).collect()
}

/// The first places where `needle` stands.
fn places<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes
        .windows(needle.len())
        .enumerate()
        .filter(move |(_, window)| *window == needle)
        .map(|(at, _)| at)
        .take(TRIES)
}
