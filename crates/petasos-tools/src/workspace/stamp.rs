//! What tells one state of a file from another: its stamp, and the hash of its content.

use cap_std::fs::{Metadata, MetadataExt as _};
use petasos_core::id::Digest;

/// What tells one state of a file from another: which file it is, its size, and when it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    written: (i64, i64),
    /// The same, of the file's names, mode and owner too. Nobody can set it back.
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file that was looked at.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The content of a file at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    /// Of the file; none if it was not looked at since it was written.
    pub(crate) stamp: Option<Stamp>,
    /// Of all of it; none if not all of it was read.
    pub(crate) hash: Option<Digest>,
}

impl Content {
    /// True if both are one, as far as that can be said.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(one), Some(other)) => one == other,
            // Too large to be looked through: its times are all there is.
            (None, _) | (_, None) => self.stamp.is_some() && self.stamp == other.stamp,
        }
    }
}

/// What there was where a file is to be written, when its new content was made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum There {
    /// Nothing.
    Nothing,
    /// A file.
    File(Content),
}
