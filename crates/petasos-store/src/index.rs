//! The index beside the logs: what a list shows of each session, and the words of all.
//!
//! The logs are the truth. Whoever looks brings the index up to date first: of each log only what is new is read. Nobody
//! who writes a log knows of it, and nobody waits for it: where it is busy, damaged, missing or may not be written, what it
//! cannot say is read from the logs, and the answer is the same, only later. So it can be taken away at any time.

mod known;
mod lines;
mod rows;
mod search;
mod texts;
mod words;
mod words_in;

use std::collections::BTreeMap;
use std::path::PathBuf;

use petasos_core::id::SessionId;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;
use crate::folder::FolderStore;
use crate::store::Listing;
use known::{Known, Standing};
use rows::{Before, Indexed};
pub use search::{Hit, Hits, Search, Within};
pub use words::{BadQuery, Query, Snippet};
use words_in::NotTaken;

/// The index of a store in a folder.
#[derive(Clone, Debug)]
pub struct Index {
    store: FolderStore,
}

/// An index that was made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Sessions in it.
    pub sessions: u64,
    /// Bytes of their logs.
    pub logs: u64,
    /// Bytes of the index.
    pub bytes: u64,
}

/// What looking gave.
#[derive(Debug)]
struct Looked {
    /// What is known of each session, as its log has it now.
    sessions: BTreeMap<SessionId, Known>,
    /// Those that cannot be used, and why.
    unreadable: Vec<(SessionId, StoreError)>,
    /// The index, if there is one.
    index: Result<Connection, String>,
}

impl Index {
    /// The index of this store.
    pub fn of(store: &FolderStore) -> Self {
        Self { store: store.clone() }
    }

    /// All sessions, by id. The logs are read as far as they have changed since somebody looked.
    ///
    /// # Errors
    /// What the disk says of the folder of sessions. What is wrong with one session is told in its place, and what is
    /// wrong with the index is in nobody's way.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let Looked { sessions, unreadable, .. } = self.look()?;
        let sessions = sessions.into_values().map(|known| known.listed).collect();
        Ok(Listing { sessions, unreadable })
    }

    /// Makes the index anew, whatever is there.
    ///
    /// # Errors
    /// `Index` if it cannot be written, or what the disk says of the folder of sessions. A session that cannot be used
    /// is left out.
    pub fn rebuild(&self) -> Result<Rebuilt, StoreError> {
        rows::empty(&self.path()).map_err(|error| self.unusable(error.to_string()))?;
        let Looked { sessions, index, .. } = self.look()?;
        let mut index = index.map_err(|why| self.unusable(why))?;
        let mut rebuilt = Rebuilt { sessions: 0, logs: 0, bytes: 0 };
        for (id, known) in &sessions {
            match words_in::take_in(&mut index, &self.store, id, u64::MAX) {
                Ok(_) | Err(NotTaken::Log) => {}
                Err(NotTaken::Index(error)) => return Err(self.unusable(error.to_string())),
            }
            rebuilt.sessions = rebuilt.sessions.saturating_add(1);
            rebuilt.logs = rebuilt.logs.saturating_add(known.length);
        }
        let pages = index.query_row(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            [],
            |row| row.get(0),
        );
        rebuilt.bytes = rows::number(pages.map_err(|error| self.unusable(error.to_string()))?);
        Ok(rebuilt)
    }

    fn path(&self) -> PathBuf {
        self.store.root().join("index.sqlite")
    }

    fn unusable(&self, why: String) -> StoreError {
        StoreError::Index { path: self.path(), why }
    }

    /// What is known of all sessions, brought up to date, and the index with it, if that can be.
    fn look(&self) -> Result<Looked, StoreError> {
        let ids = self.store.ids()?;
        if ids.is_empty() && !self.path().exists() {
            let index = Err("there is no session".to_owned());
            return Ok(Looked { sessions: BTreeMap::new(), unreadable: Vec::new(), index });
        }
        let (mut index, mut indexed) = match self.indexed() {
            Ok((index, indexed)) => (Ok(index), indexed),
            Err(error) => (Err(error.to_string()), BTreeMap::new()),
        };
        let (mut sessions, mut unreadable) = (BTreeMap::new(), Vec::new());
        let mut changed = Vec::new();
        for id in ids {
            let before = indexed.remove(&id);
            let round = before.as_ref().map(|before| before.round);
            let known = match known::catch_up(&self.store, &id, before.map(|before| before.known)) {
                Ok(Standing::Same(known)) => known,
                Ok(Standing::Grown(known)) => {
                    let before = round.map_or(Before::Nothing, |round| Before::Less { round });
                    changed.push((id.clone(), before));
                    known
                }
                Ok(Standing::New(known)) => {
                    let before = round.map_or(Before::Nothing, |round| Before::Another { round });
                    changed.push((id.clone(), before));
                    known
                }
                // A folder without a log: one who made a session ended before it was one.
                Ok(Standing::Gone) => continue,
                Err(error) => {
                    unreadable.push((id, error));
                    continue;
                }
            };
            sessions.insert(id, known);
        }
        let gone: Vec<SessionId> = indexed.into_keys().collect();
        let is_news = !(changed.is_empty() && gone.is_empty());
        // If it is busy just now, whoever looks next writes it.
        if is_news
            && let Ok(open) = &mut index
            && let Err(error) = write(open, &sessions, &changed, &gone)
            && rows::is_damaged(&error)
        {
            // Made anew by whoever looks next.
            rows::empty(&self.path()).ok();
            index = Err(error.to_string());
        }
        Ok(Looked { sessions, unreadable, index })
    }

    /// The index and the sessions in it. One that is damaged is made anew.
    fn indexed(&self) -> rusqlite::Result<(Connection, BTreeMap<SessionId, Indexed>)> {
        let read = || {
            let index = rows::open(&self.path())?;
            let sessions = rows::sessions(&index)?;
            Ok((index, sessions.into_iter().collect()))
        };
        match read() {
            Err(error) if rows::is_damaged(&error) => {
                rows::empty(&self.path())?;
                read()
            }
            read => read,
        }
    }
}

fn write(
    index: &mut Connection,
    sessions: &BTreeMap<SessionId, Known>,
    changed: &[(SessionId, Before)],
    gone: &[SessionId],
) -> rusqlite::Result<()> {
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (id, before) in changed {
        if let Some(known) = sessions.get(id) {
            rows::write(&transaction, known, *before)?;
        }
    }
    for id in gone {
        rows::forget(&transaction, id)?;
    }
    transaction.commit()
}
