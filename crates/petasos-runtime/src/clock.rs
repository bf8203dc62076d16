//! Time comes from a clock that is handed in, so that tests own it.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use petasos_core::time::{Span, Time};

/// Tells the time and wakes. Called by the driver of a session alone.
pub trait Clock: fmt::Debug + Send + Sync {
    /// What time it is. Never goes back.
    fn now(&self) -> Time;

    /// Ends when it is `at` or later. May be dropped.
    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()>;
}

/// The system's clock, which goes on at its own pace where the system's is set back: a grace or a wait that was
/// begun stays as long as it was meant.
#[derive(Debug)]
pub struct SystemClock {
    last: Mutex<Reading>,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    wall: Time,
    monotonic: Instant,
    told: Time,
}

impl SystemClock {
    /// A clock that begins with the system's time.
    pub fn new() -> Self {
        let wall = wall();
        Self { last: Mutex::new(Reading { wall, monotonic: Instant::now(), told: wall }) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        // A reading is whole whatever happened to who held it.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (wall, monotonic) = (wall(), Instant::now());
        let passed = monotonic.duration_since(last.monotonic).as_millis();
        let passed = Span(u64::try_from(passed).unwrap_or(u64::MAX));
        // The wall clock goes on while a machine sleeps, the other one where somebody sets the first back.
        let told = last.told.after(passed.max(wall.since(last.wall)));
        *last = Reading { wall, monotonic, told };
        told
    }

    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(at.since(self.now()).0)))
    }
}

fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
