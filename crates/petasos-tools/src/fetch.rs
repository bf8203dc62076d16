//! Pages from the network: which addresses may be reached, how they are asked, and what of an answer is text.

pub(crate) mod address;
mod client;
mod html;
mod resolve;
mod text;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use client::{Fetched, Fetcher, target};
pub use resolve::{Resolve, SystemResolver};
pub(crate) use text::{Readable, readable};

/// What a person has set for pages, and how far one is waited for.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Addresses that are reached though they are special, each with its port.
    pub private: Vec<SocketAddr>,
    /// What tells the addresses of names.
    pub resolver: Arc<dyn Resolve>,
    /// To connect.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For the whole of it, redirects among them.
    pub whole: Duration,
    /// Bytes that are read of a page; what is behind them is left out, and told.
    pub most_bytes: usize,
}

/// Bounds that a slow site of today keeps, and that a person who waits can bear.
const CONNECT: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(30);

impl Default for FetchOptions {
    /// Public addresses alone, and bounds for a person who waits.
    fn default() -> Self {
        Self {
            private: Vec::new(),
            resolver: Arc::new(SystemResolver),
            connect: CONNECT,
            idle: IDLE,
            whole: WHOLE,
            most_bytes: 5 * 1024 * 1024,
        }
    }
}
