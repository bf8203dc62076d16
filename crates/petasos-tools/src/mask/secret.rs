//! Which variables hold keys. Among keys stand settings, and a setting that is hidden takes words out of every result.

/// Bytes of a value that nobody would write by hand, where letters and digits stand without a break between them.
const RANDOM_RUN: usize = 16;
/// Bytes of a word that may stand where a key does, such as `lm-studio` for a server that wants none.
const LONGEST_WORD: usize = 16;
/// Bytes of the shortest key among all variables of a process.
const LEAST: usize = 12;

/// Where a variable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was named as one that holds a key.
    Named,
    /// In a file of keys, beside settings.
    File,
    /// Among all variables of a process.
    Process,
}

/// True if the value of a variable is to be hidden.
pub fn is_secret(origin: Origin, name: &str, value: &str) -> bool {
    let value = value.trim();
    if is_word(value) {
        return false;
    }
    let is_mixed = value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    match origin {
        Origin::Named => true,
        Origin::File => !is_place(value) && (names_secret(name) || is_random(value) || value.contains("://")),
        Origin::Process => !is_place(value) && names_secret(name) && is_mixed && value.len() >= LEAST,
    }
}

/// True for a word as people write them: small letters and dashes.
fn is_word(value: &str) -> bool {
    value.len() < LONGEST_WORD
        && value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_')
}

/// True for a path, and an address without a login, a query or a word that nobody would write by hand: a key may begin
/// with a slash, and the address of a webhook is one.
fn is_place(value: &str) -> bool {
    let is_address = value.contains("://") && !value.contains(['@', '?', '#']);
    (value.starts_with('/') || is_address) && !is_random(value)
}

fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let within = ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"];
    within.iter().any(|part| name.contains(part))
        || name.split('_').any(|part| matches!(part, "AUTH" | "DSN"))
}

fn is_random(value: &str) -> bool {
    value.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|run| {
        run.len() >= RANDOM_RUN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}
