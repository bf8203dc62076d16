//! What a turn writes on: the next seq, the entries and effects of this input, and the little that a
//! turn must see of its session.

use std::collections::{BTreeSet, VecDeque};

use crate::entry::{Body, Cause, Entry, Keep, Setting, SettingSource, When};
use crate::id::{RequestId, Seq};
use crate::learnt::{Learnt, Parameter};
use crate::request::{Break, Target};
use crate::time::Time;
use crate::transcript::ClosedStep;
use crate::turn::Effect;

/// The outgoing side of a session. Every entry but the store's own gets its number here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Journal {
    pub(crate) now: Time,
    next: Seq,
    effects: VecDeque<Effect>,
    /// Synced appends that are out, each by its last entry.
    unanswered: VecDeque<Seq>,
    /// Entries of this input that the session has not taken in yet.
    fresh: Vec<Fresh>,
    armed: Option<Time>,
    pub(crate) view: View,
}

/// An entry just made, with the step that it closes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fresh {
    pub(crate) entry: Entry,
    pub(crate) closed: Option<ClosedStep>,
}

/// What a turn sees of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct View {
    /// The head in force.
    pub(crate) head: Option<Seq>,
    /// What was said for the next step and waits.
    pub(crate) steers: BTreeSet<Seq>,
    /// The last request.
    pub(crate) last_request: Option<LastRequest>,
    /// What was learnt of each target that was asked.
    learnt: Vec<(Target, Learnt)>,
    /// Whether the leaf moved since.
    pub(crate) leaf_moved: bool,
}

/// What the next request is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LastRequest {
    id: RequestId,
    head: Seq,
    target: Target,
    learnt: Learnt,
    /// The output cap that was sent with it, in tokens.
    max_output: Option<u64>,
}

impl View {
    /// Takes an entry in: as it is written, so that what comes next in the same breath sees it.
    pub(crate) fn see(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Head(_) => self.head = Some(entry.seq),
            Body::Said(said) => {
                if let Some(withdrawn) = said.withdraws {
                    self.steers.remove(&withdrawn);
                }
                if said.when == When::NextStep && !said.content.is_empty() {
                    self.steers.insert(entry.seq);
                }
            }
            Body::TurnStart(start) => {
                if let Cause::Said { said } = start.cause {
                    self.steers.retain(|steer| *steer > said);
                }
            }
            Body::Request(request) => {
                self.steers.retain(|steer| *steer > request.upto);
                let (target, learnt) = (request.target.clone(), self.learnt(&request.target));
                let id = RequestId(entry.seq);
                let max_output = request.tail.max_output;
                self.last_request = Some(LastRequest { id, head: request.head, target, learnt, max_output });
                self.leaf_moved = false;
                self.forget_room();
            }
            Body::Leaf(leaf) => {
                self.leaf_moved = true;
                self.steers.retain(|steer| Some(*steer) != leaf.to);
            }
            Body::Setting(setting) => self.learn(setting),
            Body::TurnEnd(_) => self.forget_room(),
            Body::SessionStart(_)
            | Body::Open(_)
            | Body::LimitAdded(_)
            | Body::Note(_)
            | Body::Partial(_)
            | Body::RequestEnd(_)
            | Body::Reply(_)
            | Body::Call(_)
            | Body::Decision(_)
            | Body::ToolStart(_)
            | Body::ToolResult(_)
            | Body::Unknown(_) => {}
        }
    }

    /// The breaks that a request to `target` with `head` must name (I8).
    pub(crate) fn breaks(&self, head: Seq, target: &Target) -> Vec<Break> {
        let Some(last) = &self.last_request else { return Vec::new() };
        let sends_reasoning = |learnt: &Learnt| learnt.sends(Parameter::ReasoningBack);
        let is_same = *target == last.target;
        let drops_reasoning =
            is_same && sends_reasoning(&last.learnt) && !sends_reasoning(&self.learnt(target));
        [
            (head != last.head, Break::Head),
            (!is_same, Break::Target),
            (self.leaf_moved, Break::Leaf),
            (drops_reasoning, Break::Reasoning),
        ]
        .into_iter()
        .filter_map(|(is_broken, name)| is_broken.then_some(name))
        .collect()
    }
}

impl View {
    /// What was learnt of a target.
    pub(crate) fn learnt(&self, target: &Target) -> Learnt {
        let known = self.learnt.iter().find(|(known, _)| known == target);
        known.map(|(_, learnt)| learnt.clone()).unwrap_or_default()
    }

    /// The output cap that this request was sent with, if it is the last one.
    pub(crate) fn max_output_of(&self, request: RequestId) -> Option<u64> {
        self.last_request.as_ref().filter(|last| last.id == request)?.max_output
    }

    /// What a server counted is the room of one request.
    fn forget_room(&mut self) {
        for (_, learnt) in &mut self.learnt {
            learnt.room = None;
        }
    }

    /// A setting tells its request; if the line of that is damaged nobody knows whom it is about.
    fn learn(&mut self, setting: &Setting) {
        let SettingSource::Learnt { request } = setting.by else { return };
        let Some(last) = self.last_request.as_ref().filter(|last| last.id == request) else { return };
        let mut learnt = self.learnt(&last.target);
        learnt.take_in(setting);
        match self.learnt.iter_mut().find(|(known, _)| *known == last.target) {
            Some((_, known)) => *known = learnt,
            None => self.learnt.push((last.target.clone(), learnt)),
        }
    }
}

impl Journal {
    /// The number that the next entry gets.
    pub(crate) fn next_seq(&self) -> Seq {
        self.next
    }

    /// The number of the last entry.
    pub(crate) fn last_seq(&self) -> Seq {
        Seq(self.next.0.saturating_sub(1))
    }

    /// Goes on after an entry of the log.
    pub(crate) fn follow(&mut self, entry: &Entry) {
        self.next = self.next.max(entry.seq.next());
        self.view.see(entry);
    }

    /// Makes an entry. It joins the append before it, if nothing came between.
    pub(crate) fn entry(&mut self, body: Body) -> Entry {
        let entry = Entry { seq: self.next, at: self.now, body };
        self.next = entry.seq.next();
        self.view.see(&entry);
        let keep = entry.body.keep();
        if let Some(Effect::Append { entries, keep: together }) = self.effects.back_mut() {
            entries.push(entry.clone());
            *together = keep.max(*together);
        } else {
            self.effects.push_back(Effect::Append { entries: vec![entry.clone()], keep });
        }
        entry
    }

    /// Leaves an entry for the session to take in.
    pub(crate) fn leave(&mut self, entry: Entry, closed: Option<ClosedStep>) {
        self.fresh.push(Fresh { entry, closed });
    }

    pub(crate) fn take_fresh(&mut self) -> Vec<Fresh> {
        std::mem::take(&mut self.fresh)
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        // What still runs ends with the run, its timer too.
        if matches!(effect, Effect::Finish(_)) {
            self.armed = None;
        }
        self.effects.push_back(effect);
    }

    /// Sets the timer, if it is not set to that time already.
    pub(crate) fn wake_at(&mut self, due: Time) {
        if self.armed != Some(due) {
            self.armed = Some(due);
            self.push(Effect::WakeAt(due));
        }
    }

    /// The timer went off.
    pub(crate) fn woke(&mut self) {
        self.armed = None;
    }

    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        let effect = self.effects.pop_front()?;
        if let Effect::Append { entries, keep: Keep::Synced } = &effect
            && let Some(last) = entries.last()
        {
            self.unanswered.push_back(last.seq);
        }
        Some(effect)
    }

    /// Takes an answer to a synced append: `false` if it is not the one that comes next.
    pub(crate) fn appended(&mut self, upto: Seq) -> bool {
        let is_next = self.unanswered.front() == Some(&upto);
        if is_next {
            self.unanswered.pop_front();
        }
        is_next
    }

    /// The log failed: nothing more is written, and no answer is waited for.
    pub(crate) fn forget_unanswered(&mut self) {
        self.unanswered.clear();
        self.effects.clear();
    }
}
