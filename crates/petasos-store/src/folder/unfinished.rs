//! A session that is being made of another one's lines: its blobs first, its log last and at once.

use std::io;

use petasos_core::entry::SessionStart;
use petasos_core::id::{Digest, SessionId};
use petasos_core::time::Time;
use petasos_core::tool::BlobName;

use super::blobs::{self, Unfinished};
use super::writer::FolderWriter;
use super::{FolderStore, Place, delete};
use crate::disk::{DiskLock, Opening};
use crate::error::StoreError;
use crate::made::Made;
use crate::store::{After, Holder, Opened, UnfinishedBlob, UnfinishedSession, check_layout};

/// The folder of a session that has no log yet.
#[derive(Debug)]
pub(super) struct UnfinishedFolder {
    store: FolderStore,
    place: Place,
    holder: Holder,
    /// None once it is a session.
    lock: Option<Box<dyn DiskLock>>,
    blobs: BlobFolder,
}

/// Whether the folder of blobs is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlobFolder {
    None,
    Made,
}

impl UnfinishedFolder {
    pub(super) fn begin(
        store: FolderStore,
        session: &SessionId,
        holder: &Holder,
    ) -> Result<Self, StoreError> {
        let place = store.place(session);
        store.make_root(&store.root)?;
        store.make_folder(&store.sessions())?;
        store.make_folder(&place.folder)?;
        let lock = place.lock(holder)?;
        if place.log_is_there()? {
            return Err(StoreError::Exists { session: session.clone() });
        }
        let mark = place.folder.join(delete::BEING_MADE);
        place.disk.open(&mark, Opening::Empty).map_err(|error| StoreError::of_disk(&mark, error))?;
        Ok(Self { store, place, holder: holder.clone(), lock: Some(lock), blobs: BlobFolder::None })
    }

    fn make_blobs(&mut self) -> Result<(), StoreError> {
        if self.blobs == BlobFolder::None {
            self.store.make_folder(&self.place.blobs())?;
            self.blobs = BlobFolder::Made;
        }
        Ok(())
    }
}

impl UnfinishedSession for UnfinishedFolder {
    fn create_blob(&mut self) -> Result<Box<dyn UnfinishedBlob>, StoreError> {
        self.make_blobs()?;
        Ok(Box::new(Unfinished::create(self.place.clone())?))
    }

    fn take_blob(&mut self, from: &SessionId, hash: &Digest) -> Result<BlobName, StoreError> {
        let from = self.store.place(from);
        let there = from.blobs().join(hash.to_string());
        let length = self.place.disk.length(&there).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return StoreError::NoBlob { session: from.session.clone(), hash: *hash };
            }
            StoreError::of_disk(&there, error)
        })?;
        self.make_blobs()?;
        // A blob is never written again, only replaced under its name, so two sessions can share one.
        match self.place.disk.link(&there, &self.place.blobs().join(hash.to_string())) {
            Ok(()) => Ok(BlobName { hash: *hash, bytes: length }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(BlobName { hash: *hash, bytes: length })
            }
            // Not every disk knows second names.
            Err(_) => blobs::copy(&from, hash, self.place.clone()),
        }
    }

    fn finish(
        mut self: Box<Self>,
        start: SessionStart,
        lines: &str,
        at: Time,
        after: After<'_>,
    ) -> Result<Opened, StoreError> {
        let refused = |why| StoreError::Refused { session: start.id.clone(), why };
        check_layout(&start).map_err(refused)?;
        let made = Made::new(&self.place.session, (start, lines), &self.holder, at, after)?;
        if self.blobs == BlobFolder::Made {
            self.place.sync_folder(&self.place.blobs())?;
        }
        let (new, log) = (self.place.folder.join("log.new"), self.place.log());
        self.place.write_new_file(&new, &log, made.log.as_bytes())?;
        // It is a session now; a mark that stays counts for nothing beside a log.
        self.place.disk.remove(&self.place.folder.join(delete::BEING_MADE)).ok();
        let file = self.place.open_log()?;
        let Some(lock) = self.lock.take() else {
            return Err(self.place.of_log(io::ErrorKind::NotFound.into()));
        };
        let writer = FolderWriter::new(self.place.clone(), file, lock, made.next, &self.holder)?;
        Ok(Opened { writer: Box::new(writer), entries: made.entries, damage: Vec::new() })
    }
}

impl Drop for UnfinishedFolder {
    /// What cannot be taken away counts for nothing: a folder without a log is no session.
    fn drop(&mut self) {
        if self.lock.is_none() || !matches!(self.place.log_is_there(), Ok(false)) {
            return;
        }
        delete::clear(self.place.disk.as_ref(), &self.place.folder).ok();
    }
}
