//! JSON of a script, read in place, so that an error can name the column.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::ModelServerError;

/// One value, with the line that it stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    number: usize,
    line: &'a str,
    raw: &'a str,
}

/// One key of an object and its value.
#[derive(Clone, Debug)]
pub(crate) struct Member<'a> {
    pub key: Cow<'a, str>,
    pub value: Value<'a>,
}

/// What a value is, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Truth,
    Number,
    Text,
    List,
    Object,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Truth => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members as they stand. No map: a key that stands twice is to be seen.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl<'a> Value<'a> {
    /// The whole of a line.
    pub fn of_line(number: usize, line: &'a str) -> Result<Self, ModelServerError> {
        match serde_json::from_str::<&RawValue>(line) {
            Ok(raw) => Ok(Self { number, line, raw: raw.get() }),
            Err(error) => {
                let before = line.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or_default();
                let column = String::from_utf8_lossy(before).chars().count() + 1;
                Err(ModelServerError::Script {
                    line: number,
                    column,
                    what: format!("no JSON: {}", said(&error)),
                })
            }
        }
    }

    /// The text of it, as it stands.
    pub fn raw(self) -> &'a str {
        self.raw
    }

    pub fn kind(self) -> Kind {
        match self.raw.bytes().next() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Truth,
            Some(b'n') => Kind::Null,
            Some(_) | None => Kind::Number,
        }
    }

    /// An error that names this place.
    pub fn wrong(self, what: impl Into<String>) -> ModelServerError {
        self.wrong_at(self.raw, what.into())
    }

    fn wrong_at(self, place: &str, what: String) -> ModelServerError {
        let offset = (place.as_ptr() as usize).saturating_sub(self.line.as_ptr() as usize);
        let column = self.line.get(..offset).map_or(0, |before| before.chars().count()) + 1;
        ModelServerError::Script { line: self.number, column, what }
    }

    fn wanted(self, name: &str, wanted: &str) -> ModelServerError {
        self.wrong(format!("{name} is {wanted}, not {}", self.kind().name()))
    }

    fn at(self, raw: &'a str) -> Self {
        Self { raw, ..self }
    }

    /// The members of an object whose keys are all among `known`, each at most once.
    pub fn members(self, name: &str, known: &[&str]) -> Result<Vec<Member<'a>>, ModelServerError> {
        let members = self.any_members(name)?;
        for (place, member) in members.iter().enumerate() {
            if !known.contains(&&*member.key) {
                return Err(self.unknown(name, member, known));
            }
            if members.iter().take(place).any(|earlier| earlier.key == member.key) {
                return Err(self.wrong_at(
                    member.place(),
                    format!("{name} has the key {:?} twice; keep one", member.key),
                ));
            }
        }
        Ok(members)
    }

    /// The members of an object, whatever their keys.
    pub fn any_members(self, name: &str) -> Result<Vec<Member<'a>>, ModelServerError> {
        if self.kind() != Kind::Object {
            return Err(self.wanted(name, "an object"));
        }
        let Members(members) = serde_json::from_str(self.raw).map_err(|error| self.wrong(said(&error)))?;
        Ok(members.into_iter().map(|(key, raw)| Member { key, value: self.at(raw.get()) }).collect())
    }

    /// The error for a key that is not among `known`.
    pub fn unknown(self, name: &str, member: &Member<'_>, known: &[&str]) -> ModelServerError {
        let nearest = nearest(&member.key, known).map(|key| format!("; the nearest is {key:?}"));
        let what = format!(
            "{name} has no key {:?}{}; known keys: {}",
            member.key,
            nearest.unwrap_or_default(),
            known.join(", "),
        );
        self.wrong_at(member.place(), what)
    }

    pub fn items(self, name: &str) -> Result<Vec<Self>, ModelServerError> {
        if self.kind() != Kind::List {
            return Err(self.wanted(name, "a list"));
        }
        let items: Vec<&RawValue> =
            serde_json::from_str(self.raw).map_err(|error| self.wrong(said(&error)))?;
        Ok(items.into_iter().map(|raw| self.at(raw.get())).collect())
    }

    pub fn text(self, name: &str) -> Result<String, ModelServerError> {
        if self.kind() != Kind::Text {
            return Err(self.wanted(name, "a text"));
        }
        serde_json::from_str(self.raw).map_err(|error| self.wrong(format!("{name}: {}", said(&error))))
    }

    pub fn number(self, name: &str) -> Result<u64, ModelServerError> {
        serde_json::from_str(self.raw).map_err(|_| self.wanted(name, "a whole number from 0"))
    }
}

impl Member<'_> {
    /// Where the key stands; where its value does, if the key was written with escapes.
    fn place(&self) -> &str {
        match &self.key {
            Cow::Borrowed(key) => key,
            Cow::Owned(_) => self.value.raw,
        }
    }
}

/// What the parser says, without its own count of lines and columns.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// The known word that takes the fewest changes, if that is not more than half of what was written.
pub(crate) fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = (written.chars().count() / 2).max(1);
    let near = known.iter().map(|word| (strsim::levenshtein(written, word), *word)).min()?;
    (near.0 <= most).then_some(near.1)
}
