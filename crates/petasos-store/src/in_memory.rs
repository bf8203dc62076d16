//! Sessions in memory: for tests, and for turns that nobody wants kept.
//!
//! Made apart from the folder store and with the same promises, so that the battery of tests has a second
//! opinion. Everything lasts as long as the store; synced means written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use petasos_core::entry::{Entry, Keep, Open, SessionStart};
use petasos_core::id::{Digest, Epoch, Seq, SessionId};
use petasos_core::time::Time;
use petasos_core::tool::BlobName;

use crate::error::StoreError;
use crate::folder::hash;
use crate::line::closed_line;
use crate::lines::Lines;
use crate::listed::Listed;
use crate::made::Made;
use crate::store::{
    After, Contents, Holder, Listing, Opened, Store, UnfinishedBlob, UnfinishedSession, Writer,
    check_entries, check_layout, only_blob,
};

/// A store in memory. A clone is another handle on the same sessions, as another process would have.
#[derive(Clone, Debug, Default)]
pub struct InMemoryStore {
    sessions: Arc<Mutex<BTreeMap<SessionId, Kept>>>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: Vec<Entry>,
    /// Of the last opening. It also tells apart the writers.
    epoch: Epoch,
    /// The epoch of the writer that holds it, and what others are told of it.
    held: Option<(Epoch, String)>,
    blobs: BTreeMap<Digest, Arc<[u8]>>,
}

impl InMemoryStore {
    /// A store without sessions.
    pub fn new() -> Self {
        Self::default()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Kept>> {
        // A panic of another thread leaves no half-made change: each is made by one insert or push.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What opening has made of a session.
    fn opened(&self, session: &SessionId, kept: &Kept, holder: &Holder) -> Opened {
        let writer = InMemoryWriter {
            store: self.clone(),
            session: session.clone(),
            holder: holder.clone(),
            epoch: kept.epoch,
            next: kept.next(),
        };
        Opened { writer: Box::new(writer), entries: kept.entries.clone(), damage: Vec::new() }
    }
}

impl Store for InMemoryStore {
    fn create(&self, start: SessionStart, holder: &Holder, at: Time) -> Result<Opened, StoreError> {
        let session = start.id.clone();
        check_layout(&start).map_err(|why| StoreError::Refused { session: session.clone(), why })?;
        let mut sessions = self.sessions();
        if sessions.contains_key(&session) {
            return Err(StoreError::Exists { session });
        }
        let first = Entry { seq: Seq(0), at, body: start.into() };
        let kept = sessions.entry(session.clone()).or_default();
        kept.entries.push(first);
        kept.open(holder, at);
        Ok(self.opened(&session, kept, holder))
    }

    fn open(&self, session: &SessionId, holder: &Holder, at: Time) -> Result<Opened, StoreError> {
        let mut sessions = self.sessions();
        let kept = sessions.get_mut(session).ok_or_else(|| not_found(session))?;
        kept.check_free(session)?;
        kept.open(holder, at);
        Ok(self.opened(session, kept, holder))
    }

    fn begin(&self, session: &SessionId, holder: &Holder) -> Result<Box<dyn UnfinishedSession>, StoreError> {
        if self.sessions().contains_key(session) {
            return Err(StoreError::Exists { session: session.clone() });
        }
        // Its blobs wait in a store of their own, and nobody sees them before it is finished.
        let waiting = Self::new();
        waiting.sessions().insert(session.clone(), Kept::default());
        let (store, session, holder) = (self.clone(), session.clone(), holder.clone());
        Ok(Box::new(InMemoryUnfinished { store, waiting, session, holder }))
    }

    fn delete(&self, session: &SessionId, _: &Holder) -> Result<(), StoreError> {
        let mut sessions = self.sessions();
        sessions.get(session).ok_or_else(|| not_found(session))?.check_free(session)?;
        sessions.remove(session);
        Ok(())
    }

    fn held_by(&self, session: &SessionId, _: &Holder) -> Result<Option<String>, StoreError> {
        let sessions = self.sessions();
        let kept = sessions.get(session).ok_or_else(|| not_found(session))?;
        Ok(kept.held.as_ref().map(|(_, by)| by.clone()))
    }

    fn sweep(&self, _: &Holder) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn bytes(&self, session: &SessionId) -> Result<u64, StoreError> {
        let lines: usize = self.lines(session)?.iter().map(|(_, line)| line.len() + 1).sum();
        let blobs: u64 = self.blobs(session)?.iter().map(|blob| blob.bytes).sum();
        Ok(blobs.saturating_add(lines as u64))
    }

    fn lines(&self, session: &SessionId) -> Result<Lines, StoreError> {
        let sessions = self.sessions();
        let kept = sessions.get(session).ok_or_else(|| not_found(session))?;
        Lines::of_entries(&kept.entries).map_err(|why| StoreError::Unusable { session: session.clone(), why })
    }

    fn blobs(&self, session: &SessionId) -> Result<Vec<BlobName>, StoreError> {
        let sessions = self.sessions();
        let blobs = sessions.get(session).into_iter().flat_map(|kept| &kept.blobs);
        Ok(blobs.map(|(hash, blob)| BlobName { hash: *hash, bytes: blob.len() as u64 }).collect())
    }

    fn read(&self, session: &SessionId) -> Result<Contents, StoreError> {
        let sessions = self.sessions();
        let kept = sessions.get(session).ok_or_else(|| not_found(session))?;
        Ok(Contents { entries: kept.entries.clone(), damage: Vec::new() })
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let contents = |kept: &Kept| Contents { entries: kept.entries.clone(), damage: Vec::new() };
        let sessions = self.sessions().values().filter_map(|kept| Listed::of(&contents(kept))).collect();
        Ok(Listing { sessions, unreadable: Vec::new() })
    }

    fn create_blob(&self, session: &SessionId) -> Result<Box<dyn UnfinishedBlob>, StoreError> {
        if !self.sessions().contains_key(session) {
            return Err(not_found(session));
        }
        Ok(Box::new(InMemoryBlob { store: self.clone(), session: session.clone(), bytes: Vec::new() }))
    }

    fn find_blob(&self, session: &SessionId, digits: &str) -> Result<BlobName, StoreError> {
        let sessions = self.sessions();
        let blobs = sessions.get(session).map(|kept| &kept.blobs);
        let hash = only_blob(session, digits, blobs.into_iter().flat_map(BTreeMap::keys).copied())?;
        let bytes = blobs.and_then(|blobs| blobs.get(&hash)).map_or(0, |blob| blob.len() as u64);
        Ok(BlobName { hash, bytes })
    }

    fn read_blob(
        &self,
        session: &SessionId,
        hash: &Digest,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        let sessions = self.sessions();
        let no_blob = || StoreError::NoBlob { session: session.clone(), hash: *hash };
        let blob = sessions.get(session).and_then(|kept| kept.blobs.get(hash)).ok_or_else(no_blob)?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(blob.len());
        Ok(blob.get(place(range.start)..place(range.end)).unwrap_or_default().to_vec())
    }
}

impl Kept {
    fn next(&self) -> Seq {
        self.entries.last().map_or(Seq(0), |entry| entry.seq.next())
    }

    fn check_free(&self, session: &SessionId) -> Result<(), StoreError> {
        match &self.held {
            None => Ok(()),
            Some((_, by)) => Err(StoreError::Held { session: session.clone(), by: by.clone() }),
        }
    }

    fn open(&mut self, holder: &Holder, at: Time) {
        self.epoch = Epoch(self.epoch.0.saturating_add(1));
        self.held = Some((self.epoch, holder.told()));
        let (holder, program) = (holder.text.clone(), holder.program.clone());
        let open = Open { epoch: self.epoch, holder, program, damage: Vec::new() };
        self.entries.push(Entry { seq: self.next(), at, body: open.into() });
    }
}

#[derive(Debug)]
struct InMemoryBlob {
    store: InMemoryStore,
    session: SessionId,
    bytes: Vec<u8>,
}

impl UnfinishedBlob for InMemoryBlob {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<BlobName, StoreError> {
        let mut sessions = self.store.sessions();
        let kept = sessions.get_mut(&self.session).ok_or_else(|| not_found(&self.session))?;
        let name = BlobName { hash: hash(&self.bytes), bytes: self.bytes.len() as u64 };
        kept.blobs.entry(name.hash).or_insert_with(|| self.bytes.as_slice().into());
        Ok(name)
    }
}

#[derive(Debug)]
struct InMemoryUnfinished {
    store: InMemoryStore,
    waiting: InMemoryStore,
    session: SessionId,
    holder: Holder,
}

impl UnfinishedSession for InMemoryUnfinished {
    fn create_blob(&mut self) -> Result<Box<dyn UnfinishedBlob>, StoreError> {
        self.waiting.create_blob(&self.session)
    }

    fn take_blob(&mut self, from: &SessionId, hash: &Digest) -> Result<BlobName, StoreError> {
        let bytes = self.store.read_blob(from, hash, 0..u64::MAX)?;
        self.waiting.put_blob(&self.session, &bytes)
    }

    fn finish(
        self: Box<Self>,
        start: SessionStart,
        lines: &str,
        at: Time,
        after: After<'_>,
    ) -> Result<Opened, StoreError> {
        let Self { store, waiting, session, holder } = *self;
        let made = Made::new(&session, (start, lines), &holder, at, after)?;
        let mut sessions = store.sessions();
        if sessions.contains_key(&session) {
            return Err(StoreError::Exists { session });
        }
        let blobs = waiting.sessions().remove(&session).unwrap_or_default().blobs;
        let held = Some((made.epoch, holder.told()));
        let kept = sessions.entry(session.clone()).or_default();
        *kept = Kept { entries: made.entries, epoch: made.epoch, held, blobs };
        Ok(store.opened(&session, kept, &holder))
    }
}

fn not_found(session: &SessionId) -> StoreError {
    StoreError::NotFound { session: session.clone() }
}

#[derive(Debug)]
struct InMemoryWriter {
    store: InMemoryStore,
    session: SessionId,
    holder: Holder,
    epoch: Epoch,
    next: Seq,
}

impl InMemoryWriter {
    /// Does something with the session if it is still that of this writer.
    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut sessions = self.store.sessions();
        let kept = sessions.get_mut(&self.session).ok_or_else(|| not_found(&self.session))?;
        act(kept)
    }

    fn check_epoch(&self, kept: &Kept) -> Result<(), StoreError> {
        if kept.epoch == self.epoch {
            return Ok(());
        }
        Err(StoreError::Stale { session: self.session.clone() })
    }
}

impl Writer for InMemoryWriter {
    fn session(&self) -> &SessionId {
        &self.session
    }

    fn next(&self) -> Seq {
        self.next
    }

    fn append(&mut self, expected: Seq, entries: &[Entry], _: Keep) -> Result<Seq, StoreError> {
        self.next = self.with(|kept| {
            self.check_epoch(kept)?;
            if kept.held.is_none() {
                return Err(StoreError::Released { session: self.session.clone() });
            }
            check_entries(&self.session, self.next, expected, entries)?;
            let refused = |why| StoreError::Refused { session: self.session.clone(), why };
            // What makes no line is refused here as it is on a disk.
            entries.iter().try_for_each(|entry| closed_line(entry).map(drop)).map_err(refused)?;
            kept.entries.extend_from_slice(entries);
            Ok(kept.next())
        })?;
        Ok(Seq(self.next.0.saturating_sub(1)))
    }

    fn release(&mut self) {
        if let Some(kept) = self.store.sessions().get_mut(&self.session) {
            kept.held.take_if(|(epoch, _)| *epoch == self.epoch);
        }
    }

    fn reacquire(&mut self) -> Result<(), StoreError> {
        self.with(|kept| {
            if kept.held.as_ref().is_some_and(|(epoch, _)| *epoch == self.epoch) {
                return Ok(());
            }
            kept.check_free(&self.session)?;
            self.check_epoch(kept)?;
            kept.held = Some((self.epoch, self.holder.told()));
            Ok(())
        })
    }
}

impl Drop for InMemoryWriter {
    fn drop(&mut self) {
        self.release();
    }
}
