//! What the model knows of files, so that a change by another hand is noticed.
//!
//! A file is known by the hash of its content, not by its times: who only touches it, or writes the same again,
//! changed nothing. It lives as long as the session is open: after a resume nothing is known, and nothing is said.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use petasos_core::id::Digest;

use crate::workspace::{Content, Location};

/// What the model has read of files in this session.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<Location, Known>>);

#[derive(Clone, Copy, Debug)]
struct Known {
    content: Content,
    /// Another's change was met by an edit and told; what it is, the model has not read.
    is_behind: bool,
}

/// What is known of a file, against what it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// It was never read or written in this session.
    Unknown,
    /// It is what was read or written last.
    Same,
    /// Another hand changed it.
    Changed,
}

impl Seen {
    /// The model has read what a file is now.
    pub(crate) fn read(&self, location: &Location, now: Content) {
        self.know(location, Known { content: now, is_behind: false });
    }

    /// A file is compared with what was read or written last.
    pub(crate) fn since(&self, location: &Location, now: &Content) -> Since {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(location).copied();
        match known {
            None => Since::Unknown,
            Some(known) if known.content.is(now) && !known.is_behind => Since::Same,
            Some(_) => Since::Changed,
        }
    }

    /// There is no such file now.
    pub(crate) fn gone(&self, location: &Location) -> Since {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains_key(location) { Since::Changed } else { Since::Unknown }
    }

    /// The model gave a file all of its content.
    pub(crate) fn wrote(&self, location: &Location, hash: Digest) {
        let content = Content { stamp: None, hash: Some(hash) };
        self.know(location, Known { content, is_behind: false });
    }

    /// The model changed a part of a file.
    pub(crate) fn edited(&self, location: &Location, since: Since, hash: Digest) {
        let content = Content { stamp: None, hash: Some(hash) };
        match since {
            // What is known of it is still only what was edited.
            Since::Unknown => {}
            Since::Same => self.know(location, Known { content, is_behind: false }),
            Since::Changed => self.know(location, Known { content, is_behind: true }),
        }
    }

    fn know(&self, location: &Location, known: Known) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(location.clone(), known);
    }
}
