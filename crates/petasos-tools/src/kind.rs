//! What a file is that is no text, by its first bytes.

use crate::encoding::Encoding;

/// Bytes that are looked at for a NUL, and for control characters.
const LOOKED_AT: usize = 8 * 1024;
/// In text without NULs at most one byte of so many is a control character; of any bytes it is one in nine.
const CONTROL: usize = 32;

/// Bytes at a place by which a kind is told.
struct Sign {
    place: usize,
    bytes: &'static [u8],
    kind: &'static str,
}

const fn sign(place: usize, bytes: &'static [u8], kind: &'static str) -> Sign {
    Sign { place, bytes, kind }
}

/// No text begins so.
const SURE: [Sign; 30] = [
    sign(0, b"\x89PNG", "a PNG image"),
    sign(0, b"\xff\xd8\xff", "a JPEG image"),
    sign(0, b"GIF8", "a GIF image"),
    sign(0, b"II*\0", "a TIFF image"),
    sign(0, b"MM\0*", "a TIFF image"),
    sign(0, b"\0\0\x01\0", "an icon"),
    sign(0, b"%PDF-", "a PDF document"),
    sign(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    sign(0, b"PK\x03\x04", "a ZIP archive"),
    sign(0, b"PK\x05\x06", "an empty ZIP archive"),
    sign(0, b"\x1f\x8b", "gzip data"),
    sign(0, b"\xfd7zXZ\0", "xz data"),
    sign(0, b"\x28\xb5\x2f\xfd", "zstd data"),
    sign(0, b"\x04\x22\x4d\x18", "lz4 data"),
    sign(4, b"1AY&SY", "bzip2 data"),
    sign(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    sign(0, b"Rar!\x1a\x07", "a RAR archive"),
    sign(0, b"!<arch>\n", "an ar archive"),
    sign(0, b"\x7fELF", "an ELF program"),
    sign(0, b"\xfe\xed\xfa\xce", "a Mach-O program"),
    sign(0, b"\xfe\xed\xfa\xcf", "a Mach-O program"),
    sign(0, b"\xce\xfa\xed\xfe", "a Mach-O program"),
    sign(0, b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    sign(0, b"\xca\xfe\xba\xbe\0\0\0", "a Java class or a Mach-O program"),
    sign(0, b"\0asm", "a WebAssembly module"),
    sign(0, b"BC\xc0\xde", "LLVM bitcode"),
    sign(0, b"SQLite format 3\0", "an SQLite database"),
    sign(0, b"\0\x01\0\0\0", "a TrueType font"),
    sign(0, b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
    sign(0, b"\x93NUMPY", "a NumPy array"),
];

/// A text may begin so too; what else is in it decides.
const IF_NO_TEXT: [Sign; 17] = [
    sign(257, b"ustar", "a tar archive"),
    sign(0, b"MZ", "a Windows program"),
    sign(4, b"ftyp", "an MP4 video"),
    sign(0, b"OggS", "Ogg audio or video"),
    sign(0, b"ID3", "MP3 audio"),
    sign(0, b"fLaC", "FLAC audio"),
    sign(8, b"WAVE", "WAVE audio"),
    sign(8, b"WEBP", "a WebP image"),
    sign(8, b"AVI ", "an AVI video"),
    sign(0, b"BM", "a BMP image"),
    sign(0, b"wOFF", "a WOFF font"),
    sign(0, b"wOF2", "a WOFF font"),
    sign(0, b"OTTO", "an OpenType font"),
    sign(0, b"PAR1", "a Parquet table"),
    sign(0, b"\xff\xfb", "MP3 audio"),
    sign(0, b"\xff\xf3", "MP3 audio"),
    // The version before it ends with 0x0d, as it has since Python 2.
    sign(1, b"\x0d\x0d\x0a", "compiled Python"),
];

/// What a file is, if it is no text; its first bytes are given, and how those would be read.
pub(crate) fn binary(beginning: &[u8], encoding: Encoding) -> Option<&'static str> {
    let find = |signs: &[Sign]| {
        let met = |sign: &&Sign| beginning.get(sign.place..).is_some_and(|rest| rest.starts_with(sign.bytes));
        signs.iter().find(met).map(|sign| sign.kind)
    };
    if matches!(encoding, Encoding::Utf16(..)) {
        return None;
    }
    if let Some(kind) = find(&SURE) {
        return Some(kind);
    }
    let looked_at = || beginning.iter().take(LOOKED_AT);
    let control = |byte: &&u8| matches!(byte, 0..=0x07 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    let has_nul = looked_at().any(|byte| *byte == 0);
    let is_strange =
        encoding == Encoding::Bytes && looked_at().filter(control).count() * CONTROL > looked_at().count();
    (has_nul || is_strange).then(|| find(&IF_NO_TEXT).unwrap_or("a binary file"))
}
