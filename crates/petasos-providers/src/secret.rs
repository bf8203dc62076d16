//! A key: it can be sent, and not shown.

use std::fmt;
use std::sync::Arc;

/// A key of fewer bytes is not looked for.
const SHORTEST: usize = 8;

/// A key. Neither `Debug` nor `Display` nor a log line ever shows it; it has no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps a key, without the blanks and the line's end that a file or a paste left around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// The key itself, for the one header that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text of a server without the key: some tell it back in their errors. What is too short to be one would
    /// take words apart.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        if self.0.len() < SHORTEST { text.to_owned() } else { text.replace(&*self.0, "***") }
    }

    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a key, not shown)")
    }
}
