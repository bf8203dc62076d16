//! Time comes from a clock that is handed in, so that tests own it.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use petasos_core::time::Time;

/// Tells the time and wakes. Called by the driver of a session alone.
pub trait Clock: fmt::Debug + Send + Sync {
    /// What time it is.
    fn now(&self) -> Time;

    /// Ends when it is `at` or later. May be dropped.
    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()>;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()> {
        // A span of the monotonic clock: a wall clock that is set back does not make the wait longer.
        let span = Duration::from_millis(at.since(self.now()).0);
        Box::pin(tokio::time::sleep(span))
    }
}
