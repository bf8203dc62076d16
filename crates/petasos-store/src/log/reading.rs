//! From the parts of a log to its entries and what is wrong with it.

use std::collections::BTreeMap;

use petasos_core::entry::{BadLine, Body, Damage, Entry, Origin, Unknown};
use petasos_core::id::{Epoch, Seq, SessionId};
use petasos_core::text::Text;

use super::pieces::{Piece, What, pieces};
use super::{Ending, Found, Log, Loss};
use crate::store::check_layout;

/// A log while it is read.
pub(super) struct Reading<'a> {
    session: &'a SessionId,
    seen: BTreeMap<Seq, Seen<'a>>,
    found: Vec<Found>,
    named: Vec<Damage>,
    epoch: Epoch,
    stays: usize,
    ending: Ending,
}

/// What stands in the log under a seq.
struct Seen<'a> {
    from: usize,
    line: &'a [u8],
    /// None if the line is whole and this program cannot read it.
    entry: Option<Entry>,
}

/// Whether reading goes on after a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Next,
    /// The line is the first one of another log, so the rest is not ours.
    Foreign,
}

impl<'a> Reading<'a> {
    pub(super) fn all(session: &'a SessionId, bytes: &'a [u8]) -> Result<Log, String> {
        let mut reading = Self {
            session,
            seen: BTreeMap::new(),
            found: Vec::new(),
            named: Vec::new(),
            epoch: Epoch(0),
            stays: 0,
            ending: Ending::Newline,
        };
        for piece in pieces(bytes) {
            match piece.what {
                What::Bad => reading.lost(piece.from, piece.bytes.len(), why_bad(&piece, bytes)),
                What::Line(ending) => {
                    if reading.line(&piece)? == After::Foreign {
                        let rest = bytes.len() - piece.from;
                        reading.lost(piece.from, rest, "the first line of another log, and what follows it");
                        break;
                    }
                    (reading.stays, reading.ending) = (piece.end(), ending);
                }
            }
        }
        if reading.seen.is_empty() {
            return Err(reading.no_first_line());
        }
        Ok(reading.end(bytes.len()))
    }

    /// A line with the right sum.
    fn line(&mut self, piece: &Piece<'a>) -> Result<After, String> {
        let Ok(text) = std::str::from_utf8(piece.bytes) else {
            self.kept(piece, "a whole line is no text");
            return Ok(After::Next);
        };
        let read = Entry::read(text);
        if self.seen.is_empty() {
            self.check_first(&read)?;
        }
        let (seq, entry) = match read {
            Ok(entry) => (entry.seq, Some(entry)),
            Err(BadLine::Body { seq, kind, error }) => {
                let why = format!("entry {seq}, a whole {kind}, cannot be read by this program: {error}");
                self.tell(piece.from, piece.end() - piece.from, &why, Loss::Unread);
                (seq, None)
            }
            Err(BadLine::Envelope(error)) => {
                self.kept(piece, &format!("a whole line cannot be read by this program: {error}"));
                return Ok(After::Next);
            }
        };
        if let Some(before) = self.seen.get(&seq) {
            if before.line == piece.bytes {
                self.kept(piece, &format!("entry {seq} stands here again; the first one counts"));
            } else if is_start(entry.as_ref()) {
                return Ok(After::Foreign);
            } else {
                self.kept(piece, &format!("another entry {seq}; the first one counts"));
            }
            return Ok(After::Next);
        }
        if !self.seen.is_empty() && is_start(entry.as_ref()) {
            return Ok(After::Foreign);
        }
        if let Some((last, _)) = self.seen.last_key_value().filter(|(last, _)| **last > seq) {
            let why = format!("entry {seq} stands after entry {last}; it is read in its place");
            self.tell(piece.from, 0, &why, Loss::Nothing);
        }
        if let Some(Body::Open(open)) = entry.as_ref().map(|entry| &entry.body) {
            self.epoch = self.epoch.max(open.epoch);
            // What was cut off began where this line is now, or a newline before it; the rest is there still.
            let line = piece.from as u64;
            // What came from another log has its places in that one.
            let is_own = self.elsewhere().is_none_or(|upto| seq > upto);
            let stayed = open.damage.iter().filter(|damage| is_own && damage.from.saturating_add(1) < line);
            self.named.extend(stayed.cloned());
        }
        self.seen.insert(seq, Seen { from: piece.from, line: piece.bytes, entry });
        Ok(After::Next)
    }

    /// The last entry that came from another log.
    fn elsewhere(&self) -> Option<Seq> {
        let first = self.seen.get(&Seq(0))?.entry.as_ref()?;
        let Body::SessionStart(start) = &first.body else { return None };
        match &start.origin {
            Origin::Fork { seq, .. } => Some(*seq),
            Origin::Import { seq, .. } => *seq,
            Origin::New | Origin::Child { .. } => None,
        }
    }

    /// The first line whose sum is right must be the session's own first line: never another session's data.
    fn check_first(&self, read: &Result<Entry, BadLine>) -> Result<(), String> {
        let entry = read.as_ref().map_err(|error| format!("its first line is {error}"))?;
        if entry.seq != Seq(0) {
            return Err(match self.found.first() {
                Some(found) => format!("its first line is damaged: {}", found.damage.why),
                None => format!("its first line is entry {}", entry.seq),
            });
        }
        if let Body::Unknown(unknown) = &entry.body {
            let Unknown { v, kind, .. } = unknown;
            return Err(format!(
                "its first line is a {kind} of version {v}, which this program does not know"
            ));
        }
        let Body::SessionStart(start) = &entry.body else {
            return Err(format!("its first line is a {}", entry.body.kind()));
        };
        if start.id != *self.session {
            return Err(format!("its first line is that of session {}", start.id));
        }
        check_layout(start)
    }

    fn no_first_line(&self) -> String {
        match self.found.first() {
            Some(found) => format!("its first line is damaged: {}", found.damage.why),
            None => "its log is empty".to_owned(),
        }
    }

    /// A whole line that is not used and stays.
    fn kept(&mut self, piece: &Piece<'_>, why: &str) {
        self.tell(piece.from, piece.end() - piece.from, why, Loss::Nothing);
    }

    fn lost(&mut self, from: usize, bytes: usize, why: &str) {
        self.tell(from, bytes, why, Loss::Bytes);
    }

    fn tell(&mut self, from: usize, bytes: usize, why: &str, loss: Loss) {
        let damage = Damage { from: from as u64, bytes: bytes as u64, why: Text::from(why) };
        self.found.push(Found { damage, loss });
    }

    fn end(mut self, length: usize) -> Log {
        if self.ending == Ending::Bare {
            self.tell(self.stays, 0, "the last whole line has no newline; it is put back", Loss::Nothing);
        }
        self.tell_gaps();
        self.found.sort_by_key(|found| (found.damage.from, found.damage.bytes));
        let next = self.seen.last_key_value().map_or(Seq(0), |(seq, _)| seq.next());
        let place = |(seq, seen): (&Seq, &Seen<'_>)| (*seq, seen.from..seen.from + seen.line.len());
        Log {
            places: self.seen.iter().map(place).collect(),
            length: length as u64,
            entries: self.seen.into_values().filter_map(|seen| seen.entry).collect(),
            found: self.found,
            named: self.named,
            next,
            epoch: self.epoch,
            stays: self.stays as u64,
            ending: self.ending,
        }
    }

    /// Numbers that no line has. Where bytes were lost between the neighbours, that is why.
    fn tell_gaps(&mut self) {
        let mut gaps = Vec::new();
        let (mut wanted, mut before) = (Seq(0), 0);
        for (seq, seen) in &self.seen {
            if *seq > wanted {
                let last = seq.0.saturating_sub(1);
                let missing = if last == wanted.0 {
                    format!("entry {wanted} is missing")
                } else {
                    format!("entries {wanted} to {last} are missing")
                };
                gaps.push((before, seen.from, missing));
            }
            (wanted, before) = (seq.next(), seen.from);
        }
        for (before, after, missing) in gaps {
            let between = before.min(after) as u64..before.max(after) as u64;
            let cause = self
                .found
                .iter_mut()
                .find(|found| found.loss == Loss::Bytes && between.contains(&found.damage.from));
            match cause {
                Some(found) => found.damage.why = Text::from(format!("{}; {missing}", found.damage.why)),
                None => self.tell(after, 0, &missing, Loss::Nothing),
            }
        }
    }
}

fn is_start(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| matches!(entry.body, Body::SessionStart(_)))
}

fn why_bad(piece: &Piece<'_>, log: &[u8]) -> &'static str {
    let is_last = piece.end() == log.len();
    let line = piece.bytes.strip_suffix(b"\n").unwrap_or(piece.bytes);
    if !line.is_empty() && line.iter().all(|byte| *byte == 0) {
        "zeros where a line should be"
    } else if is_last && !piece.bytes.ends_with(b"\n") {
        "a torn line at the end"
    } else {
        "no line with a right sum"
    }
}
