//! The row of a turn's calls, kept whole and looked at by brute force: what guards should see in it (L10).

use std::collections::BTreeMap;

use petasos_core::claims::Rerun;
use petasos_core::entry::{
    Block, Body, Call, Cause, Entry, FinishReason, ModelCall, Reply, Said, Speaker, ToolResult, When,
};
use petasos_core::guard::{CUT_REPLIES, FAILURES, PERIODS, STUCK_AT, TOLD_AT};
use petasos_core::id::Seq;
use petasos_core::request::Purpose;
use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};
use petasos_core::turn::{Guards, made_calls};

/// Tool, arguments, outcome, result.
type Seen = (Text, Text, Outcome, Text);

/// The row of a turn's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row {
    guards: Guards,
    seen: Vec<Seen>,
    is_told: bool,
    /// What ends the turn is so from then on, whatever still comes in.
    is_stuck: bool,
    has_failed: bool,
    /// For each tool that failed the last time: how often, the replies of the first and the last, and whether that was
    /// a command that ended.
    failing: BTreeMap<Text, (u32, Seq, Seq, bool)>,
    cut_replies: u32,
    is_cut: bool,
    /// The last request was a closing call, which ends its turn whatever comes of it.
    is_closing: bool,
    /// The last reply's calls, in order.
    calls: Vec<(ModelCall, Option<Call>, Option<ToolResult>)>,
    taken: usize,
}

impl Row {
    /// Takes an entry in.
    pub fn apply(&mut self, entry: &Entry) {
        match &entry.body {
            Body::TurnStart(start) => {
                if !matches!(start.cause, Cause::Continues { .. }) {
                    *self = Self::default();
                }
                self.guards = start.mode.guards;
            }
            Body::Said(said) if is_word_of_a_person(said) => {
                self.seen.clear();
                self.failing.clear();
                self.is_told = false;
            }
            Body::Note(note) if note.source == petasos_core::entry::NoteSource::Guard => {
                if self.is_cut {
                    self.is_cut = false;
                } else {
                    self.is_told = true;
                }
            }
            // Who goes on after another end is judged by what comes then.
            Body::TurnEnd(_) => (self.is_stuck, self.has_failed) = (false, false),
            Body::Request(request) => self.is_closing = request.purpose == Purpose::Closing,
            Body::Reply(reply) => {
                self.calls = made_calls(reply).map(|call| (call.clone(), None, None)).collect();
                self.taken = 0;
                let may_be = self.guards == Guards::On && !self.is_closing;
                if may_be && reply.finish == FinishReason::Cut && is_one_word(reply) {
                    self.cut_replies += 1;
                    self.is_stuck |= self.cut_replies >= CUT_REPLIES;
                    self.is_cut = true;
                }
            }
            Body::Call(call) => {
                if let Some((_, known, _)) = self.calls.get_mut(usize::from(call.call.place)) {
                    *known = Some(call.clone());
                }
            }
            Body::ToolResult(result) => {
                if let Some((_, _, known)) = self.calls.get_mut(usize::from(result.call.place)) {
                    *known = Some(result.clone());
                }
                while let Some((made, call, Some(result))) = self.calls.get(self.taken).cloned() {
                    self.taken += 1;
                    self.take(&made, call.as_ref(), &result);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, made: &ModelCall, call: Option<&Call>, result: &ToolResult) {
        let (tool, arguments) = key(made, call);
        let reply = result.call.reply;
        match result.outcome {
            Outcome::Ok | Outcome::Empty => {
                self.failing.retain(|name, (.., of_command)| *name != tool && !*of_command)
            }
            Outcome::Error | Outcome::Invalid | Outcome::TimedOut | Outcome::Unknown => {
                let first = (0, reply, reply, false);
                let (times, _, last, of_command) = self.failing.entry(tool.clone()).or_insert(first);
                (*times, *last) = (*times + 1, reply);
                *of_command = result.facts.iter().any(|fact| matches!(fact, Fact::Ran { exit: Some(_), .. }));
            }
            Outcome::Denied | Outcome::NeverBegan | Outcome::CutShort => {}
        }
        let mut failing = self.failing.values();
        let often = failing.any(|(times, first, last, _)| *times >= FAILURES && first < last);
        self.has_failed |= self.guards == Guards::On && often;
        let seen = match result.outcome {
            Outcome::NeverBegan if self.leads_nowhere(made, call) => {
                let often = self.often().into_iter();
                let before = often.map(|length| self.seen[self.seen.len() - length].clone());
                let mut same = before.filter(|seen| (&seen.0, &seen.1) == (&tool, &arguments));
                same.next().unwrap()
            }
            Outcome::NeverBegan | Outcome::CutShort => return,
            outcome => {
                let wrote = result.facts.iter().filter(|fact| matches!(fact, Fact::Wrote { .. }));
                let wrote: String = wrote.map(|fact| format!("{fact:?}")).collect();
                let text = if wrote.is_empty() { result.text.text().clone() } else { wrote.into() };
                (tool, arguments, outcome, text)
            }
        };
        self.seen.push(seen);
        self.is_told &= !self.often().is_empty();
        let shortest = self.often().into_iter().next();
        let again = shortest.is_some_and(|length| self.run(length) > (STUCK_AT - 1) * length);
        self.is_stuck |= self.guards == Guards::On && self.is_told && again;
        // No block that matters is longer than this.
        let most = PERIODS * (STUCK_AT + 1);
        self.seen.drain(..self.seen.len().saturating_sub(most));
    }

    /// How many calls at the end of the row repeat what stands so many before.
    fn run(&self, length: usize) -> usize {
        let pairs = self.seen.iter().rev().zip(self.seen.iter().rev().skip(length));
        pairs.take_while(|(one, other)| one == other).count() + length
    }

    fn often(&self) -> Vec<usize> {
        (1..=PERIODS).filter(|length| self.run(*length) >= TOLD_AT * length).collect()
    }

    fn leads_nowhere(&self, made: &ModelCall, call: Option<&Call>) -> bool {
        let is_free = call.is_none_or(|call| call.claims.rerun == Rerun::Free);
        let (tool, arguments) = key(made, call);
        let mut before = self.often().into_iter().map(|length| &self.seen[self.seen.len() - length]);
        !is_free && before.any(|seen| (&seen.0, &seen.1) == (&tool, &arguments))
    }

    /// True if the call at this place of the last reply should not be run.
    pub fn is_in_vain(&self, place: u16) -> bool {
        let call = self.calls.get(usize::from(place));
        self.guards == Guards::On
            && call.is_some_and(|(made, call, _)| self.leads_nowhere(made, call.as_ref()))
    }

    /// True if the model should be told something before it is asked again.
    pub fn should_tell(&self) -> bool {
        self.guards == Guards::On && (self.is_cut || (!self.is_told && !self.often().is_empty()))
    }

    /// True if the turn should end `stuck`.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// True if the turn should end `tool_failed`.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }
}

fn is_word_of_a_person(said: &Said) -> bool {
    said.when == When::NextStep && said.from == Speaker::Person && !said.content.is_empty()
}

fn key(made: &ModelCall, call: Option<&Call>) -> (Text, Text) {
    let changed = call.and_then(|call| call.arguments.as_ref());
    let arguments = changed.map_or(&*made.arguments, |changed| changed.as_str());
    // No text in a world holds a blank that counts.
    let arguments: String = arguments.split_whitespace().collect();
    (call.map_or(&made.name, |call| &call.tool).clone(), arguments.into())
}

/// Worlds repeat themselves in one way: the same word without end.
fn is_one_word(reply: &Reply) -> bool {
    reply
        .blocks
        .iter()
        .any(|block| matches!(block, Block::Text(text) if text.contains(&AGAIN.repeat(AGAINS))))
}

/// What a reply that repeats itself says in a world, over and over.
pub const AGAIN: &str = "again and ";
/// How often, in one piece: enough for any guard, and less is not enough for some.
pub const AGAINS: usize = 512;
