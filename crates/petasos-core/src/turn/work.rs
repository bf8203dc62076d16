//! Which entries tell how long a turn worked, and which begin a new one.

use crate::entry::{Body, Cause, RequestOutcome, TurnStart};

/// True for entries that a turn writes while it works: they tell how long it did.
pub(crate) fn is_work(body: &Body) -> bool {
    match body {
        // Lost requests are written by the run after.
        Body::RequestEnd(end) => end.outcome != RequestOutcome::Lost,
        Body::Note(_)
        | Body::Request(_)
        | Body::Partial(_)
        | Body::Reply(_)
        | Body::Call(_)
        | Body::Decision(_)
        | Body::ToolStart(_)
        | Body::ToolResult(_)
        | Body::Head(_) => true,
        // These come from a person as often as from a turn at work, or tell the time themselves.
        Body::LimitAdded(_)
        | Body::TurnEnd(_)
        | Body::TurnStart(_)
        | Body::SessionStart(_)
        | Body::Open(_)
        | Body::Said(_)
        | Body::Setting(_)
        | Body::Leaf(_)
        | Body::Unknown(_) => false,
    }
}

/// True if a turn that begins with this is a new one.
pub(crate) fn is_new(start: &TurnStart) -> bool {
    match start.cause {
        Cause::Said { .. } | Cause::Retry => true,
        Cause::Continues { .. } => false,
    }
}
