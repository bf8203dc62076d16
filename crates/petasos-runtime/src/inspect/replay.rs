//! A session replayed: its log driven through core again, and each of its requests written again (S04).
//!
//! Nothing is run and nobody is asked: no hook, tool, clock or network.

mod answers;
mod drive;
mod entries;
mod explain;
mod line;
mod rest;
mod rewriting;
mod told;
mod tools;

use std::fs;
use std::path::Path;

use petasos_core::Session;
use petasos_core::approval::Prepared;
use petasos_core::budget::Limits;
use petasos_core::entry::{Body, Entry, Request, VerdictKind};
use petasos_core::id::{CallId, Digest, Seq, SessionId};
use petasos_core::request::{Draft, Purpose, Target, ToolMode, Wire};
use petasos_core::session::Terms;
use petasos_core::text::Text;
use petasos_core::turn::Mode;
use petasos_store::{Store, StoreError, read_log};
use tokio::task::spawn_blocking;

use crate::setup::Setup;
pub use drive::LeftOutWhy;
use drive::{Watch, drive};
pub use rewriting::PartOf;
use rewriting::Rewriting;

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Whose log it is.
    pub session: SessionId,
    /// Entries that core made again, each the same as in the log.
    pub entries: u64,
    /// The requests, in order.
    pub requests: Vec<RequestReplayed>,
    /// What was judged.
    pub calls: u64,
    /// What was not replayed.
    pub left_out: Vec<LeftOut>,
    /// Where something differs: at most one of each sort, decisions first.
    pub differences: Vec<Difference>,
}

/// A request that was written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestReplayed {
    /// Where it stands.
    pub place: Place,
    /// Its parts.
    pub parts: u64,
    /// Size of its body.
    pub bytes: u64,
    /// Whether it is the one that was sent.
    pub is_same: bool,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its entry.
    pub entry: Seq,
    /// Its turn, by the first entry of that.
    pub turn: Seq,
    /// The step, from 1.
    pub step: u32,
    /// The try, from 1.
    pub attempt: u32,
    /// What for.
    pub purpose: Purpose,
}

/// Entries that were not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The first.
    pub from: Seq,
    /// The last.
    pub to: Seq,
    /// Why.
    pub why: LeftOutWhy,
}

/// Where a replay differs from its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A call is judged otherwise now.
    Decision {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: Text,
        /// What was said, and by which rule.
        was: (VerdictKind, Text),
        /// What is said now.
        now: (VerdictKind, Text),
    },
    /// A part of a request is another one.
    Part {
        /// The request.
        request: Place,
        /// Which part, from 0.
        part: usize,
        /// What it is; none behind the end of what is written now.
        of: Option<PartOf>,
        /// Its hash in the log; none behind the end of what was sent.
        was: Option<Digest>,
        /// Its hash now.
        now: Option<Digest>,
        /// The first bytes that differ, where those of the log are known.
        bytes: Option<Differing>,
    },
    /// The parts of a request are the same and its end is not.
    Tail {
        /// The request.
        request: Place,
    },
    /// Core makes another entry, or none.
    Entry {
        /// Which.
        entry: Seq,
        /// Its kind in the log.
        kind: Text,
        /// Its line in the log, without the sum.
        was: String,
        /// The line that is made; none if none is.
        now: Option<String>,
        /// Why none is, if core says.
        refused: Option<String>,
    },
}

/// Two texts from where they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Bytes of the part before.
    pub at: usize,
    /// What was sent, with a few words before.
    pub was: String,
    /// What would be sent.
    pub now: String,
}

impl Replayed {
    /// True if nothing differs.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// Replays a log; none if it has no first line.
    pub fn of(log: &[Entry]) -> Option<Self> {
        let Body::SessionStart(start) = &log.first()?.body else { return None };
        let found = Self {
            session: start.id.clone(),
            entries: 0,
            requests: Vec::new(),
            calls: 0,
            left_out: Vec::new(),
            differences: Vec::new(),
        };
        let mut watcher = Watcher { log, scanned: 0, sent: Vec::new(), then: Rewriting::new(None), found };
        let nobody = Target {
            provider: Text::default(),
            model: Text::default(),
            wire: Wire::Chat,
            tool_mode: ToolMode::Native,
        };
        // Each turn of a log tells its own.
        let terms =
            Terms { limits: Limits::default(), mode: Mode::default(), target: nobody, fallback: Vec::new() };
        let (made, driven) = drive(log, &terms, &mut watcher);
        let mut found = watcher.found;
        found.entries = made;
        found.differences.extend(driven.err().map(|misfit| told::entry(&misfit)));
        Some(found)
    }

    /// Replays a log that stands by itself in a file, or in the folder of a session.
    ///
    /// # Errors
    /// For a person: why it cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let path = if path.is_dir() { path.join("log.jsonl") } else { path.to_owned() };
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let read = read_log(&bytes).map_err(|why| format!("{}: {why}", path.display()))?;
        Self::of(&read.entries).ok_or_else(|| format!("{}: no session", path.display()))
    }
}

impl Setup {
    /// Replays a session. Changes nothing, asks nobody, and needs no lock.
    ///
    /// # Errors
    /// What the store says.
    pub async fn replay(&self, session: &SessionId) -> Result<Replayed, StoreError> {
        let (store, id) = (self.store(), session.clone());
        let unusable = |why: String| StoreError::Unusable { session: session.clone(), why };
        let replayed = spawn_blocking(move || store.read(&id).map(|read| Replayed::of(&read.entries)));
        let replayed = replayed.await.map_err(|error| unusable(error.to_string()))??;
        replayed.ok_or_else(|| unusable("it has no first line".to_owned()))
    }
}

/// Compares what comes by.
struct Watcher<'a> {
    log: &'a [Entry],
    /// How much of the log was looked through for the parts of requests.
    scanned: usize,
    /// The hashes of all parts of the last request that was looked at.
    sent: Vec<Digest>,
    then: Rewriting,
    found: Replayed,
}

impl Watcher<'_> {
    /// The hashes of the parts of a request: what its entry tells goes on from the one before.
    fn scan(&mut self, to: Seq) {
        for entry in self.log.get(self.scanned..).unwrap_or_default() {
            if entry.seq > to {
                break;
            }
            self.scanned += 1;
            if let Some(request) = entries::request(entry) {
                if !request.breaks.is_empty() {
                    self.sent.clear();
                }
                self.sent.extend_from_slice(&request.parts);
            }
        }
    }
}

impl Watch for Watcher<'_> {
    fn request(&mut self, session: &Session, draft: &Draft, seq: Seq, request: &Request) {
        self.scan(seq);
        let place = Place {
            entry: seq,
            turn: request.turn.0,
            step: request.step,
            attempt: request.attempt,
            purpose: request.purpose,
        };
        // One that could not be written failed before it was sent.
        if request.bytes == 0 {
            return;
        }
        let Some(body) = self.then.write(session, draft, request) else { return };
        let is_same = body.body == request.body;
        let replayed =
            RequestReplayed { place, parts: body.parts.len() as u64, bytes: request.bytes, is_same };
        self.found.requests.push(replayed);
        let is_known =
            |found: &Difference| matches!(found, Difference::Part { .. } | Difference::Tail { .. });
        if !is_same && !self.found.differences.iter().any(is_known) {
            self.found.differences.push(told::request(place, &body, &self.sent, &self.then, None));
        }
    }

    fn judged(&mut self, _session: &Session, _prepared: &Prepared) {
        self.found.calls += 1;
    }

    fn left_out(&mut self, from: Seq, to: Seq, why: LeftOutWhy) {
        self.found.left_out.push(LeftOut { from, to, why });
    }
}
