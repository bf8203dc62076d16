//! The store on that disk: the folder store, with every method handed on.

use std::ops::Range;

use petasos_core::entry::SessionStart;
use petasos_core::id::{Digest, SessionId};
use petasos_core::time::Time;
use petasos_core::tool::BlobName;
use petasos_store::{
    Contents, Holder, Lines, Listing, Opened, Store, StoreError, UnfinishedBlob, UnfinishedSession,
};

use super::Unsynced;

impl Store for Unsynced {
    fn create(&self, start: SessionStart, holder: &Holder, at: Time) -> Result<Opened, StoreError> {
        self.store.create(start, holder, at)
    }

    fn open(&self, session: &SessionId, holder: &Holder, at: Time) -> Result<Opened, StoreError> {
        self.store.open(session, holder, at)
    }

    fn begin(&self, session: &SessionId, holder: &Holder) -> Result<Box<dyn UnfinishedSession>, StoreError> {
        self.store.begin(session, holder)
    }

    fn delete(&self, session: &SessionId, holder: &Holder) -> Result<(), StoreError> {
        self.store.delete(session, holder)
    }

    fn held_by(&self, session: &SessionId, holder: &Holder) -> Result<Option<String>, StoreError> {
        self.store.held_by(session, holder)
    }

    fn sweep(&self, holder: &Holder) -> Result<u64, StoreError> {
        self.store.sweep(holder)
    }

    fn bytes(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.store.bytes(session)
    }

    fn lines(&self, session: &SessionId) -> Result<Lines, StoreError> {
        self.store.lines(session)
    }

    fn blobs(&self, session: &SessionId) -> Result<Vec<BlobName>, StoreError> {
        self.store.blobs(session)
    }

    fn read(&self, session: &SessionId) -> Result<Contents, StoreError> {
        self.store.read(session)
    }

    fn list(&self) -> Result<Listing, StoreError> {
        self.store.list()
    }

    fn create_blob(&self, session: &SessionId) -> Result<Box<dyn UnfinishedBlob>, StoreError> {
        self.store.create_blob(session)
    }

    fn find_blob(&self, session: &SessionId, digits: &str) -> Result<BlobName, StoreError> {
        self.store.find_blob(session, digits)
    }

    fn read_blob(
        &self,
        session: &SessionId,
        hash: &Digest,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        self.store.read_blob(session, hash, range)
    }
}
