//! One call while it comes.

use petasos_core::entry::CallForm;
use petasos_core::turn::Delta;

use crate::brackets::Brackets;

/// A call: it begins when its name is known.
#[derive(Clone, Debug, Default)]
pub(super) struct GrowingCall {
    name: String,
    received: String,
    brackets: Brackets,
    /// So much of what was received is handed on.
    told: usize,
    /// Arguments that stood there when it was announced: its own if no others come.
    offered: String,
    place: Option<u16>,
    is_cut: bool,
}

impl GrowingCall {
    /// Its name, if none is known yet. What it grew by.
    pub(super) fn take_name(&mut self, name: Option<String>) -> usize {
        let Some(name) = name.filter(|_| self.name.is_empty()) else { return 0 };
        self.name = name;
        self.name.len()
    }

    /// Arguments as they stood before any came. What it grew by.
    pub(super) fn offer(&mut self, arguments: String) -> usize {
        self.offered = arguments;
        self.offered.len()
    }

    /// More of its arguments.
    pub(super) fn push(&mut self, arguments: &str) {
        self.brackets.follow(arguments);
        self.received.push_str(arguments);
    }

    /// Of its whole arguments, what did not come yet. Nothing, if what came is not how they begin.
    pub(super) fn rest<'a>(&self, whole: &'a str) -> &'a str {
        whole.strip_prefix(self.received.as_str()).unwrap_or_default()
    }

    /// It says that it broke off.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.place.is_some()
    }

    pub(super) fn has_name(&self) -> bool {
        !self.name.is_empty()
    }

    /// Begins in this place.
    pub(super) fn begin(&mut self, place: u16, wire_id: Option<&str>) -> Delta {
        self.place = Some(place);
        Delta::Call {
            wire_id: wire_id.map(Into::into),
            name: self.name.as_str().into(),
            form: CallForm::Native,
        }
    }

    /// What of its arguments is not handed on yet.
    pub(super) fn untold(&mut self) -> Option<Delta> {
        let place = self.place?;
        let text = self.received.get(self.told..).filter(|text| !text.is_empty())?;
        self.told = self.received.len();
        Some(Delta::Arguments { place, text: text.into() })
    }

    /// No more of it comes: what was offered counts, if nothing else did.
    pub(super) fn settle(&mut self) {
        if self.received.is_empty() {
            let offered = std::mem::take(&mut self.offered);
            self.push(&offered);
        }
    }

    /// True if nothing is known of it.
    pub(super) fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.received.trim().is_empty()
    }

    /// It is whole, if nothing says otherwise. Its own end counts more than that of the reply: llama.cpp says
    /// of a reply which broke off at its cap that it is complete.
    pub(super) fn completed(&self) -> Option<Delta> {
        let is_whole = !self.is_cut && !self.brackets.are_open();
        self.place.filter(|_| is_whole).map(|place| Delta::CallComplete { place })
    }
}
