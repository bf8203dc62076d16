//! How a session goes away: first its name, then what is in it. A crash in the middle leaves a folder that is no
//! session, and the next sweep goes on with it.

use std::io;
use std::path::{Path, PathBuf};

use super::{FolderStore, Place};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::listed::Listed;
use crate::store::Holder;

/// How the name of a folder ends that was a session's. No session id has a dot.
const DELETED: &str = ".deleted";
/// Stands in the folder of a session while it is being made of another one's lines. Its bytes and blobs are whole there
/// before it is a session.
pub(super) const BEING_MADE: &str = "being-made";

impl FolderStore {
    /// Deletes a session that nobody else holds.
    pub(super) fn delete_session(&self, place: &Place, holder: &Holder) -> Result<(), StoreError> {
        self.delete_if(place, holder, || Ok(()))
    }

    /// The same where `check` says so, which is asked while nobody else can write.
    fn delete_if(
        &self,
        place: &Place,
        holder: &Holder,
        check: impl Fn() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: place.session.clone() });
        }
        let lock = place.lock(holder)?;
        // Another one may have deleted it before this one had the lock.
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: place.session.clone() });
        }
        check()?;
        self.put_away(&place.folder)?;
        drop(lock);
        Ok(())
    }

    /// Deletes a session if nothing has happened in it since it was listed.
    ///
    /// # Errors
    /// `Changed` if something has; else those of [`Store::delete`].
    pub fn delete_as_listed(&self, listed: &Listed, holder: &Holder) -> Result<(), StoreError> {
        let place = self.place(&listed.start.id);
        self.delete_if(&place, holder, || {
            let now = Listed::of(&place.read_log()?.into_contents());
            let is_same = now.is_some_and(|now| (now.entries, now.last) == (listed.entries, listed.last));
            if is_same { Ok(()) } else { Err(StoreError::Changed { session: place.session.clone() }) }
        })
    }

    /// Takes away what deletions and makings that ended in the middle have left, and answers how many folders
    /// that were.
    pub(super) fn sweep_folders(&self, holder: &Holder) -> Result<u64, StoreError> {
        let folder = self.sessions();
        let names = match self.disk.names(&folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(StoreError::of_disk(&folder, error)),
        };
        let mut swept = 0;
        for name in names {
            let path = folder.join(&name);
            if name.ends_with(DELETED) {
                clear(self.disk.as_ref(), &path)?;
                swept += 1;
            } else if let Ok(session) = name.parse() {
                swept += u64::from(self.sweep_unfinished(&self.place(&session), holder)?);
            }
        }
        Ok(swept)
    }

    /// A folder without a log whose maker has ended; one that is just being made is held. What else has no log was a
    /// session, and may be one again: it is left alone.
    fn sweep_unfinished(&self, place: &Place, holder: &Holder) -> Result<bool, StoreError> {
        let has_lock = self.disk.length(&place.lock_file()).is_ok();
        if !has_lock || place.log_is_there()? || !is_leftover(place)? {
            return Ok(false);
        }
        let Ok(lock) = place.lock(holder) else { return Ok(false) };
        let is_unfinished = !place.log_is_there()?;
        if is_unfinished {
            self.put_away(&place.folder)?;
        }
        drop(lock);
        Ok(is_unfinished)
    }

    /// From the rename on it is no session. What cannot be taken away then is left to the next sweep.
    fn put_away(&self, folder: &Path) -> Result<(), StoreError> {
        let mut name = folder.as_os_str().to_owned();
        name.push(DELETED);
        let away = PathBuf::from(name);
        clear(self.disk.as_ref(), &away)?;
        self.disk.rename(folder, &away).map_err(|error| StoreError::of_disk(folder, error))?;
        if let Err(error) = self.sync_parent(folder) {
            // Nobody knows which name lasts, so it gets back the one under which nothing is lost.
            self.disk.rename(&away, folder).ok();
            return Err(error);
        }
        clear(self.disk.as_ref(), &away).ok();
        Ok(())
    }
}

/// True if all that is in a folder without a log is what one leaves who makes a session.
fn is_leftover(place: &Place) -> Result<bool, StoreError> {
    let names = place.disk.names(&place.folder).map_err(|error| StoreError::of_disk(&place.folder, error))?;
    if names.iter().any(|name| name == BEING_MADE) {
        return Ok(true);
    }
    if !names.iter().all(|name| matches!(name.as_str(), "lock" | "log.new" | "blobs")) {
        return Ok(false);
    }
    match place.disk.names(&place.blobs()) {
        Ok(blobs) => Ok(blobs.iter().all(|name| name.starts_with("unfinished-"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StoreError::of_disk(&place.blobs(), error)),
    }
}

/// Takes a session's folder away, with all that is in it; one that is not there is no error.
pub(super) fn clear(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let of_disk = |path: &Path, error| StoreError::of_disk(path, error);
    let names = match disk.names(folder) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(of_disk(folder, error)),
    };
    for name in names {
        let path = folder.join(&name);
        if name == "blobs" {
            for blob in disk.names(&path).map_err(|error| of_disk(&path, error))? {
                let blob = path.join(blob);
                disk.remove(&blob).map_err(|error| of_disk(&blob, error))?;
            }
            disk.remove_folder(&path).map_err(|error| of_disk(&path, error))?;
        } else {
            disk.remove(&path).map_err(|error| of_disk(&path, error))?;
        }
    }
    disk.remove_folder(folder).map_err(|error| of_disk(folder, error))
}

/// Bytes of all files of a session.
pub(super) fn bytes(place: &Place) -> Result<u64, StoreError> {
    let sum = |folder: &Path| -> Result<u64, StoreError> {
        let names = match place.disk.names(folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::of_disk(folder, error)),
        };
        let files = names.iter().filter(|name| *name != "blobs").map(|name| folder.join(name));
        // One that went away meanwhile takes no room.
        Ok(files.filter_map(|file| place.disk.length(&file).ok()).sum())
    };
    Ok(sum(&place.folder)?.saturating_add(sum(&place.blobs())?))
}
