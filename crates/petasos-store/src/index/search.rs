//! Looks for what was said, answered, called and given back.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use petasos_core::entry::Entry;
use petasos_core::id::{Seq, SessionId};
use petasos_core::text::Text;
use petasos_core::time::Time;
use rusqlite::{Connection, Row, params};

use super::known::{Known, each_entry};
use super::rows::{Indexed, first_of, number, sessions};
use super::texts::texts;
use super::words::{Query, Snippet};
use super::words_in::{NotTaken, take_in};
use super::{Index, Looked, rows};
use crate::error::StoreError;
use crate::line::without_sum;
use crate::listed::Listed;

/// Bytes of logs whose words one search puts into the index at most, so that nobody waits long for one; what is not in it
/// then is read from the logs.
const A_SEARCH: u64 = 16 << 20;

/// Where the line of an entry stands.
const PLACE: &str = "SELECT start, length FROM place WHERE entry = ?1";

/// What is looked for, where, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// What.
    pub query: &'a Query,
    /// In which sessions.
    pub within: Within<'a>,
    /// The most entries that are told.
    pub limit: usize,
}

/// Which sessions are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within<'a> {
    /// All.
    All,
    /// Those that work in this folder.
    Folder(&'a Path),
}

/// What was found.
#[derive(Debug)]
pub struct Hits {
    /// The entries, those of the session first in which something happened last, and of each session the last ones first.
    pub hits: Vec<Hit>,
    /// True if there are more than were to be told.
    pub is_more: bool,
    /// Sessions whose logs were read, since their words are not all in the index.
    pub logs_read: u64,
    /// Why there is no index, if there is none.
    pub no_index: Option<String>,
    /// Sessions that cannot be searched, and why.
    pub unreadable: Vec<(SessionId, StoreError)>,
}

/// An entry in which all was found that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub session: Listed,
    /// Which entry.
    pub seq: Seq,
    /// When it was made.
    pub at: Time,
    /// Its kind.
    pub kind: Text,
    /// What stands around the first term.
    pub snippet: Snippet,
}

/// Whether an index that turns out to be damaged is made anew, and searched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

/// The numbers in the index of the entries that may hold what is looked for, by session, the last first; of a session
/// that is missing here the log has to be read.
type Candidates = BTreeMap<SessionId, Vec<i64>>;

impl Index {
    /// Looks for entries. What the index does not know yet is read from the logs, so the answer is whole in any case.
    ///
    /// # Errors
    /// What the disk says of the folder of sessions.
    pub fn search(&self, search: &Search<'_>) -> Result<Hits, StoreError> {
        self.search_in(search, Again::Yes)
    }

    fn search_in(&self, search: &Search<'_>, again: Again) -> Result<Hits, StoreError> {
        let Looked { sessions, unreadable, index } = self.look()?;
        let asked = index.map(|mut index| {
            let candidates = self.candidates(&mut index, &sessions, search.query);
            candidates.map(|candidates| (index, candidates))
        });
        let (asked, no_index) = match asked {
            Ok(Err(error)) if rows::is_damaged(&error) && again == Again::Yes => {
                // Where it cannot be, the logs answer.
                rows::empty(&self.path()).ok();
                return self.search_in(search, Again::No);
            }
            Ok(Err(error)) => (None, Some(error.to_string())),
            Ok(Ok(asked)) => (Some(asked), None),
            Err(why) => (None, Some(why)),
        };
        let mut hits = Hits { hits: Vec::new(), is_more: false, logs_read: 0, no_index, unreadable };
        for (id, known) in by_time(sessions, search.within) {
            let room = search.limit.saturating_sub(hits.hits.len());
            let candidates = asked.as_ref().and_then(|(index, found)| Some((index, found.get(&id)?)));
            let looked = candidates
                .and_then(|(index, entries)| self.look_at(&id, index, (entries, room), search.query));
            let found = match looked {
                Some(found) => Ok(found),
                None => {
                    hits.logs_read = hits.logs_read.saturating_add(1);
                    self.look_through(&id, search.query, room)
                }
            };
            match found {
                Ok(found) => {
                    hits.is_more |= found.len() > room;
                    let hit = |Found { seq, at, kind, snippet }| Hit {
                        session: known.listed.clone(),
                        seq,
                        at,
                        kind,
                        snippet,
                    };
                    hits.hits.extend(found.into_iter().take(room).map(hit));
                }
                Err(error) => hits.unreadable.push((id, error)),
            }
            if hits.is_more {
                break;
            }
        }
        Ok(hits)
    }

    /// What the index knows, after some of what it does not know yet was put into it.
    fn candidates(
        &self,
        index: &mut Connection,
        sessions: &BTreeMap<SessionId, Known>,
        query: &Query,
    ) -> rusqlite::Result<Candidates> {
        let mut left = A_SEARCH;
        let is_behind = |row: &Indexed| row.text < row.known.end;
        let behind = self::sessions(index)?.into_iter().filter(|(_, row)| is_behind(row));
        for (id, _) in behind.rev() {
            match take_in(index, &self.store, &id, left) {
                Ok(taken) => left = left.saturating_sub(taken),
                // A log that cannot be read is told when it is looked through.
                Err(NotTaken::Log) => {}
                // It may be that somebody else writes it just now: what is in it counts.
                Err(NotTaken::Index(_)) => break,
            }
        }
        candidates(index, sessions, query)
    }

    /// Looks at entries of a log, until there are more than `room`; none if the line of one of them is not where it was.
    fn look_at(
        &self,
        id: &SessionId,
        index: &Connection,
        (entries, room): (&[i64], usize),
        query: &Query,
    ) -> Option<Vec<Found>> {
        let log = self.store.log_of(id);
        let place = |entry: i64| {
            let place = |row: &Row<'_>| Ok((number(row.get(0)?), number(row.get(1)?)));
            let read = index.prepare(PLACE).and_then(|mut rows| rows.query_row([entry], place));
            if read.as_ref().is_err_and(rows::is_damaged) {
                // Made anew by whoever looks next; where it cannot be, the logs answer.
                rows::empty(&self.path()).ok();
            }
            read.ok()
        };
        let mut found = Vec::new();
        for entry in entries {
            let (start, length) = place(*entry)?;
            let line = self.store.disk().read(&log, start..start.saturating_add(length)).ok()?;
            without_sum(&line)?;
            let entry = Entry::read(std::str::from_utf8(&line).ok()?).ok()?;
            found.extend(Found::of(&entry, query));
            if found.len() > room {
                break;
            }
        }
        Some(found)
    }

    /// Looks through a whole log.
    fn look_through(&self, id: &SessionId, query: &Query, room: usize) -> Result<Vec<Found>, StoreError> {
        let mut found = VecDeque::new();
        each_entry(&self.store, id, |entry| {
            if let Some(hit) = Found::of(entry, query) {
                found.push_front(hit);
                found.truncate(room.saturating_add(1));
            }
        })?;
        Ok(found.into())
    }
}

/// Something found in an entry.
#[derive(Debug)]
struct Found {
    seq: Seq,
    at: Time,
    kind: Text,
    snippet: Snippet,
}

impl Found {
    fn of(entry: &Entry, query: &Query) -> Option<Self> {
        let texts = texts(&entry.body);
        let snippet = query.find(texts.iter().map(|text| &**text))?;
        Some(Self { seq: entry.seq, at: entry.at, kind: entry.body.kind().into(), snippet })
    }
}

/// The sessions that are searched, that in which something happened last before the others.
fn by_time(sessions: BTreeMap<SessionId, Known>, within: Within<'_>) -> Vec<(SessionId, Known)> {
    let is_searched = |known: &Known| match within {
        Within::All => true,
        Within::Folder(folder) => Path::new(&*known.listed.start.workspace) == folder,
    };
    let mut sessions: Vec<_> = sessions.into_iter().filter(|(_, known)| is_searched(known)).collect();
    sessions.sort_by(|(one, this), (other, that)| (that.listed.last, other).cmp(&(this.listed.last, one)));
    sessions
}

/// The lines in which the index has all that is looked for, of the sessions that are in it as they are known.
fn candidates(
    index: &mut Connection,
    known: &BTreeMap<SessionId, Known>,
    query: &Query,
) -> rusqlite::Result<Candidates> {
    // One view of it all, whoever else writes meanwhile.
    let view = index.transaction()?;
    let is_all_in = |id: &SessionId, end: u64, text: u64| {
        text == end && known.get(id).is_some_and(|known| known.end == end)
    };
    let rows = sessions(&view)?.into_iter();
    let ids: BTreeMap<i64, SessionId> = rows
        .filter(|(id, row)| is_all_in(id, row.known.end, row.text))
        .map(|(id, row)| (row.number, id))
        .collect();
    let mut candidates: Candidates = ids.values().map(|id| (id.clone(), Vec::new())).collect();
    // Asked for later, and missed before anything is told.
    drop(view.prepare(PLACE)?);
    let mut asked = view.prepare("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC")?;
    let mut found = asked.query(params![query.asked()])?;
    while let Some(row) = found.next()? {
        let entry = row.get::<_, i64>(0)?;
        if let Some(entries) = ids.get(&entry.div_euclid(first_of(1))).and_then(|id| candidates.get_mut(id)) {
            entries.push(entry);
        }
    }
    Ok(candidates)
}
