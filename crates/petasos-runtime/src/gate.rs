//! One gate before each provider: when it says that there were too many requests, all sessions of this process that
//! use its key wait, and then go on one by one, so that many agents do not come back at once and meet the limit
//! again. And a target that was given up for a fallback is passed over for a while.
//!
//! After a 429 the gate is shut for as long as the provider asks, and behind that requests go one at a time: first a
//! second apart, twice as far with each further 429, closer again with replies that begin. Other processes with
//! the same key are not known here; the provider's own limit is all that holds between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use petasos_core::request::Target;
use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::time::{Span, Time};
use petasos_core::turn::{Failure, LONGEST_ASKED, LONGEST_BEFORE_FALLBACK, Remedy};
use petasos_core::usage::Usage;
use petasos_providers::row_of;
use tokio::sync::Mutex as Turnstile;

use crate::clock::Clock;
use crate::requests::Providers;

/// How long a target is passed over after it was given up, where another is left.
const COOLDOWN: Span = Span::seconds(60);
/// How long the gate is shut where the provider does not say.
const SHUT: Span = Span::seconds(1);
/// How far apart requests go after a 429, at first and at most.
const APART: (Span, Span) = (Span::seconds(1), Span::seconds(10));
/// So many replies that begin bring them closer by a quarter: one that met the limit comes to its turn before another does.
const WELL: u32 = 4;
/// Closer than this they need not be held apart.
const CLOSE: Span = Span(100);

/// The gates of a process.
#[derive(Debug)]
pub(crate) struct Gates {
    clock: Arc<dyn Clock>,
    providers: Arc<dyn Providers>,
    gates: Mutex<HashMap<Account, Arc<Gate>>>,
    cooling: Mutex<HashMap<Target, Cooling>>,
}

/// A provider, and which of its keys it is asked with.
type Account = (Text, Option<usize>);

/// A target that is not to be asked for a while.
#[derive(Clone, Copy, Debug)]
struct Cooling {
    until: Time,
    kind: FailureKind,
    why: Why,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    /// Its provider asked for a long wait.
    Asked,
    /// It was given up for the next target.
    GivenUp,
}

/// Whether another target is left for who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Fallback,
    Nothing,
}

#[derive(Debug)]
struct Gate {
    /// Who waits, in the order they came; the first of them watches the clock.
    turnstile: Turnstile<()>,
    pace: Mutex<Pace>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Nobody goes before.
    open_at: Time,
    /// How far apart requests go; zero is no limit.
    apart: Span,
    /// A limit was met and its wait is not over: further 429s before that are of the same burst.
    shut_until: Time,
    /// Replies that began since the distance last changed.
    well: u32,
}

impl Gates {
    pub(crate) fn new(clock: Arc<dyn Clock>, providers: Arc<dyn Providers>) -> Self {
        Self { clock, providers, gates: Mutex::default(), cooling: Mutex::default() }
    }

    /// The time of those who wait here.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Waits for a request's turn. Dropping the future gives it up.
    ///
    /// # Errors
    /// Its turn is too far away, or the target is passed over: the request was not sent.
    pub(crate) async fn pass(&self, target: &Target, left: Left) -> Result<(), Failure> {
        let began = self.clock.now();
        let remedy = (left == Left::Fallback).then_some(Remedy::NextTarget);
        let cooling = self.cooling(target, began);
        if let Some(Cooling { until, kind, why }) = cooling.filter(|cooling| cooling.holds_for(left)) {
            return Err(not_sent(target, kind, why.words(), until.since(began), remedy));
        }
        let gate = self.gate(target);
        if gate.is_open(began) {
            return Ok(());
        }
        let longest = match left {
            Left::Fallback => LONGEST_BEFORE_FALLBACK,
            Left::Nothing => LONGEST_ASKED,
        };
        let until = began.after(longest);
        let turn = async {
            let turnstile = gate.turnstile.lock().await;
            loop {
                match gate.try_pass(self.clock.now()) {
                    Ok(()) => break,
                    Err(open_at) => self.clock.sleep_until(open_at.min(until)).await,
                }
                if self.clock.now() >= until {
                    return Err(gate.wait_from(self.clock.now()));
                }
            }
            drop(turnstile);
            Ok(())
        };
        let passed = tokio::select! {
            biased;
            passed = turn => passed,
            () = self.clock.sleep_until(until) => Err(gate.wait_from(self.clock.now())),
        };
        let why = "too many requests are waiting for this provider";
        passed.map_err(|wait| not_sent(target, FailureKind::RateLimit, why, wait, remedy))
    }

    /// A request failed: if it met a limit, the gate is shut.
    pub(crate) fn failed(&self, target: &Target, failure: &Failure) {
        if failure.kind == FailureKind::RateLimit {
            self.limited(target, failure.retry_after);
        }
    }

    fn limited(&self, target: &Target, asked: Option<Span>) {
        let gate = self.gate(target);
        let now = self.clock.now();
        let asked = asked.unwrap_or(SHUT);
        // A wait that long is of one model, as often as not, and nobody waits for it here in silence.
        let is_long = asked > LONGEST_BEFORE_FALLBACK;
        if is_long {
            let cooling = Cooling { until: now.after(asked), kind: FailureKind::RateLimit, why: Why::Asked };
            lock(&self.cooling).insert(target.clone(), cooling);
        }
        let shut = if is_long { SHUT } else { asked };
        gate.change(|pace| {
            let (first, most) = APART;
            if pace.shut_until <= now {
                pace.apart = Span(pace.apart.0.saturating_mul(2)).max(first).min(most);
            }
            pace.shut_until = pace.shut_until.max(now.after(shut));
            pace.open_at = pace.open_at.max(pace.shut_until);
            pace.well = 0;
        });
    }

    /// A reply began: requests may go closer.
    pub(crate) fn went_well(&self, target: &Target) {
        self.gate(target).change(Pace::went_well);
    }

    /// A target was given up for the next.
    pub(crate) fn gave_up(&self, target: &Target, kind: FailureKind) {
        if kind.is_passing() {
            let now = self.clock.now();
            let until = now.after(COOLDOWN);
            let mut cooling = lock(&self.cooling);
            cooling.retain(|_, cooling| cooling.until > now);
            // Who is passed over fails as well; that makes it no longer.
            cooling.entry(target.clone()).or_insert(Cooling { until, kind, why: Why::GivenUp });
        }
    }

    fn cooling(&self, target: &Target, now: Time) -> Option<Cooling> {
        let mut cooling = lock(&self.cooling);
        cooling.retain(|_, cooling| cooling.until > now);
        cooling.get(target).copied()
    }

    /// That of its provider, however it is named, and of the key that it is asked with: limits are those of a key.
    fn gate(&self, target: &Target) -> Arc<Gate> {
        let provider =
            row_of(&target.provider).map_or_else(|| target.provider.clone(), |row| row.name.into());
        let key = self.providers.key_number(target);
        let mut gates = lock(&self.gates);
        let new = || Arc::new(Gate { turnstile: Turnstile::new(()), pace: Mutex::default() });
        Arc::clone(gates.entry((provider, key)).or_insert_with(new))
    }
}

impl Cooling {
    /// Who has no other target may ask one that was given up, but not one whose provider wants to be left alone.
    fn holds_for(&self, left: Left) -> bool {
        match self.why {
            Why::Asked => true,
            Why::GivenUp => left == Left::Fallback,
        }
    }
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::Asked => "its provider asked to wait",
            Self::GivenUp => "it failed a moment ago",
        }
    }
}

impl Pace {
    fn went_well(&mut self) {
        if self.apart == Span(0) {
            return;
        }
        self.well += 1;
        if self.well == WELL {
            let closer = Span(self.apart.0 * 3 / 4);
            self.apart = if closer < CLOSE { Span(0) } else { closer };
            self.well = 0;
        }
    }
}

impl Gate {
    /// True if nothing holds requests back.
    fn is_open(&self, now: Time) -> bool {
        let pace = *lock(&self.pace);
        pace.apart == Span(0) && pace.open_at <= now
    }

    /// Goes through, or tells from when on it may be tried.
    fn try_pass(&self, now: Time) -> Result<(), Time> {
        let mut pace = lock(&self.pace);
        if now < pace.open_at {
            return Err(pace.open_at);
        }
        pace.open_at = now.after(pace.apart);
        Ok(())
    }

    fn wait_from(&self, now: Time) -> Span {
        lock(&self.pace).open_at.since(now)
    }

    fn change(&self, change: impl FnOnce(&mut Pace)) {
        change(&mut lock(&self.pace));
    }
}

// What is in them is whole whatever happened to who held it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_sent(target: &Target, kind: FailureKind, why: &str, wait: Span, remedy: Option<Remedy>) -> Failure {
    let seconds = wait.0.div_ceil(1000);
    let message =
        format!("{} at {} is not asked: {why}; in {seconds} s it may be", target.model, target.provider);
    Failure {
        kind,
        status: None,
        message: message.into(),
        retry_after: Some(wait),
        remedy,
        usage: Some(Usage::default()),
        micro_usd: Some(0),
    }
}
