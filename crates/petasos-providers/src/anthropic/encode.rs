//! Transcript to request: each item's bytes are made once, and what is not named here is not sent (L03).

use petasos_core::entry::Head;
use petasos_core::request::{Params, Target};
use petasos_core::transcript::Item;

use crate::provider::{Body, Encoder, Tail};
use crate::writing::{Parts, Rules};

/// Writes Messages requests.
#[derive(Clone, Debug)]
pub(crate) struct MessagesEncoder {
    parts: Parts,
}

impl MessagesEncoder {
    pub(crate) fn new(_: &Target, _: &Head, _: Rules) -> Self {
        Self { parts: Parts::default() }
    }
}

impl Encoder for MessagesEncoder {
    fn push(&mut self, _: &Item) {}

    fn body(&self, _: &Params, _: &Tail) -> Body {
        self.parts.body("{}")
    }
}
