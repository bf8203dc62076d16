//! Reads an exported file and believes none of it: sums, numbers, order, pieces, hashes, sizes, and its end.

use std::collections::BTreeSet;
use std::io::{BufRead, Read as _};

use petasos_core::entry::{BadLine, Body, Entry, SessionStart};
use petasos_core::id::{Digest, Seq};
use sha2::{Digest as _, Sha256};

use super::{BlobLine, BlobPiece, EndLine, ExportEnd, ExportError, Named, base64};
use crate::line::without_sum;
use crate::lines::missing;
use crate::store::check_layout;

/// Bytes of the longest line. What is said has 1 MiB at most, and no reply comes near this.
const LONGEST: u64 = 64 << 20;
/// Numbers end here: the index has no room for higher ones, and an entry behind the highest would have its number.
const MOST_ENTRIES: u64 = 1 << 31;

/// A part of an exported file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exported {
    /// A line of the log.
    Line(Box<ExportedLine>),
    /// A piece of a blob; those of one come one after the other.
    Piece {
        /// The blob.
        hash: Digest,
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether more of this blob comes; after the last piece its hash and size are known to be right.
        is_last: bool,
    },
    /// The end, and that all before it is whole.
    End(ExportEnd),
}

/// A line of an exported log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedLine {
    /// Its number.
    pub seq: Seq,
    /// Byte for byte, without its newline.
    pub text: String,
    /// None if it is whole and this program cannot read it: a newer one wrote it.
    pub entry: Option<Entry>,
}

/// An exported session without the bytes of its blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedSession {
    /// The first line.
    pub start: SessionStart,
    /// All entries that this program can read, by seq.
    pub entries: Vec<Entry>,
    /// The last line.
    pub end: ExportEnd,
}

/// Reads an exported session and checks all of it. Needs no home folder, and the memory of the log alone.
///
/// # Errors
/// [`ExportError::Bad`] or [`ExportError::Io`].
pub fn read_export(from: impl BufRead) -> Result<ExportedSession, ExportError> {
    let mut reader = ExportReader::new(from);
    let mut entries = Vec::new();
    loop {
        match reader.next_part()? {
            Exported::Line(line) => entries.extend(line.entry),
            Exported::Piece { .. } => {}
            Exported::End(end) => {
                let Some(Body::SessionStart(start)) = entries.first().map(|first| first.body.clone()) else {
                    return Err(reader.bad("no session line before the end"));
                };
                return Ok(ExportedSession { start, entries, end });
            }
        }
    }
}

/// Reads an exported file part by part.
#[derive(Debug)]
pub struct ExportReader<R> {
    from: R,
    /// The number of the line that was read last, from 1.
    line: u64,
    seqs: Vec<Seq>,
    named: Named,
    whole: BTreeSet<Digest>,
    open: Option<OpenBlob>,
}

/// A blob of which pieces have come.
#[derive(Debug)]
struct OpenBlob {
    hash: Digest,
    bytes: u64,
    at: u64,
    sum: Sha256,
}

impl<R: BufRead> ExportReader<R> {
    /// A reader at the beginning of a file.
    pub fn new(from: R) -> Self {
        let (seqs, named, whole) = (Vec::new(), Named::default(), BTreeSet::new());
        Self { from, line: 0, seqs, named, whole, open: None }
    }

    /// The next part. Ends with [`Exported::End`]; nothing is behind it.
    ///
    /// # Errors
    /// [`ExportError::Bad`] or [`ExportError::Io`]; what came before counts for nothing then.
    pub fn next_part(&mut self) -> Result<Exported, ExportError> {
        let text = self.next_line()?;
        if text.starts_with("{\"blob\":") {
            let piece = serde_json::from_str(&text).map_err(|error| self.bad(error.to_string()))?;
            return self.piece(piece);
        }
        if self.open.is_some() {
            return Err(self.bad("the blob before it is not whole"));
        }
        if text.starts_with("{\"end\":") {
            let EndLine { end } = serde_json::from_str(&text).map_err(|error| self.bad(error.to_string()))?;
            return self.end(end);
        }
        if !self.whole.is_empty() {
            return Err(self.bad("a line of the log stands behind a blob"));
        }
        self.log_line(text)
    }

    fn next_line(&mut self) -> Result<String, ExportError> {
        let mut bytes = Vec::new();
        self.from.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)?;
        self.line += 1;
        if bytes.is_empty() {
            return Err(self.bad("the file ends here, without its last line: it is cut"));
        }
        if bytes.pop() != Some(b'\n') {
            let is_long = bytes.len() as u64 + 1 >= LONGEST;
            return Err(self.bad(if is_long { "it is longer than 64 MiB" } else { "it is cut" }));
        }
        String::from_utf8(bytes).map_err(|_| self.bad("it is no text"))
    }

    fn log_line(&mut self, text: String) -> Result<Exported, ExportError> {
        if without_sum(text.as_bytes()).is_none() {
            let what =
                if self.line == 1 { "it is no line of a session's log" } else { "it has no right sum" };
            return Err(self.bad(what));
        }
        let (seq, entry) = match Entry::read(&text) {
            Ok(entry) => (entry.seq, Some(entry)),
            Err(BadLine::Body { seq, .. }) => (seq, None),
            Err(BadLine::Envelope(error)) => return Err(self.bad(error.to_string())),
        };
        match (self.seqs.last(), entry.as_ref().map(|entry| &entry.body)) {
            (None, Some(Body::SessionStart(start))) if seq == Seq(0) => {
                check_layout(start).map_err(|why| self.bad(why))?;
            }
            (None, _) => return Err(self.bad("it is not the first line of a session")),
            (Some(_), Some(Body::SessionStart(_))) => {
                return Err(self.bad("it is the first line of another session"));
            }
            (Some(_), _) if seq.0 > MOST_ENTRIES => {
                return Err(self.bad(format!("no session has an entry {seq}")));
            }
            (Some(last), _) if seq <= *last => {
                return Err(self.bad(format!("entry {seq} stands behind entry {last}")));
            }
            (Some(_), _) => {}
        }
        self.seqs.push(seq);
        self.named.see(entry.as_ref());
        Ok(Exported::Line(Box::new(ExportedLine { seq, text, entry })))
    }

    fn piece(&mut self, BlobLine { blob }: BlobLine) -> Result<Exported, ExportError> {
        let BlobPiece { hash, bytes: size, from, base64 } = blob;
        let bytes = base64::decode(&base64).ok_or_else(|| self.bad("its bytes are no base64"))?;
        let mut open = match self.open.take() {
            Some(open) => open,
            None if self.seqs.is_empty() => return Err(self.bad("a blob stands before the log")),
            None if self.whole.contains(&hash) => return Err(self.bad(format!("blob {hash} comes twice"))),
            None => OpenBlob { hash, bytes: size, at: 0, sum: Sha256::new() },
        };
        if (open.hash, open.bytes, open.at) != (hash, size, from) {
            return Err(self.bad(format!("it is not the next piece of blob {}", open.hash)));
        }
        if bytes.is_empty() && size > 0 {
            return Err(self.bad("it is an empty piece"));
        }
        open.sum.update(&bytes);
        open.at = open.at.saturating_add(bytes.len() as u64);
        if open.at > size {
            return Err(self.bad(format!("blob {hash} has more than its {size} bytes")));
        }
        let is_last = open.at == size;
        if is_last {
            let OpenBlob { sum, .. } = open;
            if Digest(sum.finalize().into()) != hash {
                return Err(self.bad(format!("the bytes of blob {hash} have another hash")));
            }
            self.check_size(&hash, size)?;
            self.whole.insert(hash);
        } else {
            self.open = Some(open);
        }
        Ok(Exported::Piece { hash, bytes, is_last })
    }

    fn check_size(&self, hash: &Digest, bytes: u64) -> Result<(), ExportError> {
        match self.named.blobs.get(hash) {
            Some(named) if *named != bytes => {
                Err(self.bad(format!("blob {hash} has {bytes} bytes, and the log says {named}")))
            }
            None if self.named.leaves_out(hash) => {
                Err(self.bad(format!("no line of the log names blob {hash}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn end(&mut self, end: ExportEnd) -> Result<Exported, ExportError> {
        let (entries, blobs) = (self.seqs.len() as u64, self.whole.len() as u64);
        if self.seqs.is_empty() {
            return Err(self.bad("the end stands before the log"));
        }
        if (end.entries, end.blobs) != (entries, blobs) {
            return Err(self.bad(format!(
                "it counts {} entries and {} blobs, and {entries} and {blobs} stand before it",
                end.entries, end.blobs
            )));
        }
        if end.missing != missing(self.seqs.iter().copied()) {
            return Err(self.bad("entries are missing that it does not name"));
        }
        let is_lost = |hash: &&Digest| !self.whole.contains(*hash) && !end.lost_blobs.contains(hash);
        if let Some(hash) = self.named.blobs.keys().find(is_lost) {
            return Err(self.bad(format!("blob {hash} is named by the log and not in the file")));
        }
        if !self.from.fill_buf()?.is_empty() {
            self.line += 1;
            return Err(self.bad("something stands behind the end"));
        }
        Ok(Exported::End(end))
    }

    pub(super) fn bad(&self, why: impl Into<String>) -> ExportError {
        ExportError::Bad { line: self.line, why: why.into() }
    }
}
