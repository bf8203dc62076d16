//! How a session goes away: first its name, then what is in it. A crash in the middle leaves a folder that is no
//! session, and the next sweep goes on with it.

use std::io;
use std::path::{Path, PathBuf};

use super::{FolderStore, Place};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::store::Holder;

/// How the name of a folder ends that was a session's. No session id has a dot.
const DELETED: &str = ".deleted";

impl FolderStore {
    /// Deletes a session that nobody else holds.
    pub(super) fn delete_session(&self, place: &Place, holder: &Holder) -> Result<(), StoreError> {
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: place.session.clone() });
        }
        let lock = place.lock(holder)?;
        // Another one may have deleted it before this one had the lock.
        if !place.log_is_there()? {
            return Err(StoreError::NotFound { session: place.session.clone() });
        }
        self.put_away(&place.folder)?;
        drop(lock);
        Ok(())
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

    /// A folder without a log whose maker has ended; one that is just being made is held.
    fn sweep_unfinished(&self, place: &Place, holder: &Holder) -> Result<bool, StoreError> {
        let has_lock = self.disk.length(&place.lock_file()).is_ok();
        if !has_lock || place.log_is_there()? {
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
