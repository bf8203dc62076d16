//! The body of an answer, frame by frame.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::socket::Flushes;

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// The connection is closed.
    Cut,
    /// It does not.
    Never,
}

/// Whether the length is told before the body comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Told(u64),
    Open,
}

impl Length {
    /// That of all frames together, told.
    pub fn of(frames: &[Bytes]) -> Self {
        Self::Told(u64::try_from(frames.iter().map(Bytes::len).sum::<usize>()).unwrap_or(u64::MAX))
    }
}

/// Why a body was cut.
#[derive(Debug, thiserror::Error)]
#[error("the script cuts this reply here")]
pub(crate) struct CutHere;

/// A body whose frames are handed to the system one at a time: the next one begins, and a cut happens, only when
/// all before it has left. Otherwise a cut would take along what was still held back for a larger write.
#[derive(Debug)]
pub(crate) struct Paced {
    frames: VecDeque<Bytes>,
    ending: Ending,
    length: Length,
    pace: Option<Duration>,
    flushes: Flushes,
    waits_for: Option<u64>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub fn new(frames: Vec<Bytes>, length: Length, flushes: Flushes) -> Self {
        let frames = frames.into_iter().filter(|frame| !frame.is_empty()).collect();
        Self { frames, ending: Ending::Whole, length, pace: None, flushes, waits_for: None, pause: None }
    }

    /// Nothing but headers.
    pub fn stalled(mut self) -> Self {
        self.frames.clear();
        self.ending = Ending::Never;
        self
    }

    /// Ends abruptly after so many bytes.
    pub fn cut_after(mut self, bytes: u64) -> Self {
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        for frame in &mut self.frames {
            frame.truncate(left);
            left -= frame.len();
        }
        self.frames.retain(|frame| !frame.is_empty());
        self.ending = Ending::Cut;
        self
    }

    /// A frame, of at most so many bytes, each `pace`.
    pub fn trickled(mut self, most: usize, pace: Duration) -> Self {
        let pieces = |mut frame: Bytes| {
            let mut pieces = Vec::new();
            while frame.len() > most {
                pieces.push(frame.split_to(most));
            }
            pieces.push(frame);
            pieces
        };
        self.frames = std::mem::take(&mut self.frames).into_iter().flat_map(pieces).collect();
        self.pace = Some(pace);
        self
    }
}

impl Body for Paced {
    type Data = Bytes;
    type Error = CutHere;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutHere>>> {
        let this = &mut *self;
        // The first wait is for the headers.
        let seen = *this.waits_for.get_or_insert_with(|| this.flushes.count());
        ready!(this.flushes.poll_after(seen, context));
        if let Some(pace) = this.pace.filter(|_| !this.frames.is_empty()) {
            let pause = this.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(pace)));
            ready!(pause.as_mut().poll(context));
            this.pause = None;
        }
        if let Some(frame) = this.frames.pop_front() {
            this.waits_for = Some(this.flushes.count());
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        match this.ending {
            Ending::Whole => Poll::Ready(None),
            Ending::Cut => Poll::Ready(Some(Err(CutHere))),
            Ending::Never => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Length::Told(bytes) => SizeHint::with_exact(bytes),
            Length::Open => SizeHint::default(),
        }
    }
}
