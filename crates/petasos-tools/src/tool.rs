//! The seam: one thing that a model can do.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use petasos_core::approval::Approved;
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::claims::Claims;
use petasos_core::text::{Json, Text};
use petasos_core::time::Time;
use petasos_core::tool::{BlobName, Outcome, ToolOutput};

use crate::session::SessionState;

/// One thing that a model can do.
///
/// Called by the runtime: first [`Tool::claims`], then, if policy or a person allowed exactly that call,
/// [`Tool::run`]. Several calls of one tool may run at once where their claims are not in each other's way.
pub trait Tool: fmt::Debug + Send + Sync {
    /// Its face to the model. The same for as long as it lives.
    fn spec(&self) -> &ToolSpec;

    /// Arguments of a usual call, for people who look at the tool: a JSON object that fits its schema.
    fn example(&self) -> &str {
        "{}"
    }

    /// What a call with these arguments touches. May look at the file system and changes nothing; may
    /// block as long as a disk does.
    ///
    /// # Errors
    /// What the model reads of arguments that do not fit: which field, why, and what would.
    fn claims(&self, arguments: &Json) -> Result<Claims, Bounded>;

    /// Does it. Never panics on purpose and never fails: what goes wrong is an output. Ends soon after
    /// `context.stop` is raised, and tells how far it came (`CutShort`). Not stopped by dropping.
    fn run<'a>(&'a self, call: &'a Approved, context: Context) -> BoxFuture<'a, ToolOutput>;

    /// Sees, after a crash, whether a call that had begun was done: `Ok`, `NeverBegan` or `Unknown`.
    fn probe<'a>(&'a self, _probe: &'a Json) -> BoxFuture<'a, Outcome> {
        Box::pin(std::future::ready(Outcome::Unknown))
    }
}

/// A tool's face to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name: letters, digits and underscores, 64 at most.
    pub name: Text,
    /// When to use it, when not, and what it gives.
    pub description: Text,
    /// JSON Schema of its arguments, in the bytes that are sent.
    pub parameters: Json,
}

/// What a running call is given.
#[derive(Clone, Debug)]
pub struct Context {
    /// Raised when the call is to stop.
    pub stop: Stop,
    /// The most characters of its result.
    pub cap: Cap,
    /// Where whole outputs are kept.
    pub blobs: Arc<dyn Blobs>,
    /// When the call began.
    pub now: Time,
    /// What it shares with the other calls of its session.
    pub session: Arc<SessionState>,
}

/// A signal that is raised once and stays raised.
#[derive(Clone, Debug)]
pub struct Stop(tokio::sync::watch::Receiver<bool>);

impl Stop {
    /// A signal and the end that raises it. Dropping that end raises it too.
    pub fn new() -> (tokio::sync::watch::Sender<bool>, Self) {
        let (sender, receiver) = tokio::sync::watch::channel(false);
        (sender, Self(receiver))
    }

    /// True if it is raised.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Ends when it is raised.
    pub async fn raised(&mut self) {
        // An error says that the other end is gone: nobody is left who wants the call.
        drop(self.0.wait_for(|raised| *raised).await);
    }
}

/// Where whole outputs are kept, beside the session's log. Implemented by the runtime over the store.
pub trait Blobs: fmt::Debug + Send + Sync {
    /// Begins a blob.
    fn create(&self) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, BlobTrouble>>;

    /// Reads those bytes of a blob that lie in `range`, and its whole size. `name` is the 8 hexadecimal
    /// digits that a result shows after `blob:`, or all 64.
    fn read<'a>(
        &'a self,
        name: &'a str,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<(Vec<u8>, u64), BlobTrouble>>;
}

/// A blob that is being written. Dropping it before its end leaves nothing.
pub trait BlobWriter: fmt::Debug + Send {
    /// Adds bytes.
    fn write(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), BlobTrouble>>;

    /// It is whole: synced, and kept under the name that is its hash.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<BlobName, BlobTrouble>>;
}

/// Why a blob could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobTrouble {
    /// There is none of that name, or more than one begins so.
    #[error("there is no blob {0:?}; results name theirs as blob:<8 hexadecimal digits>")]
    NotFound(String),
    /// The disk said no.
    #[error("the blob could not be kept or read: {0}")]
    Disk(#[from] io::Error),
}
