//! The log of a world: what is safe on disk, and what a power cut may take. It is kept folded, so that
//! a walk need not read it again for each state.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use petasos_core::entry::Entry;
use petasos_core::id::Seq;
use petasos_core::session::Session;

use crate::world::Book;

/// What was handed over.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// The fold of what is safe.
    safe: Arc<(Session, Book)>,
    /// The fold of all of it.
    told: Arc<Session>,
    /// Handed over and not safe yet.
    unsynced: VecDeque<Arc<Entry>>,
}

// What is told follows from the rest.
impl PartialEq for Log {
    fn eq(&self, other: &Self) -> bool {
        self.safe == other.safe && self.unsynced == other.unsynced
    }
}

impl Eq for Log {}

impl Hash for Log {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.safe.hash(state);
        self.unsynced.hash(state);
    }
}

impl Log {
    pub(crate) fn new(session: Session) -> Self {
        let told = Arc::new(session.clone());
        Self { safe: Arc::new((session, Book::default())), told, unsynced: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, entry: &Entry) {
        Arc::make_mut(&mut self.told).read(entry);
        self.unsynced.push_back(Arc::new(entry.clone()));
    }

    /// The fold of what is safe.
    pub(crate) fn safe(&self) -> &(Session, Book) {
        &self.safe
    }

    /// What it tells in all.
    pub(crate) fn told(&self) -> &Session {
        &self.told
    }

    /// Entries that a power cut may take.
    pub(crate) fn unsynced(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.unsynced.iter().map(|entry| &**entry)
    }

    /// Everything up to an entry is safe.
    pub(crate) fn synced(&mut self, upto: Seq) {
        let safe = Arc::make_mut(&mut self.safe);
        while let Some(entry) = self.unsynced.pop_front_if(|entry| entry.seq <= upto) {
            safe.0.read(&entry);
            safe.1.apply(&entry);
        }
    }

    /// The process ends, and as many unsafe entries are there afterwards.
    pub(crate) fn cut(&mut self, kept: usize) -> (Session, Book) {
        if let Some(last) = kept.checked_sub(1).map(|place| self.unsynced[place].seq) {
            self.synced(last);
        }
        self.unsynced.clear();
        self.told = Arc::new(self.safe.0.clone());
        (*self.safe).clone()
    }
}
