//! The rows of the table that are about requests: measure → reserve → record → call → reply.

use crate::bounded::{Bounded, Cap};
use crate::budget::{Reservation, Used, Worst};
use crate::entry::NoteSource;
use crate::entry::{Charge, FinishReason, Next, Partial, Reply, Request, RequestEnd, RequestOutcome};
use crate::error::Rejected;
use crate::id::RequestId;
use crate::learnt::{Adapt, LEAST_ROOM, Parameter};
use crate::note::note;
use crate::request::{Draft, Measured, Params, Purpose, ToolChoice};
use crate::stop::{FailureKind, Limit, StopReason};
use crate::text::Text;
use crate::time::Permille;
use crate::turn::charge::{charge, used};
use crate::turn::end::end;
use crate::turn::pen::Pen;
use crate::turn::reply::{Grown, PartialReply};
use crate::turn::{
    Delta, Effect, Failure, Flow, Guards, OpenRequest, Passing, Phase, Remedy, ReplyEnd, retry,
};
use crate::usage::Usage;

/// Has the next request built and measured; the head first, if there is none.
pub(crate) fn measure(pen: &mut Pen<'_>, purpose: Purpose) -> Phase {
    let Some(head) = pen.journal.view.head else {
        pen.ask(Effect::BuildHead);
        return Phase::Opening;
    };
    let told = &*pen.told;
    let tool_choice = match purpose {
        Purpose::Step => ToolChoice::Auto,
        Purpose::Plan | Purpose::Verify | Purpose::Closing | Purpose::Summary => ToolChoice::Forbidden,
    };
    let draft = Draft {
        turn: told.id,
        step: told.account.steps.saturating_add(1),
        attempt: told.step.next_attempt(purpose),
        purpose,
        target: told.target().clone(),
        head,
        upto: pen.journal.last_seq(),
        params: Params { tool_choice },
        learnt: pen.journal.view.learnt(told.target()),
        breaks: pen.journal.view.breaks(head, told.target()),
    };
    pen.ask(Effect::Measure(draft.clone()));
    Phase::Measuring(draft)
}

/// `Measured`: what does not fit the model's window ends the turn; the rest is reserved.
pub(crate) fn measured(pen: &mut Pen<'_>, draft: &Draft, measured: Measured) -> Result<Flow, Rejected> {
    if !fits(draft, &measured) {
        let reason =
            pen.told.closing_limit().map_or(StopReason::ContextExhausted, StopReason::BudgetExhausted);
        return Ok(Flow::to(end(pen, reason)));
    }
    pen.ask(Effect::Reserve(Worst { purpose: draft.purpose, ..measured.worst }));
    Ok(Flow::to(Phase::Reserving { draft: draft.clone(), measured: Box::new(measured), stopped: None }))
}

/// True if the model takes the request and has room left for an answer.
fn fits(draft: &Draft, measured: &Measured) -> bool {
    // What the server counted counts before what is estimated.
    draft.learnt.room.is_some()
        || measured.window.is_none_or(|window| measured.tokens.saturating_add(LEAST_ROOM) <= window)
}

/// `Reserved`: the request is written, and sent once it is on disk.
pub(crate) fn reserved(
    pen: &mut Pen<'_>,
    draft: &Draft,
    measured: &Measured,
    reservation: &Reservation,
) -> Result<Flow, Rejected> {
    is_what_was_asked(draft, measured, reservation)?;
    let draft = draft.clone();
    let measured = measured.clone();
    let mut breaks = draft.breaks;
    breaks.extend(measured.breaks.into_iter().filter(|seen| !breaks.contains(seen)).collect::<Vec<_>>());
    let request = pen.write(Request {
        turn: draft.turn,
        step: draft.step,
        attempt: draft.attempt,
        purpose: draft.purpose,
        target: draft.target,
        head: draft.head,
        upto: draft.upto,
        params: draft.params,
        tail: measured.tail,
        parts: measured.parts,
        prefix: measured.prefix,
        body: measured.body,
        bytes: measured.bytes,
        tokens: measured.tokens,
        reserved: reservation.worst,
        breaks,
    });
    Ok(Flow::to(Phase::Recording { request: RequestId(request) }))
}

/// What is held must be what was asked for, or it would be settled as something else.
pub(crate) fn is_what_was_asked(
    draft: &Draft,
    measured: &Measured,
    reservation: &Reservation,
) -> Result<(), Rejected> {
    let asked = Worst { purpose: draft.purpose, ..measured.worst };
    if reservation.worst == asked { Ok(()) } else { Err(Rejected::NotAsked) }
}

/// `Reserved` after somebody stopped the turn: given back unused.
pub(crate) fn release(
    pen: &mut Pen<'_>,
    reservation: Reservation,
    why: StopReason,
) -> Result<Flow, Rejected> {
    pen.ask(Effect::Settle { reservation, used: Used { steps: 0, tokens: 0, micro_usd: Some(0) } });
    Ok(Flow::to(end(pen, why)))
}

/// `Refused`: a closing call asks what was reached; if that is what was refused, the turn ends (L07).
pub(crate) fn refused(pen: &mut Pen<'_>, draft: &Draft, limit: Limit) -> Result<Flow, Rejected> {
    if draft.purpose == Purpose::Closing {
        return Ok(match pen.told.closing_limit() {
            Some(limit) => Flow::to(end(pen, StopReason::BudgetExhausted(limit))),
            // Limits were raised meanwhile.
            None => Flow::Next,
        });
    }
    pen.write(note(NoteSource::Closing(limit)));
    Ok(Flow::Next)
}

/// A request that is out, and the one that an input names.
type Named = (RequestId, RequestId);

/// True if the input is about the request that is out; an older one is late, an unknown one wrong.
fn is_about(pen: &Pen<'_>, (out, named): Named) -> Result<bool, Rejected> {
    if named != out && named.0 >= pen.journal.next_seq() {
        return Err(Rejected::OtherRequest(named));
    }
    Ok(named == out)
}

/// `Delta`: taken in; text goes to the log at most once a second.
pub(crate) fn delta(
    pen: &mut Pen<'_>,
    named: Named,
    reply: &mut PartialReply,
    delta: Delta,
) -> Result<Flow, Rejected> {
    if !is_about(pen, named)? {
        return Ok(Flow::Stale);
    }
    match reply.push(delta)? {
        Grown::TooLarge => {
            pen.ask(Effect::CancelModel(named.0));
            return failed(pen, named, &unreadable("the reply is larger than 8 MiB"), Permille(0));
        }
        Grown::Repeats if pen.told.mode.guards == Guards::On => {
            pen.ask(Effect::CancelModel(named.0));
            write_reply(pen, named.0, std::mem::take(reply), ReplyEnd::cut());
            return Ok(Flow::Next);
        }
        Grown::Repeats | Grown::Fits => {}
    }
    while let Some((from, text)) = reply.due_partial(pen.journal.now) {
        pen.write(Partial { request: named.0, from, text });
    }
    Ok(Flow::Stay)
}

/// `ReplyEnded`: written as it came. One that has no known finish reason, no text and no whole call is
/// a failed request (L11).
pub(crate) fn reply_ended(
    pen: &mut Pen<'_>,
    named: Named,
    reply: &mut PartialReply,
    end: ReplyEnd,
) -> Result<Flow, Rejected> {
    if !is_about(pen, named)? {
        return Ok(Flow::Stale);
    }
    if matches!(end.finish, FinishReason::Other(_)) && !reply.says_something() {
        let failure = Failure {
            usage: end.usage,
            micro_usd: end.micro_usd,
            ..unreadable("the stream ended without an answer")
        };
        return failed(pen, named, &failure, Permille(0));
    }
    if let (Some(window), Some(open)) = (end.window, pen.told.step.request.clone()) {
        learn(pen, &open, Adapt::Seen(window));
    }
    write_reply(pen, named.0, std::mem::take(reply), end);
    Ok(Flow::Next)
}

fn unreadable(message: &str) -> Failure {
    let message = Text::from(message);
    let kind = FailureKind::BadStream;
    let usage = None;
    Failure { kind, status: None, message, retry_after: None, remedy: None, usage, micro_usd: None }
}

/// Writes a reply and settles what was held for it.
pub(crate) fn write_reply(pen: &mut Pen<'_>, request: RequestId, reply: PartialReply, end: ReplyEnd) {
    let Some(open) = pen.told.step.request.clone() else { return };
    let (usage, micro_usd) = charge(end.usage, end.micro_usd, &open.reserved);
    let used = used(Some(open.purpose), &usage, micro_usd);
    let (blocks, raw) = reply.into_blocks(&end.finish);
    pen.write(Reply {
        request,
        blocks,
        raw,
        finish: end.finish,
        usage,
        micro_usd,
        overrun: used.tokens.saturating_sub(open.reserved.tokens),
        timing: end.timing,
        model: end.model,
    });
    pen.ask(Effect::Settle { reservation: Reservation { worst: open.reserved }, used });
}

/// `RequestFailed`: written with what follows.
pub(crate) fn failed(
    pen: &mut Pen<'_>,
    named: Named,
    failure: &Failure,
    jitter: Permille,
) -> Result<Flow, Rejected> {
    let (Some(open), true) = (pen.told.step.request.clone(), is_about(pen, named)?) else {
        return Ok(Flow::Stale);
    };
    let needs_cap = Adapt::Without(Parameter::MaxOutput);
    let is_uncapped = failure.remedy == Some(Remedy::Adapt(needs_cap)) && has_limit(pen);
    let is_helped = match failure.remedy {
        Some(Remedy::Adapt(adapt)) if !is_uncapped => learn(pen, &open, adapt),
        Some(Remedy::Adapt(_) | Remedy::NextTarget) | None => false,
    };
    let next = match open.purpose {
        Purpose::Step | Purpose::Plan | Purpose::Verify | Purpose::Summary | Purpose::Closing
            if is_helped && pen.told.may_adapt() =>
        {
            Next::Adapt
        }
        // One closing call, whatever comes of it.
        Purpose::Closing => Next::GiveUp,
        Purpose::Step | Purpose::Plan | Purpose::Verify | Purpose::Summary => {
            retry::after(failure, pen.told.standing(), pen.journal.now, jitter)
        }
    };
    let why = if is_uncapped { UNCAPPED } else { "" };
    let message = format!("{why}{}", failure.message);
    let message = Bounded::new(&message, Cap::FAILURE, "the rest is not kept");
    let outcome = RequestOutcome::Failed { kind: failure.kind, status: failure.status, message };
    let (usage, micro_usd) = charge(failure.usage, failure.micro_usd, &open.reserved);
    write_end(pen, outcome, (usage, micro_usd), next);
    match next {
        Next::AgainAt(at) => pen.ask(Effect::Tell(Passing::Retrying { kind: failure.kind, at })),
        Next::Fallback => pen.ask(Effect::Tell(Passing::FellBack { kind: failure.kind })),
        // It is made again at once.
        Next::Adapt | Next::GiveUp => {}
    }
    Ok(Flow::Next)
}

/// Stands before what a server says that takes no output cap.
const UNCAPPED: &str = "a limit of tokens or money holds only with an output cap, and the server takes none (without \
                        limits.tokens and limits.usd it is asked without one): ";

/// True if what a reply may use is limited: it is capped then.
fn has_limit(pen: &Pen<'_>) -> bool {
    pen.told.limits.tokens.is_some() || pen.told.limits.micro_usd.is_some()
}

/// Keeps what the end of a request taught of the target, if it is news. True if the same request may do better now.
///
/// It stands before the end of the request: who is killed between the two asks again, and knows it.
fn learn(pen: &mut Pen<'_>, open: &OpenRequest, adapt: Adapt) -> bool {
    let adapt = adapt.for_cap(pen.journal.view.max_output_of(open.id));
    let mut learnt = pen.journal.view.learnt(&open.target);
    let news: Vec<_> =
        adapt.settings(open.id).into_iter().filter(|setting| learnt.take_in(setting)).collect();
    let is_news = !news.is_empty();
    for setting in news {
        pen.write(setting);
    }
    is_news && adapt.is_a_way_out()
}

/// Writes the end of the open request and settles what was held for it.
pub(crate) fn write_end(
    pen: &mut Pen<'_>,
    outcome: RequestOutcome,
    (usage, micro_usd): (Charge, Option<u64>),
    next: Next,
) {
    let Some(open) = pen.told.step.request.clone() else { return };
    // Whoever lost a request lost the ledger with it; the new one is made from the log.
    let is_held = outcome != RequestOutcome::Lost;
    pen.write(RequestEnd { request: open.id, outcome, usage, micro_usd, next });
    if is_held {
        let used = used(None, &usage, micro_usd);
        pen.ask(Effect::Settle { reservation: Reservation { worst: open.reserved }, used });
    }
}

/// What a request is charged that was never sent.
pub(crate) fn nothing() -> (Charge, Option<u64>) {
    (Charge::Reported(Usage::default()), Some(0))
}
