//! JSON in which the order of keys and keys that stand twice can be seen.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// The members of an object, as they stand.
pub type Members = Vec<(String, Node)>;

/// A value. Of a number no rule asks for more than a float holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Null,
    Truth(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Members),
}

impl Node {
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn object(&self) -> Option<&Members> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }
}

/// The first value under a key.
pub fn find<'a>(members: &'a Members, key: &str) -> Option<&'a Node> {
    members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// The text under a key.
pub fn text<'a>(members: &'a Members, key: &str) -> Option<&'a str> {
    find(members, key).and_then(Node::text)
}

/// The number under a key.
pub fn number(members: &Members, key: &str) -> Option<f64> {
    if let Some(Node::Number(number)) = find(members, key) { Some(*number) } else { None }
}

/// The truth under a key.
pub fn truth(members: &Members, key: &str) -> Option<bool> {
    if let Some(Node::Truth(truth)) = find(members, key) { Some(*truth) } else { None }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Object(members))
    }
}
