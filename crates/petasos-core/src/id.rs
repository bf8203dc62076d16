//! Names of things. Ids are ours, never reused, and not interchangeable; what a wire calls a thing is data.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Place of an entry in its session's log, counted from 0 without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The seq of the entry after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One try of a request to a model: the seq of its `request` entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub Seq);

/// A turn: the seq of its first `turn_start` entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub Seq);

/// Opening of a session by one holder; the higher one is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// A tool call: the seq of the `reply` entry that asks for it and its place in that reply, from 0.
///
/// Written `17.0`, in logs as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    /// The entry that holds the call.
    pub reply: Seq,
    /// Its place among the calls of that reply.
    pub place: u16,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.reply, self.place)
    }
}

/// What was given where an id was wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// Not `seq.place`.
    #[error("{0:?} is no call id; one looks like 17.0")]
    Call(String),
    /// Not 1 to 26 lower case letters and digits.
    #[error("{0:?} is no session id; one has 1 to 26 lower case letters and digits")]
    Session(String),
    /// Not 64 hexadecimal digits.
    #[error("{0:?} is no hash; one has 64 hexadecimal digits")]
    Hash(String),
}

impl FromStr for CallId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId::Call(text.to_owned());
        let (reply, place) = text.split_once('.').ok_or_else(bad)?;
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(reply) || !digits(place) {
            return Err(bad());
        }
        Ok(Self { reply: Seq(reply.parse().map_err(|_| bad())?), place: place.parse().map_err(|_| bad())? })
    }
}

/// A session: time-ordered, lower case letters and digits, 26 characters at most (`formats.md`), so
/// that it can be a folder's name on every file system and never leave its parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The id that stands for a number: 26 characters, in the order of the numbers. With milliseconds in its
    /// upper 48 bits it is time-ordered. The alphabet is that of Crockford's base 32, in lower case.
    pub fn of_number(number: u128) -> Self {
        const LETTERS: [char; 32] = [
            '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'j',
            'k', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'y', 'z',
        ];
        let letter = |place: u32| LETTERS.get((number >> (place * 5)) as usize & 31).copied();
        Self((0..26).rev().filter_map(letter).collect::<String>().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let fits = (1..=26).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if fits { Ok(Self(text.into())) } else { Err(BadId::Session(text.to_owned())) }
    }
}

/// A SHA-256, made by the shell: core compares hashes and never makes one. 64 hexadecimal digits in logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId::Hash(text.to_owned());
        if text.len() != 64 || !text.is_ascii() {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

/// Ids that are text in a log are written and read through their `Display` and `FromStr`.
macro_rules! as_text {
    ($($id:ty),*) => {$(
        impl Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(CallId, SessionId, Digest);
