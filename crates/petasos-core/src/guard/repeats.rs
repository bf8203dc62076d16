//! Whether a reply repeats itself: its end is one block of text, over and over.
//!
//! Looked at while it streams, each time a block of the reply has grown by [`STRIDE`] bytes, and at the
//! same places whatever the deltas were; so what was cut is seen to have been cut in the log as well.
//! A look costs a few passes over at most [`LONGEST`] bytes: under a hundred operations a byte.
//!
//! Only exact repetition counts, and a lot of it. Rules (`-----`), empty rows of tables, a row of zeros,
//! padding and refrains repeat exactly too, so a short block must fill [`SHORTEST`] bytes: some thousand
//! tokens, far less than a loop would cost and far more than any of these. A paragraph that comes
//! [`REPEATS`] times word for word is no text that anybody wants. Arguments of calls are files as often
//! as not, with tables of zeros and padded images in them: there, [`LONGEST`] bytes must be filled.

use crate::entry::{Block, ModelCall, Reply};

/// The least that a block must fill in text and reasoning, in bytes.
pub(crate) const SHORTEST: usize = 4 << 10;
/// The most that is looked at, in bytes.
pub(crate) const LONGEST: usize = 16 << 10;
/// How often a block must have come.
pub(crate) const REPEATS: usize = 4;
/// Bytes between two looks.
const STRIDE: usize = 1 << 10;
/// Equal calls one after the other in one reply. Nobody needs the same thing so often at once.
pub(crate) const EQUAL_CALLS: usize = 16;

/// What a text is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text or reasoning.
    Words,
    /// Arguments of a call.
    Arguments,
}

/// True if a text that has grown from `from` bytes on ends, or ended on the way, in a block that is repeated.
pub(crate) fn has_grown_into(text: &str, from: usize, part: Part) -> bool {
    let sizes: &[usize] = match part {
        Part::Words => &[SHORTEST, 2 * SHORTEST, LONGEST],
        Part::Arguments => &[LONGEST],
    };
    let bytes = text.as_bytes();
    let looks = (from / STRIDE + 1..=bytes.len() / STRIDE).map(|look| look * STRIDE);
    looks.filter_map(|end| bytes.get(..end)).any(|seen| {
        let windows = sizes.iter().filter_map(|size| seen.get(seen.len().checked_sub(*size)?..));
        windows.into_iter().any(|window| period(window) * REPEATS <= window.len())
    })
}

/// The length of the shortest block that, repeated, makes these bytes (the last one may be cut).
fn period(bytes: &[u8]) -> usize {
    // For each beginning, the longest beginning of it that is its end too (Knuth, Morris and Pratt).
    let mut borders: Vec<usize> = Vec::with_capacity(bytes.len());
    let mut border = 0;
    for (place, byte) in bytes.iter().enumerate() {
        if place > 0 {
            while border > 0 && bytes.get(border) != Some(byte) {
                border = borders.get(border - 1).copied().unwrap_or_default();
            }
            border += usize::from(bytes.get(border) == Some(byte));
        }
        borders.push(border);
    }
    bytes.len() - border
}

/// True if calls, the last one first, begin with more equal ones than anybody needs.
pub(crate) fn are_equal<'a>(mut calls: impl Iterator<Item = (&'a str, &'a str)>) -> bool {
    let Some(last) = calls.next() else { return false };
    calls.take_while(|call| *call == last).take(EQUAL_CALLS - 1).count() == EQUAL_CALLS - 1
}

/// True if a whole reply shows why it was cut: it repeats itself.
pub(crate) fn repeats(reply: &Reply) -> bool {
    let is_text = reply.blocks.iter().any(|block| match block {
        Block::Text(text) | Block::Reasoning(text) => has_grown_into(text, 0, Part::Words),
        Block::Call(call) => has_grown_into(&call.arguments, 0, Part::Arguments),
        Block::Opaque(_) => false,
    });
    let is_raw = reply.raw.as_ref().is_some_and(|raw| has_grown_into(raw, 0, Part::Arguments));
    is_text
        || is_raw
        || (1..=reply.blocks.len()).any(|end| are_equal(reply.blocks.iter().take(end).rev().map_while(whole)))
}

fn whole(block: &Block) -> Option<(&str, &str)> {
    match block {
        Block::Call(ModelCall { name, arguments, complete: true, .. }) => Some((name, arguments)),
        Block::Call(_) | Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) => None,
    }
}
