//! A session replayed: its log driven through core again, and each of its requests written again (S04).
//!
//! Nothing is run and nobody is asked: no hook, tool, clock or network.

mod answers;
mod drive;
mod entries;
mod explain;
mod line;
mod present;
mod rest;
mod rewriting;
mod told;
mod tools;

use std::fs;
use std::path::Path;

use petasos_core::Session;
use petasos_core::approval::Prepared;
use petasos_core::budget::Limits;
use petasos_core::entry::{Body, Damage, Entry, Head, Request, VerdictKind};
use petasos_core::id::{CallId, Digest, Seq, SessionId};
use petasos_core::request::{Draft, Purpose, Target, ToolMode, Wire};
use petasos_core::session::Terms;
use petasos_core::text::Text;
use petasos_core::turn::Mode;
use petasos_providers::Body as SentBody;
use petasos_store::{Store, StoreError, read_export, read_log};
use tokio::task::spawn_blocking;

use crate::setup::Setup;
pub use drive::LeftOutWhy;
use drive::{Watch, drive};
pub use present::Present;
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
    /// The calls that were judged, by their ids.
    pub calls: Vec<CallReplayed>,
    /// What is damaged in its log, for a person.
    pub damage: Vec<String>,
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

/// A call that was judged as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallReplayed {
    /// Which.
    pub call: CallId,
    /// The tool.
    pub tool: Text,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The rule that gave it.
    pub rule: Text,
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

    /// True if all of it could be looked at: nothing of its log is damaged.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty() && self.left_out.iter().all(|left| left.why != LeftOutWhy::Damaged)
    }

    fn with_damage(self, damage: Vec<Damage>) -> Self {
        Self { damage: damage.into_iter().map(|damage| damage.why.to_string()).collect(), ..self }
    }

    /// Replays a log; none if it has no first line. `present`: what is looked at beside, which checks a change of it.
    pub fn of(log: &[Entry], present: Option<&Present>) -> Option<Self> {
        Self::of_kept(log, present, &|_| None)
    }

    /// The same with the parts of requests that were kept, each by its hash.
    fn of_kept(log: &[Entry], present: Option<&Present>, kept: Kept<'_>) -> Option<Self> {
        let Body::SessionStart(start) = &log.first()?.body else { return None };
        let found = Self {
            session: start.id.clone(),
            entries: 0,
            requests: Vec::new(),
            calls: Vec::new(),
            damage: Vec::new(),
            left_out: Vec::new(),
            differences: Vec::new(),
        };
        let mut watcher = Watcher::new(log, (present, kept), found);
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
        // Calls are prepared side by side.
        found.calls.sort_by_key(|call| call.call);
        // What a change decides comes before what it says.
        found.differences.sort_by_key(|difference| !matches!(difference, Difference::Decision { .. }));
        Some(found)
    }

    /// Replays a log that stands by itself in a file, or in the folder of a session.
    ///
    /// # Errors
    /// For a person: why it cannot be read.
    pub fn of_file(path: &Path, present: Option<&Present>) -> Result<Self, String> {
        let blobs = path.join("blobs");
        let path = if path.is_dir() { path.join("log.jsonl") } else { path.to_owned() };
        let wrong = |why: String| format!("{}: {why}", path.display());
        let bytes = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
        let is_of_export = |line: &[u8]| line.starts_with(b"{\"blob\":") || line.starts_with(b"{\"end\":");
        // What is no log alone must be a whole export.
        let (entries, damage) = if bytes.split(|byte| *byte == b'\n').any(is_of_export) {
            let read = read_export(bytes.as_slice()).map_err(|error| wrong(error.to_string()))?;
            (read.entries, read.end.damage)
        } else {
            let read = read_log(&bytes).map_err(wrong)?;
            (read.entries, read.damage)
        };
        let kept = |hash: &Digest| fs::read(blobs.join(hash.to_string())).ok();
        let replayed = Self::of_kept(&entries, present, &kept);
        let whole = replayed.map(|replayed| replayed.with_damage(damage));
        whole.ok_or_else(|| wrong("no session".to_owned()))
    }
}

impl Setup {
    /// Replays a session. Changes nothing, asks nobody, and needs no lock.
    ///
    /// # Errors
    /// What the store says.
    pub async fn replay(
        &self,
        session: &SessionId,
        present: Option<Present>,
    ) -> Result<Replayed, StoreError> {
        let (store, id) = (self.store(), session.clone());
        let unusable = |why: String| StoreError::Unusable { session: session.clone(), why };
        let replay = move || {
            let kept = |hash: &Digest| store.read_blob(&id, hash, 0..u64::MAX).ok();
            store.read(&id).map(|read| {
                let replayed = Replayed::of_kept(&read.entries, present.as_ref(), &kept);
                replayed.map(|replayed| replayed.with_damage(read.damage))
            })
        };
        let replayed = spawn_blocking(replay).await.map_err(|error| unusable(error.to_string()))??;
        replayed.ok_or_else(|| unusable("it has no first line".to_owned()))
    }
}

/// Finds the bytes of a part that were kept.
type Kept<'a> = &'a dyn Fn(&Digest) -> Option<Vec<u8>>;

/// Compares what comes by.
struct Watcher<'a> {
    log: &'a [Entry],
    /// How much of the log was looked through for the parts of requests.
    scanned: usize,
    /// The hashes of all parts of the last request that was looked at.
    sent: Vec<Digest>,
    /// The requests as this program writes them with what the log froze, and with what would be there now.
    then: Rewriting,
    now: Rewriting,
    present: Option<&'a Present>,
    kept: Kept<'a>,
    /// The head of now that stands for one of the log.
    head: Option<(Seq, Head)>,
    found: Replayed,
}

impl<'a> Watcher<'a> {
    fn new(log: &'a [Entry], (present, kept): (Option<&'a Present>, Kept<'a>), found: Replayed) -> Self {
        let (then, now) = (Rewriting::default(), Rewriting::default());
        Self { log, scanned: 0, sent: Vec::new(), then, now, present, kept, head: None, found }
    }

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

    /// The request as it would be written now; none if nobody asks for that.
    fn of_now(&mut self, session: &Session, draft: &Draft, request: &Request) -> Option<SentBody> {
        let present = self.present?;
        if self.head.as_ref().is_none_or(|(of, _)| *of != request.head) {
            self.head = present.head(self.log, request.head).map(|head| (request.head, head));
        }
        let (_, head) = self.head.as_ref()?;
        Some(self.now.write(session, draft, (request, head)))
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
        let Some(head) = session.head().filter(|_| request.bytes > 0) else { return };
        let then = self.then.write(session, draft, (request, head));
        let now = self.of_now(session, draft, request);
        let body = now.as_ref().unwrap_or(&then);
        let is_same = body.body == request.body;
        let (parts, bytes) = (body.parts.len() as u64, request.bytes);
        self.found.requests.push(RequestReplayed { place, parts, bytes, is_same });
        let is_known =
            |found: &Difference| matches!(found, Difference::Part { .. } | Difference::Tail { .. });
        if is_same || self.found.differences.iter().any(is_known) {
            return;
        }
        // What has the hash that was sent are the bytes that were sent.
        let known = |part: usize| {
            let is_what_was_sent = then.parts.get(part) == self.sent.get(part);
            let written = self.then.part(part).filter(|_| is_what_was_sent).map(<[u8]>::to_vec);
            written.or_else(|| (self.kept)(self.sent.get(part)?))
        };
        let written = if now.is_some() { &self.now } else { &self.then };
        self.found.differences.push(told::request(place, body, &self.sent, (written, &known)));
    }

    fn judged(&mut self, session: &Session, prepared: &Prepared) {
        self.found.calls.extend(present::call_of(prepared));
        let is_first =
            self.found.differences.iter().all(|known| !matches!(known, Difference::Decision { .. }));
        let judged = self.present.filter(|_| is_first).and_then(|present| present.judged(session, prepared));
        self.found.differences.extend(judged);
    }

    fn left_out(&mut self, from: Seq, to: Seq, why: LeftOutWhy) {
        self.found.left_out.push(LeftOut { from, to, why });
    }
}
