//! The decoders of wires, as [`AnswerDecoder`](crate::AnswerDecoder) sees them.

use std::fmt;

use petasos_core::entry::FinishReason;

use crate::answer::{Answer, Fed};
use crate::sse::SseEvent;

/// What one wire makes of an answer.
pub(crate) trait WireDecoder: fmt::Debug + Send {
    /// Takes in an event of a stream that is neither blank, nor `[DONE]`, nor named `error`.
    fn event(&mut self, event: &SseEvent, answer: &mut Answer) -> Fed;

    /// True if the data of the last event, behind which no blank line came, can be read as it is.
    fn is_whole(&self, data: &str) -> bool;

    /// Takes in a reply that is one JSON object. False if it is no reply of this wire: then nothing was taken.
    fn whole(&mut self, body: &str, answer: &mut Answer) -> bool;

    /// Nothing more comes. After this the answer has ended.
    fn end(&mut self, ending: Ending, answer: &mut Answer);

    /// The finish reason, once one came: what may follow is the usage.
    fn finish(&self) -> Option<&FinishReason>;

    /// What such a server is called in errors.
    fn server(&self) -> &'static str;
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server said that this is the end, by `[DONE]` or a whole body.
    Marked,
    /// The connection closed.
    Closed,
}
