//! Whether a call was only quoted: the same stands in what a user said or a tool gave.

use super::Asked;

/// The names that arguments go by.
const ARGUMENTS: &[&str] = &["arguments", "parameters"];

impl Asked {
    /// True if this call stands in what was said, however it is spaced, escaped or ordered there.
    pub(super) fn is_quoted(&self, name: &str, arguments: &str) -> bool {
        if self.said.is_empty() {
            return false;
        }
        // Escapes may be written out there. The value is only for the check.
        let plain = serde_json::from_str::<serde_json::Value>(arguments).map(|value| value.to_string());
        let written = [Some(arguments.to_owned()), plain.ok()];
        let calls: Vec<String> =
            written.iter().flatten().flat_map(|arguments| orders(name, arguments)).collect();
        self.said.iter().map(|text| letters(text)).any(|said| calls.iter().any(|call| said.contains(call)))
    }
}

/// A call as it may stand there: name first, or arguments first.
fn orders(name: &str, arguments: &str) -> Vec<String> {
    let (name, arguments) = (letters(name), letters(arguments));
    let orders = |key: &&str| [format!("{name}{key}{arguments}"), format!("{key}{arguments}name{name}")];
    ARGUMENTS.iter().flat_map(orders).collect()
}

/// What is left of a text without blanks, signs and escapes: letters and digits.
fn letters(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut escaped = false;
    for letter in text.chars() {
        let is_escape = escaped && matches!(letter, 'n' | 'r' | 't' | 'b' | 'f');
        escaped = letter == '\\';
        if letter.is_alphanumeric() && !is_escape {
            left.push(letter);
        }
    }
    left
}
