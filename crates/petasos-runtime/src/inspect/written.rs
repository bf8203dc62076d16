//! A request of a log, written again.

use bytes::Bytes;
use petasos_core::entry::{Body, Entry, Request};
use petasos_core::id::Seq;
use petasos_core::learnt::Learnt;
use petasos_core::request::{Draft, Purpose, Target, Wire};
use petasos_core::session::{Session, Terms};
use petasos_core::turn::{Mode, OnAsk};
use petasos_providers::encoder_knowing;

/// A request of a log, written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its entry.
    pub seq: Seq,
    /// Its body.
    pub body: Bytes,
    /// Whether that is what was sent.
    pub same: Same,
}

/// Whether a request that is written again is the one that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// Byte for byte: its hash is that of the log.
    Yes,
    /// It is written for another wire than the one it went to.
    OtherWire,
    /// Not: this version of the program writes it differently, or lines of the log before it are damaged.
    No,
}

/// Why a request cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The session asked no model.
    #[error("the session has asked no model yet")]
    NoRequest,
    /// There are fewer steps.
    #[error("the session has {steps} steps, and none by that number")]
    NoStep {
        /// So many there are.
        steps: u64,
    },
    /// The line of its head is damaged.
    #[error("the line of the log that holds its system text and tools (entry {0}) is missing or damaged")]
    NoHead(Seq),
}

/// Writes the last try of a step, counted from 1 over the whole session; without a number, the last request.
pub(crate) fn written(
    entries: &[Entry],
    wire: Option<Wire>,
    step: Option<u64>,
) -> Result<Written, WriteError> {
    let (seq, request) = find(entries, step)?;
    let head = entries.iter().find(|entry| entry.seq == request.head);
    let Some(Body::Head(head)) = head.map(|entry| &entry.body) else {
        return Err(WriteError::NoHead(request.head));
    };
    let target = Target { wire: wire.unwrap_or(request.target.wire), ..request.target.clone() };
    let mode = Mode { on_ask: OnAsk::Refuse, ..Mode::default() };
    let terms = Terms { limits: Default::default(), mode, target: target.clone(), fallback: Vec::new() };
    let session = Session::fold(entries.iter().filter(|entry| entry.seq < seq), terms);
    let learnt = session.learnt(&target);
    let draft = draft(request, learnt.clone());
    let mut encoder = encoder_knowing(&target, head, &learnt);
    for (_, item) in session.placed_messages_for(&draft) {
        encoder.push(&item);
    }
    let body = encoder.body(&request.params, &request.tail);
    let same = match (target.wire == request.target.wire, body.body == request.body) {
        (false, _) => Same::OtherWire,
        (true, true) => Same::Yes,
        (true, false) => Same::No,
    };
    Ok(Written { seq, body: body.bytes, same })
}

/// The request, with its entry. The tries of a step are one; what is no step, such as a closing call, has no number.
fn find(entries: &[Entry], step: Option<u64>) -> Result<(Seq, &Request), WriteError> {
    let mut last: Option<(Seq, &Request)> = None;
    let mut steps = 0_u64;
    for entry in entries {
        let Body::Request(request) = &entry.body else { continue };
        if step.is_some() && request.purpose != Purpose::Step {
            continue;
        }
        let is_same = last.is_some_and(|(_, before)| {
            let key = |request: &Request| (request.turn, request.step, request.purpose);
            key(before) == key(request)
        });
        if !is_same {
            if step == Some(steps) {
                break;
            }
            steps += 1;
        }
        last = Some((entry.seq, request));
    }
    match (last, step) {
        (None, _) => Err(WriteError::NoRequest),
        (Some(_), Some(step)) if step != steps => Err(WriteError::NoStep { steps }),
        (Some(found), _) => Ok(found),
    }
}

fn draft(request: &Request, learnt: Learnt) -> Draft {
    Draft {
        turn: request.turn,
        step: request.step,
        attempt: request.attempt,
        purpose: request.purpose,
        target: request.target.clone(),
        head: request.head,
        upto: request.upto,
        params: request.params,
        learnt,
        breaks: request.breaks.clone(),
    }
}
