//! Calls while they come. Servers disagree on what tells one call from the next: the index may be
//! missing or always 0, the id missing, constant, or another in each delta, the name whole, cut, or
//! repeated. What decides is written once, in [`GrowingCall::goes_on_with`].

use std::collections::BTreeMap;

use petasos_core::entry::CallForm;
use petasos_core::turn::Delta;

use super::chunk::CallPiece;
use crate::answer::BLOCK;
use crate::brackets::Brackets;

/// The calls of a reply.
#[derive(Clone, Debug, Default)]
pub(super) struct GrowingCalls {
    calls: Vec<GrowingCall>,
    by_index: BTreeMap<i64, usize>,
    /// Calls before this one have begun, or hold nothing at all.
    looked_at: usize,
    begun: u16,
    size: usize,
}

/// Which calls count as complete at the end of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completing {
    /// All: the reply ended as one that is whole.
    All,
    /// Those whose text cannot go on: nobody said how the reply ended.
    Closed,
    /// None: it was cut.
    Nothing,
}

#[derive(Clone, Debug, Default)]
struct GrowingCall {
    id: Option<String>,
    name: String,
    /// What came before the call began.
    held: String,
    brackets: Brackets,
    /// Its place, once it has begun.
    place: Option<u16>,
}

impl GrowingCalls {
    /// Takes in more of a call.
    pub(super) fn take(&mut self, piece: CallPiece, deltas: &mut Vec<Delta>) {
        let at = self.which(&piece).unwrap_or_else(|| self.start(deltas));
        if let Some(index) = piece.index {
            self.by_index.insert(index, at);
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.place.is_none() {
            if let Some(id) = piece.id.filter(|_| call.id.is_none()) {
                self.size += id.len();
                call.id = Some(id);
            }
            if let Some(name) = piece.name {
                self.size += call.take_name(name);
            }
        }
        if piece.arguments.is_empty() {
            return;
        }
        self.size += piece.arguments.len();
        call.brackets.follow(&piece.arguments);
        match call.place {
            Some(place) => deltas.push(Delta::Arguments { place, text: piece.arguments.into() }),
            None => {
                call.held.push_str(&piece.arguments);
                // A name may still come in pieces, but never after arguments.
                if !call.name.is_empty() {
                    self.begin_upto(at, deltas);
                }
            }
        }
    }

    /// Begins all calls that something came of.
    pub(super) fn begin_all(&mut self, deltas: &mut Vec<Delta>) {
        if let Some(last) = self.calls.len().checked_sub(1) {
            self.begin_upto(last, deltas);
        }
    }

    /// The reply is at its end; true if there is a complete call.
    pub(super) fn complete(&mut self, which: Completing, deltas: &mut Vec<Delta>) -> bool {
        self.begin_all(deltas);
        let before = deltas.len();
        for call in &self.calls {
            let is_complete = match which {
                Completing::All => true,
                Completing::Closed => call.brackets.are_even(),
                Completing::Nothing => false,
            };
            deltas.extend(call.place.filter(|_| is_complete).map(|place| Delta::CallComplete { place }));
        }
        deltas.len() > before
    }

    /// What they take of the reply's cap.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// The call that a piece belongs to; none if it starts one.
    fn which(&self, piece: &CallPiece) -> Option<usize> {
        let last = self.calls.len().checked_sub(1);
        let at = match (piece.index, &piece.id) {
            (Some(index), _) => self.by_index.get(&index).copied(),
            (None, None) => last,
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id.as_ref() == Some(id)).or(last),
        }?;
        self.calls.get(at)?.goes_on_with(piece).then_some(at)
    }

    fn start(&mut self, deltas: &mut Vec<Delta>) -> usize {
        self.begin_all(deltas);
        self.size += BLOCK;
        self.calls.push(GrowingCall::default());
        self.calls.len() - 1
    }

    /// Begins this call, and those before it first: a place is the number of calls before.
    fn begin_upto(&mut self, last: usize, deltas: &mut Vec<Delta>) {
        let from = self.looked_at.min(last);
        for call in self.calls.iter_mut().take(last + 1).skip(from) {
            if call.place.is_some() || call.is_nothing() {
                continue;
            }
            let place = self.begun;
            self.begun = self.begun.saturating_add(1);
            call.place = Some(place);
            deltas.push(Delta::Call {
                wire_id: call.id.as_deref().map(Into::into),
                name: call.name.as_str().into(),
                form: CallForm::Native,
            });
            let held = std::mem::take(&mut call.held);
            if !held.is_empty() {
                deltas.push(Delta::Arguments { place, text: held.into() });
            }
        }
        self.looked_at = self.looked_at.max(last + 1);
    }
}

impl GrowingCall {
    /// True if a piece that came where this call stands is more of it, and not the start of another.
    ///
    /// - Another id starts another call (two calls under index 0), but only with a name, or where the
    ///   arguments are closed: vLLM once sent a new id in each delta of one call.
    /// - The same id or none goes on with it, unless the arguments are closed and a name comes with more of
    ///   them, or another name: servers that give all calls one id, or none.
    fn goes_on_with(&self, piece: &CallPiece) -> bool {
        let is_closed = self.brackets == Brackets::Closed;
        let has_other_id = match (&self.id, &piece.id) {
            (Some(mine), Some(id)) => mine != id,
            (None, _) | (_, None) => false,
        };
        match &piece.name {
            Some(_) if has_other_id => false,
            Some(name) => !(is_closed && (*name != self.name || !piece.arguments.trim().is_empty())),
            None => !(has_other_id && is_closed),
        }
    }

    /// Some servers send the name in pieces, some repeat it whole, some repeat what was there with more.
    /// What it grew by.
    fn take_name(&mut self, name: String) -> usize {
        let before = self.name.len();
        if name.starts_with(&self.name) {
            self.name = name;
        } else {
            self.name.push_str(&name);
        }
        self.name.len() - before
    }

    fn is_nothing(&self) -> bool {
        self.id.is_none() && self.name.is_empty() && self.held.trim().is_empty()
    }
}
