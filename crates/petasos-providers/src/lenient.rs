//! Values as servers write them, read for what they mean: a field of another type than it should have costs
//! that field, never a reply.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A number of tokens; what is none counts as 0.
pub(crate) fn number(raw: Option<&RawValue>) -> u64 {
    known(raw).unwrap_or(0)
}

/// A number of tokens; what is none is unknown.
pub(crate) fn known(raw: Option<&RawValue>) -> Option<u64> {
    serde_json::from_str(raw?.get()).ok()
}

/// Reads an object. A struct is also read from an array, and an array is none.
pub(crate) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// A string without its quotes, anything else as it stands.
pub(crate) fn plain(raw: &RawValue) -> String {
    string(raw).unwrap_or_else(|| raw.get().to_owned())
}

/// The text of a JSON string. Half a surrogate pair becomes U+FFFD: servers that escape what is not
/// ASCII cut pairs apart, and one bad character is no reason to lose a reply.
pub(crate) fn string(raw: &RawValue) -> Option<String> {
    struct Lossy;
    impl Visitor<'_> for Lossy {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
    }
    if !raw.get().starts_with('"') {
        return None;
    }
    let mut json = serde_json::Deserializer::from_str(raw.get());
    String::deserialize(&mut json)
        .or_else(|_| serde_json::Deserializer::from_str(raw.get()).deserialize_bytes(Lossy))
        .ok()
}

/// The members of an object, in their order; none of anything else.
#[derive(Default)]
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, &'a RawValue)> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for Members<'a> {
    type Item = (String, &'a RawValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Self)
    }
}
