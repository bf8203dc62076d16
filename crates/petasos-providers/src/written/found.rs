//! What a reader finds in the text of a reply.

use petasos_core::entry::{CallForm, FinishReason};
use petasos_core::turn::Delta;

/// Deltas as they are found, and which calls are whole.
#[derive(Clone, Debug)]
pub(super) struct Found {
    form: CallForm,
    deltas: Vec<Delta>,
    /// Calls that have begun.
    begun: u16,
    /// Those whose text is whole.
    whole: Vec<u16>,
    /// The places of the calls that came in the wire's own form, in its order.
    native: Vec<u16>,
}

impl Found {
    pub(super) fn new(form: CallForm) -> Self {
        Self { form, deltas: Vec::new(), begun: 0, whole: Vec::new(), native: Vec::new() }
    }

    /// What was found before, and calls of another form from now on.
    pub(super) fn in_form(self, form: CallForm) -> Self {
        Self { form, ..self }
    }

    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.deltas.push(Delta::Text(text.into()));
    }

    pub(super) fn raw(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.deltas.push(Delta::Raw(text.into()));
    }

    /// A call begins; what it is asked with comes next.
    pub(super) fn begin(&mut self, name: &str) {
        self.deltas.push(Delta::Call { wire_id: None, name: name.into(), form: self.form });
        self.begun = self.begun.saturating_add(1);
    }

    /// More of the arguments of the call that began last.
    pub(super) fn arguments(&mut self, text: &str) {
        if let Some(place) = self.begun.checked_sub(1).filter(|_| !text.is_empty()) {
            self.deltas.push(Delta::Arguments { place, text: text.into() });
        }
    }

    /// All of the call that began last is there.
    pub(super) fn is_whole(&mut self) {
        self.whole.extend(self.begun.checked_sub(1));
    }

    /// What came in the wire's own form, though it was not asked for: its calls count with the others.
    pub(super) fn native(&mut self, delta: Delta) {
        let place_of = |place: u16| self.native.get(usize::from(place)).copied().unwrap_or(place);
        let delta = match delta {
            Delta::Arguments { place, text } => Delta::Arguments { place: place_of(place), text },
            Delta::CallComplete { place } => Delta::CallComplete { place: place_of(place) },
            Delta::Call { .. } => {
                self.native.push(self.begun);
                self.begun = self.begun.saturating_add(1);
                delta
            }
            Delta::Text(_) | Delta::Reasoning(_) | Delta::Opaque(_) | Delta::Raw(_) => delta,
        };
        self.deltas.push(delta);
    }

    /// The reply is at its end. One that was cut or refused has no whole calls, as on any wire.
    pub(super) fn end(&mut self, finish: &FinishReason) {
        let whole = std::mem::take(&mut self.whole);
        if ends_whole(finish) {
            self.deltas.extend(whole.into_iter().map(|place| Delta::CallComplete { place }));
        }
    }

    pub(super) fn take(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }
}

/// True if nobody says that the reply was cut.
pub(super) fn ends_whole(finish: &FinishReason) -> bool {
    match finish {
        FinishReason::Stop | FinishReason::ToolUse | FinishReason::Other(_) => true,
        FinishReason::Length | FinishReason::Refused | FinishReason::Cut => false,
    }
}
