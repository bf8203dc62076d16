//! How what differs is told.

use petasos_core::entry::Entry;
use petasos_core::id::Digest;
use petasos_core::text::Text;
use petasos_providers::Body;

use super::drive::Misfit;
use super::rewriting::Rewriting;
use super::{Difference, Differing, Place};

/// Bytes that are shown before the first that differs.
const BEFORE: usize = 40;
/// Characters that are shown of each side.
const SHOWN: usize = 160;

/// An entry that core makes otherwise.
pub(super) fn entry(misfit: &Misfit) -> Difference {
    let line = |entry: &Entry| entry.open_line().unwrap_or_default();
    Difference::Entry {
        entry: misfit.logged.seq,
        kind: Text::from(misfit.logged.body.kind()),
        was: line(&misfit.logged),
        now: misfit.made.as_ref().map(line),
        refused: misfit.refused.as_ref().map(ToString::to_string),
    }
}

/// A request that is written otherwise: as it is written now, and the bytes of a part that was sent, where they are
/// known.
pub(super) fn request(
    request: Place,
    body: &Body,
    sent: &[Digest],
    (now, then): (&Rewriting, &dyn Fn(usize) -> Option<Vec<u8>>),
) -> Difference {
    let first = body.parts.iter().zip(sent).take_while(|(now, was)| now == was).count();
    let (was, is) = (sent.get(first).copied(), body.parts.get(first).copied());
    if was.is_none() && is.is_none() {
        return Difference::Tail { request };
    }
    let bytes = then(first).zip(now.part(first)).map(|(was, now)| differing(&was, now));
    Difference::Part { request, part: first, of: now.part_of(first), was, now: is, bytes }
}

/// Where two texts differ, and a few words of both.
pub(super) fn differing(was: &[u8], now: &[u8]) -> Differing {
    let at = was.iter().zip(now).take_while(|(was, now)| was == now).count();
    let from = at.saturating_sub(BEFORE);
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes.get(from..).unwrap_or_default());
        text.trim_start_matches(char::REPLACEMENT_CHARACTER).chars().take(SHOWN).collect()
    };
    Differing { at, was: shown(was), now: shown(now) }
}
