//! Whole outputs, images and pastes beside a log, each named after the hash of its bytes.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use petasos_core::id::Digest;
use petasos_core::tool::BlobName;
use sha2::{Digest as _, Sha256};

use super::{Place, write_all};
use crate::disk::{DiskFile, Opening};
use crate::error::StoreError;
use crate::store::{UnfinishedBlob, only_blob};

/// Bytes of a blob that are read at once to hash it.
const PIECE: u64 = 256 * 1024;

/// How the name of an unfinished blob begins.
const UNFINISHED: &str = "unfinished-";

/// Makes the names of unfinished blobs differ within a process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A blob on its way: its bytes are synced under another name before it gets its own, so whatever has a blob's
/// name was once whole.
#[derive(Debug)]
pub(super) struct Unfinished {
    place: Place,
    path: PathBuf,
    /// None once a write failed, or when it is finished.
    file: Option<Box<dyn DiskFile>>,
    hash: Sha256,
    bytes: u64,
}

impl Unfinished {
    /// Begins one in the folder of blobs, which is there.
    pub(super) fn create(place: Place) -> Result<Self, StoreError> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = place.blobs().join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let opened = place.disk.open(&path, Opening::Empty);
        let file = Some(opened.map_err(|error| StoreError::of_disk(&path, error))?);
        Ok(Self { place, path, file, hash: Sha256::new(), bytes: 0 })
    }

    /// Takes away what was written, so far as the disk lets us; else the next opening does.
    fn give_up(&mut self) {
        if self.file.take().is_some() {
            self.place.disk.remove(&self.path).ok();
        }
    }

    fn of_disk(&mut self, error: io::Error) -> StoreError {
        self.give_up();
        StoreError::of_disk(&self.path, error)
    }

    fn lost(&self) -> StoreError {
        let why = "a write of this blob failed before; begin it again".to_owned();
        StoreError::Refused { session: self.place.session.clone(), why }
    }

    /// Whether the blob is kept already, with the right bytes: one that was damaged since is written anew.
    fn is_kept(&self, path: &Path, hash: &Digest) -> Result<bool, StoreError> {
        match self.place.disk.length(path) {
            Ok(length) if length == self.bytes => Ok(hash_of(&self.place, path)? == *hash),
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::of_disk(path, error)),
        }
    }
}

impl UnfinishedBlob for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(file) = &mut self.file else { return Err(self.lost()) };
        if let Err(error) = write_all(file.as_mut(), bytes) {
            return Err(self.of_disk(error));
        }
        self.hash.update(bytes);
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<BlobName, StoreError> {
        let name = BlobName { hash: Digest(self.hash.clone().finalize().into()), bytes: self.bytes };
        let folder = self.place.blobs();
        let path = folder.join(name.hash.to_string());
        if self.file.is_some() && self.is_kept(&path, &name.hash)? {
            // Who kept it may have ended before its name was synced.
            return self.place.sync_folder(&folder).map(|()| name);
        }
        let Some(file) = &mut self.file else { return Err(self.lost()) };
        let synced = self.place.sync(file.as_mut());
        if let Err(error) = synced.and_then(|()| self.place.disk.rename(&self.path, &path)) {
            return Err(self.of_disk(error));
        }
        self.file = None;
        self.place.sync_folder(&folder).map(|()| name)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// The one blob whose name begins with these digits.
pub(super) fn find(place: &Place, digits: &str) -> Result<BlobName, StoreError> {
    let folder = place.blobs();
    let names = match place.disk.names(&folder) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(StoreError::of_disk(&folder, error)),
    };
    let names = names.iter().filter_map(|name| name.parse().ok());
    let hash = only_blob(&place.session, digits, names)?;
    let path = folder.join(hash.to_string());
    let bytes = place.disk.length(&path).map_err(|error| StoreError::of_disk(&path, error))?;
    Ok(BlobName { hash, bytes })
}

/// All blobs, by name.
pub(super) fn all(place: &Place) -> Result<Vec<BlobName>, StoreError> {
    let folder = place.blobs();
    let names = match place.disk.names(&folder) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(StoreError::of_disk(&folder, error)),
    };
    let mut hashes: Vec<Digest> = names.iter().filter_map(|name| name.parse().ok()).collect();
    hashes.sort();
    let named = |hash: Digest| {
        let path = folder.join(hash.to_string());
        let bytes = place.disk.length(&path).map_err(|error| StoreError::of_disk(&path, error))?;
        Ok(BlobName { hash, bytes })
    };
    hashes.into_iter().map(named).collect()
}

/// Copies a blob of one session to another one, in pieces.
pub(super) fn copy(from: &Place, hash: &Digest, to: Place) -> Result<BlobName, StoreError> {
    let path = from.blobs().join(hash.to_string());
    let (mut copy, mut at) = (Box::new(Unfinished::create(to)?), 0_u64);
    loop {
        let read = from.disk.read(&path, at..at.saturating_add(PIECE));
        let bytes = read.map_err(|error| StoreError::of_disk(&path, error))?;
        if bytes.is_empty() {
            break;
        }
        copy.write(&bytes)?;
        at = at.saturating_add(bytes.len() as u64);
    }
    if Digest(copy.hash.clone().finalize().into()) != *hash {
        return Err(StoreError::DamagedBlob { session: from.session.clone(), hash: *hash });
    }
    copy.finish()
}

/// The hash of a file, read in pieces.
fn hash_of(place: &Place, path: &Path) -> Result<Digest, StoreError> {
    let (mut hash, mut at) = (Sha256::new(), 0_u64);
    loop {
        let read = place.disk.read(path, at..at.saturating_add(PIECE));
        let bytes = read.map_err(|error| StoreError::of_disk(path, error))?;
        if bytes.is_empty() {
            return Ok(Digest(hash.finalize().into()));
        }
        hash.update(&bytes);
        at = at.saturating_add(bytes.len() as u64);
    }
}

pub(super) fn read(place: &Place, hash: &Digest, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    let path = place.blobs().join(hash.to_string());
    let of_blob = |error: io::Error| {
        if error.kind() == io::ErrorKind::NotFound {
            return StoreError::NoBlob { session: place.session.clone(), hash: *hash };
        }
        StoreError::of_disk(&path, error)
    };
    let length = place.disk.length(&path).map_err(of_blob)?;
    let bytes = place.disk.read(&path, range.clone()).map_err(of_blob)?;
    let is_whole = range.start == 0 && range.end >= length;
    if is_whole && self::hash(&bytes) != *hash {
        return Err(StoreError::DamagedBlob { session: place.session.clone(), hash: *hash });
    }
    Ok(bytes)
}

/// Takes away what processes that ended have left unfinished. Called while opening, so nobody keeps a blob here.
pub(super) fn sweep(place: &Place) -> Result<(), StoreError> {
    let folder = place.blobs();
    let names = match place.disk.names(&folder) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::of_disk(&folder, error)),
    };
    for name in names.iter().filter(|name| name.starts_with(UNFINISHED)) {
        let path = folder.join(name);
        place.disk.remove(&path).map_err(|error| StoreError::of_disk(&path, error))?;
    }
    Ok(())
}

pub(crate) fn hash(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}
