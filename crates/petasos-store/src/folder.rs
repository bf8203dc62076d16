//! Sessions as folders on a disk: `<root>/sessions/<id>/{log.jsonl, lock, blobs/<sha256>}`.
//!
//! The lease is a `flock` on `lock`, which ends with its process; the fence is the epoch of the `open` entries
//! and the length of the log. What lasts over a power cut is in this order: the log under another name, its
//! bytes, its name, the name of its folder; then lines at its end.

mod blobs;
mod delete;
mod repair;
mod unfinished;
mod writer;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_core::entry::{Body, Damage, Entry, Keep, Open, SessionStart};
use petasos_core::id::{Digest, Epoch, Seq, SessionId};
use petasos_core::time::Time;
use petasos_core::tool::BlobName;

use crate::disk::{Disk, DiskFile, DiskLock, LockError, Opening, OsDisk};
use crate::error::StoreError;
use crate::line::closed_line;
use crate::lines::Lines;
use crate::listed::Listed;
use crate::log::Log;
use crate::store::{
    Contents, Holder, Listing, Opened, Store, UnfinishedBlob, UnfinishedSession, check_layout,
};
use blobs::Unfinished;
pub(crate) use blobs::hash;
use unfinished::UnfinishedFolder;
use writer::FolderWriter;

/// What synced means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// What is synced survives a power cut.
    #[default]
    Power,
    /// Synced means written: it survives the end of the process, and nothing waits for the disk.
    Process,
}

/// A store on a disk. Cheap to clone; several may stand on one folder, in one process or many.
#[derive(Clone, Debug)]
pub struct FolderStore {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    durability: Durability,
}

impl FolderStore {
    /// A store in a folder, which is made with the first session.
    pub fn new(root: impl Into<PathBuf>, durability: Durability) -> Self {
        Self::on(Arc::new(OsDisk), root, durability)
    }

    /// A store on another disk than the system's.
    pub fn on(disk: Arc<dyn Disk>, root: impl Into<PathBuf>, durability: Durability) -> Self {
        Self { disk, root: root.into(), durability }
    }

    /// The folder of it all.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        self.disk.as_ref()
    }

    /// The path of a session's log.
    pub(crate) fn log_of(&self, session: &SessionId) -> PathBuf {
        self.place(session).log()
    }

    /// Reads a log as a whole.
    pub(crate) fn read_log(&self, session: &SessionId) -> Result<Log, StoreError> {
        self.place(session).read_log()
    }

    /// The ids of all that looks like a session, in their order.
    pub(crate) fn ids(&self) -> Result<Vec<SessionId>, StoreError> {
        let folder = self.sessions();
        let names = match self.disk.names(&folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::of_disk(&folder, error)),
        };
        let mut ids: Vec<SessionId> = names.iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort();
        Ok(ids)
    }

    fn place(&self, session: &SessionId) -> Place {
        Place {
            disk: Arc::clone(&self.disk),
            session: session.clone(),
            folder: self.sessions().join(session.as_str()),
            durability: self.durability,
        }
    }

    fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Makes a folder of the store, with a name that lasts.
    fn make_folder(&self, path: &Path) -> Result<(), StoreError> {
        match self.disk.make_folder(path) {
            Ok(()) => {}
            // Who made it may have ended before its name was synced, so that is done in any case.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::of_disk(path, error)),
        }
        self.sync_parent(path)
    }

    /// Makes the root and those above it, where they are not there. Of a maker that ended on the way the name of
    /// the root is synced by the next one, those above it are not.
    fn make_root(&self, path: &Path) -> Result<(), StoreError> {
        match self.disk.make_folder(path) {
            Ok(()) => self.sync_parent(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // What is above the root is not ours, and we may have no right to sync it.
                self.sync_parent(path).ok();
                Ok(())
            }
            Err(error) => match path.parent() {
                Some(parent) if error.kind() == io::ErrorKind::NotFound => {
                    self.make_root(parent)?;
                    self.make_folder(path)
                }
                _ => Err(StoreError::of_disk(path, error)),
            },
        }
    }

    fn sync_parent(&self, path: &Path) -> Result<(), StoreError> {
        let parent = match path.parent() {
            // A root that was given by its name alone.
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Ok(()),
        };
        sync_folder(self.disk.as_ref(), parent, self.durability)
    }
}

impl Store for FolderStore {
    fn create(&self, start: SessionStart, holder: &Holder, at: Time) -> Result<Opened, StoreError> {
        let place = self.place(&start.id);
        check_layout(&start).map_err(|why| StoreError::Refused { session: start.id.clone(), why })?;
        self.make_root(&self.root)?;
        self.make_folder(&self.sessions())?;
        self.make_folder(&place.folder)?;
        let lock = place.lock(holder)?;
        if place.log_is_there()? {
            return Err(StoreError::Exists { session: start.id });
        }
        let first = Entry { seq: Seq(0), at, body: start.into() };
        let open = Entry { seq: Seq(1), at, body: place.open_body(Epoch(1), holder, Vec::new()) };
        let entries = vec![first, open];
        place.write_new_log(&entries)?;
        let file = place.open_log()?;
        let writer = FolderWriter::new(place, file, lock, Seq(2), holder)?;
        Ok(Opened { writer: Box::new(writer), entries, damage: Vec::new() })
    }

    fn open(&self, session: &SessionId, holder: &Holder, at: Time) -> Result<Opened, StoreError> {
        let place = self.place(session);
        // Looked for first, so that opening what is not there makes no lock file.
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: session.clone() });
        }
        let lock = place.lock(holder)?;
        let log = place.read_log()?;
        let epoch = Epoch(log.epoch.0.saturating_add(1));
        let mut file = place.open_log()?;
        let damage = repair::repair(&place, file.as_mut(), &log, epoch)?;
        // Who made the session may have ended before its log's name was synced; that of the folder was before.
        place.sync_folder(&place.folder)?;
        blobs::sweep(&place)?;
        let open = Entry { seq: log.next, at, body: place.open_body(epoch, holder, damage) };
        let mut writer = FolderWriter::new(place, file, lock, log.next, holder)?;
        writer.write(std::slice::from_ref(&open), Keep::Synced)?;
        let Contents { mut entries, damage } = log.into_contents();
        entries.push(open);
        Ok(Opened { writer: Box::new(writer), entries, damage })
    }

    fn begin(&self, session: &SessionId, holder: &Holder) -> Result<Box<dyn UnfinishedSession>, StoreError> {
        Ok(Box::new(UnfinishedFolder::begin(self.clone(), session, holder)?))
    }

    fn delete(&self, session: &SessionId, holder: &Holder) -> Result<(), StoreError> {
        self.delete_session(&self.place(session), holder)
    }

    fn held_by(&self, session: &SessionId, holder: &Holder) -> Result<Option<String>, StoreError> {
        let place = self.place(session);
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: session.clone() });
        }
        match place.lock(holder) {
            Ok(lock) => {
                drop(lock);
                Ok(None)
            }
            Err(StoreError::Held { by, .. }) => Ok(Some(by)),
            Err(error) => Err(error),
        }
    }

    fn sweep(&self, holder: &Holder) -> Result<u64, StoreError> {
        self.sweep_folders(holder)
    }

    fn bytes(&self, session: &SessionId) -> Result<u64, StoreError> {
        delete::bytes(&self.place(session))
    }

    fn lines(&self, session: &SessionId) -> Result<Lines, StoreError> {
        let (bytes, log) = self.place(session).read_bytes()?;
        Ok(Lines::of(bytes, log))
    }

    fn read(&self, session: &SessionId) -> Result<Contents, StoreError> {
        Ok(self.place(session).read_log()?.into_contents())
    }

    fn list(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing { sessions: Vec::new(), unreadable: Vec::new() };
        for id in self.ids()? {
            match self.read(&id) {
                Ok(contents) => listing.sessions.extend(Listed::of(&contents)),
                // A folder without a log: one who made a session ended before it was one.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => listing.unreadable.push((id, error)),
            }
        }
        Ok(listing)
    }

    fn create_blob(&self, session: &SessionId) -> Result<Box<dyn UnfinishedBlob>, StoreError> {
        let place = self.place(session);
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: session.clone() });
        }
        self.make_folder(&place.blobs())?;
        Ok(Box::new(Unfinished::create(place)?))
    }

    fn blobs(&self, session: &SessionId) -> Result<Vec<BlobName>, StoreError> {
        blobs::all(&self.place(session))
    }

    fn find_blob(&self, session: &SessionId, digits: &str) -> Result<BlobName, StoreError> {
        blobs::find(&self.place(session), digits)
    }

    fn read_blob(
        &self,
        session: &SessionId,
        hash: &Digest,
        range: Range<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        blobs::read(&self.place(session), hash, range)
    }
}

/// Where one session is kept.
#[derive(Clone, Debug)]
struct Place {
    disk: Arc<dyn Disk>,
    session: SessionId,
    folder: PathBuf,
    durability: Durability,
}

impl Place {
    fn log(&self) -> PathBuf {
        self.folder.join("log.jsonl")
    }

    fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    fn log_is_there(&self) -> Result<bool, StoreError> {
        let log = self.log();
        match self.disk.length(&log) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::of_disk(&log, error)),
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    fn lock(&self, holder: &Holder) -> Result<Box<dyn DiskLock>, StoreError> {
        let path = self.lock_file();
        self.disk.lock(&path, &holder.told()).map_err(|error| match error {
            LockError::Held(by) if by.is_empty() => {
                StoreError::Held { session: self.session.clone(), by: "one that has just begun".to_owned() }
            }
            LockError::Held(by) => StoreError::Held { session: self.session.clone(), by },
            // Its folder is gone: it was deleted.
            LockError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                StoreError::NotFound { session: self.session.clone() }
            }
            LockError::Io(error) => StoreError::of_disk(&path, error),
        })
    }

    fn read_log(&self) -> Result<Log, StoreError> {
        self.read_bytes().map(|(_, log)| log)
    }

    /// The log, and what it says.
    fn read_bytes(&self) -> Result<(Vec<u8>, Log), StoreError> {
        let bytes = self.disk.read(&self.log(), 0..u64::MAX).map_err(|error| self.of_log(error))?;
        let unusable = |why| StoreError::Unusable { session: self.session.clone(), why };
        let log = Log::read(&self.session, &bytes).map_err(unusable)?;
        Ok((bytes, log))
    }

    fn open_log(&self) -> Result<Box<dyn DiskFile>, StoreError> {
        self.disk.open(&self.log(), Opening::Existing).map_err(|error| self.of_log(error))
    }

    /// What the disk says of the log; a log that is not there is no session.
    fn of_log(&self, error: io::Error) -> StoreError {
        if error.kind() == io::ErrorKind::NotFound {
            return StoreError::NotFound { session: self.session.clone() };
        }
        StoreError::of_disk(&self.log(), error)
    }

    fn open_body(&self, epoch: Epoch, holder: &Holder, damage: Vec<Damage>) -> Body {
        Open { epoch, holder: holder.text.clone(), program: holder.program.clone(), damage }.into()
    }

    /// The log of a new session appears whole or not at all.
    fn write_new_log(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let lines = self.lines(entries)?;
        self.write_new_file(&self.folder.join("log.new"), &self.log(), lines.as_bytes())
    }

    fn lines(&self, entries: &[Entry]) -> Result<String, StoreError> {
        let refused = |why| StoreError::Refused { session: self.session.clone(), why };
        entries.iter().map(closed_line).collect::<Result<String, _>>().map_err(refused)
    }

    /// Writes and syncs a file under one name, then gives it the other.
    fn write_new_file(&self, first: &Path, then: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let of_first = |error| StoreError::of_disk(first, error);
        let mut file = self.disk.open(first, Opening::Empty).map_err(of_first)?;
        let written = write_all(file.as_mut(), bytes).and_then(|()| self.sync(file.as_mut()));
        let written = written.and_then(|()| self.disk.rename(first, then));
        if let Err(error) = written {
            // The room it takes is not needed; if it cannot be had, the next try empties the file.
            self.disk.remove(first).ok();
            return Err(of_first(error));
        }
        then.parent().map_or(Ok(()), |folder| self.sync_folder(folder))
    }

    fn sync(&self, file: &mut dyn DiskFile) -> io::Result<()> {
        match self.durability {
            Durability::Power => file.sync(),
            Durability::Process => Ok(()),
        }
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), StoreError> {
        sync_folder(self.disk.as_ref(), folder, self.durability)
    }
}

fn sync_folder(disk: &dyn Disk, folder: &Path, durability: Durability) -> Result<(), StoreError> {
    match durability {
        Durability::Power => disk.sync_folder(folder).map_err(|error| StoreError::of_disk(folder, error)),
        Durability::Process => Ok(()),
    }
}

/// Writes all bytes, in one call if the system takes them so.
fn write_all(file: &mut dyn DiskFile, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
