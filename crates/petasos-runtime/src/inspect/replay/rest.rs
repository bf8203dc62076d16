//! Which input led to an entry while no run was under way, or while one ended.

use petasos_core::approval::Answer;
use petasos_core::budget::Limits;
use petasos_core::entry::{Body, Cause, Content, Entry, Leaf, LeafReason, Said, Speaker, When};
use petasos_core::stop::StopReason;
use petasos_core::text::Text;
use petasos_core::turn::{Input, Turn};

use super::drive::{Given, Point};
use super::entries::{self, Log};

impl Point {
    pub(super) fn ending(&self, log: &Log<'_>, entry: &Entry) -> Vec<Given> {
        let is_limit = matches!(entry.body, Body::LimitAdded(_));
        let next = log.process(self.at).nth(1);
        let start = next.and_then(|next| entries::turn_start(next).filter(|_| next.at == entry.at));
        let goes_on = is_limit && start.is_some_and(|start| matches!(start.cause, Cause::Continues { .. }));
        let may_be_at_work = is_limit || matches!(entry.body, Body::Said(_) | Body::Setting(_));
        let mut given = if may_be_at_work && !goes_on { self.common(log, entry) } else { Vec::new() };
        given.extend(self.answered(log, entry));
        given
    }

    pub(super) fn at_rest(&self, log: &Log<'_>, entry: &Entry) -> Option<Input> {
        if let Some(said) = entries::said(entry) {
            return Some(Input::Say(said.clone()));
        }
        if let Some(start) = entries::turn_start(entry) {
            let goes_on = Input::Continue { add: Limits::default() };
            return match start.cause {
                // What waits is begun by a retry, where there is a turn that would go on instead.
                Cause::Said { .. } if self.would_go_on() => Some(Input::Retry),
                Cause::Said { .. } => Some(goes_on),
                Cause::Continues { .. } => Some(self.answer_to_question(log).map_or(goes_on, Input::Say)),
                Cause::Retry => None,
            };
        }
        if let Body::LimitAdded(limit) = &entry.body {
            return Some(Input::Continue { add: limit.add.clone() });
        }
        if let Some(decision) = entries::decision(entry) {
            let (call, answer, shown) = (decision.call, decision.answer.clone(), decision.shown);
            return Some(Input::Decide { call, answer, shown });
        }
        if let Some(setting) = entries::set_by_person(entry) {
            return Some(Input::Set(setting.clone()));
        }
        if let Body::Leaf(leaf) = &entry.body {
            return moves(leaf);
        }
        // What an earlier run left open is closed before something else takes its place.
        closes(entry).then(|| self.takes_its_place(log))
    }

    fn would_go_on(&self) -> bool {
        let goes_on = |turn: &Turn| turn.told().ended.is_none_or(StopReason::is_continuable);
        self.session.turn().is_some_and(goes_on)
    }

    /// What is said instead of what was open. If the log ends before it tells, anything would do.
    fn takes_its_place(&self, log: &Log<'_>) -> Input {
        let next = log.process(self.at).find(|entry| !closes(entry));
        if let Some(Body::Leaf(leaf)) = next.map(|next| &next.body)
            && let Some(input) = moves(leaf)
        {
            return input;
        }
        if let Some(said) = next.and_then(entries::said) {
            return Input::Say(said.clone());
        }
        match next.and_then(entries::turn_start) {
            Some(_) => Input::Continue { add: Limits::default() },
            None => Input::Say(plain(Speaker::Person, "?".into())),
        }
    }

    /// A message that is the answer to a parked question leaves no `said`.
    fn answer_to_question(&self, log: &Log<'_>) -> Option<Said> {
        let told = self.session.turn()?.told();
        if told.ended != Some(StopReason::AwaitingAnswer) {
            return None;
        }
        let mut next = log.process(self.at);
        let (start, next) = (next.next()?, next.next()?);
        // Later it is a decision about a question that was asked again.
        let decision = entries::decision(next).filter(|_| next.at == start.at)?;
        match &decision.answer {
            Answer::Text(text) => Some(plain(decision.by, text.clone())),
            Answer::Yes { .. } | Answer::No { .. } | Answer::NoAndStop => None,
        }
    }
}

/// What moved the leaf; none for a fork, which is made with its session.
fn moves(leaf: &Leaf) -> Option<Input> {
    match leaf.why {
        LeafReason::Person => leaf.to.map(Input::GoTo),
        LeafReason::Undo => Some(Input::Undo),
        LeafReason::Retry => Some(Input::Retry),
        LeafReason::Fork => None,
    }
}

/// True for what is written of a run that is not under way any more.
pub(super) fn closes(entry: &Entry) -> bool {
    matches!(entry.body, Body::RequestEnd(_) | Body::ToolResult(_) | Body::TurnEnd(_))
}

fn plain(from: Speaker, text: Text) -> Said {
    Said { from, content: vec![Content::Text(text)], notes: Vec::new(), when: When::Now, withdraws: None }
}
