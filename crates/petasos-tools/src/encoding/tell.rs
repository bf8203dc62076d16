//! Telling an encoding from the beginning of a file.
//!
//! UTF-16 without a byte-order mark is told by where its NULs are, Chinese by `chardetng`: alone that bytes can be read as
//! hanzi says little, since nearly all Korean and Japanese text of two bytes a letter can. Where that is not sure, as
//! in a file with one hanzi in it, the answer is that nobody knows: then nothing is changed but ASCII.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

use super::{Bom, Encoding, Order, chinese_letter};

/// Letters beyond ASCII that must be right for each byte that is wrong, for a file to be UTF-8 with a flaw.
const RIGHT_FOR_A_WRONG: usize = 8;
/// Units by which UTF-16 without a byte-order mark is told if it is not mostly Latin.
const FEWEST_UNITS: usize = 16;

pub(super) fn encoding(beginning: &[u8]) -> Encoding {
    let cut = beginning.len() >= Encoding::BEGINNING;
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
    // Nearly every file ends here, so it is looked at as fast as can be.
    let is_faultless = encoding_rs::Encoding::utf8_valid_up_to(beginning) == beginning.len();
    if is_faultless || is_utf8(beginning, cut) {
        return Encoding::Utf8(Bom::None);
    }
    chinese(beginning, cut).unwrap_or(Encoding::Bytes)
}

/// True if it is UTF-8, or was until somebody put in a few bytes of another kind.
fn is_utf8(bytes: &[u8], cut: bool) -> bool {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        right += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        let is_half_read = cut && chunks.peek().is_none();
        if !is_half_read {
            wrong += chunk.invalid().len();
        }
    }
    wrong * RIGHT_FOR_A_WRONG <= right
}

/// What the units of UTF-16 would be.
struct Units {
    all: usize,
    /// Halves of pairs alone, control characters, and what is no letter.
    strange: usize,
    /// Those whose high byte is 0.
    latin: usize,
    /// Those of scripts that are written without spaces, of Greek and of Cyrillic.
    others: usize,
}

impl Units {
    fn of(bytes: &[u8], order: Order) -> Self {
        let mut units = Self { all: 0, strange: 0, latin: 0, others: 0 };
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
                Ok(0xff00..0xfff0 | 0x1f300..0x1fb00) => units.others += 1,
                Err(_) | Ok(0x00..0x20 | 0x7f..0xa0 | 0xfff0..=0xffff) => units.strange += 1,
                Ok(_) => {}
            }
        }
        units
    }

    /// True without a byte-order mark, if the bytes have NULs.
    fn is_utf16(&self, bytes: &[u8]) -> bool {
        let is_even = bytes.len().is_multiple_of(2);
        if !is_even || self.strange > 0 || self.all < 2 {
            return false;
        }
        // Latin text: nine in ten units have a NUL, and all of them in the same place.
        if self.latin * 10 >= self.all * 9 {
            return true;
        }
        // ASCII with a NUL here and there can be read as hanzi too, but it has no other bytes.
        let other = bytes.iter().filter(|byte| !matches!(byte, 0 | b'\t'..=b'\r' | b' '..=b'~')).count();
        let is_usual = (self.latin + self.others) * 20 >= self.all * 19;
        self.all >= FEWEST_UNITS && is_usual && other * 5 >= bytes.len()
    }
}

fn chinese(bytes: &[u8], cut: bool) -> Option<Encoding> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, !cut);
    if detector.guess(None, Utf8Detection::Deny) != encoding_rs::GBK {
        return None;
    }
    let mut decoder = encoding_rs::GB18030.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length_without_replacement(bytes.len())?);
    let (read, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, !cut);
    let is_chinese = read == encoding_rs::DecoderResult::InputEmpty
        && !text
            .chars()
            .any(|letter| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'))
        && text.chars().any(|letter| matches!(letter, '\u{3400}'..'\u{a000}'));
    if !is_chinese {
        return None;
    }
    let mut rest = bytes;
    while let (length @ 1.., Some(after)) = (chinese_letter(rest), rest.get(chinese_letter(rest)..)) {
        if length == 4 {
            return Some(Encoding::Gb18030);
        }
        rest = after;
    }
    Some(Encoding::Gbk)
}
