//! A session in one file: the lines of its log as they are, then its blobs in pieces, then what ends it.
//!
//! The page on the format is `docs/format/export.md`. Blobs pass through in pieces; of the log as much is in memory
//! as for opening it. What cannot be read of a damaged session is not written, and the last line says what
//! that is, so that a file with a hole is told from a session with one.

mod base64;
mod import;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use petasos_core::entry::{Body, Content, Damage, Entry};
use petasos_core::id::{Digest, Seq, SessionId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;
use crate::store::Store;
pub use import::{Importing, import};
pub use reader::{ExportReader, Exported, ExportedLine, ExportedSession, read_export};

/// Bytes of a blob in one line: a multiple of 3, so that only the last piece is padded.
const PIECE: usize = 192 * 1024;

/// A line that holds a piece of a blob.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine {
    blob: BlobPiece,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobPiece {
    hash: Digest,
    /// Of the whole blob.
    bytes: u64,
    from: u64,
    base64: String,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    end: ExportEnd,
}

/// What the last line of an exported file says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportEnd {
    /// How many lines of the log stand before it.
    pub entries: u64,
    /// How many blobs.
    pub blobs: u64,
    /// Numbers that no line has, since the log was damaged where it was exported: first and last of each range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<(Seq, Seq)>,
    /// Blobs that lines name and that were lost or damaged there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_blobs: Vec<Digest>,
    /// All that was wrong with the log there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<Damage>,
}

/// Why a session was not exported, or a file is no exported session.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file is not what an export writes: whoever gave it should export again.
    #[error("line {line} of the file: {why}")]
    Bad {
        /// Which line, from 1; for what is missing at the end, the one after the last.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The file cannot be read or written.
    #[error("the file: {0}")]
    Io(#[from] io::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a session, and answers with its last line. Changes nothing and needs no lock.
///
/// # Errors
/// [`ExportError`]; what was written then is no whole file.
pub fn export(store: &dyn Store, session: &SessionId, to: &mut dyn Write) -> Result<ExportEnd, ExportError> {
    let lines = store.lines(session)?;
    let mut end =
        ExportEnd { missing: lines.missing(), damage: lines.damage.clone(), ..ExportEnd::default() };
    let mut named = Named::default();
    for (_, line) in lines.iter() {
        named.see(Entry::read(line).ok().as_ref());
        writeln!(to, "{line}")?;
        end.entries += 1;
    }
    drop(lines);
    for hash in named.with_those_of(store, session)? {
        match whole_length(store, session, &hash) {
            Ok(bytes) => {
                write_blob(store, session, (hash, bytes), to)?;
                end.blobs += 1;
            }
            Err(StoreError::NoBlob { .. } | StoreError::DamagedBlob { .. }) => end.lost_blobs.push(hash),
            Err(error) => return Err(error.into()),
        }
    }
    let last = serde_json::to_string(&EndLine { end: end.clone() }).map_err(io::Error::from)?;
    writeln!(to, "{last}")?;
    to.flush()?;
    Ok(end)
}

/// The length of a blob whose bytes are those that it is named after.
fn whole_length(store: &dyn Store, session: &SessionId, hash: &Digest) -> Result<u64, StoreError> {
    let (mut sum, mut at) = (Sha256::new(), 0_u64);
    loop {
        let bytes = store.read_blob(session, hash, at..at.saturating_add(PIECE as u64))?;
        if bytes.is_empty() {
            break;
        }
        sum.update(&bytes);
        at = at.saturating_add(bytes.len() as u64);
    }
    if Digest(sum.finalize().into()) == *hash {
        return Ok(at);
    }
    Err(StoreError::DamagedBlob { session: session.clone(), hash: *hash })
}

fn write_blob(
    store: &dyn Store,
    session: &SessionId,
    (hash, bytes): (Digest, u64),
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut from = 0_u64;
    loop {
        let piece = store.read_blob(session, &hash, from..from.saturating_add(PIECE as u64))?;
        let length = piece.len() as u64;
        if length == 0 && from > 0 {
            return Err(StoreError::DamagedBlob { session: session.clone(), hash }.into());
        }
        let line = BlobLine { blob: BlobPiece { hash, bytes, from, base64: base64::encode(&piece) } };
        writeln!(to, "{}", serde_json::to_string(&line).map_err(io::Error::from)?)?;
        from = from.saturating_add(length);
        if from >= bytes {
            return Ok(());
        }
    }
}

/// The blobs that lines name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// With their sizes.
    blobs: BTreeMap<Digest, u64>,
    /// Parts of requests. Where their bytes were recorded, they are blobs of that name.
    parts: BTreeSet<Digest>,
    beyond: Beyond,
}

/// Whether lines may name blobs that this program does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Beyond {
    #[default]
    None,
    /// There are lines that it cannot read.
    Unread,
}

impl Named {
    /// Takes in a line; none is one that this program cannot read.
    pub(crate) fn see(&mut self, entry: Option<&Entry>) {
        match entry.map(|entry| &entry.body) {
            None | Some(Body::Unknown(_)) => self.beyond = Beyond::Unread,
            Some(Body::Said(said)) => {
                self.blobs.extend(said.content.iter().filter_map(|content| match content {
                    Content::Blob { hash, bytes, .. } => Some((*hash, *bytes)),
                    Content::Text(_) => None,
                }));
            }
            Some(Body::Request(request)) => self.parts.extend(&request.parts),
            Some(Body::ToolResult(result)) => {
                self.blobs.extend(result.blob.as_ref().map(|blob| (blob.hash, blob.bytes)));
            }
            Some(_) => {}
        }
    }

    /// True if no line may name this blob.
    pub(crate) fn leaves_out(&self, hash: &Digest) -> bool {
        self.beyond == Beyond::None && !self.blobs.contains_key(hash) && !self.parts.contains(hash)
    }

    /// Their names, and those of all blobs of the session if lines may name more than can be seen.
    pub(crate) fn with_those_of(
        self,
        store: &dyn Store,
        session: &SessionId,
    ) -> Result<Vec<Digest>, StoreError> {
        let mut names: BTreeSet<Digest> = self.blobs.keys().copied().collect();
        if self.beyond == Beyond::Unread || !self.parts.is_empty() {
            let there = store.blobs(session)?.into_iter().map(|blob| blob.hash);
            names.extend(there.filter(|hash| !self.leaves_out(hash)));
        }
        Ok(names.into_iter().collect())
    }
}
