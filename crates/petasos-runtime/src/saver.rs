//! The writing end of a session: appends go to its log in order, on a thread that may wait.
//!
//! One append thread a session at most, and only while something is to be written. While a disk is slow the
//! session still hears interrupts, deltas and ends of tools.

use std::collections::VecDeque;
use std::future::pending;

use petasos_core::entry::{Entry, Keep};
use petasos_core::id::SessionId;
use petasos_store::{StoreError, Writer};
use tokio::task::{JoinHandle, spawn_blocking};

/// Entries on their way to the log.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) entries: Vec<Entry>,
    pub(crate) keep: Keep,
}

/// What became of the appends that were out.
#[derive(Debug)]
pub(crate) struct Saved {
    /// Those that are kept as they asked to be, in order.
    pub(crate) done: Vec<Job>,
    /// Why the next one is not; nothing after it was tried.
    pub(crate) failure: Option<String>,
}

#[derive(Debug)]
struct Batch {
    writer: Box<dyn Writer>,
    done: Vec<Job>,
    failure: Option<StoreError>,
}

/// Holds the writer of a session, or has lent it to the thread that appends.
#[derive(Debug)]
pub(crate) struct Saver {
    session: SessionId,
    writer: Option<Box<dyn Writer>>,
    queue: VecDeque<Job>,
    out: Option<JoinHandle<Batch>>,
    is_broken: bool,
}

impl Saver {
    pub(crate) fn new(writer: Box<dyn Writer>) -> Self {
        let session = writer.session().clone();
        Self { session, writer: Some(writer), queue: VecDeque::new(), out: None, is_broken: false }
    }

    /// Takes entries on their way. After a failure nothing more is taken: nobody knows where the log ends.
    pub(crate) fn push(&mut self, entries: Vec<Entry>, keep: Keep) {
        if !self.is_broken {
            self.queue.push_back(Job { entries, keep });
            self.begin();
        }
    }

    fn begin(&mut self) {
        if self.out.is_some() || self.queue.is_empty() {
            return;
        }
        if let Some(writer) = self.writer.take() {
            let jobs = std::mem::take(&mut self.queue);
            self.out = Some(spawn_blocking(move || append(writer, jobs)));
        }
    }

    /// Ends when appends that were out have ended; waits for ever if none are.
    pub(crate) async fn saved(&mut self) -> Saved {
        let Some(out) = &mut self.out else { return pending().await };
        let batch = out.await;
        self.out = None;
        let Batch { writer, done, failure } = match batch {
            Ok(batch) => batch,
            Err(error) => return self.broken(Vec::new(), error.to_string()),
        };
        self.writer = Some(writer);
        if let Some(failure) = failure {
            return self.broken(done, failure.to_string());
        }
        self.begin();
        Saved { done, failure: None }
    }

    fn broken(&mut self, done: Vec<Job>, why: String) -> Saved {
        self.is_broken = true;
        self.queue.clear();
        Saved { done, failure: Some(why) }
    }

    /// True if nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.out.is_none() && self.queue.is_empty()
    }

    /// Lets others open the session, if nothing is on its way.
    pub(crate) fn release(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.release();
        }
    }

    /// Takes the session back. `Stale` if another one held it meanwhile, or if an append failed before.
    pub(crate) fn reacquire(&mut self) -> Result<(), StoreError> {
        match &mut self.writer {
            Some(writer) if !self.is_broken => writer.reacquire(),
            Some(_) => Err(StoreError::Stale { session: self.session.clone() }),
            None if self.is_broken => Err(StoreError::Stale { session: self.session.clone() }),
            None => Ok(()),
        }
    }
}

fn append(mut writer: Box<dyn Writer>, jobs: VecDeque<Job>) -> Batch {
    let mut done = Vec::new();
    let mut failure = None;
    for job in jobs {
        let Some(first) = job.entries.first().map(|entry| entry.seq) else { continue };
        match writer.append(first, &job.entries, job.keep) {
            Ok(_) => done.push(job),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    Batch { writer, done, failure }
}
