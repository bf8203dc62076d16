//! A log, driven through core again: every entry that core makes is compared with the one that the log has.
//!
//! The log holds no inputs, it holds what they led to. So the entry that comes next says which input came
//! (`explain.rs`); where more than one may have, the one counts whose entries are those of the log.

use std::collections::VecDeque;

use petasos_core::Session;
use petasos_core::approval::Prepared;
use petasos_core::entry::{Body, Entry, Keep, LeafReason, Request};
use petasos_core::error::{Handled, Rejected};
use petasos_core::id::{RequestId, Seq};
use petasos_core::request::Draft;
use petasos_core::session::Terms;
use petasos_core::time::Time;
use petasos_core::turn::{Delta, Effect, Input, Phase, Turn};

use super::answers::deltas_of;
use super::entries::{self, Log, is_foreign};
use super::rest::closes;

/// Inputs without an entry of their own that may come before one that has one; each piece of a reply and each call
/// allows more of them.
const SILENT: usize = 64;

/// Looks on while a log is replayed.
pub(super) trait Watch {
    /// A request is about to be made as the log has it.
    fn request(&mut self, session: &Session, draft: &Draft, seq: Seq, request: &Request);
    /// A call is judged as the log has it.
    fn judged(&mut self, session: &Session, prepared: &Prepared);
    /// Entries that are not replayed, and why.
    fn left_out(&mut self, from: Seq, to: Seq, why: LeftOutWhy);
}

/// Why entries are not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutWhy {
    /// A kind that this program does not know.
    UnknownKind,
    /// They follow an entry of an unknown kind in the same run.
    AfterUnknown,
    /// Lines before them are missing or damaged.
    Damaged,
}

/// An input at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) now: Time,
    pub(super) input: Input,
}

/// Where core made something else than the log has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// What the log has.
    pub(super) logged: Entry,
    /// What core makes, if it makes an entry.
    pub(super) made: Option<Entry>,
    /// Why it makes none, if it says.
    pub(super) refused: Option<Rejected>,
}

/// A reply on its way: what is still to come of it.
#[derive(Clone, Debug)]
pub(super) struct Coming {
    request: RequestId,
    pub(super) rest: VecDeque<Delta>,
    /// Characters of text that came.
    pub(super) text: u64,
    /// When the last piece came that the log tells of.
    pub(super) now: Time,
}

/// Where a replay stands.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) session: Session,
    /// Synced appends without an answer, each by its last entry.
    pub(super) unanswered: VecDeque<Seq>,
    pub(super) coming: Option<Coming>,
    /// The entry of the log that comes next.
    pub(super) at: usize,
    /// The log ends within what an input led to: the process ended there, or lines are damaged.
    is_cut: bool,
}

/// Drives a whole log, and gives the number of entries that core made again. The first misfit ends it: what follows
/// depends on it.
pub(super) fn drive(
    entries: &[Entry],
    terms: &Terms,
    watch: &mut dyn Watch,
) -> (u64, Result<(), Box<Misfit>>) {
    let log = &Log::new(entries);
    let point = Point::behind(log, 0, terms);
    let mut driver = Driver { log, point, terms, made: 0, watch };
    let driven = driver.all();
    (driver.made, driven)
}

struct Driver<'a> {
    log: &'a Log<'a>,
    point: Point,
    terms: &'a Terms,
    made: u64,
    watch: &'a mut dyn Watch,
}

impl Driver<'_> {
    fn all(&mut self) -> Result<(), Box<Misfit>> {
        while let Some(entry) = self.log.get(self.point.at) {
            if matches!(entry.body, Body::Open(_)) {
                self.point = Point::behind(self.log, self.point.at + 1, self.terms);
            } else if self.point.is_cut {
                self.leave_out(LeftOutWhy::AfterUnknown);
            } else if is_made_with_it(self.log, self.point.at) && !self.point.session.is_running() {
                self.point.pass(entry);
            } else if matches!(entry.body, Body::Unknown(_)) {
                self.watch.left_out(entry.seq, entry.seq, LeftOutWhy::UnknownKind);
                self.point.pass(entry);
            } else if entry.seq != self.point.session.next_seq() {
                self.leave_out(LeftOutWhy::Damaged);
            } else {
                self.entry(entry)?;
            }
        }
        Ok(())
    }

    /// What comes up to the next opening is not replayed; from there on the log is folded anew.
    fn leave_out(&mut self, why: LeftOutWhy) {
        let rest = self.log.entries.get(self.point.at..).unwrap_or_default();
        let is_gap =
            rest.first().is_some_and(|entry| !is_foreign(entry) && entry.seq > self.point.session.next_seq());
        let why = if is_gap { LeftOutWhy::Damaged } else { why };
        let mut all = self.log.process(self.point.at);
        if let Some(first) = all.next() {
            let last = all.last().unwrap_or(first);
            self.watch.left_out(first.seq, last.seq, why);
        }
        self.point.at += self.log.process(self.point.at).count();
    }

    /// Gives core what led to the next entry.
    fn entry(&mut self, entry: &Entry) -> Result<(), Box<Misfit>> {
        let from = self.point.at;
        let mut left = None;
        let mut first = None;
        while self.point.at == from && !self.point.is_cut {
            self.point.expect_reply(self.log);
            let rest = left.unwrap_or_else(|| self.point.most_silent());
            left = Some(rest.saturating_sub(1));
            if rest == 0 || !self.go_on(&mut first) {
                let unexplained = Misfit { logged: entry.clone(), made: None, refused: None };
                return Err(first.unwrap_or_else(|| Box::new(unexplained)));
            }
        }
        self.made += (self.point.at - from) as u64;
        Ok(())
    }

    /// Gives the first input that may come now: one that leads to what the log has, else one that leads to nothing
    /// yet. False if there is none.
    fn go_on(&mut self, first: &mut Option<Box<Misfit>>) -> bool {
        let inputs = self.point.explain(self.log);
        if let [only] = inputs.as_slice() {
            self.tell(only);
            let fed = self.point.feed(self.log, only);
            return fed.map_err(|misfit| *first = first.take().or(misfit)).is_ok();
        }
        let mut silent = None;
        for given in inputs {
            let mut next = self.point.clone();
            match next.feed(self.log, &given) {
                Ok(()) if next.at > self.point.at || next.is_cut => {
                    self.tell(&given);
                    self.point = next;
                    return true;
                }
                Ok(()) => silent = silent.or(Some((given, next))),
                Err(misfit) => *first = first.take().or(misfit),
            }
        }
        let Some((given, next)) = silent else { return false };
        self.tell(&given);
        self.point = next;
        true
    }

    fn tell(&mut self, given: &Given) {
        let session = &self.point.session;
        if let Input::Prepared { prepared, .. } = &given.input {
            self.watch.judged(session, prepared);
        }
        let entry = self.log.get(self.point.at);
        let request = entry.and_then(entries::request).zip(entry.map(|entry| entry.seq));
        if let (Input::Measured(_), Some(Phase::Measuring(draft)), Some((request, seq))) =
            (&given.input, session.turn().map(Turn::phase), request)
        {
            self.watch.request(session, draft, seq, request);
        }
    }
}

/// True for an entry that stands in a log since the session was made: no input led to it there. Of a fork these are
/// its `leaf`, and what closes the step that was open.
fn is_made_with_it(log: &Log<'_>, at: usize) -> bool {
    let next = log.process(at).find(|entry| !closes(entry)).map(|entry| &entry.body);
    if let Some(Body::Leaf(leaf)) = next {
        return leaf.why == LeafReason::Fork;
    }
    log.get(at).is_some_and(|entry| matches!(entry.body, Body::SessionStart(_)))
}

impl Point {
    /// Behind the first entries of a log, as a process that opens it there.
    fn behind(log: &Log<'_>, at: usize, terms: &Terms) -> Self {
        let session = Session::fold(&log.before(at), terms.clone());
        Self { session, unanswered: VecDeque::new(), coming: None, at, is_cut: false }
    }

    /// Takes in an entry that core does not make.
    fn pass(&mut self, entry: &Entry) {
        self.session.read(entry);
        self.at += 1;
    }

    /// How many inputs may come before one that leads to an entry.
    fn most_silent(&self) -> usize {
        let open = self.session.turn().and_then(|turn| turn.told().step.reply.as_ref());
        let calls = open.map_or(0, |open| open.calls.len());
        let pieces = self.coming.as_ref().map_or(0, |coming| coming.rest.len());
        SILENT + pieces + 4 * calls
    }

    /// Hands an input in. What it leads to must be what the log has.
    ///
    /// # Errors
    /// The first entry that is another one; none if the input came too late to change anything.
    fn feed(&mut self, log: &Log<'_>, given: &Given) -> Result<(), Option<Box<Misfit>>> {
        if let Some(terms) = self.coming_terms(log, &given.input) {
            self.session.set_terms(terms);
        }
        match self.session.handle(given.now, given.input.clone()) {
            Ok(Handled::Taken) => {}
            Ok(Handled::Stale) => return Err(None),
            Err(refused) => {
                let logged = log.get(self.at).cloned();
                let misfit = |logged| Box::new(Misfit { logged, made: None, refused: Some(refused) });
                return Err(logged.map(misfit));
            }
        }
        if let Input::Appended { .. } = &given.input {
            self.unanswered.pop_front();
        }
        if let Input::Delta { delta, .. } = &given.input {
            self.came(delta, given.now);
        }
        while let Some(effect) = self.session.next_effect() {
            if let Effect::Append { entries, keep } = effect {
                self.appended(log, entries, keep)?;
            }
        }
        Ok(())
    }

    fn appended(
        &mut self,
        log: &Log<'_>,
        entries: Vec<Entry>,
        keep: Keep,
    ) -> Result<(), Option<Box<Misfit>>> {
        if let (Keep::Synced, Some(last)) = (keep, entries.last()) {
            self.unanswered.push_back(last.seq);
        }
        for made in entries {
            match log.get(self.at) {
                _ if self.is_cut => {}
                Some(logged) if *logged == made => self.at += 1,
                Some(logged) if !is_foreign(logged) && logged.seq == made.seq => {
                    let misfit = Misfit { logged: logged.clone(), made: Some(made), refused: None };
                    return Err(Some(Box::new(misfit)));
                }
                Some(_) | None => self.is_cut = true,
            }
        }
        Ok(())
    }

    /// The terms under which the next turn of this run begins or goes on: whoever ran it had them from somewhere.
    fn coming_terms(&self, log: &Log<'_>, input: &Input) -> Option<Terms> {
        let is_ending = matches!(self.session.turn().map(Turn::phase), Some(Phase::Ending { .. }));
        let is_said = matches!(input, Input::Say(_) | Input::Continue { .. } | Input::Retry);
        let may_start = if is_said {
            !self.session.is_running()
        } else {
            is_ending && matches!(input, Input::Appended { .. })
        };
        let start = log.process(self.at).filter(|_| may_start).find_map(entries::turn_start)?;
        Some(Terms {
            limits: start.limits.clone(),
            mode: start.mode,
            target: start.target.clone(),
            fallback: start.fallback.clone(),
        })
    }

    /// Finds the reply that a request which is out gets.
    fn expect_reply(&mut self, log: &Log<'_>) {
        let phase = self.session.turn().map(Turn::phase);
        let Some(Phase::AwaitingModel { request, .. }) = phase else {
            self.coming = None;
            return;
        };
        let request = *request;
        if self.coming.as_ref().is_some_and(|coming| coming.request == request) {
            return;
        }
        let mut replies = log.step(self.at).filter_map(entries::reply);
        let reply = replies.find(|reply| reply.request == request);
        let now = self.sent_at(log, request.0).unwrap_or_default();
        let rest = reply.map(deltas_of).unwrap_or_default();
        self.coming = Some(Coming { request, rest, text: 0, now });
    }

    /// A piece of the reply came, or the beginning of one.
    fn came(&mut self, delta: &Delta, now: Time) {
        let Some(coming) = &mut self.coming else { return };
        coming.now = now;
        if let Delta::Text(text) = delta {
            coming.text += text.chars().count() as u64;
        }
        let whole = coming.rest.pop_front();
        if let (Some(Delta::Text(whole)), Delta::Text(piece)) = (whole, delta)
            && whole.len() > piece.len()
            && let Some(rest) = whole.strip_prefix(&**piece)
        {
            coming.rest.push_front(Delta::Text(rest.into()));
        }
    }
}
