//! Whole outputs, images and pastes beside a log, each named after the hash of its bytes.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use petasos_core::id::Digest;
use petasos_core::tool::BlobName;
use sha2::{Digest as _, Sha256};

use super::Place;
use crate::error::StoreError;

/// How the name of an unfinished blob begins.
const UNFINISHED: &str = "unfinished-";

/// Makes the names of unfinished blobs differ within a process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Keeps a blob: its bytes are synced under another name before it gets its own, so whatever has a blob's name
/// was once whole.
pub(super) fn put(place: &Place, folder: &Path, bytes: &[u8]) -> Result<BlobName, StoreError> {
    let hash = hash(bytes);
    let name = BlobName { hash, bytes: bytes.len() as u64 };
    let path = folder.join(hash.to_string());
    match place.disk.read(&path, 0..u64::MAX) {
        // Who kept it may have ended before its name was synced.
        Ok(there) if there == bytes => return place.sync_folder(folder).map(|()| name),
        // A blob that was damaged since is written anew: here are the right bytes.
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(StoreError::of_disk(&path, error)),
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let unfinished = folder.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
    place.write_new_file(&unfinished, &path, bytes)?;
    Ok(name)
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
