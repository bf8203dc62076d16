//! A reply that is being read: its connection, its decoder, and how long it may take.

use std::time::Duration;

use petasos_core::entry::Timing;
use petasos_core::stop::FailureKind;
use petasos_core::time::Span;
use petasos_core::turn::ReplyEnd;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use crate::answer::{AnswerDecoder, Fed};
use crate::endpoint::{Patience, after};
use crate::network::cause;
use crate::provider::ReplyEvent;

/// After a finish reason only the usage is still to come; some servers keep the connection open instead of
/// saying that they are done.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// A reply that is being read.
#[derive(Debug)]
pub(crate) struct Reading {
    response: Response,
    decoder: AnswerDecoder,
    host: String,
    patience: Patience,
    started: Instant,
    /// When the last piece came; none before the first.
    last: Option<Instant>,
    /// When the server last showed that it is alive, by whatever bytes; none before the first.
    alive: Option<Instant>,
    first_delta: Option<Instant>,
}

impl Reading {
    /// Reads what an answer brings; its request was sent at this moment, and it may take so long.
    pub(crate) fn new(
        response: Response,
        decoder: AnswerDecoder,
        host: &str,
        (started, patience): (Instant, Patience),
    ) -> Self {
        let host = host.to_owned();
        Self { response, decoder, host, patience, started, last: None, alive: None, first_delta: None }
    }

    /// The next event. After an end there is none; do not ask again.
    pub(crate) async fn next(&mut self) -> ReplyEvent {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return self.timed(event);
            }
            let until = self.until();
            match timeout_at(until, self.response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    let now = Instant::now();
                    self.alive = Some(now);
                    if self.decoder.feed(&bytes) == Fed::Progress {
                        self.last = Some(now);
                    }
                }
                Ok(Ok(None)) => self.decoder.finish(),
                Ok(Err(error)) => {
                    let message = format!("the stream of {} broke off ({})", self.host, cause(&error));
                    self.decoder.break_off(FailureKind::BadStream, &message);
                }
                Err(_) => {
                    let message = self.waited(until);
                    self.decoder.break_off(FailureKind::Timeout, &message);
                }
            }
        }
    }

    /// Until when the next piece must have come: so long after the last one, and where the server shows that it is
    /// alive, so long after that, but not for ever.
    fn until(&self) -> Instant {
        let Patience { timeouts, alive_first_byte, alive_idle } = self.patience;
        let (last, silent, alive) = match self.last {
            None => (self.started, timeouts.first_byte, alive_first_byte),
            Some(last) if self.decoder.has_finish() => {
                (last, timeouts.idle.min(AFTER_FINISH), Duration::ZERO)
            }
            Some(last) => (last, timeouts.idle, alive_idle),
        };
        let piece = after(last, silent);
        let extended = self.alive.map(|seen| after(seen, silent).min(after(last, alive)));
        let piece = extended.map_or(piece, |extended| extended.max(piece));
        timeouts.call.map_or(piece, |call| piece.min(after(self.started, call)))
    }

    fn waited(&self, until: Instant) -> String {
        let whole = self.patience.timeouts.call.is_some_and(|call| after(self.started, call) <= until);
        let is_alive = self.alive > self.last;
        let alive = if is_alive { ", only what keeps a connection open" } else { "" };
        let host = &self.host;
        match self.last {
            _ if whole => {
                let time = (until - self.started).as_secs();
                format!(
                    "the reply of {host} took longer than the {time} s that a call may take (timeouts.call)"
                )
            }
            None => {
                let time = (until - self.started).as_secs();
                format!("nothing of a reply came from {host} for {time} s{alive} (timeouts.first_byte)")
            }
            Some(last) => {
                let time = (until - last).as_secs();
                format!("{host} stopped in the middle of its reply for {time} s{alive} (timeouts.idle)")
            }
        }
    }

    fn timed(&mut self, event: ReplyEvent) -> ReplyEvent {
        let now = Instant::now();
        match event {
            ReplyEvent::Delta(delta) => {
                self.first_delta.get_or_insert(now);
                ReplyEvent::Delta(delta)
            }
            ReplyEvent::Done(end) => {
                let first = self.first_delta.unwrap_or(now);
                let timing = Timing { first: span(first - self.started), whole: span(now - self.started) };
                ReplyEvent::Done(ReplyEnd { timing, ..end })
            }
            ReplyEvent::Failed(failure) => ReplyEvent::Failed(failure),
        }
    }
}

fn span(time: Duration) -> Span {
    Span(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
