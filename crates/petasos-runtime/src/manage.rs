//! What people do with sessions as wholes: take them elsewhere and bring them in.

use std::io::{BufRead, Write};

use petasos_core::id::SessionId;
use petasos_store::{ExportEnd, ExportError, Importing, StoreError, export, import};
use tokio::task::spawn_blocking;

use crate::agent::new_id;
use crate::clock::{Clock as _, SystemClock};
use crate::setup::{Setup, fault, holder};

/// A session that was exported or imported: which, and what its last line says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// The session that is here.
    pub session: SessionId,
    /// What the file says of what it holds.
    pub end: ExportEnd,
}

impl Transferred {
    /// How much that is, for a person.
    pub fn amount(&self) -> String {
        let many = |count: u64, one: &str, more: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {more}"),
        };
        format!("{}, {}", many(self.end.entries, "entry", "entries"), many(self.end.blobs, "blob", "blobs"))
    }

    /// What is not in the file, for it could not be read where it was exported; a line each.
    pub fn losses(&self) -> Vec<String> {
        let ExportEnd { damage, missing, lost_blobs, .. } = &self.end;
        let damage = damage.iter().map(|damage| format!("the log is damaged: {}", damage.why));
        let missing = missing.iter().map(|(first, last)| match first == last {
            true => format!("entry {first} is not in the file"),
            false => format!("entries {first} to {last} are not in the file"),
        });
        let blobs = lost_blobs.iter().map(|hash| format!("blob {hash} is not in the file"));
        damage.chain(missing).chain(blobs).collect()
    }
}

impl Setup {
    /// Writes a session, whole, as lines; changes nothing, and needs no lock.
    ///
    /// # Errors
    /// [`ExportError`]; what was written then is no whole file.
    pub async fn export(
        &self,
        session: &SessionId,
        mut to: impl Write + Send + 'static,
    ) -> Result<Transferred, ExportError> {
        let (store, id) = (self.store(), session.clone());
        let end = on_thread(move || export(&store, &id, &mut to)).await?;
        Ok(Transferred { session: session.clone(), end })
    }

    /// Takes an exported session in, under a new id and for the workspace of this setup.
    ///
    /// # Errors
    /// [`ExportError`]; nothing of it is kept then.
    pub async fn import(&self, from: impl BufRead + Send + 'static) -> Result<Transferred, ExportError> {
        let (store, at) = (self.store(), SystemClock::new().now());
        let workspace = self.places.workspace.to_string_lossy().as_ref().into();
        let importing = Importing { id: new_id(at), workspace, holder: holder(), at };
        let session = importing.id.clone();
        let end = on_thread(move || {
            // The writer is dropped with this: the session is nobody's.
            import(from, &store, importing).map(|(_, end)| end)
        });
        Ok(Transferred { session, end: end.await? })
    }
}

async fn on_thread<T: Send + 'static, E: From<StoreError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(fault(&error.to_string()).into()),
    }
}
