//! Guards (L10): whether a turn still gets anywhere. Pure, and folded from the entries of a turn.
//!
//! What is looked at are the calls of closed and open steps, in the order of the calls: two are *equal*
//! if tool, arguments, outcome and result are (of a call that wrote files: what stands in them). The end of that row may be one block of up to
//! [`PERIODS`] calls that comes again and again; a block of one is the same call over and over. A call
//! that was not run because of this counts as the one that it would have repeated. What a stop kept
//! from running, or cut short, says nothing of the model and is left out.
//!
//! | the block has come | what follows |
//! |---|---|
//! | [`TOLD_AT`] times | the model is told, once the step is closed |
//! | a call would begin it anew | it is not run, unless running it is free |
//! | a call began it for the [`STUCK_AT`]th time, in a reply made after that | the turn ends `stuck` |
//!
//! Calls that stand in one reply count like calls of several, but nothing ends a turn that the model
//! could not have known when it spoke: it must have been told, or have seen a failure, before.

mod canonical;
pub(crate) mod repeats;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use crate::entry::{Said, Speaker, ToolResult, When};
use crate::id::Seq;
use crate::stop::StopReason;
use crate::text::Text;
use crate::tool::{Fact, Outcome};

/// The longest block of calls that is looked for (L10).
pub const PERIODS: usize = 6;
/// After so many times the model is told (L10).
pub const TOLD_AT: usize = 3;
/// At so many the turn ends (L10).
pub const STUCK_AT: usize = 5;
/// One tool may fail so often running (L10).
pub const FAILURES: u32 = 8;
/// Replies that were cut because they repeated themselves: the model is told of the first (L10).
pub const CUT_REPLIES: u32 = 2;

/// Tools whose failures are counted at the same time. A turn has a few; names that a model makes up
/// must not pile up.
const TOOLS: usize = 32;

/// What was seen of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The last calls, oldest first; no more than the longest block has.
    last: VecDeque<Seen>,
    /// For each block length from 1 on: how many calls in a row equal the one that long before.
    equal: [usize; PERIODS],
    /// Calls of the open reply that are in already.
    taken: usize,
    /// The model was told of the block that the row ends with.
    is_told: bool,
    /// It went on with that all the same, once too often.
    is_stuck: bool,
    /// Tools that failed the last time.
    failing: BTreeMap<Text, Failing>,
    /// Replies that were cut because they repeated themselves.
    cut_replies: u32,
    /// The model is to be told of the last of them.
    is_cut: bool,
    /// What the turn is ended for.
    found: Option<Finding>,
}

/// A call that a tool ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Seen {
    key: Key,
    outcome: Outcome,
    /// What it wrote, if it did: a file that is new the first time and replaced the second is the same file.
    wrote: Vec<Fact>,
    /// Else what the model reads.
    text: Text,
}

/// What a call asks for: equal for two that differ in blanks and the order of keys alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    tool: Text,
    arguments: Text,
}

/// A tool that fails and fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Failing {
    times: u32,
    /// The reply whose call failed first.
    since: Seq,
    /// The reply whose call failed last.
    last: Seq,
    /// What failed last was a command that came to its own end.
    is_of_command: bool,
}

/// What is wrong with a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// These tools were called in turn, to no new result, so many times.
    Calls {
        /// The block, from its first call on.
        tools: Vec<Text>,
        /// How often its first call came.
        times: usize,
    },
    /// A reply said the same again and again.
    Reply,
    /// This tool failed so many times running.
    Tool {
        /// Which.
        tool: Text,
        /// How often.
        times: u32,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls { tools, times } => {
                if let [tool] = tools.as_slice() {
                    write!(f, "{tool} was called {times} times")?;
                } else {
                    write!(f, "{} were called in turn {times} times", names(tools))?;
                }
                f.write_str(" with the same arguments, and the result was the same each time")
            }
            Self::Reply => f.write_str("the reply said the same again and again"),
            Self::Tool { tool, times } => write!(f, "{tool} failed {times} times running"),
        }
    }
}

fn is_own_end(fact: &Fact) -> bool {
    match fact {
        Fact::Ran { exit, .. } => exit.is_some(),
        Fact::Wrote { .. } | Fact::NotWritten { .. } | Fact::Child { .. } | Fact::Remembered { .. } => false,
    }
}

fn names(tools: &[Text]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
    names.join(", ")
}

/// What a call is to the guard when its result comes.
pub(crate) struct Ended<'a> {
    pub(crate) key: Key,
    pub(crate) result: &'a ToolResult,
    pub(crate) reply: Seq,
    pub(crate) rerun: Again,
}

/// Whether running a call once more does any harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Free,
    Costly,
}

impl Seen {
    fn new(key: Key, result: &ToolResult) -> Self {
        let is_write = |fact: &&Fact| matches!(fact, Fact::Wrote { .. });
        let wrote: Vec<Fact> = result.facts.iter().filter(is_write).cloned().collect();
        let text = if wrote.is_empty() { result.text.text().clone() } else { Text::default() };
        Self { key, outcome: result.outcome, wrote, text }
    }
}

impl Key {
    pub(crate) fn new(tool: &Text, arguments: &str) -> Self {
        Self { tool: tool.clone(), arguments: canonical::canonical(arguments).into() }
    }
}

impl Guard {
    /// How many calls of the open reply are in.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// A new reply came.
    pub(crate) fn replied(&mut self) {
        self.taken = 0;
    }

    /// A reply was cut because it repeated itself.
    pub(crate) fn cut(&mut self) {
        self.cut_replies += 1;
        self.is_cut = true;
    }

    /// A person said something for the next step: what the model does again may be what it was asked for. What a
    /// program or a job says is no watch: it could keep a loop going for ever.
    pub(crate) fn heard(&mut self, said: &Said) {
        if said.when != When::NextStep || said.from != Speaker::Person || said.content.is_empty() {
            return;
        }
        self.last.clear();
        self.equal = [0; PERIODS];
        self.is_told = false;
        self.is_stuck = false;
        self.failing.clear();
    }

    /// The model is told.
    pub(crate) fn told(&mut self) {
        if self.is_cut {
            self.is_cut = false;
        } else {
            self.is_told = true;
        }
    }

    /// Takes the next call of the open reply in.
    pub(crate) fn take(&mut self, ended: Ended<'_>) {
        self.taken += 1;
        let Ended { key, result, reply, rerun } = ended;
        self.count_failure(&key.tool, result, reply);
        let seen = match result.outcome {
            Outcome::NeverBegan => match self.repeated(&key) {
                Some(seen) if rerun == Again::Costly => seen.clone(),
                Some(_) | None => return,
            },
            Outcome::CutShort => return,
            Outcome::Ok
            | Outcome::Empty
            | Outcome::Error
            | Outcome::Denied
            | Outcome::Invalid
            | Outcome::TimedOut
            | Outcome::Unknown => Seen::new(key, result),
        };
        let before = self.last.iter().rev().map(Some).chain(std::iter::repeat(None));
        for (equal, earlier) in self.equal.iter_mut().zip(before) {
            *equal = if earlier == Some(&seen) { *equal + 1 } else { 0 };
        }
        self.last.push_back(seen);
        if self.last.len() > PERIODS {
            self.last.pop_front();
        }
        self.is_told &= self.block().is_some();
        self.is_stuck = self.is_told && self.goes_on_and_on();
    }

    fn count_failure(&mut self, tool: &Text, result: &ToolResult, reply: Seq) {
        match result.outcome {
            // Tests that still fail after the next edit are work: a command that ended is forgotten once
            // anything goes well, a tool that could not do what it was asked only if it does.
            Outcome::Ok | Outcome::Empty => {
                self.failing.retain(|name, failing| name != tool && !failing.is_of_command);
            }
            Outcome::Error | Outcome::Invalid | Outcome::TimedOut | Outcome::Unknown => {
                if !self.failing.contains_key(tool) && self.failing.len() >= TOOLS {
                    let oldest = self.failing.iter().min_by_key(|(_, failing)| failing.last);
                    let oldest = oldest.map(|(tool, _)| tool.clone());
                    oldest.map(|tool| self.failing.remove(&tool));
                }
                let first = Failing { times: 0, since: reply, last: reply, is_of_command: false };
                let failing = self.failing.entry(tool.clone()).or_insert(first);
                failing.times = failing.times.saturating_add(1);
                failing.last = reply;
                failing.is_of_command = result.facts.iter().any(is_own_end);
            }
            // The tool did nothing wrong: somebody said no, or stopped it.
            Outcome::Denied | Outcome::NeverBegan | Outcome::CutShort => {}
        }
    }

    /// The length of the shortest block that the row ends with, often enough to be told.
    fn block(&self) -> Option<usize> {
        let lengths = (1..).zip(&self.equal);
        let mut often = lengths.filter(|(length, equal)| **equal >= (TOLD_AT - 1) * length);
        often.next().map(|(length, _)| length)
    }

    /// The call that this one would repeat, if the row ends with a block that it would begin or go on
    /// with once more.
    fn repeated(&self, key: &Key) -> Option<&Seen> {
        let lengths = (1..=PERIODS).zip(&self.equal);
        let often = lengths.filter(|(length, equal)| **equal >= (TOLD_AT - 1) * length);
        let mut before = often.filter_map(|(length, _)| self.last.iter().rev().nth(length - 1));
        before.find(|seen| seen.key == *key)
    }

    /// True if a call should not be run.
    pub(crate) fn refuses(&self, key: &Key) -> bool {
        self.repeated(key).is_some()
    }

    /// True if the model is to be told.
    pub(crate) fn warns(&self) -> bool {
        self.is_cut || (!self.is_told && self.block().is_some())
    }

    /// What the model is to be told.
    pub(crate) fn warning(&self) -> Option<Finding> {
        if self.is_cut { Some(Finding::Reply) } else { self.calls() }
    }

    /// Why the turn ends, if it does for what was taken in last.
    pub(crate) fn judge(&mut self) -> Option<StopReason> {
        let stuck = self.stuck().map(|found| (StopReason::Stuck, found));
        let failed = || self.tool_failed().map(|found| (StopReason::ToolFailed, found));
        let (reason, found) = stuck.or_else(failed)?;
        // Kept, for the calls that stop with the turn still come in.
        self.found = Some(found);
        Some(reason)
    }

    /// What the turn was ended for.
    pub(crate) fn found(&self) -> Option<&Finding> {
        self.found.as_ref()
    }

    fn stuck(&self) -> Option<Finding> {
        if self.cut_replies >= CUT_REPLIES {
            return Some(Finding::Reply);
        }
        if self.is_stuck { self.calls() } else { None }
    }

    fn goes_on_and_on(&self) -> bool {
        let Some(length) = self.block() else { return false };
        self.equal.get(length - 1).is_some_and(|equal| *equal > (STUCK_AT - 2) * length)
    }

    /// The tool that failed too often, with failures that the model has seen.
    fn tool_failed(&self) -> Option<Finding> {
        let mut failing = self.failing.iter();
        let seen = |failing: &Failing| failing.times >= FAILURES && failing.since < failing.last;
        let (tool, failing) = failing.find(|(_, failing)| seen(failing))?;
        Some(Finding::Tool { tool: tool.clone(), times: failing.times })
    }

    fn calls(&self) -> Option<Finding> {
        let length = self.block()?;
        let count = self.equal.get(length - 1)? + length;
        let from = self.last.len().saturating_sub(length);
        let mut tools: Vec<Text> = self.last.iter().skip(from).map(|seen| seen.key.tool.clone()).collect();
        // From the call on with which the row began.
        tools.rotate_left((length - count % length) % length);
        Some(Finding::Calls { tools, times: count.div_ceil(length) })
    }
}
