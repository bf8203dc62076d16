//! Reading a log: which bytes are entries, which are damage, and how the log goes on.
//!
//! Whatever the bytes are, reading ends, and gives only entries whose sum is right. What is not such an entry
//! is told as [`Damage`]. At the end of the log it is cut off (after it was set aside); between good lines it
//! stays where it is, so that the places of all the others hold.

mod pieces;
mod reading;

use std::ops::Range;

use petasos_core::entry::{Body, Damage, Entry};
use petasos_core::id::{Epoch, Seq, SessionId};

use crate::store::Contents;
use reading::Reading;

/// What a log holds, and what opening it has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// The entries, by seq.
    pub(crate) entries: Vec<Entry>,
    /// Where each line that counts stands, without its newline: those too that this program cannot read.
    pub(crate) places: Vec<(Seq, Range<usize>)>,
    /// What was found wrong, by its place.
    pub(crate) found: Vec<Found>,
    /// What earlier `open` entries name and what is in the log still.
    pub(crate) named: Vec<Damage>,
    /// The seq of the entry that comes next: after the highest one seen.
    pub(crate) next: Seq,
    /// The highest epoch seen.
    pub(crate) epoch: Epoch,
    /// Length of all that was read.
    pub(crate) length: u64,
    /// Length of what stays: all up to the last whole line.
    pub(crate) stays: u64,
    /// How that part ends.
    pub(crate) ending: Ending,
}

/// Something found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What an `open` entry says of it.
    pub(crate) damage: Damage,
    /// What it costs.
    pub(crate) loss: Loss,
}

/// What damage costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Its bytes are no line: they are set aside.
    Bytes,
    /// Its bytes are a whole line of a program that knows more: it stays in the log, in its place.
    Unread,
    /// Its bytes are whole lines that count for nothing, or none: they stay and need not be set aside.
    Nothing,
}

/// How the part of a log that stays ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a newline.
    Newline,
    /// Without one: it is put back.
    Bare,
}

impl Log {
    /// Reads the log of a session.
    ///
    /// # Errors
    /// For a person, what is wrong with the first line if it does not make this the log of that session.
    pub(crate) fn read(session: &SessionId, bytes: &[u8]) -> Result<Self, String> {
        Reading::all(session, bytes)
    }

    /// What no `open` entry has named yet.
    pub(crate) fn news(&self) -> Vec<Found> {
        self.found.iter().filter(|found| !self.names(&found.damage)).cloned().collect()
    }

    fn names(&self, damage: &Damage) -> bool {
        self.named.iter().any(|named| named.from <= damage.from && end_of(damage) <= end_of(named))
    }

    /// The entries and all that was found wrong.
    pub(crate) fn into_contents(self) -> Contents {
        let damage = self.found.into_iter().map(|found| found.damage).collect();
        Contents { entries: self.entries, damage }
    }
}

/// What is in a log that stands by itself, such as a copy of one: whose it is its first line says.
///
/// # Errors
/// For a person, what is wrong with the first line.
pub fn read_log(bytes: &[u8]) -> Result<Contents, String> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text = std::str::from_utf8(first).map_err(|_| "its first line is no text".to_owned())?;
    let entry = Entry::read(text).map_err(|error| format!("its first line is {error}"))?;
    let Body::SessionStart(start) = &entry.body else {
        return Err(format!("its first line is a {}", entry.body.kind()));
    };
    Log::read(&start.id, bytes).map(Log::into_contents)
}

/// The byte after the damage.
pub(crate) fn end_of(damage: &Damage) -> u64 {
    damage.from.saturating_add(damage.bytes)
}
