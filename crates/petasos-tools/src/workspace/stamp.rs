//! What tells one state of a file from another without its content.

use cap_std::fs::{Metadata, MetadataExt as _};

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

/// What there was where a file is to be written, when its new content was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum There {
    /// Nothing.
    Nothing,
    /// A file.
    File(Stamp),
}
