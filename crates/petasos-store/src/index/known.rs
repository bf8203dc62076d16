//! What is known of a session, and how it is brought up to date from its log.

use petasos_core::entry::Entry;
use petasos_core::id::{Seq, SessionId};

use super::lines::{Lines, Piece};
use crate::error::StoreError;
use crate::folder::FolderStore;
use crate::listed::Listed;
use crate::log::Ending;
use crate::store::Contents;

/// Bytes at the end of what was read by which it is known again: those of a line's sum and its newline.
const ENDING: u64 = 28;

/// What is known of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// What a list shows of it.
    pub(super) listed: Listed,
    /// Length of its log when it was read.
    pub(super) length: u64,
    /// Length up to the last whole line.
    pub(super) end: u64,
    /// The seq of the entry after that line.
    pub(super) next: Seq,
    /// The last bytes of the log.
    pub(super) ending: Vec<u8>,
}

/// How a session stands beside what was known of it.
#[derive(Debug)]
pub(super) enum Standing {
    /// There is none by this id.
    Gone,
    /// As it was known.
    Same(Known),
    /// It has grown by whole lines, and nothing else has changed.
    Grown(Known),
    /// It was not known, or is not what it was.
    New(Known),
}

/// Brings what is known of a session up to date; only what is new of its log is read, if the rest is as it was.
///
/// # Errors
/// Why the session cannot be used, or what the disk says.
pub(super) fn catch_up(
    store: &FolderStore,
    session: &SessionId,
    known: Option<Known>,
) -> Result<Standing, StoreError> {
    let log = store.log_of(session);
    let of_log = |error| StoreError::of_disk(&log, error);
    let length = match store.disk().length(&log) {
        Ok(length) => length,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Standing::Gone),
        Err(error) => return Err(of_log(error)),
    };
    if let Some(known) = known {
        let is_clean = known.end == known.length;
        if length == known.length && (is_clean || ending(store, session, length)? == known.ending) {
            return Ok(Standing::Same(known));
        }
        if length > known.length
            && is_clean
            && ending(store, session, known.length)? == known.ending
            && let Some(grown) = go_on(store, session, known, length)?
        {
            return Ok(Standing::Grown(grown));
        }
    }
    match begin(store, session, length)? {
        Some(known) => Ok(Standing::New(known)),
        None => whole(store, session).map(Standing::New),
    }
}

/// Reads on behind what is known; none if something is odd there.
fn go_on(
    store: &FolderStore,
    session: &SessionId,
    mut known: Known,
    until: u64,
) -> Result<Option<Known>, StoreError> {
    let log = store.log_of(session);
    let (at, next) = (known.end, known.next);
    let mut lines = Lines { disk: store.disk(), log: &log, session, at, next, until };
    loop {
        match lines.read().map_err(|error| StoreError::of_disk(&log, error))? {
            Piece::Lines(read) => read.iter().for_each(|line| known.listed.take(&line.entry)),
            Piece::Odd => return Ok(None),
            Piece::End => break,
        }
    }
    (known.length, known.end, known.next) = (lines.at, lines.at, lines.next);
    known.ending = ending(store, session, lines.at)?;
    Ok(Some(known))
}

/// Reads a log from its beginning, piece by piece; none if something is odd in it.
fn begin(store: &FolderStore, session: &SessionId, until: u64) -> Result<Option<Known>, StoreError> {
    let log = store.log_of(session);
    let mut lines = Lines { disk: store.disk(), log: &log, session, at: 0, next: Seq(0), until };
    let Piece::Lines(read) = lines.read().map_err(|error| StoreError::of_disk(&log, error))? else {
        return Ok(None);
    };
    let mut entries = read.iter().map(|line| &line.entry);
    let Some(mut listed) = entries.next().and_then(Listed::begin) else { return Ok(None) };
    entries.for_each(|entry| listed.take(entry));
    let known = Known { listed, length: lines.at, end: lines.at, next: lines.next, ending: Vec::new() };
    go_on(store, session, known, until)
}

/// Reads a log with something odd in it as a whole.
fn whole(store: &FolderStore, session: &SessionId) -> Result<Known, StoreError> {
    let log = store.read_log(session)?;
    let (length, end, next) = (log.length, log.stays, log.next);
    // A newline that is missing is put back, so the log does not go on where it ends now.
    let end = if log.ending == Ending::Bare { end.saturating_sub(1) } else { end };
    let contents: Contents = log.into_contents();
    let Some(listed) = Listed::of(&contents) else {
        let why = "its log is empty".to_owned();
        return Err(StoreError::Unusable { session: session.clone(), why });
    };
    Ok(Known { listed, length, end, next, ending: ending(store, session, length)? })
}

/// The last bytes of a log that was so long.
fn ending(store: &FolderStore, session: &SessionId, length: u64) -> Result<Vec<u8>, StoreError> {
    let log = store.log_of(session);
    let range = length.saturating_sub(ENDING)..length;
    store.disk().read(&log, range).map_err(|error| StoreError::of_disk(&log, error))
}

/// Goes through the entries of a log, piece by piece; from something odd on, as a reading of the whole log has them.
///
/// # Errors
/// As for reading the session.
pub(super) fn each_entry(
    store: &FolderStore,
    session: &SessionId,
    mut take: impl FnMut(&Entry),
) -> Result<(), StoreError> {
    let log = store.log_of(session);
    let of_log = |error| StoreError::of_disk(&log, error);
    let until = store.disk().length(&log).map_err(of_log)?;
    let mut lines = Lines { disk: store.disk(), log: &log, session, at: 0, next: Seq(0), until };
    loop {
        match lines.read().map_err(of_log)? {
            Piece::Lines(read) => read.iter().for_each(|line| take(&line.entry)),
            Piece::End => return Ok(()),
            Piece::Odd => break,
        }
    }
    let taken = lines.next;
    let log = store.read_log(session)?;
    log.entries.iter().filter(|entry| entry.seq >= taken).for_each(take);
    Ok(())
}
