//! What is told while nothing comes of a model: every 30 s, what is waited for, how long already, and what ends it.
//!
//! The clock is the session's. Only what is shown to whoever watches breaks a silence: a model that writes the
//! arguments of a call for a minute is silent too, but the time that its next piece has begins anew.

use std::fmt;
use std::future::pending;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use petasos_core::request::Target;
use petasos_core::text::Text;
use petasos_core::time::{Span, Time};
use petasos_providers::{Timeouts, Waits};

use crate::clock::Clock;
use crate::event::{Bound, Event, WaitedFor};

/// How long nothing is shown before it is told what is waited for, and told again (P05).
pub(crate) const EACH: Span = Span::seconds(30);

/// What is waited for, if anything is.
#[derive(Default)]
pub(crate) struct Silence {
    waiting: Option<Waiting>,
    /// Where the last request went, as its provider tells it.
    host: Option<Text>,
    timer: Option<BoxFuture<'static, ()>>,
}

#[derive(Clone, Debug)]
struct Waiting {
    what: What,
    host: Text,
    model: Text,
    /// Since when nothing was shown.
    since: Time,
    /// When that is told next.
    tell_at: Time,
}

#[derive(Clone, Debug)]
enum What {
    /// A reply, once the request has passed the gate.
    Model {
        timeouts: Option<Timeouts>,
        passed: Arc<OnceLock<Time>>,
        piece: Option<Time>,
    },
    Retry {
        at: Time,
    },
}

impl fmt::Debug for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Silence").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Silence {
    /// A request is about to be sent. It tells here when it has passed the gate.
    pub(crate) fn asked(&mut self, target: &Target, waits: Option<Waits>, now: Time) -> Arc<OnceLock<Time>> {
        let (host, timeouts) = match waits {
            Some(Waits { host, timeouts }) => (host, Some(timeouts)),
            None => (target.provider.clone(), None),
        };
        self.host = Some(host.clone());
        let passed = Arc::new(OnceLock::new());
        let what = What::Model { timeouts, passed: Arc::clone(&passed), piece: None };
        self.begin(Waiting { what, host, model: target.model.clone(), since: now, tell_at: now.after(EACH) });
        passed
    }

    /// The request that was sent last failed, and is made again then.
    pub(crate) fn again_at(&mut self, at: Time, target: &Target, now: Time) {
        let host = self.host.clone().unwrap_or_else(|| target.provider.clone());
        let model = target.model.clone();
        self.begin(Waiting { what: What::Retry { at }, host, model, since: now, tell_at: now.after(EACH) });
    }

    fn begin(&mut self, waiting: Waiting) {
        self.waiting = Some(waiting);
        self.timer = None;
    }

    /// A piece of the reply came, shown or not.
    pub(crate) fn piece(&mut self, now: Time) {
        if let Some(Waiting { what: What::Model { piece, .. }, .. }) = &mut self.waiting {
            *piece = Some(now);
        }
    }

    /// Something was shown. The timer stays: it finds that it is early, and waits on.
    pub(crate) fn shown(&mut self, now: Time) {
        if let Some(waiting) = &mut self.waiting {
            waiting.since = now;
            waiting.tell_at = now.after(EACH);
        }
    }

    /// Nothing is waited for any more.
    pub(crate) fn ended(&mut self) {
        self.waiting = None;
        self.timer = None;
    }

    /// Ends when there is something to tell; never if nothing is waited for. May be dropped and called anew.
    pub(crate) async fn passed(&mut self, clock: &dyn Clock) {
        loop {
            let Some(Waiting { tell_at, .. }) = &self.waiting else { return pending().await };
            if *tell_at <= clock.now() {
                self.timer = None;
                return;
            }
            self.timer.get_or_insert_with(|| clock.sleep_until(*tell_at)).await;
            self.timer = None;
        }
    }

    /// What is to be told now, if it is time.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<Event> {
        let waiting = self.waiting.as_mut().filter(|waiting| waiting.tell_at <= now)?;
        waiting.tell_at = now.after(EACH);
        let (what, bound) = match &waiting.what {
            What::Model { timeouts, passed, piece } => match (passed.get(), timeouts) {
                (None, _) => (WaitedFor::Gate, None),
                (Some(_), None) => (WaitedFor::Model, None),
                (Some(began), Some(timeouts)) => {
                    (WaitedFor::Model, Some(bound_of(*timeouts, (*began, *piece), now)))
                }
            },
            What::Retry { at } => (WaitedFor::Retry, Some((Bound::Retry, at.since(now)))),
        };
        Some(Event::Waiting {
            what,
            seconds: now.since(waiting.since).0 / 1000,
            host: waiting.host.clone(),
            model: waiting.model.clone(),
            bound: bound.map(|(bound, _)| bound),
            ends_in: bound.map(|(_, left)| left.0.div_ceil(1000)),
        })
    }
}

/// What ends a wait for a model first, and how long that is off, if nothing comes until then.
fn bound_of(timeouts: Timeouts, (began, piece): (Time, Option<Time>), now: Time) -> (Bound, Span) {
    let millis = |wait: std::time::Duration| Span(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let next = match piece {
        None => (Bound::FirstByte, began.after(millis(timeouts.first_byte))),
        Some(piece) => (Bound::Idle, piece.after(millis(timeouts.idle))),
    };
    let whole = timeouts.call.map(|call| (Bound::Call, began.after(millis(call))));
    let (bound, at) = whole.filter(|(_, at)| *at < next.1).unwrap_or(next);
    (bound, at.since(now))
}
