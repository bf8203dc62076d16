//! Which input led to the entry that comes next: from where the turn stands, and from what the log has.
//!
//! What a log does not tell is chosen so that it makes no difference: a synced append is answered when something
//! depends on it, a free call that needed no entry is prepared when its result comes, a reply comes block by block.

use petasos_core::budget::{Reservation, Worst};
use petasos_core::entry::{Body, Entry, FinishReason, NoteSource, Reply, RequestEnd, RequestOutcome};
use petasos_core::id::{Digest, RequestId, Seq};
use petasos_core::learnt::Adapt;
use petasos_core::request::{Draft, Measured, Tail};
use petasos_core::stop::{Limit, StopReason};
use petasos_core::time::{Permille, Time};
use petasos_core::turn::{Delta, Input, Phase, Slot, Turn};

use super::answers::{end_of, failure_of, output_of, taught};
use super::drive::{Given, Point};
use super::entries::{self, Log};

impl Point {
    /// The inputs that may have led to the next entry, or to what stands before it; the likeliest first.
    pub(super) fn explain(&self, log: &Log<'_>) -> Vec<Given> {
        let Some(entry) = log.get(self.at) else { return Vec::new() };
        let Some(turn) = self.session.turn().filter(|turn| turn.is_running()) else {
            let input = self.at_rest(log, entry);
            return input.map(|input| Given { now: entry.at, input }).into_iter().collect();
        };
        match turn.phase() {
            Phase::Opening => {
                if let Body::Head(head) = &entry.body {
                    return given(entry.at, Input::HeadBuilt(head.clone()));
                }
                self.common(log, entry)
            }
            Phase::Measuring(draft) => measured(draft, entry).unwrap_or_else(|| self.common(log, entry)),
            Phase::Reserving { measured, draft, .. } => {
                reserved(draft, measured, entry).unwrap_or_else(|| self.common(log, entry))
            }
            Phase::Recording { .. } => self.recording(log, entry),
            Phase::AwaitingModel { request, .. } => self.model(log, *request, entry),
            Phase::Waiting { until } => {
                let next = log.run(self.at).find_map(entries::request);
                // What is said behind the end of the wait is not in its request.
                if next.is_some_and(|next| next.upto < entry.seq) {
                    return vec![woke(*until)];
                }
                let mut given = self.common(log, entry);
                given.push(woke(*until));
                given
            }
            Phase::Tools(slots) => self.tools(log, turn, slots, entry),
            Phase::Stopping { slots, .. } => {
                let ended = entries::tool_result(entry).filter(|result| {
                    slots.as_slice().get(usize::from(result.call.place)) == Some(&Slot::Stopping)
                });
                match ended {
                    Some(result) => {
                        given(entry.at, Input::ToolEnded { call: result.call, output: output_of(result) })
                    }
                    None => self.common(log, entry),
                }
            }
            Phase::Ending { .. } => self.ending(log, entry),
            Phase::Done => Vec::new(),
        }
    }

    /// The answer to the oldest synced append that has none: now, or for a request when it was written.
    pub(super) fn answered(&self, log: &Log<'_>, entry: &Entry) -> Vec<Given> {
        let Some(&upto) = self.unanswered.front() else { return Vec::new() };
        let phase = self.session.turn().map(Turn::phase);
        let is_request = matches!(phase, Some(Phase::Recording { .. }));
        let now = if is_request { self.sent_at(log, upto).unwrap_or(entry.at) } else { entry.at };
        given(now, Input::Appended { upto })
    }

    /// When a request may have gone out: when it was written. A clock that goes back must not make the pieces of the
    /// reply come at once.
    pub(super) fn sent_at(&self, log: &Log<'_>, request: Seq) -> Option<Time> {
        let written = log.at(request)?;
        let piece = log.step(self.at).find(|entry| matches!(entry.body, Body::Partial(_)));
        Some(piece.map_or(written, |piece| written.min(Time(piece.at.0.saturating_sub(1_000)))))
    }

    fn recording(&self, log: &Log<'_>, entry: &Entry) -> Vec<Given> {
        let end = entries::request_end(entry);
        if end.is_some_and(|end| end.outcome == RequestOutcome::Interrupted) {
            let mut stops = self.stops(log, entry.at);
            stops.extend(self.answered(log, entry));
            return stops;
        }
        let is_told = matches!(entry.body, Body::Partial(_) | Body::Reply(_) | Body::RequestEnd(_));
        if is_told || entries::learnt(entry).is_some() {
            return self.answered(log, entry);
        }
        self.common(log, entry)
    }

    fn model(&self, log: &Log<'_>, request: RequestId, entry: &Entry) -> Vec<Given> {
        if let Body::Partial(partial) = &entry.body {
            let end = partial.from + partial.text.chars().count() as u64;
            return self.piece(request, entry.at, end, &partial.text);
        }
        if let Some(reply) = entries::reply(entry) {
            return self.reply(log, request, entry.at, (reply, None));
        }
        if let Some(end) = entries::request_end(entry) {
            return match &end.outcome {
                RequestOutcome::Interrupted => self.stops(log, entry.at),
                RequestOutcome::Failed { .. } => failed(entry.at, end, entry.at, None),
                RequestOutcome::Lost => Vec::new(),
            };
        }
        let settings: Vec<_> = log.step(self.at).map_while(entries::learnt).collect();
        let open = self.session.turn().and_then(|turn| turn.told().step.request.as_ref());
        let known = open.map(|open| self.session.learnt(&open.target)).unwrap_or_default();
        let Some(adapt) = Adapt::kept_by(settings.iter().copied(), &known) else {
            return self.common(log, entry);
        };
        let next = log.run(self.at).nth(settings.len());
        if let Some((end, next)) = next.and_then(|next| entries::request_end(next).zip(Some(next))) {
            return failed(entry.at, end, next.at, Some(adapt));
        }
        if let Some(reply) = next.and_then(entries::reply) {
            return self.reply(log, request, entry.at, (reply, Some(adapt)));
        }
        given(entry.at, Input::RequestFailed { request, failure: taught(adapt), jitter: Permille(0) })
    }

    /// A piece of text that came, up to so many characters, with what stands before it in the reply.
    fn piece(&self, request: RequestId, at: Time, end: u64, kept: &str) -> Vec<Given> {
        let Some(coming) = &self.coming else { return Vec::new() };
        let needed = end.saturating_sub(coming.text);
        let delta = |now, delta| given(now, Input::Delta { request, delta });
        match coming.rest.front() {
            Some(Delta::Text(text)) => {
                let length = text.chars().count() as u64;
                let most = usize::try_from(needed).unwrap_or(usize::MAX);
                let piece: String = text.chars().take(most).collect();
                let now = if length < needed { coming.now } else { at };
                delta(now, Delta::Text(piece.into()))
            }
            Some(other) => delta(coming.now, other.clone()),
            None => delta(at, Delta::Text(kept.into())),
        }
    }

    fn reply(
        &self,
        log: &Log<'_>,
        request: RequestId,
        at: Time,
        (reply, learnt): (&Reply, Option<Adapt>),
    ) -> Vec<Given> {
        let Some(coming) = &self.coming else { return Vec::new() };
        let is_cut = reply.finish == FinishReason::Cut;
        if let Some(delta) = coming.rest.front() {
            let input = Input::Delta { request, delta: delta.clone() };
            let mut pieces = given(coming.now, input.clone());
            // A guard cuts a reply at a piece of it.
            if is_cut {
                pieces.extend(given(at, input));
            }
            return pieces;
        }
        let mut ends = given(at, Input::ReplyEnded { request, end: end_of(reply, learnt) });
        if is_cut {
            ends.extend(self.stops(log, at));
        }
        ends
    }

    /// What may come in any phase.
    pub(super) fn common(&self, log: &Log<'_>, entry: &Entry) -> Vec<Given> {
        if let Some(said) = entries::said(entry) {
            return given(entry.at, Input::Say(said.clone()));
        }
        if let Body::LimitAdded(limit) = &entry.body {
            return given(entry.at, Input::Continue { add: limit.add.clone() });
        }
        if let Some(setting) = entries::set_by_person(entry) {
            return given(entry.at, Input::Set(setting.clone()));
        }
        if let Some(decision) = entries::decision(entry) {
            let (call, answer, shown) = (decision.call, decision.answer.clone(), decision.shown);
            return given(entry.at, Input::Decide { call, answer, shown });
        }
        if entries::turn_end(entry).is_some() {
            return self.stops(log, entry.at);
        }
        Vec::new()
    }

    /// Somebody stopped the turn, or its time was over: the end of the run tells.
    pub(super) fn stops(&self, log: &Log<'_>, now: Time) -> Vec<Given> {
        let mut stops = vec![Given { now, input: Input::Interrupt }, woke(now)];
        if log.end(self.at) == Some(StopReason::TimedOut) {
            stops.reverse();
        }
        stops
    }
}

fn woke(now: Time) -> Given {
    Given { now, input: Input::Woke }
}

pub(super) fn given(now: Time, input: Input) -> Vec<Given> {
    vec![Given { now, input }]
}

/// A draft was measured: as the log has it, or so that what the log has follows.
fn measured(draft: &Draft, entry: &Entry) -> Option<Vec<Given>> {
    let given = |measured| Some(given(entry.at, Input::Measured(measured)));
    if let Some(request) = entries::request(entry) {
        return given(Measured {
            tokens: request.tokens,
            window: None,
            bytes: request.bytes,
            parts: request.parts.clone(),
            prefix: request.prefix,
            body: request.body,
            tail: request.tail,
            breaks: request.breaks.iter().filter(|seen| !draft.breaks.contains(seen)).copied().collect(),
            worst: request.reserved,
        });
    }
    let end = entries::turn_end(entry).map(|end| end.reason);
    if end == Some(StopReason::ContextExhausted) {
        return given(unwritten(draft, Some(0)));
    }
    let is_refused =
        matches!(end, Some(StopReason::BudgetExhausted(_))) || matches!(entry.body, Body::Note(_));
    if is_refused { given(unwritten(draft, None)) } else { None }
}

/// A draft that became no request. `window`: what the model takes.
fn unwritten(draft: &Draft, window: Option<u64>) -> Measured {
    let none = Digest([0; 32]);
    Measured {
        tokens: 0,
        window,
        bytes: 0,
        parts: Vec::new(),
        prefix: none,
        body: none,
        tail: Tail::default(),
        breaks: Vec::new(),
        worst: Worst { purpose: draft.purpose, tokens: 0, micro_usd: None },
    }
}

fn reserved(draft: &Draft, measured: &Measured, entry: &Entry) -> Option<Vec<Given>> {
    if entries::request(entry).is_some() {
        let worst = Worst { purpose: draft.purpose, ..measured.worst };
        return Some(given(entry.at, Input::Reserved(Reservation { worst })));
    }
    let limit = if let Body::Note(note) = &entry.body {
        match note.source {
            NoteSource::Closing(limit) => limit,
            NoteSource::Nudge | NoteSource::Continue | NoteSource::Raised | NoteSource::Guard => Limit::Steps,
        }
    } else if let Some(StopReason::BudgetExhausted(limit)) = entries::turn_end(entry).map(|end| end.reason) {
        limit
    } else {
        return None;
    };
    Some(given(entry.at, Input::Refused(limit)))
}

/// A request failed. `then`: when that was written.
fn failed(now: Time, end: &RequestEnd, then: Time, learnt: Option<Adapt>) -> Vec<Given> {
    let Some(failure) = failure_of(end, then, learnt) else { return Vec::new() };
    given(now, Input::RequestFailed { request: end.request, failure, jitter: Permille(0) })
}
