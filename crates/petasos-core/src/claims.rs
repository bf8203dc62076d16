//! What a call touches, and which calls are in each other's way.

use serde::{Deserialize, Serialize};

use crate::text::{Json, Text};

/// What one call touches: told by its tool before anything is decided about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claims {
    /// May it be run again.
    pub rerun: Rerun,
    /// What it reads and writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// Whether it runs with nothing beside it.
    pub alone: bool,
    /// The commands it would run, each as its words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<Vec<Text>>,
    /// What a probe needs to see, after a crash, whether the call was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Json>,
}

/// May a call be run again when nobody knows whether it ended?
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rerun {
    /// Yes, as often as one likes: it changes nothing.
    Free,
    /// Yes, under the same key: the other side takes it once.
    Keyed(Text),
    /// No: its outcome is unknown until somebody looks.
    Never,
    /// It is a session of its own, which is resumed.
    Child(crate::id::SessionId),
}

/// One thing that a call touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// Its name; of a path, its parts from the workspace on, joined by `/`.
    pub name: Text,
    /// What is done there.
    pub access: Access,
}

/// What kind of thing a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A file, or a folder with all that is in it; the empty name is the workspace.
    Path,
    /// A host on a network.
    Host,
    /// Anything else that has one name: the plan, memory.
    Named,
}

/// What is done at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It is looked at.
    Read,
    /// It may be changed.
    Write,
}

impl Claims {
    /// What is claimed for a call that cannot be prepared: nothing is known of it, so it is alone and
    /// never run again.
    pub fn unknown() -> Self {
        Self { rerun: Rerun::Never, places: Vec::new(), alone: true, argv: Vec::new(), probe: None }
    }

    /// True if the two must not run at the same time: one is alone, or they share a place that one of
    /// them writes (I10).
    pub fn are_in_the_way_of(&self, other: &Self) -> bool {
        self.alone
            || other.alone
            || self.places.iter().any(|mine| other.places.iter().any(|theirs| mine.clashes_with(theirs)))
    }
}

impl Place {
    fn clashes_with(&self, other: &Self) -> bool {
        let written = self.access == Access::Write || other.access == Access::Write;
        written && self.kind == other.kind && self.overlaps(other)
    }

    fn overlaps(&self, other: &Self) -> bool {
        match self.kind {
            PlaceKind::Path => holds(&self.name, &other.name) || holds(&other.name, &self.name),
            PlaceKind::Host | PlaceKind::Named => self.name == other.name,
        }
    }
}

/// True if `path` is `folder` or lies in it; by whole parts, so `srv/a` does not hold `srv/a-evil`.
fn holds(folder: &str, path: &str) -> bool {
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
