//! Inputs that a log does not hold as such, made of the entries that they led to.

use std::collections::VecDeque;

use petasos_core::approval::{Action, Grants, Policy, Prepared, Proposal, Rule, Verdict, Wants, judge};
use petasos_core::bounded::Bounded;
use petasos_core::claims::{Access, Claims, Place, Rerun};
use petasos_core::entry::{
    Block, Call, Charge, ModelCall, Next, Reply, RequestEnd, RequestOutcome, ToolResult, VerdictKind,
};
use petasos_core::id::{CallId, Digest};
use petasos_core::learnt::Adapt;
use petasos_core::stop::FailureKind;
use petasos_core::text::{Json, Text};
use petasos_core::time::{Span, Time};
use petasos_core::tool::ToolOutput;
use petasos_core::turn::{Delta, Failure, LONGEST_ASKED, Remedy, ReplyEnd};
use petasos_core::usage::Usage;

/// The pieces of a reply: each block as one, a call as its three.
pub(super) fn deltas_of(reply: &Reply) -> VecDeque<Delta> {
    let mut deltas = VecDeque::new();
    let mut place = 0;
    for block in &reply.blocks {
        match block {
            Block::Text(text) => deltas.push_back(Delta::Text(text.clone())),
            Block::Reasoning(text) => deltas.push_back(Delta::Reasoning(text.clone())),
            Block::Opaque(opaque) => deltas.push_back(Delta::Opaque(opaque.clone())),
            Block::Call(ModelCall { wire_id, name, arguments, form, complete }) => {
                let (wire_id, name, form) = (wire_id.clone(), name.clone(), *form);
                deltas.push_back(Delta::Call { wire_id, name, form });
                if !arguments.is_empty() {
                    deltas.push_back(Delta::Arguments { place, text: arguments.clone() });
                }
                if *complete {
                    deltas.push_back(Delta::CallComplete { place });
                }
                place += 1;
            }
        }
    }
    deltas.extend(reply.raw.clone().map(Delta::Raw));
    deltas
}

fn reported(charge: Charge) -> Option<Usage> {
    match charge {
        Charge::Reported(usage) => Some(usage),
        Charge::Reserved(_) => None,
    }
}

/// The end of a reply. `window`: what was learnt from it.
pub(super) fn end_of(reply: &Reply, window: Option<Adapt>) -> ReplyEnd {
    let window = match window {
        // Older logs have it under the name of a window that an error told.
        Some(Adapt::Seen(tokens) | Adapt::Window(tokens) | Adapt::Room { window: tokens, .. }) => {
            Some(tokens)
        }
        Some(Adapt::MaxOutput(_) | Adapt::OtherCapName | Adapt::Without(_)) | None => None,
    };
    ReplyEnd {
        finish: reply.finish.clone(),
        usage: reported(reply.usage),
        micro_usd: reply.micro_usd,
        timing: reply.timing,
        model: reply.model.clone(),
        window,
    }
}

/// The failure that a `request_end` tells, at its time. How long the provider asked to wait is not in the log: it
/// is what makes the wait that is. `learnt`: the setting that stands before it.
pub(super) fn failure_of(end: &RequestEnd, at: Time, learnt: Option<Adapt>) -> Option<Failure> {
    let RequestOutcome::Failed { kind, status, message } = &end.outcome else { return None };
    let (retry_after, next_target) = match end.next {
        Next::AgainAt(again) => (Some(again.since(at)), None),
        Next::Adapt => (None, None),
        // No wait was worth while.
        Next::Fallback => (Some(LONGEST_ASKED), Some(Remedy::NextTarget)),
        Next::GiveUp => (Some(LONGEST_ASKED.plus(Span::seconds(1))), None),
    };
    let remedy = learnt.map(Remedy::Adapt).or(next_target);
    Some(Failure {
        kind: *kind,
        status: *status,
        message: message.text().clone(),
        retry_after,
        remedy,
        usage: reported(end.usage),
        micro_usd: end.micro_usd,
    })
}

/// A failure that taught something, where the log ends before it tells of the failure.
pub(super) fn taught(adapt: Adapt) -> Failure {
    Failure {
        kind: FailureKind::BadRequest,
        status: None,
        message: Text::default(),
        retry_after: None,
        remedy: Some(Remedy::Adapt(adapt)),
        usage: None,
        micro_usd: None,
    }
}

/// What a tool told when it ended.
pub(super) fn output_of(result: &ToolResult) -> ToolOutput {
    ToolOutput {
        outcome: result.outcome,
        for_model: result.text.clone(),
        bytes: result.bytes,
        blob: result.blob.clone(),
        facts: result.facts.clone(),
        took: result.took,
    }
}

/// The call as it was proposed, by its entry.
pub(super) fn proposal_of(call: &Call, made: &ModelCall, wants: Wants) -> Option<Proposal> {
    Some(Proposal {
        call: call.call,
        tool: call.tool.clone(),
        arguments: call.arguments.clone().or_else(|| arguments_of(made))?,
        changed_by: call.changed_by.clone(),
        claims: call.claims.clone(),
        shown: call.shown,
        wants,
        at_least: Action::Allow,
    })
}

/// A free call that was allowed as the model made it: the log needs no entry for it, so what it touches is only
/// known as far as others waited for it.
pub(super) fn free_proposal(call: CallId, made: &ModelCall, claims: Claims) -> Option<Proposal> {
    Some(Proposal {
        call,
        tool: made.name.clone(),
        arguments: arguments_of(made)?,
        changed_by: Vec::new(),
        claims,
        shown: Digest([0; 32]),
        wants: Wants::Approval,
        at_least: Action::Allow,
    })
}

/// Claims that keep these calls waiting.
pub(super) fn in_the_way_of<'a>(others: impl IntoIterator<Item = &'a Claims>) -> Claims {
    let mut claims =
        Claims { rerun: Rerun::Free, places: Vec::new(), alone: false, argv: Vec::new(), probe: None };
    for other in others {
        let written = other.places.iter().filter(|place| place.access == Access::Write);
        let reads: Vec<Place> =
            written.map(|place| Place { access: Access::Read, ..place.clone() }).collect();
        claims.alone |= reads.is_empty() && !other.alone;
        claims.places.extend(reads);
    }
    claims
}

/// What the model wrote, or nothing where that is no JSON: such arguments stand in the entry of their call.
fn arguments_of(made: &ModelCall) -> Option<Json> {
    Json::try_from(made.arguments.clone()).or_else(|_| Json::try_from("{}")).ok()
}

/// The verdict that the log tells, given by a policy of that one rule.
pub(super) fn judged(proposal: Proposal, verdict: VerdictKind, rule: &Text, policy: Digest) -> Prepared {
    let action = match verdict {
        VerdictKind::Allow => Action::Allow,
        VerdictKind::Ask => Action::Ask,
        VerdictKind::Deny | VerdictKind::Invalid => Action::Deny,
        VerdictKind::Hardline => Action::Hardline,
    };
    let rules = vec![Rule { tool: "*".into(), action, name: rule.clone() }];
    judge(&Policy { rules, hash: policy }, &Grants::default(), proposal)
}

/// The verdict on a call that could not be understood.
pub(super) fn invalid(text: Bounded) -> Prepared {
    Prepared { verdict: Verdict::Invalid(text), rule: "arguments".into(), policy: Digest([0; 32]) }
}
