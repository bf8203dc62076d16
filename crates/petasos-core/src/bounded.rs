//! The one place where text for the model is cut to size.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// How many characters a text for the model may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cap(pub usize);

impl Cap {
    /// A tool result: 50,000 characters (`policies.md`; tools with a small window use less).
    pub const RESULT: Self = Self(50_000);
    /// What a provider said of its failure, in `request_end`: 1 KB (`seam.md`).
    pub const FAILURE: Self = Self(1_000);
    /// A piece of a reply in a `partial` entry: 8 KB (`seam.md`).
    pub const PARTIAL: Self = Self(8_000);
    /// What a person gives as the reason for a no, and what a rule-made summary lists.
    pub const REASON: Self = Self(2_000);
}

/// Text that has at most its cap's characters and says what was left out.
///
/// Made here alone, so whoever holds one need not measure it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bounded(Text);

impl Bounded {
    /// `text` if it fits; else its beginning and its end around a line that says how many characters
    /// were left out and where the whole is (`whole`, such as "blob:1f2e3d4c; read it with read_file").
    pub fn new(text: &str, cap: Cap, whole: &str) -> Self {
        let length = text.chars().count();
        if length <= cap.0 {
            return Self(text.into());
        }
        let mark = |left_out: usize| format!("\n[… {left_out} of {length} characters left out; {whole}]\n");
        // Sized with the longest number it can hold, so the mark never pushes the text over its cap.
        let room = cap.0.saturating_sub(mark(length).chars().count());
        if room == 0 {
            return Self(text.chars().take(cap.0).collect::<String>().into());
        }
        let tail = room / 3;
        let head = room - tail;
        let beginning: String = text.chars().take(head).collect();
        let end: String = text.chars().skip(length - tail).collect();
        Self(format!("{beginning}{}{end}", mark(length - room)).into())
    }

    /// The text.
    pub fn text(&self) -> &Text {
        &self.0
    }

    /// True if there is nothing to read in it.
    pub fn is_blank(&self) -> bool {
        self.0.is_blank()
    }
}
