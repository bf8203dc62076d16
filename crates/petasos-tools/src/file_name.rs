//! Names of files as text: nearly all names are, and those that are not can be shown and given back.
//!
//! A byte that is no UTF-8 and a control character are shown as `\xe9`, a line end as `\n`: what would look like
//! another line, or could not be told from another name, is told. A backslash stays as it is, since a path is looked
//! for as it was given first.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

/// A path as it is shown.
pub(crate) fn shown(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                letter if letter.is_ascii_control() => escaped(&mut text, letter as u8),
                letter => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|byte| escaped(&mut text, *byte));
    }
    text
}

/// The name that is shown as this text, if it is another one.
pub(crate) fn meant(text: &str) -> Option<OsString> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    let mut is_another = false;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let hex = || u8::from_str_radix(after.strip_prefix('x')?.get(..2)?, 16).ok();
        let (byte, length) = match after.as_bytes() {
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b't', ..] => (b'\t', 1),
            _ => hex().map_or((b'\\', 0), |byte| (byte, 3)),
        };
        is_another |= length > 0;
        bytes.push(byte);
        rest = after.get(length..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    is_another.then(|| OsString::from_vec(bytes))
}

fn escaped(text: &mut String, byte: u8) {
    // Writing to a String never fails.
    write!(text, "\\x{byte:02x}").ok();
}
