//! The lines of a log as they stand, for what takes them elsewhere: export, fork.

use std::ops::Range;

use petasos_core::entry::{Damage, Entry};
use petasos_core::id::Seq;

use crate::line::closed_line;
use crate::log::Log;

/// Whole lines of a log, by seq. Those that this program cannot read are among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    bytes: Vec<u8>,
    places: Vec<(Seq, Range<usize>)>,
    /// All that was found wrong in the log.
    pub damage: Vec<Damage>,
}

impl Lines {
    pub(crate) fn of(bytes: Vec<u8>, log: Log) -> Self {
        let damage = log.found.into_iter().map(|found| found.damage).collect();
        Self { bytes, places: log.places, damage }
    }

    /// Lines that were made of entries.
    pub(crate) fn of_entries(entries: &[Entry]) -> Result<Self, String> {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for entry in entries {
            let from = bytes.len();
            bytes.extend(closed_line(entry)?.trim_end_matches('\n').bytes());
            places.push((entry.seq, from..bytes.len()));
        }
        Ok(Self { bytes, places, damage: Vec::new() })
    }

    /// Each line without its newline, by seq.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, &str)> {
        self.places.iter().filter_map(|(seq, place)| {
            // A line that counts was read as text.
            Some((*seq, std::str::from_utf8(self.bytes.get(place.clone())?).ok()?))
        })
    }

    /// The numbers that no line has, each range with its first and its last.
    pub fn missing(&self) -> Vec<(Seq, Seq)> {
        missing(self.places.iter().map(|(seq, _)| *seq))
    }
}

/// The gaps between rising numbers, from 0 on.
pub(crate) fn missing(numbers: impl IntoIterator<Item = Seq>) -> Vec<(Seq, Seq)> {
    let (mut wanted, mut gaps) = (Seq(0), Vec::new());
    for seq in numbers {
        if seq > wanted {
            gaps.push((wanted, Seq(seq.0.saturating_sub(1))));
        }
        wanted = seq.next();
    }
    gaps
}
