//! The hash of a content that comes in pieces.

use petasos_core::id::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes whose hash is taken: more would hold up the call that waits for it.
pub(crate) const MOST_HASHED: u64 = 64 * 1024 * 1024;

/// The hash of a content that comes in pieces, as long as it is not too large.
#[derive(Debug, Default)]
pub(crate) struct Hashed {
    hash: Sha256,
    bytes: u64,
}

impl Hashed {
    /// The next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        if !self.is_too_large() {
            self.hash.update(piece);
        }
    }

    /// True if there is no use in going on.
    pub(crate) fn is_too_large(&self) -> bool {
        self.bytes > MOST_HASHED
    }

    /// Of all that came; none if it was too large.
    pub(crate) fn end(self) -> Option<Digest> {
        (!self.is_too_large()).then(|| Digest(self.hash.finalize().into()))
    }
}
