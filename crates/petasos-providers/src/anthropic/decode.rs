//! Events of the Messages wire to deltas.

use petasos_core::text::Text;

use crate::answer::{Answer, Ending, Fed, WireDecoder};
use crate::sse::SseEvent;

/// Reads one answer of a Messages server.
#[derive(Clone, Debug)]
pub(crate) struct MessagesDecoder {}

impl MessagesDecoder {
    pub(crate) fn new(_: Text) -> Self {
        Self {}
    }
}

impl WireDecoder for MessagesDecoder {
    fn event(&mut self, _: &SseEvent, _: &mut Answer) -> Fed {
        Fed::Nothing
    }

    fn is_whole(&self, _: &str) -> bool {
        false
    }

    fn whole(&mut self, _: &str, _: &mut Answer) -> bool {
        false
    }

    fn end(&mut self, _: Ending, answer: &mut Answer) {
        answer.fail_cut();
    }

    fn has_finish(&self) -> bool {
        false
    }

    fn server(&self) -> &'static str {
        "Messages"
    }
}
