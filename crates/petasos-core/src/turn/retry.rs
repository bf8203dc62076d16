//! What follows a failed request: the same again, the next target, or the end.

use crate::entry::Next;
use crate::stop::FailureKind;
use crate::time::{Permille, Span, Time};
use crate::turn::{Failure, Remedy};

/// Tries of one target for one request (P04).
pub const TRIES: u32 = 3;
/// The wait before the second try; it doubles with each.
const FIRST_WAIT: Span = Span::seconds(1);
/// The longest wait that we choose ourselves.
const LONGEST_WAIT: Span = Span::seconds(60);
/// The longest wait that a provider may ask for; who asks for more gives up his turn to the fallback.
pub const LONGEST_ASKED: Span = Span::seconds(600);

/// The longest that a wait which a provider asks for is stretched by chance: it tells all who asked the same moment.
const LONGEST_APART: Span = Span::seconds(10);

/// How often one target is asked again with the request written otherwise. Enough for all that one server may
/// refuse at a time, and an end for one that refuses whatever it gets.
pub const ADAPTATIONS: u32 = 4;
/// The longest wait that is worth while where another target is left.
pub const LONGEST_BEFORE_FALLBACK: Span = Span::seconds(30);

/// What the present target was asked in vain for the request at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tries {
    /// Failures.
    pub(crate) failures: u32,
    /// Failures after which the request was written otherwise.
    pub(crate) adaptations: u32,
}

impl Tries {
    /// One more, and what follows it.
    pub(crate) fn failed(&mut self, next: Next) {
        match next {
            Next::Adapt => self.adaptations += 1,
            Next::AgainAt(_) | Next::GiveUp => self.failures += 1,
            Next::Fallback => *self = Self::default(),
        }
    }
}

/// What stands before the failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Failures of the present target before this one.
    pub(crate) failures: u32,
    /// Targets left in the fallback chain.
    pub(crate) fallbacks: usize,
}

/// Decides what follows. Waits grow by doubling and are stretched by up to their own length, so that
/// many sessions do not come back at once; what the provider asks for is the least, and nothing is nothing.
pub(crate) fn after(failure: &Failure, standing: Standing, now: Time, jitter: Permille) -> Next {
    let may_try_again = failure.kind.is_passing() && standing.failures + 1 < TRIES;
    let asked = failure.retry_after.unwrap_or_default();
    let has_fallback = standing.fallbacks > 0;
    let longest = if has_fallback { LONGEST_BEFORE_FALLBACK } else { LONGEST_ASKED };
    let is_over = has_fallback && failure.remedy == Some(Remedy::NextTarget);
    if may_try_again && asked <= longest && !is_over {
        let doubled = Span(FIRST_WAIT.0 << standing.failures.min(10)).min(LONGEST_WAIT);
        let own = jitter.stretch(doubled);
        let wait = match failure.retry_after {
            None => own,
            // A date that has passed: it may be asked now. The tries are counted all the same.
            Some(Span(0)) => Span(0),
            Some(asked) => own.max(asked.plus(jitter.of(asked.min(LONGEST_APART)))).min(longest),
        };
        return Next::AgainAt(now.after(wait));
    }
    // A request that is too long for one model may fit the next; one that is malformed may not, but
    // the next target has its own form. Only an empty answer says nothing about the target.
    match failure.kind {
        FailureKind::Empty => Next::GiveUp,
        FailureKind::Auth
        | FailureKind::Billing
        | FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::Timeout
        | FailureKind::Network
        | FailureKind::NotFound
        | FailureKind::BadRequest
        | FailureKind::Overflow
        | FailureKind::BadStream
        | FailureKind::Other => {
            if has_fallback {
                Next::Fallback
            } else {
                Next::GiveUp
            }
        }
    }
}
