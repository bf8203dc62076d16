//! A script: what a model, tools, people and a disk will say, and a session that is driven through it.
//!
//! One thing after the other, with a log in memory and a clock that moves only when a timer is waited
//! for. Everything is answered as a legal world would; a script that its session does not fit panics.
//!
//! ```
//! use petasos_testkit::script::{Script, calls, text};
//! use petasos_testkit::words::terms;
//!
//! let ran = Script::new(terms(2)).replies([calls(["read"]), text("done")]).say("do it").run();
//! assert_eq!(ran.told, ["said: do it", "reply: read=ok", "reply: done"]);
//! ```

mod carry;
mod ran;
mod saying;

pub use ran::{Ran, Sent, told};
pub use saying::{Saying, calls, calls_with, cut, fails, nothing, pieces, refusal, text};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use petasos_core::approval::{Answer, Prepared, Proposal};
use petasos_core::budget::{Ledger, Limits};
use petasos_core::entry::{Body, Entry, Open, Origin, Said, SessionStart, When};
use petasos_core::error::{Handled, Rejected};
use petasos_core::id::{CallId, Epoch, Seq};
use petasos_core::session::{Session, Terms};
use petasos_core::stop::StopReason;
use petasos_core::text::Text;
use petasos_core::time::{Span, Time};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Effect, Input};
use petasos_core::usage::Account;

use crate::format_page::FormatPage;
use crate::words::{output, say};

/// A session on its way through a script.
#[derive(Clone, Debug)]
pub struct Script {
    terms: Terms,
    session: Session,
    now: Time,
    /// Time that passes before each event.
    pace: Span,
    log: Vec<Entry>,
    /// How many of them are on the disk.
    safe: usize,
    disk: Disk,
    ledger: Ledger,
    replies: VecDeque<Saying>,
    answers: VecDeque<Answer>,
    person: Person,
    outcomes: BTreeMap<Text, Outcome>,
    says: BTreeMap<Text, VecDeque<Text>>,
    deaf: BTreeSet<Text>,
    probed: Outcome,
    order: Order,
    tokens: u64,
    prepare: fn(Proposal) -> Proposal,
    /// Answers that come by themselves, in this order, and before any tool ends.
    due: VecDeque<Input>,
    running: Vec<(CallId, Text)>,
    timer: Option<Time>,
    effects: Vec<Effect>,
    sent: Vec<Sent>,
    status: Option<StopReason>,
}

/// In what order running tools end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one that began first ends first.
    AsBegun,
    /// The one that began last ends first.
    Reversed,
}

/// What an ended process leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// All of it: a `kill -9`.
    Nothing,
    /// None of it: a power cut.
    Unsynced,
}

/// What becomes of a question when no answer is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Person {
    Away,
    Obliging,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    Works,
    /// This many appends go well, the next one fails.
    FailsAfter(usize),
    Failed,
}

impl Script {
    /// A new session that was opened once.
    pub fn new(terms: Terms) -> Self {
        let start = SessionStart {
            format: 1,
            id: "scripted".parse().unwrap(),
            workspace: "/w".into(),
            origin: Origin::New,
            depth: 0,
        };
        let first = Entry { seq: Seq(0), at: Time(0), body: start.into() };
        Self::with_log(terms, vec![first]).opened()
    }

    /// A session that these entries tell, at rest.
    pub fn with_log(terms: Terms, log: Vec<Entry>) -> Self {
        let session = Session::fold(&log, terms.clone());
        let ledger = Ledger::new(terms.limits.clone(), Account::default());
        Self {
            terms,
            session,
            now: log.last().map_or(Time(0), |entry| entry.at),
            pace: Span(0),
            safe: log.len(),
            log,
            disk: Disk::Works,
            ledger,
            replies: VecDeque::new(),
            answers: VecDeque::new(),
            person: Person::Away,
            outcomes: BTreeMap::new(),
            says: BTreeMap::new(),
            deaf: BTreeSet::new(),
            probed: Outcome::Unknown,
            order: Order::AsBegun,
            tokens: 10_000,
            prepare: |proposal| proposal,
            due: VecDeque::new(),
            running: Vec::new(),
            timer: None,
            effects: Vec::new(),
            sent: Vec::new(),
            status: None,
        }
    }

    /// What the model says next, a request each.
    pub fn replies(mut self, replies: impl IntoIterator<Item = Saying>) -> Self {
        self.replies.extend(replies);
        self
    }

    /// The model has nothing left to say.
    pub fn with_no_replies(mut self) -> Self {
        self.replies.clear();
        self
    }

    /// What a person answers, a question each. After the last nobody answers.
    pub fn answers(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.answers.extend(answers);
        self
    }

    /// From now on a person says yes to everything, and `yes` to every question.
    pub fn with_an_obliging_person(mut self) -> Self {
        self.answers.clear();
        self.person = Person::Obliging;
        self
    }

    /// How a tool ends; others end well.
    pub fn ends(mut self, tool: &str, outcome: Outcome) -> Self {
        self.outcomes.insert(tool.into(), outcome);
        self
    }

    /// What a tool says, a call each; after the last, that it did it.
    pub fn says<const N: usize>(mut self, tool: &str, results: [&str; N]) -> Self {
        self.says.insert(tool.into(), results.into_iter().map(Text::from).collect());
        self
    }

    /// A tool that does not end, not even if it is told to stop.
    pub fn deaf(mut self, tool: &str) -> Self {
        self.deaf.insert(tool.into());
        self
    }

    /// What probes see.
    pub fn probes_see(mut self, outcome: Outcome) -> Self {
        self.probed = outcome;
        self
    }

    /// In what order running tools end.
    pub fn ending(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Each request is as large as this, in tokens; the window has a million.
    pub fn requests_of(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// Changes what the tools claim of their calls.
    pub fn preparing(mut self, prepare: fn(Proposal) -> Proposal) -> Self {
        self.prepare = prepare;
        self
    }

    /// Time passes before each event.
    pub fn pace(mut self, pace: Span) -> Self {
        self.pace = pace;
        self
    }

    /// This many appends go well, the next one fails.
    pub fn disk_fails_after(mut self, appends: usize) -> Self {
        self.disk = Disk::FailsAfter(appends);
        self
    }

    /// The disk fails now, whatever was handed to it.
    pub fn disk_fails(mut self) -> Self {
        self.disk = Disk::Failed;
        self.due.retain(|input| !matches!(input, Input::Appended { .. }));
        self.input(Input::AppendFailed(carry::disk_is_full()))
    }

    /// Other terms for the next turn, or the next run of this one.
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms.clone();
        self.session.set_terms(terms);
        self
    }

    /// Somebody sets the clock back.
    #[must_use]
    pub fn clock_goes_back(mut self, span: Span) -> Self {
        self.now = Time(self.now.0.saturating_sub(span.0));
        self
    }

    /// Time passes and nothing happens.
    pub fn wait(mut self, span: Span) -> Self {
        self.now = self.now.after(span);
        self
    }

    /// A person says something.
    pub fn say(self, text: &str) -> Self {
        self.input(Input::Say(say(text, When::Now)))
    }

    /// A person says something for the next step.
    pub fn steer(self, text: &str) -> Self {
        self.input(Input::Say(say(text, When::NextStep)))
    }

    /// A person says something for after the turn.
    pub fn follow_up(self, text: &str) -> Self {
        self.input(Input::Say(say(text, When::AfterTurn)))
    }

    /// A person takes back what was said in this entry.
    pub fn take_back(self, seq: Seq) -> Self {
        let said = Said { content: Vec::new(), withdraws: Some(seq), ..say("", When::Now) };
        self.input(Input::Say(said))
    }

    /// A person stops the turn.
    pub fn interrupt(self) -> Self {
        self.input(Input::Interrupt)
    }

    /// The turn at rest goes on.
    pub fn go_on(self) -> Self {
        self.go_on_with(Limits::default())
    }

    /// The turn goes on with higher limits.
    pub fn go_on_with(self, add: Limits) -> Self {
        self.input(Input::Continue { add })
    }

    /// Any input that fits.
    pub fn input(mut self, input: Input) -> Self {
        let handled = self.feed(input.clone());
        assert!(handled.is_ok(), "{input:?} was refused: {handled:?}\n{:#?}", self.session.turn());
        self
    }

    /// The process ends, another one reads the log and holds the session at rest.
    pub fn kill(mut self, lost: Lost) -> Self {
        match lost {
            Lost::Nothing => {}
            Lost::Unsynced => self.log.truncate(self.safe),
        }
        self.opened()
    }

    /// As [`Script::kill`], and the line of an entry cannot be read any more.
    pub fn kill_and_damage(mut self, damaged: Seq) -> Self {
        self.log.retain(|entry| entry.seq != damaged);
        self.opened()
    }

    /// The log is opened anew.
    fn opened(mut self) -> Self {
        let next = self.log.last().map_or(Seq(0), |entry| entry.seq.next());
        let open = Open {
            epoch: Epoch(self.session.epoch().0 + 1),
            holder: "script".into(),
            program: "0".into(),
            damage: Vec::new(),
        };
        self.log.push(Entry { seq: next, at: self.now, body: open.into() });
        self.safe = self.log.len();
        self.session = Session::fold(&self.log, self.terms.clone());
        self.due.clear();
        self.running.clear();
        self.timer = None;
        self.disk = Disk::Works;
        self
    }

    /// Goes on for so many events.
    pub fn events(mut self, events: usize) -> Self {
        for _ in 0..events {
            self.step();
        }
        self
    }

    /// Goes on until this holds, which must come.
    pub fn until(mut self, mut holds: impl FnMut(&Self) -> bool) -> Self {
        while !holds(&self) {
            let event = self.step();
            assert!(event.is_some(), "it never came to that\n{:#?}", self.session.turn());
        }
        self
    }

    /// Goes on until the session wants this, which must come.
    pub fn until_it_wants(self, wanted: impl Fn(&Effect) -> bool) -> Self {
        let before = self.effects.len();
        self.until(|script| script.effects[before..].iter().any(&wanted))
    }

    /// Goes on until nothing more comes by itself.
    pub fn run(mut self) -> Ran {
        while self.step().is_some() {}
        self.stop_here()
    }

    /// What came of it so far.
    pub fn stop_here(self) -> Ran {
        if self.disk != Disk::Failed {
            let folded = Session::fold(&self.log, self.terms.clone());
            assert!(
                folded.is_told_as(&self.session),
                "the log tells\n{folded:#?}\nmemory has\n{:#?}",
                self.session
            );
        }
        self.check_against_the_page();
        Ran::of(self)
    }

    /// Everything that stands in the log stands on the page that tells its format.
    fn check_against_the_page(&self) {
        static PAGE: LazyLock<FormatPage> =
            LazyLock::new(|| FormatPage::parse(include_str!("../../../docs/format/session.md")));
        for entry in &self.log {
            let line = format!("{}}}", entry.open_line().unwrap());
            let complaint = PAGE.complaint(&line);
            assert_eq!(complaint, None, "docs/format/session.md does not tell {line}");
        }
    }

    /// The next event, if one comes by itself.
    pub fn step(&mut self) -> Option<Input> {
        let input = self.next_event()?;
        let handled = self.feed(input.clone());
        assert!(handled.is_ok(), "{input:?} was refused: {handled:?}\n{:#?}", self.session.turn());
        Some(input)
    }

    /// Takes the first answer that fits out of its order, to say it at another time.
    pub fn take_due(&mut self, fits: impl Fn(&Input) -> bool) -> Option<Input> {
        let place = self.due.iter().position(fits)?;
        self.due.remove(place)
    }

    fn next_event(&mut self) -> Option<Input> {
        if let Some(input) = self.due.pop_front() {
            return Some(input);
        }
        let mut hearing = self.running.iter();
        let is_ending = |(_, tool): &&(CallId, Text)| !self.deaf.contains(tool);
        let ending = match self.order {
            Order::AsBegun => hearing.find(is_ending),
            Order::Reversed => hearing.rfind(is_ending),
        };
        if let Some((call, tool)) = ending.cloned() {
            self.running.retain(|(other, _)| *other != call);
            let outcome = self.outcomes.get(&tool).copied().unwrap_or(Outcome::Ok);
            let said = self.says.get_mut(&tool).and_then(VecDeque::pop_front);
            let said = said.unwrap_or_else(|| format!("{tool} did it").into());
            return Some(Input::ToolEnded { call, output: output(outcome, &said) });
        }
        if !self.session.is_running() {
            return None;
        }
        self.now = self.now.max(self.timer.take()?);
        Some(Input::Woke)
    }

    /// Says an input to the session, and carries out what it wants.
    ///
    /// # Errors
    /// What the session says.
    pub fn feed(&mut self, input: Input) -> Result<Handled, Rejected> {
        self.now = self.now.after(self.pace);
        if let Input::Appended { upto } = input {
            self.safe = self.log.iter().take_while(|entry| entry.seq <= upto).count();
        }
        let handled = self.session.handle(self.now, input);
        while let Some(effect) = self.session.next_effect() {
            self.carry(&effect);
            self.effects.push(effect);
        }
        handled
    }

    /// How a call is prepared, by the name of its tool.
    fn prepared(&self, call: CallId) -> Prepared {
        carry::prepared(self.session.grants(), (self.prepare)(self.proposal(call)), &self.tool_of(call))
    }

    fn proposal(&self, call: CallId) -> Proposal {
        crate::words::proposal(call, &self.tool_of(call))
    }

    fn tool_of(&self, call: CallId) -> Text {
        let open = self.session.turn().and_then(|turn| turn.told().step.reply.as_ref()).unwrap();
        open.made(usize::from(call.place)).unwrap().name.clone()
    }

    /// The session as it stands.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The log as it stands, synced or not.
    pub fn log(&self) -> &[Entry] {
        &self.log
    }

    /// Those entries of it that are on the disk.
    pub fn safe(&self) -> &[Entry] {
        &self.log[..self.safe]
    }

    /// Everything the session wanted so far.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// The terms of the next turn.
    pub fn terms_now(&self) -> Terms {
        self.terms.clone()
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The last entry that fits.
    pub fn last(&self, fits: impl Fn(&Body) -> bool) -> Option<&Entry> {
        self.log.iter().rev().find(|entry| fits(&entry.body))
    }
}
