//! Reading a text that comes in pieces.

use std::io;

use super::{Encoding, Order};

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// Reads a text that comes in pieces, which may end inside of letters.
#[derive(Debug)]
pub struct Decoder {
    inner: encoding_rs::Decoder,
    /// What is still to be left out of the beginning.
    bom: &'static [u8],
    flawed: bool,
}

/// What comes after a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Piece,
    Nothing,
}

impl Decoder {
    pub(super) fn new(encoding: Encoding) -> Self {
        let inner = match encoding {
            Encoding::Utf8(_) | Encoding::Bytes => encoding_rs::UTF_8,
            Encoding::Utf16(Order::Little, _) => encoding_rs::UTF_16LE,
            Encoding::Utf16(Order::Big, _) => encoding_rs::UTF_16BE,
            Encoding::Gbk | Encoding::Gb18030 => encoding_rs::GB18030,
        };
        Self { inner: inner.new_decoder_without_bom_handling(), bom: encoding.bom(), flawed: false }
    }

    /// Adds what can be read of the next piece to the text.
    pub fn push(&mut self, piece: &[u8], text: &mut String) {
        self.read(piece, text, Next::Piece);
    }

    /// Adds what is left at the end of the file.
    pub fn end(&mut self, text: &mut String) {
        self.read(b"", text, Next::Nothing);
    }

    /// True if bytes were met that are no letter; each is in the text as U+FFFD.
    pub fn is_flawed(&self) -> bool {
        self.flawed
    }

    fn read(&mut self, piece: &[u8], text: &mut String, next: Next) {
        let mut piece = piece;
        while let ([wanted, others @ ..], [first, rest @ ..]) = (self.bom, piece) {
            // Only what begins with it was told to have one.
            self.bom = if wanted == first { others } else { b"" };
            if wanted == first {
                piece = rest;
            }
        }
        loop {
            let room = self.inner.max_utf8_buffer_length(piece.len()).unwrap_or(PIECE);
            text.reserve(room);
            let (read, length, flawed) = self.inner.decode_to_string(piece, text, next == Next::Nothing);
            self.flawed |= flawed;
            if read == encoding_rs::CoderResult::InputEmpty {
                return;
            }
            piece = piece.get(length..).unwrap_or_default();
        }
    }
}

/// A file read as UTF-8.
#[derive(Debug)]
pub struct Reading<R> {
    decoder: Decoder,
    source: R,
    piece: Vec<u8>,
    text: String,
    /// How much of `text` was given away.
    given: usize,
    ended: bool,
}

impl<R> Reading<R> {
    pub(super) fn new(decoder: Decoder, source: R) -> Self {
        Self { decoder, source, piece: vec![0; PIECE], text: String::new(), given: 0, ended: false }
    }
}

impl<R: io::Read> io::Read for Reading<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.given >= self.text.len() && !self.ended {
            self.given = 0;
            self.text.clear();
            let length = self.source.read(&mut self.piece)?;
            self.decoder.push(self.piece.get(..length).unwrap_or_default(), &mut self.text);
            if length == 0 {
                self.decoder.end(&mut self.text);
                self.ended = true;
            }
        }
        let mut rest = self.text.as_bytes().get(self.given..).unwrap_or_default();
        let length = io::Read::read(&mut rest, room)?;
        self.given += length;
        Ok(length)
    }
}
