//! Drives a session over a store on a real disk, for `cargo xtask syncs` to look at from outside.
//!
//! Its one argument is a folder to work in. It says on stderr what it is about to do, each in one write,
//! so that its words stand between its system calls: `MARK acting on 6.0` before a call that changes
//! something is run, `MARK free step begins` and `MARK free step ends` around a step of calls that are free
//! to run again, from before its request is appended until its results are.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]

use std::collections::VecDeque;
use std::io::Write;

use petasos_core::approval::judge;
use petasos_core::budget::Ledger;
use petasos_core::claims::Rerun;
use petasos_core::entry::{Entry, FinishReason, Keep, Origin, SessionStart, When};
use petasos_core::id::RequestId;
use petasos_core::session::Session;
use petasos_core::stop::StopReason;
use petasos_core::time::Time;
use petasos_core::tool::Outcome;
use petasos_core::turn::{Delta, Effect, Input};
use petasos_core::usage::Account;
use petasos_store::{Durability, FolderStore, Holder, LAYOUT, Store, Writer};
use petasos_testkit::words::{call, ends, head, measured, output, policy, proposal, say, terms};

const READING: [&str; 2] = ["read", "read"];

struct Driver {
    session: Session,
    writer: Box<dyn Writer>,
    ledger: Ledger,
    due: VecDeque<Input>,
    requests: usize,
    results: usize,
    ended: Option<StopReason>,
}

fn main() {
    let folder = std::env::args_os().nth(1).expect("one argument: a folder to work in");
    let store = FolderStore::new(folder, Durability::Power);
    let start = SessionStart {
        format: LAYOUT,
        id: "syncs".parse().unwrap(),
        workspace: "/w".into(),
        origin: Origin::New,
        depth: 0,
    };
    let holder = Holder { text: "sync_driver".into(), program: "0".into() };
    let opened = store.create(start, &holder, Time(0)).unwrap();
    let terms = terms(9);
    let mut driver = Driver {
        session: Session::fold(&opened.entries, terms.clone()),
        writer: opened.writer,
        ledger: Ledger::new(terms.limits, Account::default()),
        due: VecDeque::from([Input::Say(say("read both, then write", When::Now))]),
        requests: 0,
        results: 0,
        ended: None,
    };
    while let Some(input) = driver.due.pop_front() {
        driver.session.handle(Time(0), input).unwrap();
        while let Some(effect) = driver.session.next_effect() {
            driver.carry(effect);
        }
    }
    assert_eq!(driver.ended, Some(StopReason::Completed), "the turn ends well");
}

impl Driver {
    fn carry(&mut self, effect: Effect) {
        match effect {
            Effect::Append { entries, keep } => self.append(&entries, keep),
            Effect::BuildHead => self.due.push_back(Input::HeadBuilt(head())),
            Effect::Measure(draft) => self.due.push_back(Input::Measured(measured(&draft))),
            Effect::Reserve(worst) => {
                let reservation = self.ledger.reserve(worst).unwrap();
                self.due.push_back(Input::Reserved(reservation));
            }
            Effect::Settle { reservation, used } => assert!(self.ledger.settle(&reservation, &used)),
            Effect::CallModel { request } => self.answer(request),
            Effect::Prepare(call) => {
                let tool = if self.requests == 1 { READING[usize::from(call.place)] } else { "write" };
                let prepared = judge(&policy(), self.session.grants(), proposal(call, tool));
                self.due.push_back(Input::Prepared { call, prepared });
            }
            Effect::RunTool(approved) => {
                let call = approved.proposal().call;
                if approved.proposal().claims.rerun != Rerun::Free {
                    mark(&format!("acting on {call}"));
                }
                self.due.push_back(Input::ToolEnded { call, output: output(Outcome::Ok, "done") });
            }
            Effect::Finish(end) => self.ended = Some(end.reason),
            Effect::WakeAt(_) | Effect::Tell(_) => {}
            effect => panic!("nothing here asks for {effect:?}"),
        }
    }

    /// The first step of the turn is the one of free calls.
    fn append(&mut self, entries: &[Entry], keep: Keep) {
        let count = |kind: &str| entries.iter().filter(|entry| entry.body.kind() == kind).count();
        if self.requests == 0 && count("request") > 0 {
            mark("free step begins");
        }
        self.requests += count("request");
        let last = self.writer.append(self.writer.next(), entries, keep).unwrap();
        let had_all = self.results >= READING.len();
        self.results += count("tool_result");
        if !had_all && self.results >= READING.len() {
            mark("free step ends");
        }
        if keep == Keep::Synced {
            self.due.push_back(Input::Appended { upto: last });
        }
    }

    fn answer(&mut self, request: RequestId) {
        let (deltas, finish) = match self.requests {
            1 => (
                READING.iter().zip(0..).flat_map(|(tool, place)| call(place, tool, "{}")).collect(),
                FinishReason::ToolUse,
            ),
            2 => (call(0, "write", "{}"), FinishReason::ToolUse),
            _ => (vec![Delta::Text("done".into())], FinishReason::Stop),
        };
        self.due.extend(deltas.into_iter().map(|delta| Input::Delta { request, delta }));
        self.due.push_back(Input::ReplyEnded { request, end: ends(finish) });
    }
}

/// One line, in one write.
fn mark(what: &str) {
    std::io::stderr().write_all(format!("MARK {what}\n").as_bytes()).unwrap();
}
