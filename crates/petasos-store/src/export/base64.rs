//! Bytes as letters (RFC 4648, the standard alphabet, padded).

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS.get((bits >> (18 - 6 * place)) as usize & 63).copied().unwrap_or(b'=');
            text.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// The bytes; none if it is not just what [`encode`] makes of them.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.as_bytes().chunks(4);
    let last = groups.len().checked_sub(1);
    for (number, group) in groups.enumerate() {
        let is_last = Some(number) == last;
        let letters = group.strip_suffix(b"==").or_else(|| group.strip_suffix(b"=")).unwrap_or(group);
        if group.len() != 4 || (letters.len() < 4 && !is_last) {
            return None;
        }
        let mut bits = 0_u32;
        for place in 0..4 {
            let value = letters.get(place).map_or(Some(0), |letter| value(*letter))?;
            bits = bits << 6 | value;
        }
        let [_, group @ ..] = bits.to_be_bytes();
        let (kept, rest) = group.split_at_checked(letters.len().checked_sub(1)?)?;
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
