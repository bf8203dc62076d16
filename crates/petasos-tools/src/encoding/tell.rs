//! Telling an encoding from the beginning of a file.
//!
//! UTF-16 without a byte-order mark is told by where its NULs are, Chinese by what its letters would be: alone that bytes
//! can be read as hanzi says little, since nearly all Korean and Japanese text of two bytes a letter can. Where that is
//! not sure, as in a file with one hanzi in it, the answer is that nobody knows: then nothing is changed but ASCII.

use super::chinese::chinese;
use super::{Bom, Encoding, Order};

/// Weight of what is right for each flaw, for a file to be UTF-8 with a flaw. A letter of two bytes, which other
/// encodings make by chance, has a weight of 3, the others twice their bytes.
const RIGHT_FOR_A_FLAW: usize = 16;
/// Units by which UTF-16 without a byte-order mark is told if it is not mostly Latin.
const FEWEST_UNITS: usize = 16;

/// Whether what is told by is the beginning of more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It is all there is.
    Nowhere,
    /// Its last letter may be half of one.
    Anywhere,
}

impl Cut {
    fn of(window: &[u8]) -> Self {
        if window.len() >= Encoding::BEGINNING { Self::Anywhere } else { Self::Nowhere }
    }
}

/// Tells it from the beginning of a file, or from what follows the ASCII that it begins with.
pub(super) fn encoding(bytes: &[u8]) -> Encoding {
    let beginning = bytes.get(..Encoding::BEGINNING).unwrap_or(bytes);
    if !beginning.is_ascii() || beginning.contains(&0) {
        return of_beginning(beginning);
    }
    match bytes.iter().position(|byte| !byte.is_ascii()) {
        Some(first) => behind_ascii(bytes.get(first..).unwrap_or_default()),
        None => Encoding::Utf8(Bom::None),
    }
}

/// Tells it from the first byte on that is no ASCII, of which there was nothing but that in the beginning.
pub(super) fn behind_ascii(rest: &[u8]) -> Encoding {
    of_bytes(rest.get(..Encoding::BEGINNING).unwrap_or(rest))
}

fn of_beginning(beginning: &[u8]) -> Encoding {
    if beginning.starts_with(b"\xef\xbb\xbf") {
        return Encoding::Utf8(Bom::There);
    }
    for (bom, order) in [(b"\xff\xfe", Order::Little), (b"\xfe\xff", Order::Big)] {
        if let Some(rest) = beginning.strip_prefix(bom) {
            let units = Units::of(rest, order);
            // Some flaws do not make it another encoding; programs and pictures have very many.
            let is_text = units.strange * 64 <= units.all;
            return if is_text { Encoding::Utf16(order, Bom::There) } else { Encoding::Bytes };
        }
    }
    if memchr::memchr(0, beginning).is_some() {
        let orders = [Order::Little, Order::Big];
        let found = orders.into_iter().find(|order| Units::of(beginning, *order).is_utf16(beginning));
        if let Some(order) = found {
            return Encoding::Utf16(order, Bom::None);
        }
    }
    of_bytes(beginning)
}

fn of_bytes(window: &[u8]) -> Encoding {
    // Nearly every file ends here, so it is looked at as fast as can be.
    if encoding_rs::Encoding::utf8_valid_up_to(window) == window.len() {
        return Encoding::Utf8(Bom::None);
    }
    let cut = Cut::of(window);
    match Utf8::of(window, cut) {
        Utf8 { weight, flaws, .. } if flaws * RIGHT_FOR_A_FLAW <= weight => Encoding::Utf8(Bom::None),
        // As much can be read as not: no other encoding has that, so it is a mixture.
        Utf8 { letters, flaws, .. } if letters >= flaws => Encoding::Bytes,
        Utf8 { .. } => chinese(window, cut).unwrap_or(Encoding::Bytes),
    }
}

/// What of some bytes is UTF-8.
struct Utf8 {
    /// Letters beyond ASCII.
    letters: usize,
    /// What they weigh.
    weight: usize,
    /// Pieces that are no letter.
    flaws: usize,
}

impl Utf8 {
    fn of(bytes: &[u8], cut: Cut) -> Self {
        let mut found = Self { letters: 0, weight: 0, flaws: 0 };
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars().filter(|letter| !letter.is_ascii()) {
                found.letters += 1;
                found.weight += if letter.len_utf8() == 2 { 3 } else { letter.len_utf8() * 2 };
            }
            let is_half_read = cut == Cut::Anywhere && chunks.peek().is_none();
            found.flaws += usize::from(!is_half_read && !chunk.invalid().is_empty());
        }
        found
    }
}

/// What the units of UTF-16 would be.
struct Units {
    all: usize,
    /// Halves of pairs alone, control characters, and what is no letter.
    strange: usize,
    /// What is written in texts too, though no letter: colours, an end of a file, what could not be read before.
    signs: usize,
    /// Those whose high byte is 0.
    latin: usize,
    /// Those of scripts that are written without spaces, of Greek and of Cyrillic.
    others: usize,
}

impl Units {
    fn of(bytes: &[u8], order: Order) -> Self {
        let mut units = Self { all: 0, strange: 0, signs: 0, latin: 0, others: 0 };
        let read = bytes.as_chunks::<2>().0.iter().map(|unit| match order {
            Order::Little => u16::from_le_bytes(*unit),
            Order::Big => u16::from_be_bytes(*unit),
        });
        let mut letters = char::decode_utf16(read).peekable();
        while let Some(letter) = letters.next() {
            units.all += 1;
            match letter.map(u32::from) {
                // The first half of a pair may stand at the end of the beginning.
                Err(half) if half.unpaired_surrogate() < 0xdc00 && letters.peek().is_none() => {}
                Ok(0x09 | 0x0a | 0x0c | 0x0d | 0x20..0x7f | 0xa0..0x100) => units.latin += 1,
                Ok(0x0100..0x0530 | 0x2010..0x2030 | 0x3000..0x3100 | 0x4e00..0xa000 | 0xac00..0xd7a4) => {
                    units.others += 1;
                }
                Ok(0x0590..0x0700 | 0x0900..0x0e80 | 0xff00..0xfff0 | 0x1f300..0x1fb00) => units.others += 1,
                Ok(0x08 | 0x1a | 0x1b | 0xfffd) => units.signs += 1,
                Err(_) | Ok(0x00..0x20 | 0x7f..0xa0 | 0xfff0..=0xffff) => units.strange += 1,
                Ok(_) => {}
            }
        }
        units
    }

    /// True without a byte-order mark, if the bytes have NULs.
    fn is_utf16(&self, bytes: &[u8]) -> bool {
        let is_even = bytes.len().is_multiple_of(2);
        if !is_even || self.strange + self.signs > 0 || self.all < 2 {
            return false;
        }
        // Latin text: nine in ten units have a NUL, and all of them in the same place.
        if self.latin * 10 >= self.all * 9 {
            return true;
        }
        // ASCII with a NUL here and there can be read as hanzi too, but it has no other bytes.
        let other = bytes.iter().filter(|byte| !matches!(byte, 0 | b'\t'..=b'\r' | b' '..=b'~')).count();
        // The high byte of Devanagari is that of a tab.
        let tabs = bytes.iter().filter(|byte| **byte == b'\t').count();
        let is_usual = (self.latin + self.others) * 20 >= self.all * 19;
        self.all >= FEWEST_UNITS && is_usual && (other * 5 >= bytes.len() || tabs * 3 >= bytes.len())
    }
}
