//! Deleting sessions by age and size. What is held stays, and what waits for a person stays unless that is said.

use petasos_core::entry::{Body, Entry};
use petasos_core::stop::StopReason;
use petasos_core::time::{Span, Time};
use petasos_store::{FolderStore, Store as _, StoreError};

use super::{on_thread, sweep};
use crate::clock::{Clock as _, SystemClock};
use crate::inspect::Listed;
use crate::setup::{Setup, holder};

/// Which sessions are to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaning {
    /// Those in which nothing has happened for so long.
    pub older_than: Option<Span>,
    /// Those that take more bytes than this.
    pub larger_than: Option<u64>,
    /// The oldest ones, until those that stay take no more bytes than this.
    pub total: Option<u64>,
    /// Those that wait for a person, too.
    pub parked: bool,
    /// Those of all folders, not of this workspace alone.
    pub all: bool,
}

/// A session that is to go, or was to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Old {
    /// It.
    pub listed: Listed,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Why it stays all the same; none if it does not.
    pub kept: Option<Kept>,
}

/// Why a session stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Somebody holds it.
    Held(String),
    /// It waits for a person.
    Parked,
}

impl Setup {
    /// The sessions that a cleaning is about, the oldest first. Changes nothing.
    ///
    /// # Errors
    /// What the store says.
    pub async fn to_clean(&self, cleaning: Cleaning) -> Result<Vec<Old>, StoreError> {
        let sessions = self.sessions().await?.sessions;
        let here = |listed: &Listed| cleaning.all || listed.is_in(&self.places.workspace);
        let sessions: Vec<Listed> = sessions.into_iter().filter(here).collect();
        let (store, now) = (self.store(), SystemClock::new().now());
        on_thread(move || chosen(&store, sessions, &cleaning, now)).await
    }

    /// Deletes those of them that need not stay, and answers with each that did not go and why. One that somebody began
    /// to hold meanwhile stays, and so does one in which something has happened.
    ///
    /// # Errors
    /// None of its own: what the disk says of one session is told in its place.
    pub async fn clean(&self, old: Vec<Old>) -> Result<Vec<(Old, StoreError)>, StoreError> {
        let store = self.store();
        on_thread(move || {
            let go = old.into_iter().filter(|old| old.kept.is_none());
            let failed = |old: Old| {
                let deleted = store.delete_as_listed(old.listed.as_kept(), &holder());
                deleted.err().map(|error| (old, error))
            };
            let failed = go.filter_map(failed).collect();
            sweep(&store);
            Ok(failed)
        })
        .await
    }
}

fn chosen(
    store: &FolderStore,
    sessions: Vec<Listed>,
    cleaning: &Cleaning,
    now: Time,
) -> Result<Vec<Old>, StoreError> {
    let mut sized = Vec::new();
    for listed in sessions {
        let bytes = store.bytes(listed.id())?;
        sized.push((listed, bytes));
    }
    let mut left: u64 = sized.iter().map(|(_, bytes)| *bytes).sum();
    let mut old = Vec::new();
    for (listed, bytes) in sized {
        let age = now.0.saturating_sub(listed.last().0);
        let is_old = cleaning.older_than.is_some_and(|span| age > span.0);
        let is_large = cleaning.larger_than.is_some_and(|most| bytes > most);
        let is_too_much = cleaning.total.is_some_and(|most| left > most);
        if !(is_old || is_large || is_too_much) {
            continue;
        }
        let kept = match store.held_by(listed.id(), &holder())? {
            Some(by) => Some(Kept::Held(by)),
            None if !cleaning.parked && is_parked(&store.read(listed.id())?.entries) => Some(Kept::Parked),
            None => None,
        };
        if kept.is_none() {
            left = left.saturating_sub(bytes);
        }
        old.push(Old { listed, bytes, kept });
    }
    Ok(old)
}

/// True if the last turn waits for a person.
fn is_parked(entries: &[Entry]) -> bool {
    let says = |entry: &&Entry| matches!(entry.body, Body::TurnStart(_) | Body::TurnEnd(_) | Body::Leaf(_));
    let last = entries.iter().rfind(says).map(|entry| &entry.body);
    let Some(Body::TurnEnd(end)) = last else { return false };
    matches!(end.reason, StopReason::AwaitingApproval | StopReason::AwaitingAnswer)
}
