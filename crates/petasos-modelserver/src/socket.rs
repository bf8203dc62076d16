//! A connection that tells when all that was written has gone to the system.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// How often a connection was empty of what is to be written, and who waits for the next time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flushes(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    waiting: Option<Waker>,
}

impl Flushes {
    pub fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// Ready once there was one after the first `seen`.
    pub fn poll_after(&self, seen: u64, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.count > seen {
            return Poll::Ready(());
        }
        state.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    fn tell(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        if let Some(waker) = state.waiting.take() {
            waker.wake();
        }
    }
}

/// A connection with its [`Flushes`].
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TokioIo<TcpStream>,
    flushes: Flushes,
}

impl Socket {
    pub fn new(stream: TcpStream, flushes: Flushes) -> Self {
        Self { stream: TokioIo::new(stream), flushes }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Asked for only when nothing is left to be written.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.flushes.tell();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
