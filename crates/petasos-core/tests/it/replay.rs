//! Stop after any entry, fold, go on with the same inputs: the same entries from there on (I7).
//!
//! [`Steady`] is a world whose answers are functions of what is asked (and of its seed), never of when.
//! Each script is run once unbroken; then every prefix of its log is folded, joined again beside the
//! work that was under way, and answered likewise. What [`Session::rejoin`] can promise, and so what is
//! looked at here:
//!
//! - A prefix ends between entries, not between inputs. What an outsider said that has left only a part
//!   of its entries was not acknowledged, so it is said again (an interrupt, a `Continue`); what is half
//!   on disk of it stays.
//! - `Prepare`, `Measure`, `Ask` are asked again. So a draft that is measured again also holds what was
//!   said since: outsiders speak here while nothing is measured or reserved.
//! - A `Free` call that was running runs again: outsiders interrupt here when none is open.
//! - A request whose entry is written counts as sent, and its reply goes on after what `partial`
//!   entries kept: a model here says its text first, and each piece of it a second after the other.
//! - A yes for the session makes the next verdict another (`grant`), so here a yes is for once.
//! - What follows a turn by itself (a follow-up) needs a `Continue` when the log ends in between.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petasos_core::Session;
use petasos_core::approval::{Answer, Scope, Wants, judge as judge_call};
use petasos_core::budget::{Ledger, Limits, Worst};
use petasos_core::claims::Rerun;
use petasos_core::entry::{
    Body, Cause, Entry, FinishReason, Lifetime, NoteSource, Open, Setting, SettingSource, VerdictKind, When,
};
use petasos_core::id::{CallId, Digest, Epoch, RequestId, Seq};
use petasos_core::request::{Draft, Purpose};
use petasos_core::session::Terms;
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::time::{Permille, Span, Time};
use petasos_core::tool::Outcome;
use petasos_core::turn::{Delta, Effect, Input, Phase, made_calls};
use petasos_testkit::findings::Findings;
use petasos_testkit::model::{Outside, judge};
use petasos_testkit::random::{Dice, Story, run};
use petasos_testkit::words;

/// Scripts, each broken after every entry.
const SCRIPTS: u64 = 300;
const PIECE: &str = "so 好 ";

const TOOLS: &[&str] = &[
    "read",
    "read",
    "write",
    "write",
    "other_write",
    "alone",
    "ask_write",
    "keyed",
    "question",
    "probed",
    "deny_write",
    "hard_write",
];

#[derive(Clone, Debug)]
enum Outsider {
    Say(When),
    Interrupt,
    Raise,
    Set,
}

/// A world that answers what is asked, always alike and always in the same order.
struct Steady {
    seed: u64,
    now: Time,
    session: Session,
    log: Vec<Entry>,
    unanswered: VecDeque<Seq>,
    building: bool,
    measuring: Option<Draft>,
    reserving: Option<Worst>,
    model: Option<(RequestId, Purpose, u64)>,
    preparing: BTreeSet<CallId>,
    asked: BTreeMap<CallId, (Digest, Wants)>,
    running: BTreeSet<CallId>,
    stopping: BTreeSet<CallId>,
    wants: BTreeMap<CallId, Wants>,
    timer: Option<Time>,
    /// Who says something once the log is so long.
    outsiders: Vec<(u64, Outsider)>,
    /// How long the log was when each of them did.
    given: Vec<u64>,
    stop_again: bool,
    /// Runs of the whole session.
    runs: usize,
    probing: BTreeSet<CallId>,
    outside: Outside,
}

fn terms(seed: u64) -> Terms {
    let mut dice = Dice::new(seed ^ 0x7e57);
    let mut terms = words::terms(1 + dice.below(4) as u32);
    terms.mode.serial = dice.below(5) == 0;
    terms.fallback = (0..dice.below(2)).map(|_| words::target("second")).collect();
    terms
}

impl Steady {
    fn new(seed: u64, log: Vec<Entry>) -> Self {
        let mut dice = Dice::new(seed);
        let mut outsiders: Vec<(u64, Outsider)> = (0..dice.below(4))
            .map(|_| {
                let who = match dice.below(6) {
                    0..=1 => Outsider::Say(When::NextStep),
                    2 => Outsider::Say(When::AfterTurn),
                    3 => Outsider::Interrupt,
                    4 => Outsider::Raise,
                    _ => Outsider::Set,
                };
                (5 + dice.below(40), who)
            })
            .collect();
        outsiders.sort_by_key(|(at, _)| *at);
        Self {
            seed,
            now: log.last().map_or(Time(5_000), |entry| entry.at),
            session: Session::fold(&log, terms(seed)),
            log,
            unanswered: VecDeque::new(),
            building: false,
            measuring: None,
            reserving: None,
            model: None,
            preparing: BTreeSet::new(),
            asked: BTreeMap::new(),
            running: BTreeSet::new(),
            stopping: BTreeSet::new(),
            wants: BTreeMap::new(),
            timer: None,
            outsiders,
            given: Vec::new(),
            stop_again: false,
            runs: 3,
            probing: BTreeSet::new(),
            outside: Outside::default(),
        }
    }

    /// Chance that depends on what is asked alone.
    fn dice(&self, about: u64, place: u64) -> Dice {
        let mut dice = Dice::new(self.seed.wrapping_mul(1_000_003) ^ (about << 8) ^ place);
        dice.roll();
        dice
    }

    fn feed(&mut self, input: Input) {
        self.session.handle(self.now, input.clone()).unwrap_or_else(|error| {
            panic!("seed {}: refused {input:?}: {error}\n{:#?}", self.seed, self.session.turn())
        });
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(effect) = self.session.next_effect() {
            match effect {
                Effect::Append { entries, keep } => {
                    if keep == petasos_core::entry::Keep::Synced {
                        self.unanswered.push_back(entries.last().unwrap().seq);
                    }
                    self.log.extend(entries);
                }
                Effect::BuildHead => self.building = true,
                Effect::Measure(draft) => self.measuring = Some(draft),
                Effect::Reserve(worst) => self.reserving = Some(worst),
                Effect::CallModel { request } => self.model = Some((request, self.purpose(request), 0)),
                Effect::CancelModel(_) => self.model = None,
                Effect::Prepare(call) => {
                    self.preparing.insert(call);
                }
                Effect::Ask { call, shown } => {
                    self.asked.insert(call, (shown, self.wants[&call]));
                }
                Effect::Unask(call) => {
                    self.asked.remove(&call);
                }
                Effect::RunTool(approved) => {
                    let call = approved.proposal().call;
                    *self.outside.began.entry(call).or_default() += 1;
                    if approved.proposal().claims.rerun != Rerun::Free {
                        self.outside.for_good.insert(call);
                    }
                    self.running.insert(call);
                }
                Effect::StopTool(call) => {
                    self.preparing.remove(&call);
                    if self.running.remove(&call) {
                        self.stopping.insert(call);
                    }
                }
                Effect::WakeAt(at) => self.timer = Some(at),
                Effect::Finish(_) => {
                    (self.building, self.measuring, self.reserving, self.timer) = (false, None, None, None);
                }
                Effect::Settle { .. } | Effect::Tell(_) => {}
                Effect::Probe(call) => {
                    self.probing.insert(call);
                }
            }
        }
    }

    fn purpose(&self, request: RequestId) -> Purpose {
        match &self.log[request.0.0 as usize].body {
            Body::Request(request) => request.purpose,
            other => panic!("{request:?} is {other:?}"),
        }
    }

    /// The one thing that happens next; false if nothing does.
    fn step(&mut self) -> bool {
        if !self.session.is_running() {
            return self.go_on();
        }
        if self.an_outsider_speaks() {
            return true;
        }
        if let Some(upto) = self.unanswered.pop_front() {
            self.feed(Input::Appended { upto });
        } else if std::mem::take(&mut self.building) {
            self.feed(Input::HeadBuilt(words::head()));
        } else if let Some(draft) = self.measuring.take() {
            self.feed(Input::Measured(words::measured(&draft)));
        } else if let Some(worst) = self.reserving.take() {
            let told = self.session.turn().unwrap().told();
            let mut ledger = Ledger::new(told.limits.clone(), told.account.clone());
            self.feed(ledger.reserve(worst).map_or_else(Input::Refused, Input::Reserved));
        } else if let Some(call) = self.preparing.pop_first() {
            let proposal = words::proposal(call, &self.tool(call));
            self.wants.insert(call, proposal.wants);
            let prepared = judge_call(&words::policy(), self.session.grants(), proposal);
            self.feed(Input::Prepared { call, prepared });
        } else if let Some((call, (shown, wants))) = self.asked.pop_first() {
            let mut dice = self.dice(call.reply.0, 64 + u64::from(call.place));
            let answer = match (dice.below(6), wants) {
                (0, _) => Answer::No { reason: "not now".into() },
                (1, _) => Answer::NoAndStop,
                (_, Wants::Approval) => Answer::Yes { scope: Scope::Once },
                (_, Wants::Answer) => Answer::Text("that one".into()),
            };
            self.feed(Input::Decide { call, answer, shown });
        } else if let Some((request, purpose, piece)) = self.model {
            self.speak(request, purpose, piece);
        } else if let Some(call) = self.running.pop_first() {
            let outcome = *self.dice(call.reply.0, u64::from(call.place)).pick(&[
                Outcome::Ok,
                Outcome::Error,
                Outcome::Empty,
                Outcome::NeverBegan,
            ]);
            self.outside.said.insert(call, outcome);
            self.feed(Input::ToolEnded { call, output: words::output(outcome, "done") });
        } else if let Some(call) = self.stopping.pop_first() {
            self.outside.said.insert(call, Outcome::CutShort);
            self.feed(Input::ToolEnded { call, output: words::output(Outcome::CutShort, "stopped") });
        } else if let Some(call) = self.probing.pop_first() {
            self.outside.probed.insert(call, Outcome::Ok);
            self.feed(Input::Probed { call, outcome: Outcome::Ok });
        } else {
            let at = self.timer.take().unwrap_or_else(|| panic!("seed {}: nothing is out", self.seed));
            self.now = self.now.max(at);
            self.feed(Input::Woke);
        }
        true
    }

    fn tool(&self, call: CallId) -> Text {
        let reply = self.session.turn().unwrap().told().step.reply.as_ref().unwrap();
        reply.made(usize::from(call.place)).unwrap().name.clone()
    }

    fn speak(&mut self, request: RequestId, purpose: Purpose, piece: u64) {
        let mut dice = self.dice(request.0.0, 200);
        let kind = dice.below(14);
        let pieces = match kind {
            0..=4 => 1 + dice.below(3),
            _ => dice.below(2),
        };
        let (fails, is_empty) = (kind == 12, kind == 13);
        if piece < pieces && !is_empty {
            self.now = self.now.after(Span(1_000));
            self.model = Some((request, purpose, piece + 1));
            return self.feed(Input::Delta { request, delta: Delta::Text(PIECE.into()) });
        }
        self.model = None;
        if fails {
            let kind = *dice.pick(&[FailureKind::Network, FailureKind::Auth, FailureKind::Overloaded]);
            let failure = words::failure(kind);
            return self.feed(Input::RequestFailed { request, failure, jitter: Permille(0) });
        }
        let mut finish = *dice.pick(&[0, 0, 0, 0, 0, 1, 2]);
        if kind > 4 && !is_empty {
            let calls = 1 + dice.below(4);
            for place in 0..calls {
                let name = *dice.pick(TOOLS);
                let mut deltas = words::call(place as u16, name, "{}");
                if finish == 1 && place + 1 == calls {
                    deltas.pop();
                }
                for delta in deltas {
                    self.feed(Input::Delta { request, delta });
                }
            }
            finish = finish.min(1);
        }
        let finish = [FinishReason::Stop, FinishReason::Length, FinishReason::Refused][finish].clone();
        self.feed(Input::ReplyEnded { request, end: words::ends(finish) });
    }

    /// Outsiders speak once the log is long enough, when what they change is the same after a fold.
    fn an_outsider_speaks(&mut self) -> bool {
        let told = self.session.turn().unwrap().told();
        if self.stop_again {
            self.stop_again = false;
            self.feed(Input::Interrupt);
            return true;
        }
        let drafts = self.building || self.measuring.is_some() || self.reserving.is_some();
        if drafts || !self.unanswered.is_empty() || told.ended.is_some() {
            return false;
        }
        if matches!(self.session.turn().unwrap().phase(), Phase::Stopping { .. }) {
            return false;
        }
        let Some((at, who)) = self.outsiders.get(self.given.len()) else { return false };
        if self.log.len() < *at as usize {
            return false;
        }
        let input = match who {
            Outsider::Interrupt if has_open_free_calls(&self.log) => return false,
            Outsider::Interrupt => Input::Interrupt,
            Outsider::Say(when) => Input::Say(words::say("and this", *when)),
            Outsider::Raise => Input::Continue { add: Limits { steps: Some(1), ..Limits::default() } },
            Outsider::Set => Input::Set(Setting {
                key: "title".into(),
                value: Some("x".into()),
                by: SettingSource::Person,
                lifetime: Lifetime::Session,
            }),
        };
        self.given.push(self.log.len() as u64);
        self.feed(input);
        true
    }

    /// At rest: the first words, at most two runs more, then the end.
    fn go_on(&mut self) -> bool {
        if self.log.is_empty() {
            self.feed(Input::Say(words::say("do it", When::Now)));
            return true;
        }
        let starts = self.log.iter().filter(|entry| matches!(entry.body, Body::TurnStart(_))).count();
        if !self.session.can_continue() || starts >= self.runs {
            return false;
        }
        // What waits, or what a process before this one had begun to continue, needs nothing more.
        let needs_none = matches!(self.log.last().map(|entry| &entry.body), Some(Body::LimitAdded(_)));
        let steps = (!needs_none && self.session.waiting().is_empty()).then_some(1);
        self.feed(Input::Continue { add: Limits { steps, ..Limits::default() } });
        true
    }

    fn run_to_its_end(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 5_000, "seed {}: no end", self.seed);
        }
    }

    /// The world that the log of another leaves, with the work that was under way.
    fn joined(whole: &Self, length: usize) -> Self {
        let log = whole.log[..length].to_vec();
        let mut world = Self::new(whole.seed, log);
        // Nobody speaks sooner than they did.
        for ((at, _), given) in world.outsiders.iter_mut().zip(&whole.given) {
            *at = *given;
        }
        world.given = whole.given.iter().copied().filter(|at| *at < length as u64).collect();
        let last = world.given.len().checked_sub(1).map(|last| &world.outsiders[last].1);
        let Some(turn) = world.session.turn().filter(|turn| turn.told().ended.is_none()) else {
            return world;
        };
        world.stop_again = matches!(last, Some(Outsider::Interrupt)) && {
            let from = *world.given.last().unwrap() as usize;
            !world.log[from..].iter().any(|entry| matches!(entry.body, Body::TurnEnd(_)))
        };
        let told = turn.told().clone();
        if let Some(reply) = &told.step.reply {
            for (place, call) in reply.calls.iter().enumerate() {
                if call.start.is_some() && call.result.is_none() {
                    world.running.insert(reply.call_id(place));
                }
            }
        }
        world.session.rejoin(world.now).unwrap();
        assert!(world.probing.is_empty(), "what is under way is not probed");
        if let Some(open) = &told.step.request {
            let said = (open.partial.len() / PIECE.len()) as u64;
            world.model = Some((open.id, open.purpose, said));
        }
        world.drain();
        world
    }
}

impl Steady {
    /// The world that a kill leaves: the work that was under way is gone, and a new process continues.
    fn killed(whole: &Self, length: usize) -> Self {
        let mut log = whole.log[..length].to_vec();
        let damage = Vec::new();
        let open = Open { epoch: Epoch(2), holder: "2@here".into(), program: "0".into(), damage };
        let at = whole.log[length - 1].at;
        log.push(Entry { seq: Seq(length as u64), at, body: open.into() });
        let mut world = Self::new(whole.seed, log);
        world.outsiders.clear();
        world.runs = world.log.iter().filter(|entry| matches!(entry.body, Body::TurnStart(_))).count() + 2;
        world.outside = whole.outside.clone();
        world.outside.cut(&world.log);
        let started: BTreeSet<CallId> = world
            .log
            .iter()
            .filter_map(|entry| match &entry.body {
                Body::ToolStart(start) => Some(start.call),
                _ => None,
            })
            .collect();
        world.outside.for_good.retain(|call| started.contains(call));
        let settled = world.outside.said.clone();
        world.outside.began.retain(|call, _| started.contains(call) || settled.contains_key(call));
        world
    }
}

#[test]
fn after_a_kill_at_any_entry_a_continued_log_is_a_legal_log() {
    let mut logs = 0;
    for seed in 0..SCRIPTS / 2 {
        let mut whole = Steady::new(seed, Vec::new());
        whole.run_to_its_end();
        for length in 1..=whole.log.len() {
            let mut next = Steady::killed(&whole, length);
            next.run_to_its_end();
            let mut findings = Findings::default();
            judge(&next.log, &next.outside, &mut findings);
            assert!(findings.is_empty(), "seed {seed}, killed after {length}: {}", findings.report());
            let told = Session::fold(&next.log, terms(seed));
            assert!(told.is_told_as(&next.session), "seed {seed}, killed after {length}");
            assert_eq!(told.misfits(), []);
            logs += 1;
        }
    }
    println!("{logs} logs of two processes");
    assert!(logs > 2_000);
}

/// True if calls of the last reply have no result that may simply run again.
fn has_open_free_calls(log: &[Entry]) -> bool {
    let Some(place) = log.iter().rposition(|entry| matches!(entry.body, Body::Reply(_))) else {
        return false;
    };
    let Body::Reply(reply) = &log[place].body else { return false };
    let reply_seq = log[place].seq;
    let is_settled = |call: CallId| {
        log[place..]
            .iter()
            .any(|entry| matches!(&entry.body, Body::ToolResult(result) if result.call == call))
    };
    made_calls(reply).enumerate().any(|(place, made)| {
        let call = CallId { reply: reply_seq, place: place as u16 };
        words::proposal(call, &made.name).claims.rerun == Rerun::Free && !is_settled(call)
    })
}

/// Why a prefix is left out: what the log does not hold, and nobody could know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LeftOut {
    /// `said`, and its turn had not begun: it is not acknowledged, and will be said again.
    HalfSaid,
    /// A reply that an interrupt cut, and no end: it may as well be one that was cut at its length.
    HalfInterrupted,
    /// A stop was decided (a hardline call, a no and stop) while a `Free` call was open.
    Stopping,
    /// The end of a turn that may be continued, and a follow-up waits: it would have begun by itself.
    FollowUp,
}

fn left_out(whole: &Steady, length: usize) -> Option<LeftOut> {
    let (last, next) = (&whole.log[length - 1].body, whole.log.get(length).map(|entry| &entry.body));
    if matches!((last, next), (Body::Said(_), Some(Body::TurnStart(_)))) && length > 1 {
        return Some(LeftOut::HalfSaid);
    }
    let is_auto = match next {
        Some(Body::TurnStart(start)) => matches!(start.cause, Cause::Said { .. }),
        _ => false,
    };
    if let (Body::TurnEnd(end), true) = (last, is_auto)
        && end.reason.is_continuable()
    {
        return Some(LeftOut::FollowUp);
    }
    let interrupted_from = whole.given.iter().zip(&whole.outsiders).find_map(|(at, (_, who))| {
        let from = *at as usize;
        let to = whole.log[from..].iter().position(|entry| matches!(entry.body, Body::TurnEnd(_)))? + from;
        (matches!(who, Outsider::Interrupt) && from < length && length <= to).then_some(from)
    });
    let is_closing = whole.log[..length].iter().any(|entry| match &entry.body {
        Body::Note(note) => matches!(note.source, NoteSource::Closing(_)),
        _ => false,
    });
    let has_reply =
        |from: usize| whole.log[from..length].iter().any(|entry| matches!(entry.body, Body::Reply(_)));
    if interrupted_from.is_some_and(|from| has_reply(from) || (from < length && is_closing)) {
        return Some(LeftOut::HalfInterrupted);
    }
    let is_stopping = whole.log[..length]
        .iter()
        .rev()
        .take_while(|entry| !matches!(entry.body, Body::Reply(_) | Body::TurnEnd(_)))
        .any(|entry| match &entry.body {
            Body::Call(call) => call.verdict == VerdictKind::Hardline,
            Body::Decision(decision) => decision.answer == Answer::NoAndStop,
            _ => false,
        });
    (is_stopping && has_open_free_calls(&whole.log[..length])).then_some(LeftOut::Stopping)
}

#[test]
fn from_any_prefix_the_same_inputs_give_the_same_entries() {
    let only = std::env::var("PETASOS_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let (mut prefixes, mut skipped, mut ends) = (0, BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    let mut wrong = BTreeMap::<String, (u64, String)>::new();
    for seed in only.map_or(0..SCRIPTS, |seed| seed..seed + 1) {
        let mut whole = Steady::new(seed, Vec::new());
        whole.run_to_its_end();
        let ended = whole.session.turn().and_then(|turn| turn.told().ended);
        *ends.entry(ended).or_default() += 1;
        for length in 1..=whole.log.len() {
            if let Some(why) = left_out(&whole, length) {
                *skipped.entry(why).or_default() += 1;
                continue;
            }
            prefixes += 1;
            let mut broken = Steady::joined(&whole, length);
            broken.run_to_its_end();
            if broken.log != whole.log {
                let at = broken.log.iter().zip(&whole.log).take_while(|(one, other)| one == other).count();
                let (one, other) = (broken.log.get(at), whole.log.get(at));
                let kind = |entry: Option<&Entry>| {
                    entry.map_or("nothing".to_owned(), |entry| entry.body.kind().to_owned())
                };
                let last = whole.log[length - 1].body.kind();
                let key = format!("after {last}: {} for {}", kind(one), kind(other));
                let what = format!(
                    "seed {seed}, cut after {length} entries; entry {at} is\n{one:?}\nand was\n{other:?}"
                );
                wrong.entry(key).or_insert((0, what)).0 += 1;
            }
        }
    }
    println!("{SCRIPTS} scripts, {prefixes} prefixes, left out {skipped:?}, ends {ends:?}");
    assert!(prefixes > 5_000 || only.is_some(), "{prefixes} prefixes are too few");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The lines of an entry and back: the same entry.
fn reread(entry: &Entry) -> Entry {
    let line = format!("{},\"sum\":\"0123456789abcdef\"}}", entry.open_line().unwrap());
    Entry::read(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn what_is_written_is_read_and_told_the_same() {
    let mut kinds = BTreeSet::new();
    let mut unknown = 0;
    for seed in 0..400 {
        let report = run(seed, Story::Untold);
        let log: Vec<Entry> = report.log.iter().map(reread).collect();
        assert_eq!(log, report.log);
        kinds.extend(log.iter().map(|entry| entry.body.kind().to_owned()));
        let one = Session::fold(&log, terms(0));
        let other = Session::fold(&log, terms(0));
        assert_eq!(one, other);
        assert!(one.is_told_as(&report.session), "seed {seed}");
        for (place, entry) in
            log.iter().enumerate().filter(|(_, entry)| matches!(entry.body, Body::Unknown(_)))
        {
            unknown += 1;
            let before = Session::fold(&log[..place], terms(0));
            let mut after = before.clone();
            after.read(entry);
            assert_eq!(after.next_seq(), entry.seq.next());
            assert_eq!(before.transcript(), after.transcript());
            assert_eq!(before.turn(), after.turn());
            assert_eq!(before.waiting(), after.waiting());
            assert_eq!(before.settings(), after.settings());
            assert_eq!(before.grants(), after.grants());
            assert_eq!(before.head(), after.head());
            assert_eq!(before.account(), after.account());
            assert_eq!(before.misfits(), after.misfits());
        }
    }
    assert!(unknown > 100, "{unknown} entries of unknown kinds");
    kinds.remove("tomorrow");
    let known: BTreeSet<String> = Body::KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(kinds, known);
}
