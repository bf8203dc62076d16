//! What people do with sessions as wholes: take them elsewhere and bring them in, go off them, take words back, give
//! them titles, and delete them. None of it needs a model.

mod clean;
mod said;

use std::io::{BufRead, Write};

use petasos_core::entry::{Body, Entry, Keep, Lifetime, Setting, SettingSource};
use petasos_core::error::Rejected;
use petasos_core::id::{Seq, SessionId};
use petasos_core::session::{Session, Terms};
use petasos_core::text::Text;
use petasos_core::time::Time;
use petasos_core::turn::{Effect, Input};
use petasos_store::{
    ExportEnd, ExportError, FolderStore, Importing, Opened, Store as _, StoreError, Upto, export, fork,
    import,
};
use tokio::task::spawn_blocking;

use crate::agent::new_id;
use crate::clock::{Clock as _, SystemClock};
use crate::setup::{Setup, fault, holder};
pub use clean::{Cleaning, Kept, Old};
pub use said::LastSaid;

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

/// Why a session was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// It does not fit the session as it stands.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A session that went off another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkMade {
    /// Its id.
    pub session: SessionId,
    /// The last entry that came along.
    pub upto: Seq,
    /// The entry behind which it goes on: the end of a step, or something said; none is the empty transcript.
    pub place: Option<Seq>,
    /// What was said there, if it goes on behind something said.
    pub said: Option<Text>,
    /// What could not be taken along, a line each.
    pub losses: Vec<String>,
}

impl Setup {
    /// Makes a session that goes off another one behind an entry, or behind its last one.
    ///
    /// # Errors
    /// There is no such entry, or what the store says; nothing is kept then.
    pub async fn fork(&self, session: &SessionId, at: Option<Seq>) -> Result<ForkMade, StoreError> {
        let (store, id, now) = (self.store(), session.clone(), SystemClock::new().now());
        on_thread(move || {
            let contents = store.read(&id)?;
            let start = contents.entries.first().map(|first| &first.body);
            let workspace = if let Some(Body::SessionStart(start)) = start {
                start.workspace.clone()
            } else {
                Text::default()
            };
            let new = Importing { id: new_id(now), workspace, holder: holder(), at: now };
            let new_session = new.id.clone();
            let upto = at.map_or(Upto::Last, Upto::Entry);
            let mut place = None;
            let made = fork(&store, &id, upto, new, &mut |entries| {
                // The last entry is the `open` of the new session.
                let last = entries.last().map_or(0, |open| open.seq.0.saturating_sub(1));
                let mut session = Session::fold(entries, no_terms());
                // A session that was just folded does not run.
                place = session.fork(now, Seq(last)).ok().flatten();
                appended(&mut session)
            })?;
            let blobs = made.lost_blobs.iter().map(|hash| format!("blob {hash} is lost or damaged there"));
            let damage = made.damage.iter().map(|why| format!("the log of session {id} is damaged: {why}"));
            let said = place.and_then(|place| said::text_at(&made.opened.entries, place));
            let losses = damage.chain(blobs).collect();
            Ok(ForkMade { session: new_session, upto: made.upto, place, said, losses })
        })
        .await
    }

    /// What was said last, and what came of it: that an undo takes back.
    ///
    /// # Errors
    /// What the store says.
    pub async fn last_said(&self, session: &SessionId) -> Result<Option<LastSaid>, StoreError> {
        let (store, id) = (self.store(), session.clone());
        on_thread(move || Ok(LastSaid::of(&store.read(&id)?.entries))).await
    }

    /// Takes back what was said last, with all that came of it, and answers with that.
    ///
    /// # Errors
    /// [`ManageError`]; nothing changed then.
    pub async fn undo(&self, session: &SessionId) -> Result<LastSaid, ManageError> {
        let (store, id) = (self.store(), session.clone());
        on_thread(move || {
            let now = SystemClock::new().now();
            let opened = store.open(&id, &holder(), now)?;
            let said = LastSaid::of(&opened.entries).ok_or(Rejected::NothingSaid)?;
            change(opened, now, Input::Undo).map(|()| said)
        })
        .await
    }

    /// Gives a session a title, or takes it back.
    ///
    /// # Errors
    /// [`ManageError`]; nothing changed then.
    pub async fn rename(&self, session: &SessionId, title: Option<Text>) -> Result<(), ManageError> {
        let (store, id) = (self.store(), session.clone());
        on_thread(move || {
            let now = SystemClock::new().now();
            change(store.open(&id, &holder(), now)?, now, Input::Set(title_of(title)))
        })
        .await
    }

    /// Deletes a session with all that is kept of it, and takes away what deletions that ended in the middle have left.
    ///
    /// # Errors
    /// What the store says; `Held` names who holds it. It stands then as it did.
    pub async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        let (store, id) = (self.store(), session.clone());
        on_thread(move || delete(&store, &id)).await
    }
}

/// The setting that gives a session its title.
pub(crate) fn title_of(title: Option<Text>) -> Setting {
    Setting { key: "title".into(), value: title, by: SettingSource::Person, lifetime: Lifetime::Session }
}

fn delete(store: &FolderStore, session: &SessionId) -> Result<(), StoreError> {
    store.delete(session, &holder())?;
    sweep(store);
    Ok(())
}

/// Takes away what earlier deletions and makings have left.
fn sweep(store: &FolderStore) {
    if let Err(error) = store.sweep(&holder()) {
        tracing::warn!(%error, "what an earlier deletion has left is still there");
    }
}

/// Changes a session that is at rest, and lets go of it.
fn change(opened: Opened, now: Time, input: Input) -> Result<(), ManageError> {
    let Opened { mut writer, entries, .. } = opened;
    let mut session = Session::fold(&entries, no_terms());
    session.handle(now, input)?;
    writer.append(writer.next(), &appended(&mut session), Keep::Synced)?;
    Ok(())
}

/// What a session at rest writes of a change; it wants nothing else.
fn appended(session: &mut Session) -> Vec<Entry> {
    let mut written = Vec::new();
    while let Some(effect) = session.next_effect() {
        if let Effect::Append { entries, .. } = effect {
            written.extend(entries);
        }
    }
    written
}

/// No turn begins under these.
pub(crate) fn no_terms() -> Terms {
    Terms {
        limits: Default::default(),
        mode: Default::default(),
        target: crate::models::unnamed(),
        fallback: Vec::new(),
    }
}

pub(crate) async fn on_thread<T: Send + 'static, E: From<StoreError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(fault(&error.to_string()).into()),
    }
}
