//! The ledger: limits, what is spent, and what is held for calls under way.
//!
//! A turn asks before each request by `Reserve` and tells after it by `Settle`; the shell answers
//! from one ledger for the whole tree of a turn. No call begins that could overdraw a limit (I5).

use serde::{Deserialize, Serialize};

use crate::request::Purpose;
use crate::stop::Limit;
use crate::time::Span;
use crate::usage::Account;

/// What a turn may use; none is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Model calls that may ask for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Time at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

impl Limits {
    /// Steps of a turn when nobody says otherwise (L05).
    pub const DEFAULT_STEPS: u32 = 90;

    /// These limits with `add` on top. What has no limit keeps none.
    #[must_use]
    pub fn raised_by(&self, add: &Self) -> Self {
        Self {
            steps: self.steps.map(|steps| steps.saturating_add(add.steps.unwrap_or(0))),
            tokens: self.tokens.map(|tokens| tokens.saturating_add(add.tokens.unwrap_or(0))),
            micro_usd: self.micro_usd.map(|money| money.saturating_add(add.micro_usd.unwrap_or(0))),
            time: self.time.map(|time| time.plus(add.time.unwrap_or_default())),
        }
    }

    /// True if there is nothing in it to add.
    pub fn adds_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The most that a request can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Worst {
    /// What it is for: a step counts as one, and only a closing call may use what is set aside.
    pub purpose: Purpose,
    /// Estimated input with its margin, and the output cap.
    pub tokens: u64,
    /// Their price in millionths of a dollar; none if it is not known.
    pub micro_usd: Option<u64>,
}

/// What a request did use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Used {
    /// 1 for the reply of a step, else 0.
    pub steps: u32,
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar; none if the price is not known.
    pub micro_usd: Option<u64>,
}

/// A part of the budget that is held until it is settled. Two of the same amount are alike, so a turn
/// that was folded from its log can settle what the one before it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// What is held.
    pub worst: Worst,
}

/// The account of a tree of turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    limits: Limits,
    spent: Account,
    held: Vec<Worst>,
    set_aside: Option<Worst>,
}

impl Ledger {
    /// A ledger for a turn with what its log says was spent.
    pub fn new(limits: Limits, spent: Account) -> Self {
        Self { limits, spent, ..Self::default() }
    }

    /// Sets other limits; what is held stays held.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What is spent so far.
    pub fn spent(&self) -> &Account {
        &self.spent
    }

    /// Holds `worst`, or says what it would overdraw.
    ///
    /// The first one of a turn also sets as much aside for one closing call (L07): the others must
    /// leave that alone.
    ///
    /// # Errors
    /// The limit that the call could overdraw; nothing is held then.
    pub fn reserve(&mut self, worst: Worst) -> Result<Reservation, Limit> {
        self.set_aside.get_or_insert(worst);
        self.check(&worst)?;
        self.held.push(worst);
        Ok(Reservation { worst })
    }

    fn check(&self, worst: &Worst) -> Result<(), Limit> {
        let aside = self.set_aside.filter(|_| worst.purpose != Purpose::Closing);
        let all = || self.held.iter().chain([worst]).chain(aside.as_ref());
        let steps = self.held.iter().chain([worst]).filter(|one| one.purpose == Purpose::Step).count() as u64;
        if exceeds(self.limits.steps.map(u64::from), u64::from(self.spent.steps).saturating_add(steps)) {
            return Err(Limit::Steps);
        }
        let tokens = all().fold(self.spent.tokens, |sum, one| sum.saturating_add(one.tokens));
        if exceeds(self.limits.tokens, tokens) {
            return Err(Limit::Tokens);
        }
        let money = all().fold(self.spent.micro_usd, |sum, one| {
            sum.zip(one.micro_usd).map(|(sum, more)| sum.saturating_add(more))
        });
        match (self.limits.micro_usd, money) {
            (None, _) => Ok(()),
            (Some(limit), Some(money)) if money <= limit => Ok(()),
            // An unknown price can overdraw any limit.
            (Some(_), _) => Err(Limit::Money),
        }
    }

    /// Gives back what was held and counts what was used. Settling what is not held changes nothing
    /// and answers `false`.
    pub fn settle(&mut self, reservation: &Reservation, used: &Used) -> bool {
        let Some(place) = self.held.iter().position(|held| *held == reservation.worst) else {
            return false;
        };
        self.held.remove(place);
        self.spent.steps = self.spent.steps.saturating_add(used.steps);
        self.spent.tokens = self.spent.tokens.saturating_add(used.tokens);
        self.spent.micro_usd =
            self.spent.micro_usd.zip(used.micro_usd).map(|(sum, more)| sum.saturating_add(more));
        true
    }

    /// What is held for calls under way.
    pub fn held(&self) -> &[Worst] {
        &self.held
    }

    /// True if what is spent and held stays within the limits.
    pub fn is_within_limits(&self) -> bool {
        let steps = self.held.iter().filter(|one| one.purpose == Purpose::Step).count() as u64;
        let tokens = self.held.iter().fold(self.spent.tokens, |sum, one| sum.saturating_add(one.tokens));
        !exceeds(self.limits.steps.map(u64::from), u64::from(self.spent.steps).saturating_add(steps))
            && !exceeds(self.limits.tokens, tokens)
    }
}

fn exceeds(limit: Option<u64>, amount: u64) -> bool {
    limit.is_some_and(|limit| amount > limit)
}
