//! How a session takes entries in: from its log, and as it makes them.

use std::sync::Arc;

use crate::entry::{
    Body, Cause, Decision, Entry, LeafReason, Lifetime, Origin, Said, SessionStart, ToolResult, TurnStart,
};
use crate::id::Seq;
use crate::note::NoRun;
use crate::session::{Saving, Session, Terms};
use crate::time::Time;
use crate::tool::ToolOutput;
use crate::transcript::{ClosedStep, Item, Transcript};
use crate::turn::Turn;
use crate::turn::journal::Journal;
use crate::turn::work::is_new;

impl Session {
    /// The session that these entries tell, at rest. Never fails: what does not fit (a line before it
    /// was damaged) is named by [`Session::misfits`] and costs itself only.
    pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>, terms: Terms) -> Self {
        let mut session = Self {
            start: None,
            epoch: crate::id::Epoch::default(),
            transcript: Transcript::default(),
            queue: std::collections::BTreeMap::new(),
            settings: std::collections::BTreeMap::new(),
            grants: crate::approval::Grants::default(),
            head: None,
            turn: None,
            past: crate::usage::Account::default(),
            misfits: Vec::new(),
            terms: Arc::new(terms),
            changed: None,
            journal: Journal::default(),
            saving: Saving::Works,
        };
        for entry in entries {
            session.read(entry);
        }
        session
    }

    /// Takes one more entry of the log in.
    pub fn read(&mut self, entry: &Entry) {
        let is_gap = entry.seq > self.journal.next_seq();
        let is_damage_told = matches!(&entry.body, Body::Open(open) if !open.damage.is_empty());
        if let Some(turn) = self.turn.as_mut().filter(|_| is_gap || is_damage_told) {
            turn.pen(&mut self.journal).told.doubt_open_calls();
        }
        self.journal.follow(entry);
        if self.is_foreign_yes(entry) {
            return;
        }
        if closes_the_step(&entry.body) {
            self.close_what_is_missing(entry);
        }
        self.begin_lost_turn(entry);
        let closed = self.turn.as_mut().and_then(|turn| turn.apply(entry.seq, entry.at, &entry.body));
        if self.is_misfit(&entry.body, closed.as_ref()) {
            self.misfits.push(entry.seq);
        }
        self.take_in(entry, closed);
    }

    /// What the session itself keeps of an entry; what its turn keeps is taken in already.
    pub(crate) fn take_in(&mut self, entry: &Entry, closed: Option<ClosedStep>) {
        let seq = entry.seq;
        match &entry.body {
            Body::SessionStart(start) => self.start = Some(Arc::new(start.clone())),
            Body::Open(open) => self.epoch = open.epoch,
            Body::Head(head) => self.head = Some(Arc::new(head.clone())),
            Body::Said(said) => self.hear(seq, said),
            Body::TurnStart(start) => self.start_turn(seq, entry.at, start),
            Body::Note(note) => self.transcript.push(seq, Item::Note(Arc::new(note.clone()))),
            Body::Request(request) => self.steers_enter(request.upto),
            Body::Reply(_) | Body::ToolResult(_) => {}
            Body::Decision(decision) => self.keep_grant(decision),
            Body::Setting(setting) if setting.value.is_none() => {
                self.settings.remove(&setting.key);
            }
            Body::Setting(setting) => {
                self.settings.insert(setting.key.clone(), setting.clone());
            }
            Body::TurnEnd(_) => self.settings.retain(|_, setting| setting.lifetime == Lifetime::Session),
            Body::Leaf(leaf) => {
                match leaf.to {
                    // A fork that ends where something was said that had not entered yet.
                    Some(said) if self.queue.contains_key(&said) => {
                        self.steers_enter(said);
                        self.enter(said);
                    }
                    to => self.transcript.go_to(to),
                }
                self.retire_turn();
                if leaf.why == LeafReason::Fork {
                    // What lines of another session cost is that one's, and a yes was said to that one.
                    self.past = crate::usage::Account::default();
                    self.grants = crate::approval::Grants::default();
                }
            }
            Body::LimitAdded(_)
            | Body::Partial(_)
            | Body::RequestEnd(_)
            | Body::Call(_)
            | Body::ToolStart(_)
            | Body::Unknown(_) => {}
        }
        if let Some(step) = closed {
            self.transcript.push(step.last, Item::Step(step));
        }
    }

    fn hear(&mut self, seq: Seq, said: &Said) {
        if let Some(withdrawn) = said.withdraws {
            self.queue.remove(&withdrawn);
        }
        if !said.content.is_empty() {
            self.queue.insert(seq, Arc::new(said.clone()));
        }
    }

    /// What was said for the next step enters with its request.
    fn steers_enter(&mut self, upto: Seq) {
        let steers: Vec<Seq> = self.steers(upto).map(|(seq, _)| *seq).collect();
        steers.into_iter().for_each(|steer| self.enter(steer));
    }

    /// Something said enters the transcript.
    fn enter(&mut self, seq: Seq) {
        if let Some(said) = self.queue.remove(&seq) {
            self.transcript.push(seq, Item::Said(said));
        }
    }

    fn start_turn(&mut self, seq: Seq, at: Time, start: &TurnStart) {
        if !is_new(start) {
            return;
        }
        self.retire_turn();
        if let Cause::Said { said } = start.cause {
            // What was said before it and waits is told before it.
            self.steers_enter(said);
            self.enter(said);
        }
        self.turn = Some(Turn::begin(seq, at, start));
    }

    /// An entry of a turn whose `turn_start` was damaged: it began with what waited, on the terms of now.
    fn begin_lost_turn(&mut self, entry: &Entry) {
        let turn = if let Body::Request(request) = &entry.body {
            request.turn
        } else if let Body::TurnEnd(end) = &entry.body {
            end.turn
        } else {
            return;
        };
        if self.turn.as_ref().is_some_and(|known| known.told().id >= turn) {
            return;
        }
        let Terms { limits, mode, target, fallback } = Terms::clone(&self.terms);
        let just_before = Seq(turn.0.0.saturating_sub(1));
        let waiting = self.queue.range(..turn.0).map(|(seq, _)| *seq);
        let cause = match waiting.clone().find(|seq| *seq == just_before).or(waiting.min()) {
            Some(said) => Cause::Said { said },
            None => Cause::Retry,
        };
        let start = TurnStart { cause, limits, mode, target, fallback };
        let start = Entry { seq: turn.0, at: entry.at, body: start.into() };
        self.journal.view.see(&start);
        self.take_in(&start, None);
    }

    /// A decision that came with an imported file: whoever made the file may have written it, so it counts for
    /// nothing. Of calls that have their results it changes nothing.
    fn is_foreign_yes(&self, entry: &Entry) -> bool {
        let origin = self.start.as_deref().map(|SessionStart { origin, .. }| origin);
        let upto = if let Some(Origin::Import { seq, .. }) = origin { *seq } else { None };
        matches!(entry.body, Body::Decision(_)) && upto.is_some_and(|upto| entry.seq <= upto)
    }

    fn retire_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.past.add(&turn.told().spent());
        }
    }

    fn keep_grant(&mut self, decision: &Decision) {
        if decision.answer.is_kept() {
            self.grants.add(decision.shown);
        }
    }

    fn is_misfit(&self, body: &Body, closed: Option<&ClosedStep>) -> bool {
        let step = self.turn.as_ref().map(|turn| &turn.told().step);
        match body {
            Body::Reply(reply) => {
                let is_taken =
                    step.and_then(|step| step.reply.as_ref()).is_some_and(|open| *open.reply == *reply);
                closed.is_none() && !is_taken
            }
            Body::ToolResult(result) => {
                closed.is_none() && step.and_then(|step| step.call(result.call)).is_none()
            }
            Body::Call(call) => step.and_then(|step| step.call(call.call)).is_none(),
            Body::ToolStart(start) => step.and_then(|step| step.call(start.call)).is_none(),
            Body::Decision(decision) => step.and_then(|step| step.call(decision.call)).is_none(),
            Body::TurnEnd(end) => self.turn.as_ref().is_none_or(|turn| turn.told().id != end.turn),
            Body::SessionStart(_)
            | Body::Open(_)
            | Body::Head(_)
            | Body::Said(_)
            | Body::TurnStart(_)
            | Body::LimitAdded(_)
            | Body::Note(_)
            | Body::Request(_)
            | Body::Partial(_)
            | Body::RequestEnd(_)
            | Body::Setting(_)
            | Body::Leaf(_)
            | Body::Unknown(_) => false,
        }
    }

    /// The lines of some results were damaged: the step is closed without them, so that what is sent
    /// still has one result for each call.
    fn close_what_is_missing(&mut self, entry: &Entry) {
        let open = self.turn.as_ref().and_then(|turn| turn.told().step.reply.clone());
        for (place, call) in open.iter().flat_map(|open| open.calls.iter().enumerate()) {
            let (None, Some(open)) = (&call.result, &open) else { continue };
            let ToolOutput { outcome, for_model, bytes, blob, facts, took } = NoRun::LineDamaged.output();
            let call = open.call_id(place);
            let result = ToolResult { call, outcome, text: for_model, bytes, blob, facts, took };
            let body = Body::ToolResult(result);
            let closed = self.turn.as_mut().and_then(|turn| turn.apply(entry.seq, entry.at, &body));
            if let Some(step) = closed {
                self.transcript.push(step.last, Item::Step(step));
            }
        }
    }
}

/// True for an entry that is only written once the step before it is closed.
fn closes_the_step(body: &Body) -> bool {
    match body {
        Body::Request(_) | Body::Reply(_) | Body::Note(_) | Body::Leaf(_) => true,
        Body::TurnStart(start) => is_new(start),
        Body::SessionStart(_)
        | Body::Open(_)
        | Body::Head(_)
        | Body::Said(_)
        | Body::LimitAdded(_)
        | Body::Partial(_)
        | Body::RequestEnd(_)
        | Body::Call(_)
        | Body::Decision(_)
        | Body::ToolStart(_)
        | Body::ToolResult(_)
        | Body::Setting(_)
        | Body::TurnEnd(_)
        | Body::Unknown(_) => false,
    }
}
