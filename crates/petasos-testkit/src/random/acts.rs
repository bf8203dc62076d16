//! What a random world does next: an answer to what is out, or something of its own.

use petasos_core::approval::{Answer, Verdict};
use petasos_core::budget::Limits;
use petasos_core::entry::{Body, Content, Lifetime, Said, Setting, SettingSource, When};
use petasos_core::id::{CallId, Seq};
use petasos_core::time::{Span, Time};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Input, Phase, StoreFailure, Turn};

use crate::findings::Invariant;
use crate::random::{Dice, Late, World, chance};
use crate::words::head;

/// One thing that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Append,
    Head,
    Measure,
    Reserve,
    Prepare(CallId),
    Probe(CallId),
    Decide(CallId),
    Park,
    Model,
    ToolEnds(CallId),
    StoppedEnds(CallId),
    Wake,
    EarlyWake,
    Interrupt,
    Say(When),
    Withdraw,
    Set,
    Raise,
    Continue,
    GoTo,
    NewTerms,
    Fail,
    Crash,
    Jump,
    Wrong,
}

impl World {
    /// Something happens; false when nothing more will.
    pub(super) fn act(&mut self) -> bool {
        if self.broken && !self.session.is_running() {
            self.reopen();
            return true;
        }
        if !self.session.is_running() && self.turns_left == 0 {
            return false;
        }
        let mut acts = Vec::with_capacity(24);
        self.answers(&mut acts);
        let is_stuck = acts.is_empty() && self.session.is_running();
        if is_stuck {
            let waits = self.session.turn().map(|turn| turn.phase().clone());
            self.check(false, Invariant::I11, || format!("only an outsider helps in {waits:?}"));
        }
        if self.session.is_running() {
            self.people(&mut acts);
        } else {
            self.people_at_rest(&mut acts);
        }
        let act = *self.dice.weighed(&acts);
        self.now = self.now.after(Span(self.dice.below(300)));
        self.make(act);
        true
    }

    fn answers(&mut self, acts: &mut Vec<(u64, Act)>) {
        let out = &self.out;
        if !self.unanswered.is_empty() {
            acts.push((120, Act::Append));
        }
        if out.building {
            acts.push((80, Act::Head));
        }
        if out.measuring.is_some() {
            acts.push((80, Act::Measure));
        }
        if out.reserving.is_some() {
            acts.push((80, Act::Reserve));
        }
        if out.model.is_some() {
            acts.push((100, Act::Model));
        }
        acts.extend(out.preparing.iter().map(|&call| (40, Act::Prepare(call))));
        acts.extend(out.probing.iter().map(|&call| (40, Act::Probe(call))));
        acts.extend(out.asked.keys().map(|&call| (20, Act::Decide(call))));
        acts.extend(out.running.keys().map(|&call| (30, Act::ToolEnds(call))));
        acts.extend(out.stopping.keys().map(|&call| (30, Act::StoppedEnds(call))));
        if self.timer.is_some() {
            acts.push((12, Act::Wake));
        }
    }

    fn people(&mut self, acts: &mut Vec<(u64, Act)>) {
        acts.extend([
            (3, Act::Say(When::NextStep)),
            (1, Act::Say(When::AfterTurn)),
            (1, Act::Say(When::Now)),
            (1, Act::Set),
            (1, Act::Jump),
            (6, Act::Wrong),
        ]);
        if !self.out.asked.is_empty() {
            acts.push((12, Act::Park));
        }
        if self.timer.is_some() {
            acts.push((1, Act::EarlyWake));
        }
        if !self.session.waiting().is_empty() {
            acts.push((3, Act::Withdraw));
        }
        let rare = |dice: &mut Dice, often: u64| 6 * often + u64::from(dice.permille(300));
        let temper = self.temper;
        acts.push((rare(&mut self.dice, if self.stopped { 0 } else { temper.interrupts }), Act::Interrupt));
        acts.push((rare(&mut self.dice, temper.crashes), Act::Crash));
        acts.push((rare(&mut self.dice, temper.raises), Act::Raise));
        if self.log.len() > self.safe && !self.broken {
            acts.push((rare(&mut self.dice, temper.fails), Act::Fail));
        }
        if self.broken {
            acts.push((8, Act::Say(When::NextStep)));
        }
    }

    fn people_at_rest(&mut self, acts: &mut Vec<(u64, Act)>) {
        acts.extend([
            (60, Act::Say(When::Now)),
            (4, Act::Say(When::NextStep)),
            (4, Act::Say(When::AfterTurn)),
            (6, Act::NewTerms),
            (4, Act::Set),
            (4, Act::Crash),
            (4, Act::Jump),
            (6, Act::GoTo),
            (6, Act::Wrong),
        ]);
        if self.session.can_continue() {
            let has_crashed = self.session.turn().is_some_and(|turn| turn.told().ended.is_none());
            acts.push((if has_crashed { 200 } else { 40 }, Act::Continue));
        }
        if !self.session.waiting().is_empty() {
            acts.push((8, Act::Withdraw));
        }
        if self.log.len() > self.safe {
            acts.push((2, Act::Fail));
        }
    }

    fn make(&mut self, act: Act) {
        match act {
            Act::Append => {
                let upto = self.unanswered.pop_front().unwrap();
                self.safe = self.safe.max(upto.0 as usize + 1);
                self.feed(Input::Appended { upto }, Late::Never);
            }
            Act::Head => {
                self.out.building = false;
                self.feed(Input::HeadBuilt(head()), self.late());
            }
            Act::Measure => {
                let draft = self.out.measuring.take().unwrap();
                let measured = chance::measure(&mut self.dice, &draft);
                self.feed(Input::Measured(measured), self.late());
            }
            Act::Reserve => {
                let worst = self.out.reserving.take().unwrap();
                let answer = match self.ledger.reserve(worst) {
                    Ok(reservation) => Input::Reserved(reservation),
                    Err(limit) => {
                        self.count(&format!("refused {limit:?}"));
                        Input::Refused(limit)
                    }
                };
                self.feed(answer, Late::Never);
            }
            Act::Prepare(call) => self.prepare(call),
            Act::Probe(call) => self.probe(call),
            Act::Decide(call) => {
                let (shown, wants) = self.out.asked.remove(&call).unwrap();
                let answer = chance::answer(&mut self.dice, wants);
                self.count(match &answer {
                    Answer::Yes { .. } => "decided Yes",
                    Answer::No { .. } => "decided No",
                    Answer::NoAndStop => "decided NoAndStop",
                    Answer::Text(_) => "decided Text",
                });
                self.feed(Input::Decide { call, answer, shown }, Late::Never);
            }
            Act::Park => {
                self.count("parked");
                self.feed(Input::Park, Late::Never);
            }
            Act::Model => self.model_speaks(),
            Act::ToolEnds(call) => {
                self.out.running.remove(&call);
                self.tool_ends(call, false);
            }
            Act::StoppedEnds(call) => {
                self.out.stopping.remove(&call);
                self.tool_ends(call, true);
            }
            Act::Wake => {
                self.now = self.now.max(self.timer.take().unwrap());
                self.stopped |= self.session.turn().is_some_and(|turn| turn.told().limits.time.is_some());
                self.feed(Input::Woke, Late::MayBe);
            }
            Act::EarlyWake => {
                // The clock went back after the timer was set.
                self.count("woke early");
                self.timer = None;
                self.stopped |= self.session.turn().is_some_and(|turn| turn.told().limits.time.is_some());
                self.feed(Input::Woke, Late::MayBe);
            }
            Act::Interrupt => {
                self.count("interrupt");
                self.stopped = true;
                self.feed(Input::Interrupt, Late::MayBe);
            }
            Act::Wrong => self.say_wrong_things(),
            _ => self.outsider(act),
        }
    }

    /// What comes of its own.
    fn outsider(&mut self, act: Act) {
        match act {
            Act::Say(when) => {
                let is_running = self.session.is_running();
                self.count(if is_running { "said while running" } else { "said at rest" });
                self.turns_left = self.turns_left.saturating_sub(u32::from(!is_running));
                let said = chance::said(&mut self.dice, when);
                self.feed(Input::Say(said), self.unsaved());
            }
            Act::Withdraw => self.withdraw(),
            Act::Set => {
                let setting = Setting {
                    key: "title".into(),
                    value: Some("x".into()),
                    by: SettingSource::Person,
                    lifetime: Lifetime::Session,
                };
                self.feed(Input::Set(setting), self.unsaved());
            }
            Act::Raise => {
                let mut add = chance::add(&mut self.dice);
                if add.adds_nothing() {
                    add.steps = Some(1);
                }
                self.count("raised while running");
                self.feed(Input::Continue { add }, self.unsaved());
            }
            Act::Continue => {
                let add = chance::add(&mut self.dice);
                self.count(if add == Limits::default() { "continue" } else { "continue with more" });
                self.feed(Input::Continue { add }, self.unsaved());
            }
            Act::GoTo => self.go_to(),
            Act::NewTerms => {
                let terms = chance::terms(&mut self.dice);
                self.told.set_terms(terms.clone());
                self.session.set_terms(terms);
            }
            Act::Fail => {
                self.count("append failed");
                self.broken = true;
                self.unanswered.clear();
                let failure = StoreFailure { message: "the disk is full".into() };
                self.feed(Input::AppendFailed(failure), Late::Never);
            }
            Act::Crash => {
                self.count(if self.session.is_running() { "crash" } else { "crash at rest" });
                let kept = self.cut();
                let terms = chance::terms(&mut self.dice);
                self.crash(kept, terms);
                self.turns_left = self.turns_left.max(1);
            }
            Act::Jump => {
                let back = self.dice.permille(500);
                self.count(if back { "clock back" } else { "clock forward" });
                let span = self.dice.below(*self.dice.clone().pick(&[3_000, 60_000, 5_000_000]));
                self.now =
                    if back { Time(self.now.0.saturating_sub(span)) } else { self.now.after(Span(span)) };
            }
            _ => unreachable!("{act:?} is an answer"),
        }
    }

    /// A log that failed is opened again, with what really is on the disk.
    fn reopen(&mut self) {
        self.count("reopened");
        let kept = self.cut();
        let terms = chance::terms(&mut self.dice);
        self.crash(kept, terms);
        self.turns_left = self.turns_left.saturating_sub(1);
    }

    fn cut(&mut self) -> usize {
        let unsafe_entries = (self.log.len() - self.safe) as u64;
        let kept = match self.dice.below(3) {
            0 => 0,
            1 => unsafe_entries,
            _ => self.dice.below(unsafe_entries + 1),
        };
        if kept > 0 && kept < unsafe_entries {
            self.count("cut between");
        }
        self.safe + kept as usize
    }

    /// What is said now would be written.
    fn unsaved(&self) -> Late {
        if self.broken { Late::Unsaved } else { Late::Never }
    }

    /// An interrupt, a time limit or a failing disk may have overtaken the answer.
    fn late(&self) -> Late {
        let ends = matches!(self.session.turn().map(Turn::phase), Some(Phase::Ending { .. }));
        if ends || self.stopped || self.broken { Late::MayBe } else { Late::Never }
    }

    fn prepare(&mut self, call: CallId) {
        self.out.preparing.remove(&call);
        let prepared = chance::prepare(&mut self.dice, &self.session, call);
        self.count(match &prepared.verdict {
            Verdict::Allow(_) => "verdict Allow",
            Verdict::Ask(_) => "verdict Ask",
            Verdict::Deny { .. } => "verdict Deny",
            Verdict::Invalid(_) => "verdict Invalid",
        });
        self.prepared.insert(call, prepared.verdict.clone());
        self.feed(Input::Prepared { call, prepared }, Late::Never);
    }

    fn probe(&mut self, call: CallId) {
        self.out.probing.remove(&call);
        let has_begun = self.outside.began.contains_key(&call);
        let seen = if has_begun { Outcome::Ok } else { Outcome::NeverBegan };
        let odd = [Outcome::Error, Outcome::Empty, Outcome::Denied, Outcome::Invalid];
        let outcome = match self.dice.below(10) {
            0..=1 => Outcome::Unknown,
            2 => *self.dice.pick(&odd),
            _ => seen,
        };
        self.count(&format!("probed {outcome:?}"));
        self.outside.probed.insert(call, outcome);
        self.feed(Input::Probed { call, outcome }, Late::Never);
    }

    fn model_speaks(&mut self) {
        let talk = self.out.model.as_mut().unwrap();
        let request = talk.request;
        if self.dice.permille(150) {
            self.now = self.now.after(Span(1_000));
        }
        match talk.rest.pop_front() {
            Some(delta) => self.feed(Input::Delta { request, delta }, Late::Never),
            None => {
                let talk = self.out.model.take().unwrap();
                self.feed(talk.end, Late::Never);
            }
        }
    }

    fn tool_ends(&mut self, call: CallId, was_stopped: bool) {
        let output = chance::tool_ends(&mut self.dice, was_stopped, self.temper);
        let is_over = self.grace_is_over;
        let is_taken = !self.broken && !self.has_result(call);
        if is_taken {
            self.outside.said.insert(call, output.outcome);
        }
        let is_late = self.broken || is_over || self.has_result(call);
        self.feed(Input::ToolEnded { call, output }, if is_late { Late::MayBe } else { Late::Never });
    }

    fn has_result(&self, call: CallId) -> bool {
        let mut entries = self.log.iter().skip(call.reply.0 as usize);
        entries.any(|entry| matches!(&entry.body, Body::ToolResult(result) if result.call == call))
    }

    /// The latest entry that a request on its way holds.
    fn drafted(&self) -> Option<Seq> {
        match self.session.turn()?.phase() {
            Phase::Measuring(draft) | Phase::Reserving { draft, .. } => Some(draft.upto),
            _ => None,
        }
    }

    fn withdraw(&mut self) {
        let drafted = self.drafted();
        let may = |(seq, said): (&Seq, &std::sync::Arc<Said>)| {
            let is_drafted = said.when == When::NextStep && drafted.is_some_and(|upto| *seq <= upto);
            (!is_drafted).then_some(*seq)
        };
        let waiting: Vec<Seq> = self.session.waiting().iter().filter_map(may).collect();
        if waiting.is_empty() {
            return;
        }
        self.count("withdrawn");
        let withdraws = Some(*self.dice.pick(&waiting));
        let when = *self.dice.pick(&[When::NextStep, When::AfterTurn]);
        let mut said = Said { withdraws, ..chance::said(&mut self.dice, when) };
        if self.dice.permille(600) {
            said.content = if self.dice.permille(500) { vec![] } else { vec![Content::Text(" ".into())] };
        } else if !self.session.is_running() {
            self.turns_left = self.turns_left.saturating_sub(1);
        }
        self.feed(Input::Say(said), self.unsaved());
    }

    fn go_to(&mut self) {
        let places: Vec<Seq> = self.session.transcript().items().iter().map(|(last, _)| *last).collect();
        let places: Vec<Seq> =
            places.into_iter().filter(|place| self.session.transcript().is_place(*place)).collect();
        if places.is_empty() {
            return;
        }
        let place = *self.dice.pick(&places);
        // As good as chance: which place it is.
        match place.0 % 4 {
            0 => {
                self.count("undone");
                self.feed(Input::Undo, Late::Never);
            }
            1 => {
                self.count("retried");
                self.turns_left = self.turns_left.saturating_sub(1);
                self.feed(Input::Retry, Late::Never);
            }
            _ => {
                self.count("went to");
                self.feed(Input::GoTo(place), Late::Never);
            }
        }
    }
}
