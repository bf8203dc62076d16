//! What to say of an input that stands in no row of the table: too late, or wrong. Either way it
//! changes nothing (I6).

use crate::error::{Handled, Rejected};
use crate::id::Seq;
use crate::turn::{Flow, Input, Phase};

/// While no run is under way.
pub(crate) fn at_rest(input: &Input) -> Result<Handled, Rejected> {
    match input {
        Input::Measured(_)
        | Input::Reserved(_)
        | Input::Refused(_)
        | Input::Delta { .. }
        | Input::ReplyEnded { .. }
        | Input::RequestFailed { .. }
        | Input::Prepared { .. }
        | Input::Probed { .. }
        | Input::ToolEnded { .. }
        | Input::HeadBuilt(_)
        | Input::Appended { .. }
        | Input::Woke => Ok(Handled::Stale),
        Input::Say(_)
        | Input::Decide { .. }
        | Input::Interrupt
        | Input::Park
        | Input::Continue { .. }
        | Input::Set(_)
        | Input::GoTo(_)
        | Input::Undo
        | Input::Retry
        | Input::AppendFailed(_) => Err(Rejected::AtRest),
    }
}

/// In a phase that does not wait for it. `next`: the number of the next entry, so that what names an
/// entry that never was is wrong, not late.
pub(crate) fn in_phase(phase: &Phase, input: &Input, next: Seq) -> Result<Flow, Rejected> {
    match input {
        Input::Delta { request, .. }
        | Input::ReplyEnded { request, .. }
        | Input::RequestFailed { request, .. } => {
            if request.0 < next {
                Ok(Flow::Stale)
            } else {
                Err(Rejected::OtherRequest(*request))
            }
        }
        Input::Prepared { call, .. }
        | Input::Probed { call, .. }
        | Input::ToolEnded { call, .. }
        | Input::Decide { call, .. } => {
            if call.reply < next {
                Ok(Flow::Stale)
            } else {
                Err(Rejected::OtherCall(*call))
            }
        }
        // An interrupt may overtake these two.
        Input::Measured(_) | Input::HeadBuilt(_) => match phase {
            Phase::Ending { .. } => Ok(Flow::Stale),
            Phase::Opening
            | Phase::Measuring(_)
            | Phase::Reserving { .. }
            | Phase::Recording { .. }
            | Phase::AwaitingModel { .. }
            | Phase::Waiting { .. }
            | Phase::Tools(_)
            | Phase::Stopping { .. }
            | Phase::Done => Err(Rejected::NotAsked),
        },
        // A timer that was set for a time that no longer matters.
        Input::Woke => Ok(Flow::Stale),
        Input::Reserved(_) | Input::Refused(_) | Input::Park => Err(Rejected::NotAsked),
        Input::Say(_)
        | Input::Interrupt
        | Input::Continue { .. }
        | Input::Set(_)
        | Input::GoTo(_)
        | Input::Undo
        | Input::Retry
        | Input::Appended { .. }
        | Input::AppendFailed(_) => Err(Rejected::Running),
    }
}
