//! Sessions of the real program that are ended at any point and go on: what is said, run and answered is a [`Scene`],
//! where it ends a [`Fault`], and what must hold of what is left, and of the end, is in [`judge`].
//!
//! The driver knows no more than a person would: it looks at the log and does what comes next, until there is nothing
//! left. So the run that nobody ends and every other one are driven alike.

pub mod chance;
pub mod judge;
mod log;
mod place;
mod process;
pub mod scenes;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use petasos_core::request::Wire;

use crate::model_server::ModelServer;
pub use log::Log;
use place::Place;
use process::Ended;
use scenes::{How, Scene};

/// What is run.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The program.
    pub petasos: PathBuf,
    /// The same on a disk that fails it (`on_a_bad_disk`).
    pub on_a_bad_disk: PathBuf,
}

/// What ends a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing.
    None,
    /// An act of its disk, counted from 1, with one of the words of `on_a_bad_disk`.
    Act(&'static str, u64),
    /// SIGKILL after so long.
    After(Duration),
    /// Nothing; the names of its acts are kept in a file of the place.
    List,
}

impl Fault {
    /// True if what was not synced goes too.
    fn cuts_power(&self) -> bool {
        matches!(self, Self::Act(word, _) if word.starts_with("cut-"))
    }
}

/// What a driver does next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// Begins a session.
    Begin,
    /// Goes on with it.
    Resume,
    /// Says yes to a call.
    Approve(String),
    /// Says something more.
    Say(String),
}

/// What came of a scene.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Processes that were run.
    pub processes: usize,
    /// Those of them that were killed, and where the power went.
    pub kills: usize,
    /// Requests that the server got.
    pub requests: usize,
    /// Calls that had begun, or may have, when a process ended, and had no result.
    pub in_flight: BTreeSet<String>,
    /// The text that the last turn answered.
    pub reply: String,
    /// The acts of each process that listed them.
    pub acts: Vec<Vec<String>>,
    /// What is in the counter file at the end.
    pub counted: Vec<String>,
}

/// More processes than any scene takes: a driver that goes in circles.
const MOST: usize = 60;

/// A scene under way.
#[derive(Debug)]
pub struct Drive<'a> {
    programs: &'a Programs,
    scene: &'a Scene,
    place: Place,
    server: ModelServer,
    /// Of what begins a session, and of what goes on with it.
    wires: (Wire, Wire),
    log: Log,
    report: Report,
}

impl<'a> Drive<'a> {
    /// A scene in a place of its own.
    pub fn new(programs: &'a Programs, scene: &'a Scene, wires: (Wire, Wire)) -> Self {
        let server = ModelServer::start(&scene.script);
        // The head of a request is another one on another wire.
        let server = if wires.0 == wires.1 { server } else { server.with_breaks() };
        let place = Place::new(&server.base_url(), &scene.files);
        Self { programs, scene, place, server, wires, log: Log::default(), report: Report::default() }
    }

    /// With one more line in its settings.
    #[must_use]
    pub fn with_setting(self, line: &str) -> Self {
        self.place.add_setting(line);
        self
    }

    /// Goes on until there is nothing left to do, and judges the end. `fault` says what ends each process.
    ///
    /// # Panics
    /// With what does not hold.
    pub fn to_the_end(mut self, mut fault: impl FnMut(usize) -> Fault) -> Report {
        while let Some(next) = self.next() {
            assert!(self.report.processes < MOST, "it goes in circles: {next:?}\n{:#?}", self.log.entries);
            let fault = fault(self.report.processes);
            if next == Next::Begin {
                self.log = Log::default();
            }
            let ended = self.process(&next, &fault);
            self.report.processes += 1;
            self.look(&next, &fault, &ended);
        }
        self.report.counted = self.place.counted();
        judge::judge(&self.log, &self.place, self.scene, &self.report);
        for wire in self.unused_wires() {
            judge::judge_request(wire, &self.place.request(self.programs, wire, &self.log.session()));
        }
        // The server judges each request that it got, and that each begins as the one before.
        let requests = self.server.finish();
        judge::judge_words(self.scene, &self.log, &requests);
        self.report.reply = self.log.last_text();
        self.report.requests = requests.len();
        self.report
    }

    /// Wires that the server has not judged.
    fn unused_wires(&self) -> impl Iterator<Item = Wire> + use<> {
        let used = self.wires;
        let all = [Wire::Chat, Wire::Responses, Wire::Messages];
        all.into_iter().filter(move |wire| *wire != used.0 && *wire != used.1)
    }

    /// What a person would do who sees the log.
    fn next(&self) -> Option<Next> {
        if !self.log.has_said(&self.scene.first) {
            return Some(Next::Begin);
        }
        if let Some(call) = self.log.asking() {
            return Some(Next::Approve(call));
        }
        if self.log.is_open() || self.log.is_waiting() {
            return Some(Next::Resume);
        }
        self.scene.then.iter().find(|word| !self.log.has_said(word)).cloned().map(Next::Say)
    }

    fn process(&mut self, next: &Next, fault: &Fault) -> Ended {
        let program = match fault {
            Fault::None | Fault::After(_) => &self.programs.petasos,
            Fault::Act(..) | Fault::List => &self.programs.on_a_bad_disk,
        };
        let mut command = self.place.command(program);
        let list = self.place.list();
        match fault {
            Fault::Act(word, act) => drop(command.args([word, act.to_string().as_str()])),
            Fault::List => drop(command.arg("list").arg(&list)),
            Fault::None | Fault::After(_) => {}
        }
        let session = self.log.session();
        let wire = if *next == Next::Begin { self.wires.0 } else { self.wires.1 };
        let model = self.place.model(wire);
        match (next, self.scene.how) {
            (Next::Begin, How::Chat) => drop(command.arg("chat")),
            (Next::Begin, How::Run | How::Stopped) => drop(command.args(["run", "--json"])),
            _ => drop(command.args(["resume", &session, "--json"])),
        }
        command.args(model);
        // Chat has nobody who could answer, so its scenes ask nothing.
        if !self.scene.asks {
            command.arg("--allow-commands");
        } else if (next, self.scene.how) != (&Next::Begin, How::Chat) {
            command.arg("--park");
        }
        match (next, self.scene.how) {
            (Next::Begin, How::Chat) => {}
            (Next::Begin, How::Run | How::Stopped) => drop(command.arg(&self.scene.first)),
            (Next::Resume, _) => {}
            (Next::Approve(call), _) => drop(command.arg(format!("--approve={call}"))),
            (Next::Say(word), _) => drop(command.args(["-m", word])),
        }
        let is_chat = *next == Next::Begin && self.scene.how == How::Chat;
        let stdin = if is_chat { self.scene.lines() } else { String::new() };
        let up = (*next == Next::Begin && self.scene.how == How::Stopped).then(|| self.place.up());
        let ended = process::run(&mut command, &stdin, (fault, up));
        if *fault == Fault::List {
            let acts = std::fs::read_to_string(list).unwrap_or_default();
            self.report.acts.push(acts.lines().map(str::to_owned).collect());
        }
        ended
    }

    /// Looks at what a process left.
    fn look(&mut self, next: &Next, fault: &Fault, ended: &Ended) {
        let before = std::mem::take(&mut self.log);
        self.log = self.place.log();
        let context = || format!("after {next:?} with {fault:?}: {ended:?}");
        assert!(
            before.whole.is_empty() || self.log.whole.starts_with(&before.whole),
            "what was in the log is changed, {}",
            context()
        );
        judge::judge_told(&ended.stdout, &self.log, fault.cuts_power(), &context);
        if ended.is_killed() {
            self.report.kills += 1;
            self.report.in_flight.extend(self.log.in_flight());
        } else {
            // Well ended, parked, or stopped by us.
            assert!([0, 15, 130].contains(&ended.code), "{}", context());
            assert!(!ended.stderr.contains("panicked"), "{}", context());
        }
    }
}
