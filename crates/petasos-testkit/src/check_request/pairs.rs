//! Calls and their results: each call has one, in its place.

use std::collections::{BTreeSet, VecDeque};

use petasos_core::bounded::Cap;

use super::{Findings, fits};

/// The longest id that all providers take.
const LONGEST_ID: usize = 40;

/// Room for the line that says what was left out of a result.
const MARK: usize = 200;

/// The calls so far, and those of them that wait for a result.
#[derive(Debug, Default)]
pub struct Pairs {
    ids: BTreeSet<String>,
    open: VecDeque<String>,
}

impl Pairs {
    /// A call.
    pub fn made(&mut self, place: &str, id: &str, found: &mut Findings) {
        if !fits(id, LONGEST_ID) {
            found.add(format!("{place}: the id {id:?} is not 1 to {LONGEST_ID} of [a-zA-Z0-9_-]"));
        }
        if !self.ids.insert(id.to_owned()) {
            found.add(format!("{place}: the id {id:?} stands twice"));
        }
        self.open.push_back(id.to_owned());
    }

    /// The result of a call, in texts.
    pub fn answered(&mut self, place: &str, id: &str, texts: &[&str], found: &mut Findings) {
        match self.open.pop_front() {
            Some(open) if open == id => {}
            Some(open) => found.add(format!("{place}: the result of {id:?} where that of {open:?} is next")),
            None => found.add(format!("{place}: the result of {id:?}, which no call before it waits for")),
        }
        let length: usize = texts.iter().map(|text| text.chars().count()).sum();
        if length > Cap::RESULT.0 + MARK {
            found.add(format!("{place}: a result of {length} characters, at most {}", Cap::RESULT.0));
        }
    }

    /// No result comes any more.
    pub fn close(&mut self, place: &str, found: &mut Findings) {
        for id in self.open.drain(..) {
            found.add(format!("{place}: no result of {id:?} before it"));
        }
    }

    /// True if there was any call.
    pub fn any(&self) -> bool {
        !self.ids.is_empty()
    }
}
