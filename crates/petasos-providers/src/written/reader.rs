//! Events of a decoder to events of a reply: calls that stand in the text are found there.

use std::collections::VecDeque;
use std::sync::Arc;

use petasos_core::entry::FinishReason;
use petasos_core::turn::Delta;

use super::CallReading;
use super::constrained::ConstrainedReader;
use super::found::Found;
use super::text::TextReader;
use crate::provider::ReplyEvent;

/// What the decoder of a wire made of an answer goes through this.
#[derive(Clone, Debug)]
pub(crate) enum Reader {
    /// Calls are where the wire has them.
    Native,
    Constrained(Box<ConstrainedReader>),
    Text(Box<TextReader>),
}

impl Reader {
    pub(crate) fn new(reading: &CallReading) -> Self {
        match reading {
            CallReading::Native => Self::Native,
            CallReading::Constrained(asked) => {
                Self::Constrained(Box::new(ConstrainedReader::new(Arc::clone(asked))))
            }
            CallReading::Text(asked) => Self::Text(Box::new(TextReader::new(Arc::clone(asked)))),
        }
    }

    /// Takes an event in; what it means comes out.
    pub(crate) fn take(&mut self, event: ReplyEvent, out: &mut VecDeque<ReplyEvent>) {
        let reader: &mut dyn ReadsText = match self {
            Self::Native => return out.push_back(event),
            Self::Constrained(reader) => &mut **reader,
            Self::Text(reader) => &mut **reader,
        };
        let end = match event {
            ReplyEvent::Delta(Delta::Text(text)) => {
                reader.take(&text);
                None
            }
            ReplyEvent::Delta(delta) => {
                reader.found().native(delta);
                None
            }
            ReplyEvent::Done(ref done) => {
                reader.end(&done.finish);
                Some(event)
            }
            // There is no reply, so what was held back of it is nothing.
            ReplyEvent::Failed(_) => Some(event),
        };
        out.extend(reader.found().take().into_iter().map(ReplyEvent::Delta));
        out.extend(end);
    }
}

/// Reads the text of one reply.
pub(super) trait ReadsText {
    /// Takes more of the text in.
    fn take(&mut self, text: &str);

    /// No more comes.
    fn end(&mut self, finish: &FinishReason);

    /// What was found.
    fn found(&mut self) -> &mut Found;
}
