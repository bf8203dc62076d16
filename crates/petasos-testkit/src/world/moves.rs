//! What a world may say next, and what its saying changes outside the session.

use std::collections::BTreeSet;

use petasos_core::approval::{Answer, Scope, Verdict, judge};
use petasos_core::budget::{Ledger, Limits};
use petasos_core::entry::{CallForm, FinishReason, Head, When};
use petasos_core::id::{CallId, Digest};
use petasos_core::request::Purpose;
use petasos_core::session::Session;
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::time::{Permille, Span};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Delta, Failure, Input, StoreFailure};

use crate::findings::{Findings, Invariant};
use crate::row::{AGAIN, AGAINS};
use crate::words::{QUESTION, call, ends, failure, head, measured, output, policy, proposal, say};
use crate::world::{Cuts, Deciding, Menu, Replying, Spoken, State, World};

/// One thing that may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// An input.
    Say(Box<Input>),
    /// A piece of a reply.
    Piece(Replying),
    /// The rest of a reply, and its end.
    Reply(Replying),
    /// The process ends; of what was not safe on disk, as many entries are there afterwards.
    Crash(usize),
    /// A person goes on with a turn that stopped.
    Continue(Limits),
}

impl State {
    /// Everything that may happen now.
    pub fn moves(&self, menu: &Menu) -> Vec<Move> {
        let world = &self.world;
        let mut moves = Vec::new();
        if world.finished {
            let can_go_on = world.left.continues > 0 && !world.broken && self.session.can_continue();
            if can_go_on {
                moves.push(Move::Continue(Limits { steps: Some(1), ..Limits::default() }));
            }
        } else {
            world.answers(menu, &mut moves);
            world.people(menu, &mut moves);
        }
        if world.left.crashes > 0 {
            let unsafe_entries = world.log.as_ref().map_or(0, |log| log.unsynced().len());
            match menu.cuts {
                Cuts::Everywhere => moves.extend((0..=unsafe_entries).map(Move::Crash)),
                Cuts::KillAndPower => {
                    moves.extend(BTreeSet::from([0, unsafe_entries]).into_iter().map(Move::Crash))
                }
            }
        }
        moves
    }

    /// Lets it happen.
    pub fn make(&mut self, what: &Move, findings: &mut Findings) {
        findings.add_to_story(|| format!("{what:?}"));
        match what {
            Move::Say(input) => self.say(input, findings),
            Move::Piece(piece) => {
                let (request, ..) = self.world.model.unwrap();
                // More than a second passes, so that what was seen is kept.
                self.world.now = self.world.now.after(Span(1000));
                for delta in piece_of(*piece) {
                    self.feed(Input::Delta { request, delta }, findings);
                }
            }
            Move::Reply(reply) => self.reply(*reply, findings),
            Move::Crash(kept) => self.crash(*kept, findings),
            Move::Continue(add) => {
                self.world.left.continues -= 1;
                self.go_on(add.clone(), findings);
            }
        }
    }

    fn say(&mut self, input: &Input, findings: &mut Findings) {
        let left = &mut self.world.left;
        match input {
            Input::Woke => {
                self.world.now = self.world.now.max(self.world.timer.take().unwrap());
            }
            Input::Interrupt => left.interrupts -= 1,
            Input::AppendFailed(_) => {
                left.fails -= 1;
                self.world.broken = true;
                self.world.unanswered.clear();
            }
            Input::Say(said) if said.when == When::NextStep => left.steers -= 1,
            Input::Say(_) => left.follow_ups -= 1,
            _ => {}
        }
        self.feed(input.clone(), findings);
    }

    fn reply(&mut self, reply: Replying, findings: &mut Findings) {
        let (request, _, spoken) = self.world.model.unwrap();
        let deltas = rest_of(reply, spoken);
        for delta in deltas {
            self.feed(Input::Delta { request, delta }, findings);
        }
        // What goes on without end has none, unless somebody cuts it.
        if self.world.model.is_none() {
            return;
        }
        let finish = match reply {
            Replying::Text | Replying::Empty | Replying::Again => FinishReason::Stop,
            Replying::Calls(_) => FinishReason::ToolUse,
            Replying::CutCalls(_) | Replying::Cut => FinishReason::Length,
            Replying::Refusal => FinishReason::Refused,
            Replying::Odd => FinishReason::Other("".into()),
        };
        self.feed(Input::ReplyEnded { request, end: ends(finish) }, findings);
    }

    /// The process dies; a new one reads the log and goes on.
    fn crash(&mut self, kept: usize, findings: &mut Findings) {
        let world = &mut self.world;
        let (session, book) = world.log.as_mut().unwrap().cut(kept);
        let next = session.next_seq();
        world.requests.retain(|seq, _| *seq < next);
        let known = |call: &CallId| book.reply.as_ref().is_some_and(|(reply, _)| *reply == call.reply);
        // A call that changes nothing leaves no trace that it began, and needs none.
        let ran_for_good = |call: &CallId| world.never_again.contains(call);
        world.began.retain(|call, _| known(call) && ran_for_good(call));
        world.said.retain(|call, _| known(call) && book.results.contains_key(call));
        world.allowed.retain(|(call, _)| known(call));
        world.book = book;
        world.left.crashes -= 1;
        world.unanswered.clear();
        (world.measuring, world.reserving, world.building, world.model) = (None, None, false, None);
        world.preparing.clear();
        world.probing.clear();
        world.asked.clear();
        world.running.clear();
        world.stopping.clear();
        world.timer = None;
        (world.stopped, world.broken) = (false, false);
        self.session = session;
        self.world.finished = true;
        if self.session.can_continue() {
            self.go_on(Limits::default(), findings);
        }
    }

    fn go_on(&mut self, add: Limits, findings: &mut Findings) {
        findings.add_to_story(|| "> Continue".to_owned());
        self.world.began.retain(|call, _| self.world.book.open_calls().contains(call));
        let handled = self.session.handle(self.world.now, Input::Continue { add });
        findings.check(handled.is_ok(), Invariant::I11, || format!("refused to continue: {handled:?}"));
        if let Some(turn) = self.session.turn() {
            self.world.ledger = Ledger::new(turn.told().limits.clone(), turn.told().spent());
        }
        self.drain(findings);
    }
}

impl World {
    /// What answers something that is out.
    fn answers(&self, menu: &Menu, moves: &mut Vec<Move>) {
        let mut say = |input| moves.push(Move::Say(Box::new(input)));
        if self.building {
            say(Input::HeadBuilt(Head::clone(&head())));
        }
        if let Some(draft) = &self.measuring {
            say(Input::Measured(measured(draft)));
        }
        if let Some(worst) = self.reserving {
            match self.ledger.clone().reserve(worst) {
                Ok(reservation) => say(Input::Reserved(reservation)),
                Err(limit) => say(Input::Refused(limit)),
            }
        }
        if let Some(&upto) = self.unanswered.front() {
            say(Input::Appended { upto });
        }
        for &call in &self.preparing {
            menu.tools.iter().for_each(|tool| say(prepared(call, tool)));
        }
        for &call in &self.probing {
            let seen = if self.began.contains_key(&call) { menu.probes } else { &[Outcome::NeverBegan] };
            seen.iter().for_each(|&outcome| say(Input::Probed { call, outcome }));
        }
        for call in self.running.keys() {
            menu.outcomes.iter().for_each(|&outcome| say(ended(*call, outcome)));
        }
        for call in self.stopping.keys() {
            say(ended(*call, Outcome::CutShort));
        }
        if let Some((request, purpose, spoken)) = self.model {
            for &kind in menu.failures {
                say(Input::RequestFailed { request, failure: long_failure(kind), jitter: Permille(0) });
            }
            let replies = if purpose == Purpose::Closing { menu.closing } else { menu.replies };
            moves.extend(
                replies.iter().filter(|reply| fits(**reply, spoken)).map(|&reply| Move::Reply(reply)),
            );
            if spoken == Spoken::Nothing {
                moves.extend(menu.pieces.iter().map(|&piece| Move::Piece(piece)));
            }
        }
    }

    /// What people, clocks and disks do of their own.
    fn people(&self, menu: &Menu, moves: &mut Vec<Move>) {
        let mut tell = |input| moves.push(Move::Say(Box::new(input)));
        for (&call, &shown) in &self.asked {
            for deciding in menu.decisions {
                let answer = match deciding {
                    Deciding::Yes | Deciding::YesForSession if is_question(shown) => {
                        Answer::Text("blue".into())
                    }
                    Deciding::Yes => Answer::Yes { scope: Scope::Once },
                    Deciding::YesForSession => Answer::Yes { scope: Scope::Session },
                    Deciding::No => Answer::No { reason: "not now".into() },
                    Deciding::NoAndStop => Answer::NoAndStop,
                    Deciding::Park => {
                        tell(Input::Park);
                        continue;
                    }
                };
                tell(Input::Decide { call, answer, shown });
            }
        }
        let may_leave = menu.decisions.contains(&Deciding::Park) && !self.gone;
        if may_leave && self.asked.is_empty() && !self.preparing.is_empty() {
            tell(Input::Park);
        }
        if self.timer.is_some() {
            tell(Input::Woke);
        }
        if self.left.interrupts > 0 && !self.stopped && self.book.turn && self.book.ended.is_none() {
            tell(Input::Interrupt);
        }
        if self.left.fails > 0 && !self.unanswered.is_empty() {
            tell(Input::AppendFailed(StoreFailure { message: "the disk is full".into() }));
        }
        if self.left.steers > 0 && !self.broken {
            tell(Input::Say(say("and this", When::NextStep)));
        }
        if self.left.follow_ups > 0 && !self.broken {
            tell(Input::Say(say("then that", When::AfterTurn)));
        }
    }

    /// True if the input answers something that is out and was not called off.
    pub(crate) fn is_out(&self, input: &Input) -> bool {
        match input {
            Input::Measured(_) => self.measuring.is_some(),
            Input::HeadBuilt(_) => self.building,
            Input::ToolEnded { call, .. } => {
                self.running.contains_key(call) || self.stopping.contains_key(call)
            }
            Input::Woke => false,
            _ => true,
        }
    }

    /// An interrupt may overtake these.
    pub(crate) fn may_be_late(&self, input: &Input) -> bool {
        match input {
            Input::Measured(_) | Input::HeadBuilt(_) => self.book.ended.is_some() || self.broken,
            Input::Interrupt => true,
            // The grace is over, and the log says unknown.
            Input::ToolEnded { call, .. } => self.book.results.contains_key(call) || self.broken,
            _ => false,
        }
    }

    /// What the world itself knows once it has said this.
    pub(crate) fn left_answering(&mut self, input: &Input) {
        match input {
            Input::Measured(_) => self.measuring = None,
            Input::HeadBuilt(_) => self.building = false,
            Input::Reserved(reservation) => {
                self.reserving = None;
                self.ledger.reserve(reservation.worst).unwrap();
            }
            Input::Refused(_) => self.reserving = None,
            Input::Appended { upto } => self.synced(*upto),
            Input::Delta { delta, .. } => {
                let (_, _, spoken) = self.model.as_mut().unwrap();
                *spoken = match delta {
                    Delta::Text(_) if *spoken == Spoken::Nothing => Spoken::Text,
                    Delta::Call { .. } | Delta::Arguments { .. } | Delta::CallComplete { .. } => Spoken::Call,
                    _ => *spoken,
                };
            }
            Input::ReplyEnded { .. } | Input::RequestFailed { .. } => self.model = None,
            Input::Prepared { call, prepared } => {
                self.preparing.remove(call);
                if let Verdict::Allow(approved) = &prepared.verdict {
                    self.allowed.insert((*call, approved.proposal().shown));
                }
            }
            Input::Probed { call, .. } => {
                self.probing.remove(call);
            }
            Input::ToolEnded { call, output } => {
                self.running.remove(call);
                self.stopping.remove(call);
                if !self.broken {
                    self.said.insert(*call, output.outcome);
                }
            }
            _ => {}
        }
    }

    /// What follows outside once the session has taken it.
    pub(crate) fn took(&mut self, input: &Input) {
        match input {
            Input::Decide { call, answer, shown } => {
                self.asked.remove(call);
                if matches!(answer, Answer::Yes { .. } | Answer::Text(_)) {
                    self.allowed.insert((*call, *shown));
                }
                self.stopped |= *answer == Answer::NoAndStop;
            }
            Input::Interrupt => self.stopped = true,
            Input::Park => self.gone = true,
            _ => {}
        }
    }

    fn synced(&mut self, upto: petasos_core::id::Seq) {
        self.unanswered.pop_front();
        let last_safe = self.requests.range(..=upto).next_back().map(|(seq, _)| *seq);
        self.requests.retain(|seq, _| last_safe.is_none_or(|safe| *seq >= safe));
        if let Some(request) = last_safe {
            self.forget_before(request);
        }
        if let Some(log) = &mut self.log {
            log.synced(upto);
        }
    }
}

pub(crate) fn is_question(shown: Digest) -> bool {
    shown.0[0] >= QUESTION
}

fn prepared(call: CallId, tool: &str) -> Input {
    let nothing = petasos_core::approval::Grants::default();
    Input::Prepared { call, prepared: judge(&policy(), &nothing, proposal(call, tool)) }
}

fn ended(call: CallId, outcome: Outcome) -> Input {
    Input::ToolEnded { call, output: output(outcome, "done") }
}

/// A failure that says more than may be kept.
fn long_failure(kind: FailureKind) -> Failure {
    Failure { message: Text::from("no ".repeat(400)), ..failure(kind) }
}

fn fits(reply: Replying, spoken: Spoken) -> bool {
    matches!(
        (spoken, reply),
        (Spoken::Nothing, _)
            | (_, Replying::Calls(1..) | Replying::CutCalls(_))
            | (Spoken::Text, Replying::Text | Replying::Cut | Replying::Refusal | Replying::Again)
    )
}

/// What comes of a reply before its end.
fn piece_of(piece: Replying) -> Vec<Delta> {
    match piece {
        Replying::Text => vec![Delta::Text("so ".into())],
        _ => vec![Delta::Call { wire_id: None, name: "any".into(), form: CallForm::Native }],
    }
}

fn rest_of(reply: Replying, spoken: Spoken) -> Vec<Delta> {
    let calls = |from: u16, to: u16| (from..to).flat_map(|place| call(place, "any", "{}"));
    let first = |to: u16| match spoken {
        Spoken::Call if to > 0 => {
            vec![Delta::Arguments { place: 0, text: "{}".into() }, Delta::CallComplete { place: 0 }]
        }
        _ => Vec::new(),
    };
    let from = u16::from(spoken == Spoken::Call);
    match reply {
        Replying::Text | Replying::Cut | Replying::Refusal => vec![Delta::Text("done".into())],
        Replying::Empty | Replying::Odd => Vec::new(),
        Replying::Again => vec![Delta::Text(AGAIN.repeat(AGAINS).into())],
        Replying::Calls(count) => first(count).into_iter().chain(calls(from, count)).collect(),
        Replying::CutCalls(count) => {
            let mut deltas: Vec<Delta> = first(count).into_iter().chain(calls(from, count)).collect();
            deltas.pop();
            deltas
        }
    }
}

/// For worlds that begin: the first thing said.
pub(crate) fn opening() -> Input {
    Input::Say(say("do it", When::Now))
}

impl State {
    /// The session hears its first words.
    pub fn begin(&mut self, findings: &mut Findings) {
        self.feed(opening(), findings);
    }

    /// The session of this state.
    pub fn session(&self) -> &Session {
        &self.session
    }
}
