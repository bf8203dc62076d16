//! The bytes of a request's parts, made once, and bodies made of them.

use bytes::Bytes;
use petasos_core::id::Digest;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::provider::Body;
use crate::tokens;
use crate::written::CallReading;

/// The parts of a request (I8), one after the other. A part may end in the middle of a message, so that what
/// is said next can go into the same one; whoever writes the next part or the end closes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    bytes: Vec<u8>,
    digests: Vec<Digest>,
    /// Where each part ends.
    ends: Vec<usize>,
    hash: Sha256,
    tokens: u64,
}

/// Where a body gets marks that are no parts: the same text at these places, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<'a> {
    pub(crate) mark: &'a str,
    pub(crate) places: &'a [usize],
}

impl Parts {
    pub(crate) fn add(&mut self, part: &str) {
        self.bytes.extend_from_slice(part.as_bytes());
        self.digests.push(digest(part.as_bytes()));
        self.ends.push(self.bytes.len());
        self.hash.update(part.as_bytes());
        self.tokens = self.tokens.saturating_add(tokens::estimate(part));
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of a part, without marks.
    pub(crate) fn part(&self, place: usize) -> Option<&[u8]> {
        let to = *self.ends.get(place)?;
        let from = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.bytes.get(from..to)
    }

    /// The body that has this end behind the parts.
    pub(crate) fn body(&self, end: &str) -> Body {
        let mut bytes = Vec::with_capacity(self.bytes.len() + end.len());
        bytes.extend_from_slice(&self.bytes);
        bytes.extend_from_slice(end.as_bytes());
        let whole = self.hash.clone().chain_update(end.as_bytes());
        self.finished(bytes, Digest(whole.finalize().into()), end)
    }

    /// The same with marks in the parts. What the hashes of the parts and the prefix tell is without them.
    pub(crate) fn marked_body(&self, end: &str, marks: Marks<'_>) -> Body {
        let room = marks.places.len() * marks.mark.len();
        let mut bytes = Vec::with_capacity(self.bytes.len() + end.len() + room);
        let mut from = 0;
        for place in marks.places {
            bytes.extend_from_slice(self.bytes.get(from..*place).unwrap_or_default());
            bytes.extend_from_slice(marks.mark.as_bytes());
            from = *place;
        }
        bytes.extend_from_slice(self.bytes.get(from..).unwrap_or_default());
        bytes.extend_from_slice(end.as_bytes());
        let whole = digest(&bytes);
        self.finished(bytes, whole, end)
    }

    fn finished(&self, bytes: Vec<u8>, body: Digest, end: &str) -> Body {
        Body {
            bytes: Bytes::from(bytes),
            parts: self.digests.clone(),
            prefix: Digest(self.hash.clone().finalize().into()),
            body,
            tokens: self.tokens.saturating_add(tokens::estimate(end)),
            calls: CallReading::Native,
        }
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Our own structs of strings always become JSON; the fallback only keeps this free of panics.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| String::from("{}"))
}

/// A text as it stands inside a JSON string, without the quotes around it.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = json(&text);
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}
