//! Whether the arguments of a call can be whole, told while they come.

/// Follows the brackets of a JSON object, so that its end is seen without reading it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// Only blanks so far.
    #[default]
    Blank,
    Open {
        depth: usize,
        string: InString,
    },
    Closed,
    /// No object.
    Foreign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InString {
    No,
    /// No, and a value or a name may begin here.
    Before,
    /// In quotes of this kind. Some models write single ones; they count only where a text can begin.
    Yes(u8),
    Escaped(u8),
}

impl Brackets {
    pub(crate) fn follow(&mut self, text: &str) {
        for byte in text.bytes() {
            *self = self.after(byte);
        }
    }

    /// True if nothing is open: there is a whole object, or nothing yet.
    pub(crate) fn are_even(self) -> bool {
        matches!(self, Self::Blank | Self::Closed)
    }

    /// True if an object has begun and not ended: whatever is said of its reply, it is not whole.
    pub(crate) fn are_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    fn after(self, byte: u8) -> Self {
        let (depth, string) = match self {
            Self::Blank if byte.is_ascii_whitespace() => return self,
            Self::Blank if byte == b'{' => return Self::Open { depth: 1, string: InString::Before },
            Self::Blank => return Self::Foreign,
            Self::Closed | Self::Foreign => return self,
            Self::Open { depth, string } => (depth, string),
        };
        let string = match (string, byte) {
            (InString::Escaped(quote), _) => InString::Yes(quote),
            (InString::Yes(quote), b'\\') => InString::Escaped(quote),
            (InString::Yes(quote), _) if byte == quote => InString::No,
            (InString::Yes(_), _) => string,
            (InString::No | InString::Before, b'"') | (InString::Before, b'\'') => InString::Yes(byte),
            (InString::No | InString::Before, b'{' | b'[') => {
                return Self::Open { depth: depth.saturating_add(1), string: InString::Before };
            }
            (InString::No | InString::Before, b'}' | b']') if depth <= 1 => return Self::Closed,
            (InString::No | InString::Before, b'}' | b']') => {
                return Self::Open { depth: depth - 1, string: InString::No };
            }
            (InString::No | InString::Before, b',' | b':') => InString::Before,
            (InString::Before, _) if byte.is_ascii_whitespace() => string,
            (InString::No | InString::Before, _) => InString::No,
        };
        Self::Open { depth, string }
    }
}
