//! A reply while it comes: its blocks in order, and what of its text is not in a `partial` entry yet.

use crate::entry::{Block, CallForm, FinishReason, ModelCall, Opaque};
use crate::error::Rejected;
use crate::guard::repeats::{Part, are_equal, has_grown_into};
use crate::text::Text;
use crate::time::{Span, Time};
use crate::turn::Delta;

/// The most that one reply may hold, in bytes of text (I9). Far above what any model puts out in one
/// reply; an endless stream ends here instead of in memory.
pub const REPLY_CAP: usize = 8 << 20;

/// What each block counts as beside its text: an endless row of empty ones ends too, and the calls of a
/// reply stay far fewer than a place can number.
const BLOCK: usize = 1 << 10;

/// A `partial` entry is written when this much text waits, in characters (`seam.md`: 8 KB).
const PARTIAL_SIZE: usize = 8_000;
/// A `partial` entry is written at most this often, unless its size is reached (`seam.md`).
const PARTIAL_EVERY: Span = Span::seconds(1);

/// What came so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartialReply {
    blocks: Vec<Growing>,
    raw: Option<String>,
    size: usize,
    /// Characters of text that are in `partial` entries.
    saved: u64,
    saved_at: Time,
    unsaved: String,
}

/// A block that may still grow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Growing {
    Text(String),
    Reasoning(String),
    Opaque(Opaque),
    Call { wire_id: Option<Text>, name: Text, form: CallForm, arguments: String, complete: bool },
}

impl Growing {
    fn whole_call(&self) -> Option<(&str, &str)> {
        match self {
            Self::Call { name, arguments, complete: true, .. } => Some((name, arguments)),
            Self::Call { .. } | Self::Text(_) | Self::Reasoning(_) | Self::Opaque(_) => None,
        }
    }
}

/// Adds a piece to a text: `true` if the text repeats itself.
fn add(text: &mut String, piece: &str, part: Part) -> bool {
    let from = text.len();
    text.push_str(piece);
    has_grown_into(text, from, part)
}

/// What a delta led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grown {
    /// It was taken in.
    Fits,
    /// The reply is over its cap.
    TooLarge,
    /// The reply repeats itself.
    Repeats,
}

impl PartialReply {
    /// An empty reply, or one that goes on after the text that `partial` entries kept.
    pub(crate) fn new(now: Time, kept: &str) -> Self {
        let blocks = if kept.is_empty() { Vec::new() } else { vec![Growing::Text(kept.to_owned())] };
        let saved = kept.chars().count() as u64;
        Self { blocks, size: kept.len(), saved, saved_at: now, ..Self::default() }
    }

    /// Takes a piece in.
    ///
    /// # Errors
    /// [`Rejected::BadDelta`] for arguments of a call that did not begin or is complete.
    pub(crate) fn push(&mut self, delta: Delta) -> Result<Grown, Rejected> {
        let repeats = match delta {
            Delta::Text(text) => {
                self.size += text.len();
                self.unsaved.push_str(&text);
                if let Some(Growing::Text(last)) = self.blocks.last_mut() {
                    add(last, &text, Part::Words)
                } else {
                    self.size += BLOCK;
                    self.blocks.push(Growing::Text(text.to_string()));
                    has_grown_into(&text, 0, Part::Words)
                }
            }
            Delta::Reasoning(text) => {
                self.size += text.len();
                if let Some(Growing::Reasoning(last)) = self.blocks.last_mut() {
                    add(last, &text, Part::Words)
                } else {
                    self.size += BLOCK;
                    self.blocks.push(Growing::Reasoning(text.to_string()));
                    has_grown_into(&text, 0, Part::Words)
                }
            }
            Delta::Opaque(opaque) => {
                self.size += BLOCK + opaque.raw.as_str().len();
                self.blocks.push(Growing::Opaque(opaque));
                false
            }
            Delta::Call { wire_id, name, form } => {
                self.size += BLOCK + name.len() + wire_id.as_ref().map_or(0, |id| id.len());
                let arguments = String::new();
                self.blocks.push(Growing::Call { wire_id, name, form, arguments, complete: false });
                false
            }
            Delta::Arguments { place, text } => {
                let (arguments, _) = self.open_call(place)?;
                let repeats = add(arguments, &text, Part::Arguments);
                self.size += text.len();
                repeats
            }
            Delta::CallComplete { place } => {
                *self.open_call(place)?.1 = true;
                are_equal(self.blocks.iter().rev().map_while(Growing::whole_call))
            }
            Delta::Raw(text) => {
                self.size += text.len();
                add(self.raw.get_or_insert_default(), &text, Part::Arguments)
            }
        };
        Ok(match (self.size > REPLY_CAP, repeats) {
            (true, _) => Grown::TooLarge,
            (false, true) => Grown::Repeats,
            (false, false) => Grown::Fits,
        })
    }

    fn open_call(&mut self, place: u16) -> Result<(&mut String, &mut bool), Rejected> {
        let calls = self.blocks.iter_mut().filter_map(|block| match block {
            Growing::Call { arguments, complete, .. } => Some((arguments, complete)),
            Growing::Text(_) | Growing::Reasoning(_) | Growing::Opaque(_) => None,
        });
        calls
            .into_iter()
            .nth(usize::from(place))
            .filter(|(_, complete)| !**complete)
            .ok_or(Rejected::BadDelta)
    }

    /// The text that should go into a `partial` entry now, with the number of characters before it.
    pub(crate) fn due_partial(&mut self, now: Time) -> Option<(u64, Text)> {
        let waiting = self.unsaved.chars().count();
        let is_due = waiting >= PARTIAL_SIZE || now.since(self.saved_at) >= PARTIAL_EVERY;
        if waiting == 0 || !is_due {
            return None;
        }
        let cut = self.unsaved.char_indices().nth(PARTIAL_SIZE).map_or(self.unsaved.len(), |(at, _)| at);
        let rest = self.unsaved.split_off(cut);
        let piece = std::mem::replace(&mut self.unsaved, rest);
        let from = self.saved;
        self.saved += waiting.min(PARTIAL_SIZE) as u64;
        self.saved_at = now;
        Some((from, piece.into()))
    }

    /// True if a person has seen something of it.
    pub(crate) fn is_visible(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Growing::Text(text) => !text.trim().is_empty(),
            Growing::Call { .. } => true,
            Growing::Reasoning(_) | Growing::Opaque(_) => false,
        })
    }

    /// True if it holds text, or a call whose text is whole.
    pub(crate) fn says_something(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Growing::Text(text) => !text.trim().is_empty(),
            Growing::Call { complete, .. } => *complete,
            Growing::Reasoning(_) | Growing::Opaque(_) => false,
        })
    }

    /// The blocks, and the raw text where it says more than they do: of a call that came in no native form, or of what
    /// was cut before anybody could tell what it is.
    pub(crate) fn into_blocks(self, finish: &FinishReason) -> (Vec<Block>, Option<Text>) {
        let is_written = |block: &Growing| match block {
            Growing::Call { form, .. } => *form != CallForm::Native,
            Growing::Text(_) | Growing::Reasoning(_) | Growing::Opaque(_) => false,
        };
        let says_more = *finish == FinishReason::Cut || self.blocks.iter().any(is_written);
        let blocks = self.blocks.into_iter().map(|block| match block {
            Growing::Text(text) => Block::Text(text.into()),
            Growing::Reasoning(text) => Block::Reasoning(text.into()),
            Growing::Opaque(opaque) => Block::Opaque(opaque),
            Growing::Call { wire_id, name, form, arguments, complete } => {
                Block::Call(ModelCall { wire_id, name, arguments: arguments.into(), form, complete })
            }
        });
        (blocks.collect(), self.raw.filter(|_| says_more).map(Text::from))
    }
}
