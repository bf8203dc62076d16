//! A JSON value as it is changed here: numbers keep the digits that they came with, members their order.

/// A JSON value. At most as deep as [`Reader`](crate::repair) reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number by its digits: `1.50` stays `1.50`.
    Number(Box<str>),
    /// A text, without quotes and escapes.
    String(Box<str>),
    /// An array.
    Array(Vec<Node>),
    /// An object, its members in their order; no key comes twice.
    Object(Vec<(Box<str>, Node)>),
}

/// The kinds of values, as a schema names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The kind that a schema names so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "null" => Some(Self::Null),
            "boolean" => Some(Self::Boolean),
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            "string" => Some(Self::String),
            "array" => Some(Self::Array),
            "object" => Some(Self::Object),
            _ => None,
        }
    }

    /// Its name in a schema.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Its name in a sentence.
    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

impl Node {
    /// True if a value is of this kind as it stands.
    pub(crate) fn is(&self, kind: Kind) -> bool {
        match (self, kind) {
            (Self::Null, Kind::Null)
            | (Self::Bool(_), Kind::Boolean)
            | (Self::Number(_), Kind::Number)
            | (Self::String(_), Kind::String)
            | (Self::Array(_), Kind::Array)
            | (Self::Object(_), Kind::Object) => true,
            (Self::Number(digits), Kind::Integer) => is_integer(digits),
            (
                Self::Null
                | Self::Bool(_)
                | Self::Number(_)
                | Self::String(_)
                | Self::Array(_)
                | Self::Object(_),
                _,
            ) => false,
        }
    }

    /// How an error names it.
    pub(crate) fn met(&self) -> String {
        const SHOWN: usize = 60;
        let short = |text: &str| {
            let dots = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
            text.chars().take(SHOWN).collect::<String>() + dots
        };
        match self {
            Self::Null => String::from("null"),
            Self::Bool(value) => format!("boolean `{value}`"),
            Self::Number(digits) if is_integer(digits) => format!("integer `{}`", short(digits)),
            Self::Number(digits) => format!("number `{}`", short(digits)),
            Self::String(text) => format!("string {:?}", short(text)),
            Self::Array(_) => String::from("array"),
            Self::Object(_) => String::from("object"),
        }
    }

    /// The value as strict JSON.
    pub(crate) fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(digits) => out.push_str(digits),
            Self::String(text) => quote(text, out),
            Self::Array(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (place, (key, value)) in members.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    quote(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// True for what readers take as an integer; they take `-0` as the fraction that it is elsewhere.
fn is_integer(digits: &str) -> bool {
    digits != "-0" && !digits.contains(['.', 'e', 'E'])
}

/// A text in quotes, with just the escapes that JSON wants.
fn quote(text: &str, out: &mut String) {
    // A string always becomes JSON; the fallback only keeps this free of panics.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
