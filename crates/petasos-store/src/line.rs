//! A line of a log: an entry and the sum that tells whether it is still what was written.
//!
//! The sum closes the line: `,"sum":"<16 hex>"}` and a newline, over the bytes before `,"sum"`. It has a
//! fixed length, so a reader finds it from the end and never looks for it inside the entry.

use petasos_core::entry::Entry;
use sha2::{Digest as _, Sha256};

/// What stands between the entry and the digits of its sum.
pub(crate) const BEFORE_SUM: &[u8] = b",\"sum\":\"";
/// Digits of a sum: 64 bits.
const SUM_DIGITS: usize = 16;
/// What closes the line.
const AFTER_SUM: &[u8] = b"\"}";
/// Bytes from `,"sum"` to the end of the line, without the newline.
pub(crate) const SUM_LENGTH: usize = BEFORE_SUM.len() + SUM_DIGITS + AFTER_SUM.len();

/// The whole line of an entry, with its sum and its newline.
///
/// # Errors
/// For a person, if the entry makes no line: it cannot be written as JSON, or holds a raw newline (which
/// only a body carried byte for byte can).
pub fn closed_line(entry: &Entry) -> Result<String, String> {
    let mut line =
        entry.open_line().map_err(|error| format!("entry {} makes no line: {error}", entry.seq))?;
    if line.contains('\n') {
        return Err(format!("entry {} holds a raw newline, so it makes no line", entry.seq));
    }
    let sum = sum(line.as_bytes());
    line.push_str(",\"sum\":\"");
    line.push_str(&sum);
    line.push_str("\"}\n");
    Ok(line)
}

/// The bytes before the sum of a line without its newline, if the sum is right.
pub(crate) fn without_sum(line: &[u8]) -> Option<&[u8]> {
    let (opened, closing) = line.split_at_checked(line.len().checked_sub(SUM_LENGTH)?)?;
    let digits = closing.strip_prefix(BEFORE_SUM)?.strip_suffix(AFTER_SUM)?;
    (digits == sum(opened).as_bytes()).then_some(opened)
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(SUM_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}
