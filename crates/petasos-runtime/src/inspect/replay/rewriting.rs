//! The requests of a log, written again as they are replayed.

use petasos_core::Session;
use petasos_core::entry::{Head, Request};
use petasos_core::id::Seq;
use petasos_core::learnt::Learnt;
use petasos_core::request::{Draft, Target};
use petasos_providers::{Body, Encoder, encoder_knowing};

/// What a part of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOf {
    /// Parameters that rarely change.
    Params,
    /// The tools.
    Tools,
    /// The system text.
    System,
    /// The message whose last entry this is.
    Message(Seq),
}

/// Writes the requests of a session one after the other; the bytes of a message are made once.
#[derive(Debug, Default)]
pub(super) struct Rewriting {
    writing: Option<Writing>,
}

#[derive(Debug)]
struct Writing {
    target: Target,
    head: Seq,
    learnt: Learnt,
    pushed: Vec<Seq>,
    encoder: Box<dyn Encoder>,
    parts: Vec<PartOf>,
}

impl Rewriting {
    /// The body of a request with this head.
    pub(super) fn write(
        &mut self,
        session: &Session,
        draft: &Draft,
        (request, head): (&Request, &Head),
    ) -> Body {
        let goes_on = |writing: &Writing| {
            writing.target == draft.target && writing.head == draft.head && writing.learnt == draft.learnt
        };
        let items: Vec<_> = session.placed_messages_for(draft).collect();
        let is_begun = |writing: &Writing| {
            goes_on(writing)
                && writing.pushed.len() <= items.len()
                && writing.pushed.iter().zip(&items).all(|(pushed, (seq, _))| pushed == seq)
        };
        let mut writing = match self.writing.take().filter(is_begun) {
            Some(writing) => writing,
            None => Writing::begin(draft, head),
        };
        for (seq, item) in items.iter().skip(writing.pushed.len()) {
            writing.encoder.push(item);
            writing.pushed.push(*seq);
            while writing.encoder.part(writing.parts.len()).is_some() {
                writing.parts.push(PartOf::Message(*seq));
            }
        }
        let body = writing.encoder.body(&request.params, &request.tail);
        self.writing = Some(writing);
        body
    }

    /// What a part of the body that was written last is.
    pub(super) fn part_of(&self, place: usize) -> Option<PartOf> {
        self.writing.as_ref()?.parts.get(place).copied()
    }

    /// Its bytes.
    pub(super) fn part(&self, place: usize) -> Option<&[u8]> {
        self.writing.as_ref()?.encoder.part(place)
    }
}

impl Writing {
    fn begin(draft: &Draft, head: &Head) -> Self {
        let Draft { target, learnt, .. } = draft;
        let encoder = encoder_knowing(target, head, learnt);
        let mut parts = Vec::new();
        let mut of = [PartOf::Params, PartOf::Tools].into_iter();
        while encoder.part(parts.len()).is_some() {
            parts.push(of.next().unwrap_or(PartOf::System));
        }
        let (target, learnt) = (target.clone(), learnt.clone());
        Self { target, head: draft.head, learnt, pushed: Vec::new(), encoder, parts }
    }
}
