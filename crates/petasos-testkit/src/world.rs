//! A world around a session: a disk, a model, tools, a person, a clock. It carries out what the session
//! asks for, says only what a real one could say, and watches the invariants while it does.

mod book;
mod carry;
mod fingerprint;
mod log;
mod menu;
mod moves;
mod wrong;

pub use book::Book;
pub use menu::{Cuts, Deciding, Menu, Replying};
pub use moves::Move;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petasos_core::budget::{Ledger, Worst};
use petasos_core::claims::Claims;
use petasos_core::error::Handled;
use petasos_core::id::{CallId, Digest, RequestId, Seq};
use petasos_core::request::{Draft, Purpose, Target};
use petasos_core::session::{Session, Terms};
use petasos_core::time::Time;
use petasos_core::tool::Outcome;
use petasos_core::turn::Input;

use crate::findings::{Findings, Invariant};
use crate::world::log::Log;

/// What is true outside the session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    now: Time,
    /// The log; none where the menu has no crashes.
    log: Option<Log>,
    unanswered: VecDeque<Seq>,
    /// What the log says in all, safe or not.
    book: Book,
    /// Head, target and messages of the last request that is safe on disk, and of those after it.
    requests: BTreeMap<Seq, (Seq, Target, Vec<u64>)>,
    measuring: Option<Draft>,
    reserving: Option<Worst>,
    building: bool,
    model: Option<(RequestId, Purpose, Spoken)>,
    preparing: BTreeSet<CallId>,
    probing: BTreeSet<CallId>,
    asked: BTreeMap<CallId, Digest>,
    running: BTreeMap<CallId, Claims>,
    stopping: BTreeMap<CallId, Claims>,
    /// When a tool was last told to stop.
    told_to_stop: Time,
    timer: Option<Time>,
    ledger: Ledger,
    /// Calls that policy or a person allowed, as they were shown.
    allowed: BTreeSet<(CallId, Digest)>,
    /// Calls that really began, and how often one that must not run twice did.
    began: BTreeMap<CallId, u8>,
    /// Those of them that are not free to run again.
    never_again: BTreeSet<CallId>,
    /// Those that may run again under their key.
    keyed: BTreeSet<CallId>,
    /// What tools really said.
    said: BTreeMap<CallId, Outcome>,
    /// Called off: answers to these may come and are late.
    stopped: bool,
    /// Nobody is there any more in this run.
    gone: bool,
    finished: bool,
    /// A failed append: nothing may be written any more.
    broken: bool,
    left: Left,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// Crashes, by kill or power cut.
    pub crashes: u8,
    /// Appends that fail.
    pub fails: u8,
    /// Things said for the next step.
    pub steers: u8,
    /// Things said for after the turn.
    pub follow_ups: u8,
    /// Interrupts.
    pub interrupts: u8,
    /// Continuations by a person of a turn that stopped.
    pub continues: u8,
}

/// What of a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Spoken {
    Nothing,
    Text,
    Call,
}

/// A session in its world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The session.
    pub session: Session,
    /// Its world.
    pub world: World,
}

impl State {
    /// A session that has just been made, and what may happen to it.
    pub fn new(menu: &Menu, terms: &Terms) -> Self {
        let session = Session::fold([], terms.clone());
        let log = (menu.left.crashes > 0).then(|| Log::new(session.clone()));
        let world = World {
            now: Time(0),
            log,
            unanswered: VecDeque::new(),
            book: Book::default(),
            requests: BTreeMap::new(),
            measuring: None,
            reserving: None,
            building: false,
            model: None,
            preparing: BTreeSet::new(),
            probing: BTreeSet::new(),
            asked: BTreeMap::new(),
            running: BTreeMap::new(),
            stopping: BTreeMap::new(),
            told_to_stop: Time(0),
            timer: None,
            ledger: Ledger::new(terms.limits.clone(), petasos_core::usage::Account::default()),
            allowed: BTreeSet::new(),
            began: BTreeMap::new(),
            never_again: BTreeSet::new(),
            keyed: BTreeSet::new(),
            said: BTreeMap::new(),
            stopped: false,
            gone: false,
            finished: false,
            broken: false,
            left: menu.left,
        };
        Self { session, world }
    }

    /// True when nothing is under way and the run is over.
    pub fn is_over(&self) -> bool {
        self.world.finished && !self.session.is_running()
    }

    /// Says an input to the session and carries out what it wants.
    pub fn feed(&mut self, input: Input, findings: &mut Findings) {
        findings.add_to_story(|| format!("> {input:?}"));
        let was_out = self.world.is_out(&input);
        self.world.left_answering(&input);
        let handled = self.session.handle(self.world.now, input.clone());
        findings.check(handled.is_ok(), Invariant::I11, || format!("refused {input:?}: {handled:?}"));
        let may_be_late = !was_out || self.world.may_be_late(&input);
        findings.check(handled != Ok(Handled::Stale) || may_be_late, Invariant::I11, || {
            format!("called late: {input:?}")
        });
        if handled == Ok(Handled::Taken) {
            self.world.took(&input);
        }
        self.drain(findings);
    }

    /// Carries out what the session wants until it wants nothing more, then looks at where it stands.
    pub fn drain(&mut self, findings: &mut Findings) {
        while let Some(effect) = self.session.next_effect() {
            findings.add_to_story(|| format!("    < {effect:?}"));
            self.world.carry(effect, &self.session, findings);
        }
        self.world.look(&self.session, findings);
    }
}
