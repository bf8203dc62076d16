//! Puts the words of logs into the index, some megabytes at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use petasos_core::id::{Seq, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Statement, TransactionBehavior, params};

use super::lines::{Line, Lines, Piece};
use super::rows::{first_of, integer, number, take_words_out};
use super::texts::texts;
use super::words::{folded, tokens};
use crate::folder::FolderStore;

/// Bytes of a log that are taken in at once, so that no other process waits long.
const AT_ONCE: u64 = 4 << 20;

/// Why words were not taken in. What was before is there.
#[derive(Debug)]
pub(super) enum NotTaken {
    /// The index.
    Index(rusqlite::Error),
    /// The log, which says so itself to whoever reads it, or is too large to be taken in as a whole.
    Log,
}

impl From<rusqlite::Error> for NotTaken {
    fn from(error: rusqlite::Error) -> Self {
        Self::Index(error)
    }
}

/// How far the words of a session are in the index.
#[derive(Clone, Copy, Debug)]
struct Reach {
    number: i64,
    text: u64,
    next: Seq,
    end: u64,
}

/// Takes in the words of a session up to where its log is known, but for no more bytes than `most`, and answers how many
/// bytes that were. A log with something odd in it is taken in as a whole, or not at all.
pub(super) fn take_in(
    index: &mut Connection,
    store: &FolderStore,
    session: &SessionId,
    most: u64,
) -> Result<u64, NotTaken> {
    let mut taken = 0;
    while taken < most {
        let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Some(reach) = reach(&transaction, session)?.filter(|reach| reach.text < reach.end) else { break };
        let after = match piece(&transaction, store, session, reach, AT_ONCE.min(most.saturating_sub(taken)))?
        {
            Some(after) => after,
            None if reach.end <= most => whole(&transaction, store, session, reach)?,
            None => return Err(NotTaken::Log),
        };
        transaction.execute(
            "UPDATE session SET text = ?2, text_next = ?3 WHERE number = ?1",
            params![reach.number, integer(after.text), integer(after.next.0)],
        )?;
        transaction.commit()?;
        taken = taken.saturating_add(after.text.saturating_sub(reach.text));
    }
    Ok(taken)
}

fn reach(index: &Connection, session: &SessionId) -> rusqlite::Result<Option<Reach>> {
    let row = index.query_row(
        "SELECT number, text, text_next, end FROM session WHERE id = ?1",
        [session.as_str()],
        |row| {
            let (text, next, end) = (number(row.get(1)?), Seq(number(row.get(2)?)), number(row.get(3)?));
            Ok(Reach { number: row.get(0)?, text, next, end })
        },
    );
    row.optional()
}

/// Takes in the next lines; none if something is odd in them.
fn piece(
    index: &Connection,
    store: &FolderStore,
    session: &SessionId,
    reach: Reach,
    most: u64,
) -> Result<Option<Reach>, NotTaken> {
    let log = store.log_of(session);
    let Reach { text, next, end, .. } = reach;
    let mut lines = Lines { disk: store.disk(), log: &log, session, at: text, next, until: end };
    let mut words = Words::into(index)?;
    while lines.at.saturating_sub(text) < most {
        let read = lines.read().map_err(|_| NotTaken::Log)?;
        match read {
            Piece::Lines(read) => read.iter().try_for_each(|line| words.take(reach.number, line))?,
            Piece::End => break,
            Piece::Odd => return Ok(None),
        }
    }
    Ok(Some(Reach { text: lines.at, next: lines.next, ..reach }))
}

/// Takes in a whole log, in the place of what was there of it.
fn whole(
    index: &Connection,
    store: &FolderStore,
    session: &SessionId,
    reach: Reach,
) -> Result<Reach, NotTaken> {
    take_words_out(index, session.as_str())?;
    let log = store.read_log(session).map_err(|_| NotTaken::Log)?;
    let mut words = Words::into(index)?;
    // What has come since is taken in when it is known.
    let is_known = |place: &Range<usize>| (place.start as u64) < reach.end;
    let places: BTreeMap<Seq, Range<usize>> =
        log.places.into_iter().filter(|(_, place)| is_known(place)).collect();
    for entry in log.entries {
        if let Some(place) = places.get(&entry.seq) {
            words.take(reach.number, &Line { entry, place: place.start as u64..place.end as u64 })?;
        }
    }
    let next = places.last_key_value().map_or(Seq(0), |(seq, _)| seq.next());
    Ok(Reach { text: reach.end, next, ..reach })
}

struct Words<'a> {
    words: Statement<'a>,
    places: Statement<'a>,
}

impl<'a> Words<'a> {
    fn into(index: &'a Connection) -> rusqlite::Result<Self> {
        let words = index.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        let places = index.prepare("INSERT INTO place (entry, start, length) VALUES (?1, ?2, ?3)")?;
        Ok(Self { words, places })
    }

    fn take(&mut self, session: i64, line: &Line) -> rusqlite::Result<()> {
        let texts = texts(&line.entry.body);
        // Beyond that the numbers of two sessions would meet.
        let Some(seq) = u32::try_from(line.entry.seq.0).ok().filter(|_| !texts.is_empty()) else {
            return Ok(());
        };
        let words: Vec<String> = texts.iter().map(|text| tokens(&folded(text))).collect();
        let entry = first_of(session).saturating_add(i64::from(seq));
        self.words.execute(params![entry, words.join(" ")])?;
        let length = line.place.end.saturating_sub(line.place.start);
        self.places.execute(params![entry, integer(line.place.start), integer(length)])?;
        Ok(())
    }
}
