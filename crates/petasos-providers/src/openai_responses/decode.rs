//! Events of the Responses wire to deltas.

use petasos_core::text::Text;

use crate::answer::{Answer, Ending, Fed, WireDecoder};
use crate::sse::SseEvent;

/// Reads one answer of a Responses server.
#[derive(Clone, Debug)]
pub(crate) struct ResponsesDecoder {}

impl ResponsesDecoder {
    pub(crate) fn new(_: Text) -> Self {
        Self {}
    }
}

impl WireDecoder for ResponsesDecoder {
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
        "Responses"
    }
}
