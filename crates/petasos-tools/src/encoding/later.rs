//! Reading a file whose beginning is plain ASCII: what its letters are is told by the first one that is not.

use std::io::{self, Read};

use super::{Decoder, Encoding};

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// A file read as it is as long as it is ASCII, then as UTF-8, as far as its encoding is known.
#[derive(Debug)]
pub struct Later<R> {
    source: R,
    letters: Letters,
    piece: Vec<u8>,
    text: String,
    /// What may be given away, and how much of it was.
    ready: Vec<u8>,
    given: usize,
    ended: bool,
}

/// How what comes is read.
#[derive(Debug)]
enum Letters {
    Ascii,
    AsTheyAre,
    Read(Decoder),
}

impl<R: Read> Later<R> {
    /// Of a file that begins with [`Encoding::BEGINNING`] bytes of ASCII at least.
    pub fn new(source: R) -> Self {
        let (piece, ready) = (vec![0; PIECE], Vec::new());
        Self { source, letters: Letters::Ascii, piece, text: String::new(), ready, given: 0, ended: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        let length = self.source.read(&mut self.piece)?;
        self.ended = length == 0;
        let piece = self.piece.get(..length).unwrap_or_default();
        self.ready.clear();
        self.ready.extend_from_slice(piece);
        self.given = 0;
        if let (Letters::Ascii, Some(first)) = (&self.letters, piece.iter().position(|byte| !byte.is_ascii()))
        {
            let known = length - first;
            let more = Encoding::BEGINNING.saturating_sub(known) as u64;
            self.source.by_ref().take(more).read_to_end(&mut self.ready)?;
            let rest = self.ready.split_off(first);
            let encoding = Encoding::behind_ascii(&rest);
            self.letters = match encoding {
                Encoding::Utf8(_) | Encoding::Bytes => Letters::AsTheyAre,
                Encoding::Utf16(..) | Encoding::Gbk | Encoding::Gb18030 => Letters::Read(encoding.decoder()),
            };
            let ascii = std::mem::replace(&mut self.ready, rest);
            self.decode();
            self.ready.splice(..0, ascii);
        } else {
            self.decode();
        }
        Ok(())
    }

    /// Reads what came as it has to be.
    fn decode(&mut self) {
        let Letters::Read(decoder) = &mut self.letters else { return };
        self.text.clear();
        decoder.push(&self.ready, &mut self.text);
        if self.ended {
            decoder.end(&mut self.text);
        }
        self.ready.clear();
        self.ready.extend_from_slice(self.text.as_bytes());
    }
}

impl<R: Read> Read for Later<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.given >= self.ready.len() && !self.ended {
            self.fill()?;
        }
        let mut rest = self.ready.get(self.given..).unwrap_or_default();
        let length = rest.read(room)?;
        self.given += length;
        Ok(length)
    }
}
