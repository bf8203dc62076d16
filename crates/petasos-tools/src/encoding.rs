//! How the letters of a text file are written as bytes: told from its first letters, read, and written again.
//!
//! What is read can be found again in the bytes, letter by letter, so that a change touches no other byte. Bytes
//! that are no letter are shown as U+FFFD and never written so.

mod chinese;
mod decode;
mod decoded;
mod later;
mod tell;

pub use decode::{Decoder, Reading};
pub use decoded::Decoded;
pub use later::Later;

/// How the letters of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8; a few bytes of a file may be something else.
    Utf8(Bom),
    /// UTF-16.
    Utf16(Order, Bom),
    /// Chinese, with two bytes a letter at most (code page 936).
    Gbk,
    /// The same, where a letter of four bytes was met, which GBK does not know.
    Gb18030,
    /// Nobody knows. ASCII is read; of all else it is not even known where a letter begins.
    Bytes,
}

/// Whether a file begins with a byte-order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bom {
    /// It does.
    There,
    /// It does not.
    None,
}

/// Which byte of a unit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The low one.
    Little,
    /// The high one.
    Big,
}

/// A letter that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{letter:?} (U+{:04X}) has no form in {}", u32::from(*letter), encoding.name())]
pub struct NoForm {
    /// The first one that is met.
    pub letter: char,
    /// What it was to be written in.
    pub encoding: Encoding,
}

impl Encoding {
    /// Bytes of a beginning by which the rest is told; if all of them are ASCII, bytes from the first one on that is not.
    pub const BEGINNING: usize = 64 * 1024;

    /// Tells it from the bytes of a file: all of them, or [`Encoding::BEGINNING`] at least. Whether it is text at all is
    /// another question: a NUL stays a letter where it can be one.
    pub fn of(bytes: &[u8]) -> Self {
        tell::encoding(bytes)
    }

    /// Tells it from [`Encoding::BEGINNING`] bytes, or all there are, from the first one on that is no ASCII. Before it
    /// stood that many others at least.
    pub fn behind_ascii(rest: &[u8]) -> Self {
        tell::behind_ascii(rest)
    }

    /// Its name to people and models.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8(_) => "UTF-8",
            Self::Utf16(Order::Little, _) => "UTF-16LE",
            Self::Utf16(Order::Big, _) => "UTF-16BE",
            Self::Gbk => "GBK",
            Self::Gb18030 => "GB18030",
            Self::Bytes => "an unknown encoding",
        }
    }

    /// The byte-order mark that a file has before its first letter; empty if it has none.
    pub fn bom(self) -> &'static [u8] {
        match self {
            Self::Utf8(Bom::There) => b"\xef\xbb\xbf",
            Self::Utf16(Order::Little, Bom::There) => b"\xff\xfe",
            Self::Utf16(Order::Big, Bom::There) => b"\xfe\xff",
            Self::Utf8(Bom::None) | Self::Utf16(_, Bom::None) | Self::Gbk | Self::Gb18030 | Self::Bytes => {
                b""
            }
        }
    }

    /// Reads all of a file, its byte-order mark left out.
    pub fn decode(self, bytes: &[u8]) -> Decoded<'_> {
        Decoded::new(self, bytes)
    }

    /// Reads a file piece by piece, its byte-order mark left out.
    pub fn decoder(self) -> Decoder {
        Decoder::new(self)
    }

    /// Reads a file as UTF-8 that another reads.
    pub fn reader<R: std::io::Read>(self, source: R) -> Reading<R> {
        Reading::new(self.decoder(), source)
    }

    /// Writes a text, without a byte-order mark: it may be a piece of a file. What is written is read as just that text.
    ///
    /// # Errors
    /// [`NoForm`] if a letter cannot be written so; in an unknown encoding that is all but ASCII.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, NoForm> {
        match self {
            Self::Utf8(_) => Ok(text.as_bytes().to_vec()),
            Self::Utf16(Order::Little, _) => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16(Order::Big, _) => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Gbk | Self::Gb18030 => self.chinese(text),
            Self::Bytes => match text.chars().find(|letter| !letter.is_ascii()) {
                Some(letter) => Err(NoForm { letter, encoding: self }),
                None => Ok(text.as_bytes().to_vec()),
            },
        }
    }

    fn chinese(self, text: &str) -> Result<Vec<u8>, NoForm> {
        // In GBK too: the encoder of the web has a byte of its own for the euro sign, which other readers refuse.
        let (bytes, _, _) = encoding_rs::GB18030.encode(text);
        // A letter without a form was replaced, and one in private use may be read as another since the standard
        // of 2022: both are seen when it is read again.
        let (read, _) = encoding_rs::GB18030.decode_without_bom_handling(&bytes);
        let mut rest = &*bytes;
        let mut read_again = read.chars();
        for letter in text.chars() {
            let length = chinese_letter(rest);
            if read_again.next() != Some(letter) || (self == Self::Gbk && length == 4) {
                return Err(NoForm { letter, encoding: self });
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(bytes.into_owned())
    }
}

/// How many bytes the letter at the beginning has; the bytes are whole letters of GB18030.
fn chinese_letter(bytes: &[u8]) -> usize {
    match bytes {
        [..=0x80, ..] => 1,
        [_, b'0'..=b'9', ..] => 4,
        [_, ..] => 2,
        [] => 0,
    }
}
