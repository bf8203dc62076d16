//! Why an input is not taken. It changes nothing then (I6).

use crate::id::{CallId, RequestId, Seq};

/// What became of an input that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handled {
    /// It was taken in.
    Taken,
    /// It answers something that is over: nothing changed, and the shell may count it.
    Stale,
}

/// Why an input was refused. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rejected {
    /// No effect that this could answer is out.
    #[error("nothing is out that this input could answer")]
    NotAsked,
    /// It answers another request than the one that is out.
    #[error("request {} is not the one that is out", .0.0)]
    OtherRequest(RequestId),
    /// There is no such call in the open step, or it is not at that point.
    #[error("call {0} is not at a point where this fits")]
    OtherCall(CallId),
    /// The answer is for something else than what was shown.
    #[error("what was shown for call {0} has changed; look again")]
    OtherShown(CallId),
    /// The answer is of the wrong sort: a yes to a question, or text to a request for leave.
    #[error("call {0} wants another sort of answer")]
    OtherAnswer(CallId),
    /// A turn is running; this is for a session at rest.
    #[error("a turn is running; interrupt it or wait for its end")]
    Running,
    /// No turn is running.
    #[error("no turn is running")]
    AtRest,
    /// There is nothing that could go on.
    #[error("there is nothing to continue; say something new")]
    NothingToContinue,
    /// Nothing was said that could be taken back or answered anew.
    #[error("nothing has been said yet; say something first")]
    NothingSaid,
    /// There is nothing in what was said.
    #[error("there is nothing in what was said")]
    Empty,
    /// What was to be taken back has entered a request, or is not there.
    #[error("entry {0} cannot be taken back: it is no waiting message")]
    NotWaiting(Seq),
    /// The leaf cannot go there.
    #[error("entry {0} is neither something said nor the end of a closed step on this session's tree")]
    NoPlace(Seq),
    /// The log could not be written: what is in memory is no longer what is on disk.
    #[error("the log could not be written; open the session again once it can")]
    NotSaved,
    /// The piece of a reply does not fit what came before.
    #[error("this piece of a reply does not fit the pieces before it")]
    BadDelta,
}
