//! What a search of the sessions gave.

use petasos_core::id::{Seq, SessionId};
use petasos_core::text::Text;
use petasos_core::time::Time;
use petasos_store::{Hits, Snippet, StoreError};
use serde::Serialize;

use super::Listed;
use crate::event::EVENTS;

/// What was found.
#[derive(Debug)]
pub struct Searched {
    /// The entries, those of the session first in which something happened last, and of each session the last ones first.
    pub entries: Vec<SearchedEntry>,
    /// True if there are more than were to be told.
    pub is_more: bool,
    /// Sessions whose logs were read, since their words are not all in the index.
    pub logs_read: u64,
    /// Why there is no index, if there is none.
    pub no_index: Option<String>,
    /// Sessions that cannot be searched, and why.
    pub unreadable: Vec<(SessionId, StoreError)>,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedEntry {
    /// Its session.
    pub session: Listed,
    /// Which.
    pub entry: Seq,
    /// Its kind.
    pub kind: Text,
    /// What stands around what was looked for.
    pub snippet: Snippet,
    at: Time,
}

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    session: &'a SessionId,
    workspace: &'a str,
    title: &'a str,
    entry: Seq,
    kind: &'a str,
    at: u64,
    before: &'a str,
    found: &'a str,
    after: &'a str,
}

impl Searched {
    pub(crate) fn of(hits: Hits) -> Self {
        let Hits { hits, is_more, logs_read, no_index, unreadable } = hits;
        let entries = hits.into_iter().map(|hit| SearchedEntry {
            session: Listed(hit.session),
            entry: hit.seq,
            kind: hit.kind,
            snippet: hit.snippet,
            at: hit.at,
        });
        Self { entries: entries.collect(), is_more, logs_read, no_index, unreadable }
    }
}

impl SearchedEntry {
    /// As a line of JSON; its time is milliseconds since 1970 UTC.
    pub fn line(&self) -> String {
        let line = Line {
            v: EVENTS,
            session: self.session.id(),
            workspace: self.session.workspace(),
            title: self.session.title(),
            entry: self.entry,
            kind: &self.kind,
            at: self.at.0,
            before: &self.snippet.before,
            found: &self.snippet.found,
            after: &self.snippet.after,
        };
        // Plain data always becomes JSON; the fallback only keeps this free of panics.
        serde_json::to_string(&line).unwrap_or_default()
    }
}
