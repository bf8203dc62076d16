//! The events of a session on their way out.

use std::collections::VecDeque;

use petasos_core::id::Seq;
use tokio::sync::mpsc;

use crate::event::Event;

/// Events in their order: one that stands for an entry waits until that is kept, and those after it wait too.
#[derive(Debug)]
pub(crate) struct Outbox {
    waiting: VecDeque<(Option<Seq>, Event)>,
    /// The newest entry that was made, and the newest that is kept.
    pub(crate) last_made: Option<Seq>,
    pub(crate) kept: Option<Seq>,
    pub(crate) to: mpsc::UnboundedSender<Event>,
}

impl Outbox {
    /// After a log that ends with this entry.
    pub(crate) fn after(last: Option<Seq>, to: mpsc::UnboundedSender<Event>) -> Self {
        Self { waiting: VecDeque::new(), last_made: last, kept: last, to }
    }

    /// Tells an event, once what was made before it is kept.
    pub(crate) fn put(&mut self, event: Event) {
        self.waiting.push_back((self.last_made, event));
        self.flush();
    }

    /// Tells what has waited long enough.
    pub(crate) fn flush(&mut self) {
        while let Some((_, event)) = self.waiting.pop_front_if(|(needs, _)| *needs <= self.kept) {
            // Whoever watched may be gone; the run goes on.
            drop(self.to.send(event));
        }
    }

    /// The log failed: what stands for entries that are not kept is not told.
    pub(crate) fn give_up_entries(&mut self) {
        self.waiting.clear();
        self.last_made = self.kept;
    }
}
