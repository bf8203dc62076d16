//! The requests of a session: written, measured, and ready to be sent.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use petasos_core::budget::Worst;
use petasos_core::entry::{Body as EntryBody, Charge, Entry, Head};
use petasos_core::id::{Digest, Seq};
use petasos_core::learnt::{LEAST_ROOM, Learnt, Parameter};
use petasos_core::request::{Break, Draft, Measured, Tail, Target, Temperature};
use petasos_core::session::Session;
use petasos_providers::{Body, CallReading, Encoder, Outgoing, Provider, Tariff};

use crate::config::Record;
use crate::front::{Counted, Expected, Front};

/// Finds who serves a target.
pub trait Providers: fmt::Debug + Send + Sync {
    /// The provider of a target.
    ///
    /// # Errors
    /// For a person: why there is none, and what next.
    fn serving(&self, target: &Target) -> Result<Arc<dyn Provider>, String>;

    /// Which of its keys a target is asked with, as a number that says nothing of it: what is known of one does not
    /// hold for another. None if there is none.
    fn key_number(&self, _target: &Target) -> Option<usize> {
        None
    }

    /// Asks a target what only its server knows, once; returns soon, whatever the server does.
    fn look<'a>(&'a self, _target: &'a Target) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What is known of its requests; nothing, unless somebody said.
    fn known(&self, _target: &Target) -> Known {
        Known::default()
    }
}

/// What is known of the requests to a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Tokens that the model takes, as a person said.
    pub window: Option<u64>,
    /// Tokens that it takes, as its server said.
    pub window_told: Option<u64>,
    /// The output cap that a person set, in tokens: sent with each request.
    pub max_output: Option<u64>,
    /// The temperature that a person set: sent with each request.
    pub temperature: Option<Temperature>,
    /// What it costs.
    pub tariff: Option<Tariff>,
    /// What it may do with a prompt that is too long.
    pub front: Front,
}

/// The output that is reserved, and under a token or money budget also the cap that is sent, where nobody set one.
const USUAL_OUTPUT: u64 = 8_192;

/// Share by which an estimate may be too low, in per cent (B01).
const MARGIN: u64 = 15;

#[derive(Debug)]
struct Writing {
    target: Target,
    head: Seq,
    learnt: Learnt,
    pushed: Vec<Seq>,
    encoder: Box<dyn Encoder>,
}

/// The encoder of a session and what its last request was.
#[derive(Debug)]
pub(crate) struct Requests {
    providers: Arc<dyn Providers>,
    writing: Option<Writing>,
    /// Part hashes of the last request that the log has, and of the draft that was measured last.
    parts: Vec<Digest>,
    drafted: Vec<Digest>,
    /// The last request that the log has, and of those before that it goes on from, the one of which most was read.
    asked: Option<(Target, u64)>,
    counted: Option<Counted>,
    /// What is known of the target of the last request: it is asked for with each reply of a log.
    known: Known,
    /// The window that the target of the last draft seemed to have.
    window_seen: Option<u64>,
    ready: Option<(Target, Result<Outgoing, String>)>,
}

impl Requests {
    /// Goes on after the requests that a log tells.
    pub(crate) fn new(providers: Arc<dyn Providers>, log: &[Entry]) -> Self {
        let mut parts = Vec::new();
        let mut requests = Self {
            providers,
            writing: None,
            parts: Vec::new(),
            drafted: Vec::new(),
            asked: None,
            counted: None,
            known: Known::default(),
            window_seen: None,
            ready: None,
        };
        for entry in log {
            requests.take_note(&entry.body);
            if let EntryBody::Request(request) = &entry.body {
                if !request.breaks.is_empty() {
                    parts.clear();
                }
                parts.extend_from_slice(&request.parts);
            }
        }
        Self { parts, ..requests }
    }

    /// What later requests are compared with.
    pub(crate) fn take_note(&mut self, body: &EntryBody) {
        if let EntryBody::Request(request) = body {
            if self.asked().is_none_or(|before| *before != request.target) {
                self.known = self.providers.known(&request.target);
            }
            // What is no longer in it may be why less of it is read.
            if !request.breaks.is_empty() {
                self.counted = None;
            }
            self.asked = Some((request.target.clone(), request.tokens));
        }
        let (EntryBody::Reply(reply), Some((target, sent))) = (body, &self.asked) else { return };
        let Charge::Reported(usage) = &reply.usage else { return };
        let is_less = self.counted.as_ref().is_some_and(|most| usage.input <= most.read);
        if !is_less {
            self.counted = Some(Counted { target: target.clone(), sent: *sent, read: usage.input });
        }
    }

    fn expected(&self, target: &Target, sent: u64) -> Expected {
        let before = self.counted.as_ref().filter(|counted| counted.target == *target);
        // Whoever says how much it takes keeps what fits.
        let is_held = self.known.window.or(self.known.window_told).is_some_and(|window| sent <= window);
        let front = if is_held { Front::Kept } else { self.known.front };
        Expected::new(front, sent, before).with_seen(self.window_seen)
    }

    /// Whom the last request that the log has went to.
    pub(crate) fn asked(&self) -> Option<&Target> {
        self.asked.as_ref().map(|(target, _)| target)
    }

    /// The tokens of the last request, estimated, and what its target is expected to read of it.
    pub(crate) fn sent(&self) -> Option<(u64, Expected)> {
        self.asked.as_ref().map(|(target, sent)| (*sent, self.expected(target, *sent)))
    }

    /// The same for another state of the log.
    pub(crate) fn anew(&self, log: &[Entry]) -> Self {
        Self::new(Arc::clone(&self.providers), log)
    }

    /// Writes a draft and measures it. What cannot be written fails when it is sent.
    pub(crate) fn measure(&mut self, session: &Session, draft: &Draft) -> Measured {
        let known = self.providers.known(&draft.target);
        self.window_seen = draft.learnt.window_seen;
        // What is not capped cannot be reserved.
        let has_limit = session.turn().is_some_and(|turn| {
            let limits = &turn.told().limits;
            limits.tokens.is_some() || limits.micro_usd.is_some()
        });
        let max_output = known.max_output.or(has_limit.then_some(USUAL_OUTPUT));
        // A smaller cap that the server told counts; where none was sent it had none to complain of.
        let max_output = smaller(max_output, draft.learnt.max_output);
        // Whoever takes no cap gets none; under a limit it is told that it must.
        let max_output = max_output.filter(|_| has_limit || draft.learnt.sends(Parameter::MaxOutput));
        let temperature = known.temperature.filter(|_| draft.learnt.sends(Parameter::Temperature));
        let tail = Tail { max_output, temperature };
        let (body, tail) = match self.write(session, draft, tail) {
            Ok(written) => written,
            Err(why) => {
                self.ready = Some((draft.target.clone(), Err(why)));
                return self.measured(draft, known, (tail, &nothing()));
            }
        };
        self.ready = Some((draft.target.clone(), Ok(Outgoing::from(&body))));
        self.measured(draft, known, (tail, &body))
    }

    /// The bytes of the last parts of the draft that was measured last, if they are to be kept.
    pub(crate) fn new_parts(&self, record: Record, count: usize) -> Option<Vec<Vec<u8>>> {
        let writing = self.writing.as_ref().filter(|_| record == Record::Parts)?;
        let all = self.drafted.len();
        let new =
            (all.saturating_sub(count)..all).map(|place| writing.encoder.part(place).map(<[u8]>::to_vec));
        new.collect()
    }

    /// The draft that was measured last has become a request: the next one's parts are told against it.
    pub(crate) fn recorded(&mut self) {
        self.parts = std::mem::take(&mut self.drafted);
    }

    /// The body of the draft that was measured last. It is sent once.
    pub(crate) fn take_ready(&mut self) -> Option<(Target, Result<Outgoing, String>)> {
        self.ready.take()
    }

    /// Who serves a target.
    pub(crate) fn serving(&self, target: &Target) -> Result<Arc<dyn Provider>, String> {
        self.providers.serving(target)
    }

    fn write(&mut self, session: &Session, draft: &Draft, mut tail: Tail) -> Result<(Body, Tail), String> {
        let items: Vec<_> = session.placed_messages_for(draft).collect();
        let goes_on = |writing: &Writing| {
            writing.target == draft.target
                && writing.head == draft.head
                && writing.learnt == draft.learnt.without_room()
                && writing.pushed.len() <= items.len()
                && writing.pushed.iter().zip(&items).all(|(pushed, (seq, _))| pushed == seq)
        };
        let mut writing = match self.writing.take().filter(goes_on) {
            Some(writing) => writing,
            None => self.begin(draft, session.head().ok_or("the session has no head")?)?,
        };
        for (seq, item) in items.iter().skip(writing.pushed.len()) {
            writing.encoder.push(item);
            writing.pushed.push(*seq);
        }
        let mut body = writing.encoder.body(&draft.params, &tail);
        if let Some(cap) = cap_for(draft, tail, body.tokens) {
            tail.max_output = Some(cap);
            body = writing.encoder.body(&draft.params, &tail);
        }
        self.writing = Some(writing);
        Ok((body, tail))
    }

    fn begin(&self, draft: &Draft, head: &Head) -> Result<Writing, String> {
        let Draft { target, learnt, .. } = draft;
        let encoder = self.providers.serving(target)?.encoder(target, head, learnt);
        let (target, learnt) = (target.clone(), learnt.without_room());
        Ok(Writing { target, head: draft.head, learnt, pushed: Vec::new(), encoder })
    }

    /// What a target costs.
    pub(crate) fn tariff(&self, target: &Target) -> Option<Tariff> {
        self.providers.known(target).tariff
    }

    /// The window of the target that the next request goes to, in tokens, as far as it is known.
    pub(crate) fn window(&self, session: &Session) -> Option<u64> {
        let target = session.turn()?.told().target();
        self.window_of(target, &session.learnt(target), self.providers.known(target))
    }

    /// Whoever set it may know better, and what a server tells counts before what it seems to do.
    fn window_of(&self, target: &Target, learnt: &Learnt, known: Known) -> Option<u64> {
        let told = known.window.or(smaller(known.window_told, learnt.window));
        told.or_else(|| self.window_seen(target, learnt))
    }

    /// The window that a target seems to have, in tokens as they are estimated here: where it counts fewer for the same
    /// words, more of them fit.
    fn window_seen(&self, target: &Target, learnt: &Learnt) -> Option<u64> {
        let seen = learnt.window_seen?;
        let counted = self.counted.as_ref().filter(|counted| counted.target == *target);
        Some(counted.map_or(seen, |counted| counted.estimated(seen).max(seen)))
    }

    fn measured(&mut self, draft: &Draft, known: Known, (tail, body): (Tail, &Body)) -> Measured {
        let is_longer = draft.breaks.is_empty() && body.parts.starts_with(&self.parts);
        let seen = if is_longer { self.parts.len() } else { 0 };
        // Core knows of another head, target or leaf; that the same things are written differently is seen here.
        // A request that could not be written has no parts, and tells nothing of the next one.
        let is_written = !body.parts.is_empty();
        let is_rewritten = is_written && !is_longer && draft.breaks.is_empty();
        let new = body.parts.get(seen..).unwrap_or_default().to_vec();
        self.drafted.clone_from(if is_written { &body.parts } else { &self.parts });
        let output = tail.max_output.unwrap_or(USUAL_OUTPUT);
        let input = with_margin(body.tokens);
        Measured {
            tokens: body.tokens,
            window: self.window_of(&draft.target, &draft.learnt, known),
            bytes: body.bytes.len() as u64,
            parts: new,
            prefix: body.prefix,
            body: body.body,
            tail,
            breaks: if is_rewritten { vec![Break::Adapt] } else { Vec::new() },
            worst: Worst {
                purpose: draft.purpose,
                tokens: input.saturating_add(output),
                // An unknown price is not zero.
                micro_usd: known.tariff.and_then(|tariff| tariff.worst(input, output)),
            },
        }
    }
}

/// A smaller output cap than that of the tail, where only that fits: the room that the server counted for this very
/// request, else what a window that it told leaves.
fn cap_for(draft: &Draft, tail: Tail, tokens: u64) -> Option<u64> {
    let Learnt { window, room, .. } = draft.learnt;
    if tail.max_output.is_none() && !draft.learnt.sends(Parameter::MaxOutput) {
        return None;
    }
    if let Some(room) = room {
        return tail.max_output.is_none_or(|cap| cap > room).then_some(room);
    }
    let left = |tokens: u64| window?.checked_sub(tokens).filter(|room| *room >= LEAST_ROOM);
    // Where the estimate is close to the window, its margin may be all that does not fit; the server tells then.
    let room = left(with_margin(tokens)).or_else(|| left(tokens))?;
    (tail.max_output.unwrap_or(USUAL_OUTPUT) > room).then_some(room)
}

/// An estimate with what it may be too low by.
fn with_margin(tokens: u64) -> u64 {
    tokens.saturating_add(tokens.saturating_mul(MARGIN).div_ceil(100))
}

/// The smaller of two bounds, where there are any.
fn smaller(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// The body of a request that cannot be written.
fn nothing() -> Body {
    let none = Digest([0; 32]);
    Body {
        bytes: Bytes::new(),
        parts: Vec::new(),
        prefix: none,
        body: none,
        tokens: 0,
        calls: CallReading::Native,
    }
}
