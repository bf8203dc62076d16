//! Whole outputs, kept beside the session's log by its store, on threads that may wait.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use petasos_core::id::SessionId;
use petasos_core::tool::BlobName;
use petasos_store::{Store, StoreError, UnfinishedBlob};
use petasos_tools::{BlobTrouble, BlobWriter, Blobs};
use tokio::task::{JoinHandle, spawn_blocking};

/// The blobs of one session.
#[derive(Clone, Debug)]
pub(crate) struct StoredBlobs {
    store: Arc<dyn Store>,
    session: SessionId,
}

impl StoredBlobs {
    pub(crate) fn new(store: Arc<dyn Store>, session: SessionId) -> Self {
        Self { store, session }
    }
}

impl Blobs for StoredBlobs {
    fn create(&self) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, BlobTrouble>> {
        let Self { store, session } = self.clone();
        Box::pin(async move {
            let blob = on_thread(move || store.create_blob(&session)).await.map_err(of_disk)?;
            Ok(Box::new(StoredBlob { blob: Some(blob), writing: None }) as Box<dyn BlobWriter>)
        })
    }

    fn read<'a>(
        &'a self,
        name: &'a str,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<(Vec<u8>, u64), BlobTrouble>> {
        let Self { store, session } = self.clone();
        let digits = name.to_owned();
        Box::pin(async move {
            let read = on_thread(move || {
                let BlobName { hash, bytes } = store.find_blob(&session, &digits)?;
                store.read_blob(&session, &hash, range).map(|read| (read, bytes))
            });
            read.await.map_err(|failed| {
                let is_missing = matches!(
                    &failed,
                    Failed::Store(StoreError::NoBlob { .. } | StoreError::NotOneBlob { .. })
                );
                if is_missing { BlobTrouble::NotFound(name.to_owned()) } else { of_disk(failed) }
            })
        })
    }
}

/// A blob on its way. Away while a thread writes to it, and lost after a failure. A write that nobody waits for
/// any more goes on, and the next one waits for it.
#[derive(Debug)]
struct StoredBlob {
    blob: Option<Box<dyn UnfinishedBlob>>,
    writing: Option<JoinHandle<Result<Box<dyn UnfinishedBlob>, StoreError>>>,
}

impl StoredBlob {
    /// Waits for a write that is out.
    async fn settle(&mut self) -> Result<(), BlobTrouble> {
        let Some(writing) = &mut self.writing else { return Ok(()) };
        let written = writing.await;
        self.writing = None;
        self.blob = Some(
            written.map_err(Failed::Thread).and_then(|blob| blob.map_err(Failed::Store)).map_err(of_disk)?,
        );
        Ok(())
    }
}

impl BlobWriter for StoredBlob {
    fn write(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), BlobTrouble>> {
        Box::pin(async move {
            self.settle().await?;
            let mut blob = self.blob.take().ok_or_else(lost)?;
            self.writing = Some(spawn_blocking(move || blob.write(&bytes).map(|()| blob)));
            self.settle().await
        })
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<BlobName, BlobTrouble>> {
        Box::pin(async move {
            self.settle().await?;
            let blob = self.blob.take().ok_or_else(lost)?;
            on_thread(move || blob.finish()).await.map_err(of_disk)
        })
    }
}

enum Failed {
    Store(StoreError),
    Thread(tokio::task::JoinError),
}

async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failed> {
    spawn_blocking(work).await.map_err(Failed::Thread)?.map_err(Failed::Store)
}

fn of_disk(failed: Failed) -> BlobTrouble {
    BlobTrouble::Disk(match failed {
        Failed::Store(StoreError::Full { source, .. } | StoreError::ReadOnly { source, .. }) => source,
        Failed::Store(error) => io::Error::other(error),
        Failed::Thread(error) => io::Error::other(error),
    })
}

fn lost() -> BlobTrouble {
    BlobTrouble::Disk(io::Error::other("an earlier piece of it could not be written"))
}
