//! What can go wrong with a store, by what the caller will do about it.

use std::io;
use std::path::{Path, PathBuf};

use petasos_core::id::{Digest, SessionId};

/// Why a store did not do what it was asked. Nothing of what was asked counts as kept then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer holds the session: wait, or tell the person who.
    #[error("session {session} is held by {by}; stop that, or wait until its turn is over")]
    Held {
        /// Which session.
        session: SessionId,
        /// Who holds it: the process id and the holder's own words, as they stand in the lock file.
        by: String,
    },
    /// The log has grown or changed under another holder: drop the writer, open again, fold anew.
    #[error("session {session} was changed by another holder; open it again and read what is new")]
    Stale {
        /// Which session.
        session: SessionId,
    },
    /// The writer has let go of the session: acquire it again first.
    #[error("session {session} was released; acquire it again before appending")]
    Released {
        /// Which session.
        session: SessionId,
    },
    /// There is no such session.
    #[error("no session {session}; the list of sessions shows those there are")]
    NotFound {
        /// Which session.
        session: SessionId,
    },
    /// Something has happened in it since it was looked at.
    #[error("something has happened in session {session} since it was looked at; look again")]
    Changed {
        /// Which session.
        session: SessionId,
    },
    /// There is such a session already: take another id.
    #[error("session {session} exists already; open it, or take another id")]
    Exists {
        /// Which session.
        session: SessionId,
    },
    /// The first line does not make this log one of this session. Nothing of it is given out, and nothing
    /// in it is changed.
    #[error("session {session} cannot be used: {why}; its log is left as it is")]
    Unusable {
        /// Which session.
        session: SessionId,
        /// What is wrong with its first line.
        why: String,
    },
    /// There is no such blob.
    #[error("session {session} has no blob {hash}")]
    NoBlob {
        /// Which session.
        session: SessionId,
        /// Which blob.
        hash: Digest,
    },
    /// No blob's name begins with these digits, or more than one does.
    #[error(
        "session {session} has not one blob {digits:?}; give its first 8 hexadecimal digits, or more of them"
    )]
    NotOneBlob {
        /// Which session.
        session: SessionId,
        /// What the name was to begin with.
        digits: String,
    },
    /// The bytes of a blob are not those that it is named after.
    #[error("blob {hash} of session {session} is damaged: its bytes have another hash")]
    DamagedBlob {
        /// Which session.
        session: SessionId,
        /// Which blob.
        hash: Digest,
    },
    /// The entries cannot be appended as they are: a fault of the caller. Nothing was written.
    #[error("session {session} takes no such entries: {why}")]
    Refused {
        /// Which session.
        session: SessionId,
        /// What is wrong with them.
        why: String,
    },
    /// An append failed before, so the end of the log is not known: drop the writer and open again.
    #[error("session {session} takes no more entries after a failed append ({why}); open it again")]
    Broken {
        /// Which session.
        session: SessionId,
        /// How that append failed.
        why: String,
    },
    /// The index cannot be written or read. It is not needed: lists and searches then read the logs.
    #[error("the index {} cannot be used: {why}; the logs are read instead", path.display())]
    Index {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No room on the disk.
    #[error("no room for {}: {source}; free some space", path.display())]
    Full {
        /// What was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It may not be written.
    #[error("{} may not be written: {source}; change its permissions, or use another folder", path.display())]
    ReadOnly {
        /// What was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else that the system says.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// What the system said about `path`, by what a person would do.
    pub(crate) fn of_disk(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        let kind = source.kind();
        if matches!(
            kind,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ) {
            Self::Full { path, source }
        } else if matches!(kind, io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) {
            Self::ReadOnly { path, source }
        } else {
            Self::Io { path, source }
        }
    }
}
