//! What a request is charged, and what that takes from the ledger.

use crate::budget::{Used, Worst};
use crate::entry::Charge;
use crate::request::Purpose;
use crate::usage::Usage;

/// Steps that a reply for this purpose counts as (L05).
pub(crate) fn steps_of(purpose: Purpose) -> u32 {
    match purpose {
        Purpose::Step => 1,
        Purpose::Plan | Purpose::Verify | Purpose::Closing | Purpose::Summary => 0,
    }
}

/// What a charge takes from the ledger.
pub(crate) fn used(purpose: Option<Purpose>, charge: &Charge, micro_usd: Option<u64>) -> Used {
    let tokens = match charge {
        Charge::Reported(usage) => usage.total(),
        Charge::Reserved(tokens) => *tokens,
    };
    Used { steps: purpose.map_or(0, steps_of), tokens, micro_usd }
}

/// What a request is charged of which nobody said what it used.
pub(crate) fn charge(usage: Option<Usage>, micro_usd: Option<u64>, worst: &Worst) -> (Charge, Option<u64>) {
    match usage {
        Some(usage) => (Charge::Reported(usage), micro_usd),
        None => (Charge::Reserved(worst.tokens), micro_usd.or(worst.micro_usd)),
    }
}
