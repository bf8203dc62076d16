//! The open step, as its entries tell it.

use std::sync::Arc;

use crate::approval::Answer;
use crate::budget::Worst;
use crate::claims::Rerun;
use crate::entry::{
    Block, Call, Decision, FinishReason, ModelCall, Reply, ToolResult, ToolStart, VerdictKind,
};
use crate::id::{CallId, RequestId, Seq};
use crate::request::{Purpose, Target};
use crate::time::{Span, Time};
use crate::transcript::ClosedStep;

/// What is open between two closed steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenStep {
    /// The last request's purpose and try, until a reply comes.
    pub tried: Option<(Purpose, u32)>,
    /// The request that has no end yet.
    pub request: Option<OpenRequest>,
    /// When a failed request is made again.
    pub retry: Option<Retry>,
    /// The reply whose calls are open, or that the turn has not acted on yet.
    pub reply: Option<OpenReply>,
}

/// When a failed request is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retry {
    /// The time, by the clock of the process that failed.
    pub until: Time,
    /// How long a wait that was.
    pub wait: Span,
}

impl Retry {
    /// The same in a process that goes on at `at`: where the clock was set back meanwhile, the whole wait begins there
    /// and is no longer than it was.
    pub(crate) fn from(self, at: Time) -> Self {
        Self { until: self.until.min(at.after(self.wait)), ..self }
    }
}

/// A request without its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenRequest {
    /// Which.
    pub id: RequestId,
    /// What for.
    pub purpose: Purpose,
    /// Whom.
    pub target: Arc<Target>,
    /// What is held for it.
    pub reserved: Worst,
    /// The text that `partial` entries kept.
    pub partial: String,
}

/// A reply with what became of its calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenReply {
    /// Its entry.
    pub seq: Seq,
    /// What its request was for.
    pub purpose: Purpose,
    /// Whom its request went to; none if that line is damaged.
    pub target: Option<Arc<Target>>,
    /// What the model answered.
    pub reply: Arc<Reply>,
    /// Its calls, in order.
    pub calls: Vec<OpenCall>,
    /// It was cut because it repeated itself.
    pub is_repeating: bool,
}

/// What the entries tell of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenCall {
    /// Its claims and verdict.
    pub call: Option<Arc<Call>>,
    /// What a person decided.
    pub decision: Option<Arc<Decision>>,
    /// That it began.
    pub start: Option<Arc<ToolStart>>,
    /// How it ended.
    pub result: Option<(Seq, Arc<ToolResult>)>,
}

impl OpenStep {
    /// The number of the next try for this purpose, from 1.
    pub fn next_attempt(&self, purpose: Purpose) -> u32 {
        match self.tried {
            Some((tried, attempt)) if tried == purpose => attempt.saturating_add(1),
            Some(_) | None => 1,
        }
    }

    /// What the entries tell of a call, if it is one of the open reply's.
    pub fn call(&self, id: CallId) -> Option<&OpenCall> {
        self.reply.as_ref().filter(|reply| reply.seq == id.reply)?.calls.get(usize::from(id.place))
    }

    pub(crate) fn call_mut(&mut self, id: CallId) -> Option<&mut OpenCall> {
        self.reply.as_mut().filter(|reply| reply.seq == id.reply)?.calls.get_mut(usize::from(id.place))
    }

    /// True if the open reply has calls without a result.
    pub fn has_open_calls(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.calls.iter().any(|call| call.result.is_none()))
    }
}

impl OpenCall {
    /// False if what is told of it shows that it had not begun, or may run again anyway.
    pub(crate) fn may_have_begun(&self) -> bool {
        let Some(call) = &self.call else { return true };
        let is_yes = |decision: &Arc<Decision>| matches!(decision.answer, Answer::Yes { .. });
        match call.verdict {
            VerdictKind::Deny | VerdictKind::Hardline | VerdictKind::Invalid => false,
            VerdictKind::Ask => self.decision.as_ref().is_some_and(is_yes),
            VerdictKind::Allow => call.claims.rerun != Rerun::Free,
        }
    }
}

/// What the request of a reply was for, and whom it went to, if its line tells.
pub(crate) type Asked = (Purpose, Option<Arc<Target>>);

impl OpenReply {
    pub(crate) fn new(seq: Seq, (purpose, target): Asked, reply: Arc<Reply>) -> Self {
        // A reply of ours never comes near this; a log from elsewhere may hold anything.
        let count = made_calls(&reply).take(usize::from(u16::MAX)).count();
        let calls = vec![OpenCall::default(); count];
        Self { seq, purpose, target, reply, calls, is_repeating: false }
    }

    /// The id of the call at a place.
    pub fn call_id(&self, place: usize) -> CallId {
        CallId { reply: self.seq, place: u16::try_from(place).unwrap_or(u16::MAX) }
    }

    /// The call at a place, as the model made it.
    pub fn made(&self, place: usize) -> Option<&ModelCall> {
        made_calls(&self.reply).nth(place)
    }

    /// The step, once every call has its result: in the order of the calls, whenever they ended (I1).
    pub(crate) fn close(&self) -> Option<ClosedStep> {
        let results: Option<Vec<_>> = self.calls.iter().map(|call| call.result.clone()).collect();
        let results = results?;
        let last = results.iter().map(|(seq, _)| *seq).max().unwrap_or(self.seq);
        let results = results.into_iter().map(|(_, result)| result).collect();
        let changed = self.calls.iter().map(|call| {
            let is_changed = |call: &&Arc<Call>| !call.changed_by.is_empty();
            call.call.as_ref().filter(is_changed).map(Arc::clone)
        });
        let (target, reply, changed) = (self.target.clone(), Arc::clone(&self.reply), changed.collect());
        Some(ClosedStep { reply_seq: self.seq, target, reply, changed, results, last })
    }

    /// True if it holds text that a person can see.
    pub(crate) fn has_text(&self) -> bool {
        has_text(&self.reply)
    }
}

/// The calls of a reply, in order.
pub fn made_calls(reply: &Reply) -> impl Iterator<Item = &ModelCall> {
    reply.blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) => None,
    })
}

/// True if a reply holds text that a person can see.
pub(crate) fn has_text(reply: &Reply) -> bool {
    reply.blocks.iter().any(|block| match block {
        Block::Text(text) => !text.is_blank(),
        Block::Reasoning(_) | Block::Opaque(_) | Block::Call(_) => false,
    })
}

/// True if a reply ended before the model was done.
pub(crate) fn is_cut_short(finish: &FinishReason) -> bool {
    match finish {
        FinishReason::Length | FinishReason::Cut => true,
        FinishReason::Stop | FinishReason::ToolUse | FinishReason::Refused | FinishReason::Other(_) => false,
    }
}
