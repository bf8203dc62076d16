//! A reply that is being read: its connection, its decoder, and how long it may take.

use std::time::Duration;

use petasos_core::entry::Timing;
use petasos_core::stop::FailureKind;
use petasos_core::time::Span;
use petasos_core::turn::ReplyEnd;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use crate::answer::{AnswerDecoder, Fed};
use crate::endpoint::{Timeouts, after};
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
    timeouts: Timeouts,
    started: Instant,
    /// When the last piece came; none before the first.
    last: Option<Instant>,
    first_delta: Option<Instant>,
}

impl Reading {
    /// Reads what an answer brings; its request was sent at this moment, and it may take so long.
    pub(crate) fn new(
        response: Response,
        decoder: AnswerDecoder,
        host: &str,
        (started, timeouts): (Instant, Timeouts),
    ) -> Self {
        Self { response, decoder, host: host.to_owned(), timeouts, started, last: None, first_delta: None }
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
                    if self.decoder.feed(&bytes) == Fed::Progress {
                        self.last = Some(Instant::now());
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

    /// Until when the next piece must have come.
    fn until(&self) -> Instant {
        let piece = match self.last {
            None => after(self.started, self.timeouts.first_byte),
            Some(last) if self.decoder.has_finish() => after(last, self.timeouts.idle.min(AFTER_FINISH)),
            Some(last) => after(last, self.timeouts.idle),
        };
        self.timeouts.call.map_or(piece, |call| piece.min(after(self.started, call)))
    }

    fn waited(&self, until: Instant) -> String {
        let whole = self.timeouts.call.is_some_and(|call| after(self.started, call) <= until);
        match self.last {
            _ if whole => {
                let time = (until - self.started).as_secs();
                format!("the reply of {} took longer than the {time} s that a call may take", self.host)
            }
            None => {
                let time = (until - self.started).as_secs();
                format!("nothing of a reply came from {} for {time} s", self.host)
            }
            Some(last) => {
                let time = (until - last).as_secs();
                format!("{} stopped in the middle of its reply for {time} s", self.host)
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
