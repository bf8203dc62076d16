//! Shared text, and JSON that we carry but do not read.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Text that is shared, not copied: a transcript is never cloned for a step.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(Arc<str>);

impl Text {
    /// True for text with nothing in it that a person could see.
    pub fn is_blank(&self) -> bool {
        self.0.chars().all(char::is_whitespace)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A whole JSON value, kept byte for byte: `1.50` stays `1.50`, keys keep their order. In a log it
/// stands as a string, so that no reader re-forms it on the way.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct Json(Text);

/// Text that was to be JSON and is not.
#[derive(Debug, thiserror::Error)]
#[error("no JSON value: {0}")]
pub struct NotJson(#[from] serde_json::Error);

impl Json {
    /// The text as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<Text> for Json {
    type Error = NotJson;

    fn try_from(text: Text) -> Result<Self, NotJson> {
        serde_json::from_str::<&RawValue>(&text)?;
        Ok(Self(text))
    }
}

impl TryFrom<&str> for Json {
    type Error = NotJson;

    fn try_from(text: &str) -> Result<Self, NotJson> {
        Self::try_from(Text::from(text))
    }
}

impl From<Json> for Text {
    fn from(json: Json) -> Self {
        json.0
    }
}
