//! The text of one item while it comes: piece by piece, then whole, in parts or not. It is said once.

use std::collections::BTreeSet;

use super::event::{Slot, Words};

/// The text of an item.
#[derive(Clone, Debug, Default)]
pub(super) struct GrowingWords {
    received: String,
    /// The part that came last, and where its text starts.
    part: Option<(Slot, usize)>,
    /// The parts before it.
    before: BTreeSet<Slot>,
}

impl GrowingWords {
    /// All of its text that came, its parts one after the other.
    pub(super) fn received(&self) -> &str {
        &self.received
    }

    /// True if more text for this place starts another part.
    pub(super) fn is_new_part(&self, slot: Slot) -> bool {
        self.part.is_none_or(|(last, _)| last != slot)
    }

    /// True for a summary of what came as itself, and the other way round: one of them is enough.
    pub(super) fn is_other_form(&self, slot: Slot) -> bool {
        match (self.part, slot) {
            (Some((Slot::Summary(_), _)), Slot::Content(_)) => true,
            (Some((Slot::Content(_), _)), Slot::Summary(_)) => true,
            (None | Some(_), Slot::Summary(_) | Slot::Content(_)) => false,
        }
    }

    /// Takes more of it in.
    pub(super) fn push(&mut self, slot: Slot, text: &str) {
        if self.is_new_part(slot) {
            let before = self.part.replace((slot, self.received.len()));
            self.before.extend(before.map(|(slot, _)| slot));
        }
        self.received.push_str(text);
    }

    /// Of the whole text of a part, what did not come yet. Nothing, if what came is not how it begins: what was
    /// said stays.
    pub(super) fn rest_of_part<'a>(&self, slot: Slot, whole: &'a str) -> &'a str {
        let Some((last, start)) = self.part else { return whole };
        let came = self.received.get(start..).unwrap_or_default();
        if last == slot {
            return whole.strip_prefix(came).unwrap_or_default();
        }
        // Some servers count the parts in one way here and in another there.
        if self.before.contains(&slot) || came == whole { "" } else { whole }
    }

    /// Of the whole text of the item, what did not come yet, in its parts.
    pub(super) fn rest(&self, whole: Vec<Words>) -> Vec<Words> {
        let Some((slot, _)) = self.part else { return whole };
        let all: String = whole.iter().map(|words| words.text.as_str()).collect();
        let rest = all.strip_prefix(self.received.as_str()).unwrap_or_default();
        let manner = whole.last().map(|words| words.manner);
        manner.map(|manner| Words { slot, manner, text: rest.to_owned() }).into_iter().collect()
    }
}
