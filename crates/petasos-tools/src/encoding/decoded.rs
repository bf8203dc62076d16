//! All of a text as it was read, and where in the bytes each letter of it stands.

use std::ops::Range;

use super::{Encoding, Order, chinese_letter};

/// Bytes of text between two places that are kept, where letters are no longer or shorter than in the file.
const STRIDE: usize = 1024;

/// A text as it was read.
#[derive(Debug)]
pub struct Decoded<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
    text: String,
    flawed: bool,
    /// Where letters stand beyond doubt.
    sure: Vec<Range<usize>>,
    /// Places in the text and in the bytes, both going up; from one to the next the bytes are whole letters, or
    /// one flaw.
    known: Vec<(usize, usize)>,
}

impl<'a> Decoded<'a> {
    pub(super) fn new(encoding: Encoding, bytes: &'a [u8]) -> Self {
        let (text, bom) = (String::with_capacity(bytes.len()), encoding.bom());
        let mut decoded = Self { bytes, encoding, text, flawed: false, sure: Vec::new(), known: Vec::new() };
        let begins = if bytes.starts_with(bom) { bom.len() } else { 0 };
        match encoding {
            Encoding::Utf8(_) | Encoding::Bytes => decoded.read_utf8(begins),
            Encoding::Utf16(..) => decoded.read_utf16(begins),
            Encoding::Gbk | Encoding::Gb18030 => decoded.read_chinese(begins),
        }
        decoded.known.push((decoded.text.len(), bytes.len()));
        decoded
    }

    /// The text, without a byte-order mark; what is no letter is U+FFFD.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if there are bytes that are no letter.
    pub fn is_flawed(&self) -> bool {
        self.flawed
    }

    /// The pieces of the text that may be changed, each with its place in the text, in their order: between them is
    /// what is no letter, and what may be the second half of one.
    pub fn sure(&self) -> impl Iterator<Item = (usize, &str)> {
        self.sure.iter().map(|piece| (piece.start, self.text.get(piece.clone()).unwrap_or_default()))
    }

    /// Where in the bytes a letter of the text begins, or the text ends.
    pub fn byte_of(&self, place: usize) -> usize {
        let after = self.known.partition_point(|(text, _)| *text <= place);
        let Some((text, byte)) = after.checked_sub(1).and_then(|at| self.known.get(at)) else { return 0 };
        let before = self.text.get(*text..place).unwrap_or_default();
        let bytes = match self.encoding {
            Encoding::Utf8(_) | Encoding::Bytes => before.len(),
            Encoding::Utf16(..) => before.encode_utf16().count() * 2,
            Encoding::Gbk | Encoding::Gb18030 => before.chars().fold(0, |length, _| {
                length + chinese_letter(self.bytes.get(byte + length..).unwrap_or_default())
            }),
        };
        byte + bytes
    }

    fn read_utf8(&mut self, begins: usize) {
        let mut byte = begins;
        let mut is_after_flaw = false;
        for chunk in self.bytes.get(begins..).unwrap_or_default().utf8_chunks() {
            self.known.push((self.text.len(), byte));
            let from = self.text.len();
            self.text.push_str(chunk.valid());
            if self.encoding == Encoding::Bytes {
                self.ascii_is_sure(from, is_after_flaw);
            } else {
                let doubt = usize::from(is_after_flaw && chunk.valid().starts_with(second_half));
                self.is_sure(from + doubt..self.text.len());
            }
            byte += chunk.valid().len();
            is_after_flaw = !chunk.invalid().is_empty();
            if is_after_flaw {
                self.flaw(byte);
                byte += chunk.invalid().len();
            }
        }
    }

    /// Of an unknown encoding only ASCII is sure, and not if it may end a letter that began before it.
    fn ascii_is_sure(&mut self, from: usize, is_after_flaw: bool) {
        let (mut starts, mut at) = (from, from);
        let mut is_after_letter = is_after_flaw;
        let read = self.text.get(from..).unwrap_or_default().to_owned();
        for letter in read.chars() {
            let doubtful = !letter.is_ascii() || (is_after_letter && second_half(letter));
            if doubtful {
                self.is_sure(starts..at);
                starts = at + letter.len_utf8();
            }
            is_after_letter = !letter.is_ascii();
            at += letter.len_utf8();
        }
        self.is_sure(starts..at);
    }

    fn read_utf16(&mut self, begins: usize) {
        let Encoding::Utf16(order, _) = self.encoding else { return };
        let (units, odd) = self.bytes.get(begins..).unwrap_or_default().as_chunks::<2>();
        let units = units.iter().map(|unit| match order {
            Order::Little => u16::from_le_bytes(*unit),
            Order::Big => u16::from_be_bytes(*unit),
        });
        let (mut byte, mut starts, mut is_half) = (begins, 0, false);
        self.known.push((0, begins));
        for letter in char::decode_utf16(units) {
            is_half = letter.as_ref().is_err_and(|half| half.unpaired_surrogate() < 0xdc00);
            if let Ok(letter) = letter {
                self.letter(letter, byte);
                byte += letter.len_utf16() * 2;
            } else {
                self.is_sure(starts..self.text.len());
                self.flaw(byte);
                byte += 2;
                starts = self.text.len();
                self.known.push((starts, byte));
            }
        }
        self.is_sure(starts..self.text.len());
        // Half a pair and half a unit at the end are one flaw together.
        if !odd.is_empty() && !is_half {
            self.flaw(byte);
        }
    }

    fn read_chinese(&mut self, begins: usize) {
        let (mut byte, mut read) = (begins, String::new());
        while byte < self.bytes.len() {
            let rest = self.bytes.get(byte..).unwrap_or_default();
            let mut decoder = encoding_rs::GB18030.new_decoder_without_bom_handling();
            read.clear();
            read.reserve(decoder.max_utf8_buffer_length_without_replacement(rest.len()).unwrap_or(0));
            let (result, _) = decoder.decode_to_string_without_replacement(rest, &mut read, true);
            let starts = self.text.len();
            self.known.push((starts, byte));
            for letter in read.chars() {
                self.letter(letter, byte);
                byte += chinese_letter(self.bytes.get(byte..).unwrap_or_default());
            }
            self.is_sure(starts..self.text.len());
            if let encoding_rs::DecoderResult::Malformed(length, _) = result {
                self.flaw(byte);
                byte += usize::from(length);
            }
        }
    }

    fn letter(&mut self, letter: char, byte: usize) {
        let text = self.text.len();
        if self.known.last().is_none_or(|(known, _)| text - known >= STRIDE) {
            self.known.push((text, byte));
        }
        self.text.push(letter);
    }

    fn flaw(&mut self, byte: usize) {
        self.flawed = true;
        self.known.push((self.text.len(), byte));
        self.text.push(char::REPLACEMENT_CHARACTER);
    }

    fn is_sure(&mut self, piece: Range<usize>) {
        if !piece.is_empty() {
            self.sure.push(piece);
        }
    }
}

/// Bytes that end a letter in one of the encodings of East Asia, though alone they are ASCII.
fn second_half(letter: char) -> bool {
    matches!(letter, '0'..='9' | '@'..='~')
}
