//! Random legal worlds around a session: longer and richer than the walk's menus, from one seed each.
//!
//! A world here says only what a real one could, and judges in three ways: what it sees while it
//! carries effects out ([`carry`](self)), the fold of its log against the live session, and the slow
//! [`model`](crate::model) over the whole log at every end and before every crash.

mod acts;
mod carry;
mod chance;
pub mod dice;
mod wrong;

pub use dice::Dice;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petasos_core::approval::{Proposal, Verdict, Wants};
use petasos_core::budget::{Ledger, Worst};
use petasos_core::claims::Claims;
use petasos_core::entry::{Body, Entry, Open, Origin, SessionStart, Unknown};
use petasos_core::error::{Handled, Rejected};
use petasos_core::id::{CallId, Digest, Epoch, RequestId, Seq};
use petasos_core::request::{Draft, Purpose};
use petasos_core::session::{Session, Terms};
use petasos_core::text::Json;
use petasos_core::time::Time;
use petasos_core::transcript::Item;
use petasos_core::turn::{Delta, Input, made_calls};
use petasos_core::usage::Account;

use crate::findings::{Findings, Invariant};
use crate::model::{self, Outside};

/// How often each kind of thing happened.
pub type Counts = BTreeMap<String, u64>;

/// Inputs of one world; more are a world without end (I5).
const MOST_INPUTS: u32 = 6_000;

/// A session in a random world.
#[derive(Debug)]
pub struct World {
    dice: Dice,
    now: Time,
    session: Session,
    /// Everything handed over; the first `safe` of it survive a power cut.
    log: Vec<Entry>,
    safe: usize,
    /// The log, folded as it grows.
    told: Session,
    unanswered: VecDeque<Seq>,
    out: Out,
    timer: Option<Time>,
    ledger: Ledger,
    outside: Outside,
    /// What was last handed in for a call, in this process.
    prepared: BTreeMap<CallId, Verdict>,
    /// The end of the grace, where something was told to stop, and whether it has passed.
    grace: Option<Time>,
    grace_is_over: bool,
    running: bool,
    stopped: bool,
    broken: bool,
    epoch: u64,
    turns_left: u32,
    temper: Temper,
    counts: Counts,
    findings: Findings,
    story: Story,
}

/// What is out and not answered.
#[derive(Debug, Default)]
struct Out {
    measuring: Option<Draft>,
    reserving: Option<Worst>,
    building: bool,
    model: Option<Talk>,
    preparing: BTreeSet<CallId>,
    probing: BTreeSet<CallId>,
    asked: BTreeMap<CallId, (Digest, Wants)>,
    running: BTreeMap<CallId, Claims>,
    stopping: BTreeMap<CallId, Claims>,
}

/// What a world is rich in: 0 or 1 of each, so that worlds differ more than their turns do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Temper {
    crashes: u64,
    fails: u64,
    raises: u64,
    interrupts: u64,
    cuts: u64,
    failures: u64,
    /// The model makes the same calls, and their results are the same.
    rows: u64,
    /// No tool does what it is asked.
    broken: u64,
}

impl Temper {
    fn of(dice: &mut Dice) -> Self {
        let mut one_of = |share| dice.below(share) / (share - 1);
        Self {
            crashes: one_of(4),
            fails: one_of(8),
            raises: one_of(6),
            interrupts: one_of(10),
            cuts: one_of(12),
            failures: one_of(12),
            rows: one_of(8),
            broken: one_of(8),
        }
    }
}

/// A reply that is coming: what is still to be said of it.
#[derive(Debug)]
struct Talk {
    request: RequestId,
    rest: VecDeque<Delta>,
    end: Input,
}

/// What came of a world.
#[derive(Debug)]
pub struct Report {
    /// Turns that began.
    pub turns: u64,
    /// How often what happened.
    pub counts: Counts,
    /// The log at the end.
    pub log: Vec<Entry>,
    /// What that log tells, as the last process knew it.
    pub session: Session,
    /// What is wrong.
    pub findings: Findings,
}

/// Lets the world of a seed go its way.
pub fn run(seed: u64, story: Story) -> Report {
    let mut world = World::new(seed, story);
    if story == Story::Told {
        world.findings.tell(vec![format!("seed {seed}")]);
    }
    world.go();
    let turns = world.counts.get("turn").copied().unwrap_or(0);
    Report { turns, counts: world.counts, log: world.log, session: world.session, findings: world.findings }
}

/// Whether what happens is told line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// It is: slow.
    Told,
    /// It is not.
    Untold,
}

impl World {
    fn new(seed: u64, story: Story) -> Self {
        let mut dice = Dice::new(seed);
        let terms = chance::terms(&mut dice);
        let start = SessionStart {
            format: 1,
            id: "test".parse().unwrap(),
            workspace: "/w".into(),
            origin: Origin::New,
            depth: 0,
        };
        let now = Time(1_000_000);
        let first = Entry { seq: Seq(0), at: now, body: start.into() };
        let session = Session::fold([&first], terms);
        let temper = Temper::of(&mut dice);
        let turns_left = 1 + dice.below(8) as u32;
        let mut world = Self {
            dice,
            now,
            told: session.clone(),
            session,
            log: vec![first],
            safe: 1,
            unanswered: VecDeque::new(),
            out: Out::default(),
            timer: None,
            ledger: Ledger::new(Default::default(), Account::default()),
            outside: Outside::default(),
            prepared: BTreeMap::new(),
            grace: None,
            grace_is_over: false,
            running: false,
            stopped: false,
            broken: false,
            epoch: 0,
            turns_left,
            temper,
            counts: Counts::new(),
            findings: Findings::default(),
            story,
        };
        world.open();
        world
    }

    fn go(&mut self) {
        let mut inputs = 0;
        while self.findings.is_empty() && self.act() {
            inputs += 1;
            if inputs > MOST_INPUTS {
                self.findings.check(false, Invariant::I5, || format!("over {MOST_INPUTS} inputs"));
            }
        }
        self.judge();
    }

    fn count(&mut self, what: &str) {
        match self.counts.get_mut(what) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(what.to_owned(), 1);
            }
        }
    }

    fn check(&mut self, holds: bool, invariant: Invariant, what: impl FnOnce() -> String) {
        self.findings.check(holds, invariant, what);
    }

    /// The store opens the log for this holder. Before it, a program of tomorrow may have had it.
    fn open(&mut self) {
        if self.dice.permille(300) {
            let (v, kind) = *self.dice.pick(&[(1, "tomorrow"), (2, "reply"), (2, "turn_start")]);
            let body = Json::try_from("{\"call\":\"3.0\",\"price\":1.50}").unwrap();
            self.write_ourselves(Body::Unknown(Unknown { v, kind: kind.into(), body }));
        }
        self.epoch += 1;
        let (holder, program, damage) = ("1@here".into(), "0".into(), Vec::new());
        self.write_ourselves(Open { epoch: Epoch(self.epoch), holder, program, damage }.into());
        self.told = self.session.clone();
        self.safe = self.log.len();
    }

    fn write_ourselves(&mut self, body: Body) {
        let entry = Entry { seq: Seq(self.log.len() as u64), at: self.now, body };
        self.session.read(&entry);
        self.log.push(entry);
    }

    /// The process ends; of what was not safe, some is there afterwards. Another one reads the log.
    fn crash(&mut self, kept: usize, terms: Terms) {
        self.judge();
        let lost = self.log.len() - kept;
        self.findings.add_to_story(|| format!("CRASH: {kept} entries kept, {lost} lost"));
        self.log.truncate(kept);
        self.outside.cut(&self.log);
        self.session = Session::fold(&self.log, terms);
        let misfits = self.session.misfits().to_vec();
        self.check(misfits.is_empty(), Invariant::I7, || format!("misfits {misfits:?}"));
        self.out = Out::default();
        self.prepared.clear();
        self.unanswered.clear();
        (self.timer, self.grace, self.grace_is_over) = (None, None, false);
        (self.running, self.stopped, self.broken) = (false, false, false);
        self.open();
    }

    /// Says an input that a real world could say here, and carries out what follows.
    fn feed(&mut self, input: Input, late: Late) {
        self.findings.add_to_story(|| format!("> {input:?}"));
        let shown = if self.story == Story::Told { format!("{input:?}") } else { String::new() };
        self.grace_is_over |= self.grace.is_some_and(|grace| grace <= self.now);
        let handled = self.session.handle(self.now, input);
        match handled {
            Ok(Handled::Taken) => {}
            Ok(Handled::Stale) => {
                self.count("stale");
                self.check(late == Late::MayBe, Invariant::I11, || format!("called late: {shown}"));
            }
            Err(Rejected::NotSaved) if late == Late::Unsaved => self.count("refused while the disk fails"),
            Err(error) => {
                self.findings.check(false, Invariant::I11, || format!("refused {shown}: {error}"));
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(effect) = self.session.next_effect() {
            self.findings.add_to_story(|| format!("    < {effect:?}"));
            self.carry(effect);
        }
        if !self.broken && self.dice.below(8) == 0 {
            self.compare();
        }
    }

    /// The log alone tells what the live session knows (I7).
    fn compare(&mut self) {
        let is_alike = self.told.is_told_as(&self.session);
        let (told, session) = (&self.told, &self.session);
        self.findings
            .check(is_alike, Invariant::I7, || format!("the log tells\n{told:#?}\nmemory has\n{session:#?}"));
    }

    /// The model is shown one result for each call, in the order of the calls (I1).
    fn check_results(&mut self) {
        for (_, item) in self.told.transcript().items() {
            let Item::Step(step) = item else { continue };
            let calls = made_calls(&step.reply).count();
            let ids = (0..calls).map(|place| CallId { reply: step.reply_seq, place: place as u16 });
            let fits = step.results.iter().map(|result| result.call).eq(ids);
            self.findings.check(fits, Invariant::I1, || format!("{calls} calls, {:?}", step.results));
        }
    }

    /// The slow model reads all of it.
    fn judge(&mut self) {
        model::judge(&self.log, &self.outside, &mut self.findings);
        let misfits = self.told.misfits().to_vec();
        self.check(misfits.is_empty(), Invariant::I7, || format!("misfits {misfits:?}"));
        let (path, waiting) = model::path(&self.log);
        let items: Vec<Seq> = self.told.transcript().items().iter().map(|(last, _)| *last).collect();
        self.check(path == items, Invariant::I8, || format!("messages {items:?}, the log has {path:?}"));
        self.check_results();
        let queue: BTreeSet<Seq> = self.told.waiting().keys().copied().collect();
        self.check(queue == waiting, Invariant::I8, || format!("{queue:?} wait, the log has {waiting:?}"));
        if !self.broken {
            self.compare();
        }
    }
}

/// Whether an input may come too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Late {
    /// Something may have overtaken it.
    MayBe,
    /// It answers what is out, or needs nothing to be out.
    Never,
    /// It would be written, and the log has failed.
    Unsaved,
}

/// Proposals of a verdict.
fn proposal_of(verdict: &Verdict) -> Option<&Proposal> {
    match verdict {
        Verdict::Allow(approved) => Some(approved.proposal()),
        Verdict::Ask(asked) => Some(asked.proposal()),
        Verdict::Deny { proposal, .. } => Some(proposal),
        Verdict::Invalid(_) => None,
    }
}

/// A request for something that the model is asked.
fn is_closing(purpose: Purpose) -> bool {
    purpose == Purpose::Closing
}
