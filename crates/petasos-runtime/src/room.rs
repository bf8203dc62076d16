//! How much a result may say: what a person set, less where the model's window is small, and a share of it where one reply
//! makes many calls.
//!
//! Both go by what the log tells, and by nothing that depends on which call ends first: a session that goes on, or runs
//! its calls one after the other, gives each the same.

use petasos_core::bounded::Cap;

/// Tokens of a small window, and characters of a result there (`policies.md`).
const SMALL: (u64, u64) = (8_192, 2_000);
/// Tokens of a window from which on it bounds nothing, and characters of a result there.
const LARGE: (u64, u64) = (131_072, 50_000);
/// Results of one reply that may be as long as they can be. With more, all get less.
const LONG_RESULTS: usize = 4;
/// Characters that every result gets, however many there are: an error, or a page and how to go on.
const LEAST: usize = 1_000;

/// The cap of a result in so many tokens of a window, if that is known, of a reply with so many calls.
pub(crate) fn cap(set: Cap, window: Option<u64>, calls: usize) -> Cap {
    let one = window.map_or(set.0, |window| set.0.min(in_window(window)));
    let share = one.saturating_mul(LONG_RESULTS) / calls.max(1);
    Cap(share.max(LEAST).min(one))
}

/// Characters of a result in a window.
fn in_window(tokens: u64) -> usize {
    if tokens >= LARGE.0 {
        return usize::MAX;
    }
    let above = tokens.saturating_sub(SMALL.0) * (LARGE.1 - SMALL.1) / (LARGE.0 - SMALL.0);
    usize::try_from(SMALL.1 + above).unwrap_or(usize::MAX)
}
