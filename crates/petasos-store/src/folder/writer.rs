//! The end of a log, and the one that writes there.

use petasos_core::entry::{Entry, Keep};
use petasos_core::id::{Seq, SessionId};

use super::{Place, write_all};
use crate::disk::{DiskFile, DiskLock};
use crate::error::StoreError;
use crate::store::{Holder, Writer, check_entries};

/// Appends to the log of a session on a disk.
///
/// The log may only grow by this writer: before each append its length is compared with what this writer left.
/// Whoever opened it meanwhile has made it longer by an `open` entry at least.
#[derive(Debug)]
pub(super) struct FolderWriter {
    place: Place,
    file: Box<dyn DiskFile>,
    lock: Option<Box<dyn DiskLock>>,
    holder: Holder,
    next: Seq,
    /// Length of the log up to its last whole line.
    end: u64,
    /// How an append failed, if one has.
    broken: Option<String>,
}

impl FolderWriter {
    /// A writer at the end of the log as it is now.
    pub(super) fn new(
        place: Place,
        file: Box<dyn DiskFile>,
        lock: Box<dyn DiskLock>,
        next: Seq,
        holder: &Holder,
    ) -> Result<Self, StoreError> {
        let end = file.length().map_err(|error| place.of_log(error))?;
        Ok(Self { place, file, lock: Some(lock), holder: holder.clone(), next, end, broken: None })
    }

    /// Appends whatever the entries are, those that the store makes among them.
    pub(super) fn write(&mut self, entries: &[Entry], keep: Keep) -> Result<(), StoreError> {
        let lines = self.place.lines(entries)?;
        if let Err(error) = write_all(self.file.as_mut(), lines.as_bytes()) {
            return Err(self.take_back(error));
        }
        if keep == Keep::Synced
            && let Err(error) = self.place.sync(self.file.as_mut())
        {
            let error = self.take_back(error);
            self.file.distrust();
            return Err(error);
        }
        self.end = self.end.saturating_add(lines.len() as u64);
        self.next = entries.last().map_or(self.next, |entry| entry.seq.next());
        Ok(())
    }

    /// After a failed append: its lines are cut off again, and the writer ends. A sync that failed is never
    /// tried again, for it would answer for pages that the system has given up.
    fn take_back(&mut self, error: std::io::Error) -> StoreError {
        let cut = self.file.cut(self.end);
        let error = StoreError::of_disk(&self.place.log(), error);
        self.broken = Some(match cut {
            Ok(()) => error.to_string(),
            Err(cut) => format!("{error}; a part of it may stand at the end of the log: {cut}"),
        });
        error
    }

    fn check_length(&self) -> Result<(), StoreError> {
        let length = self.file.length().map_err(|error| self.place.of_log(error))?;
        if length == self.end {
            Ok(())
        } else {
            Err(StoreError::Stale { session: self.place.session.clone() })
        }
    }

    fn check_broken(&self) -> Result<(), StoreError> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(StoreError::Broken { session: self.place.session.clone(), why: why.clone() }),
        }
    }
}

impl Writer for FolderWriter {
    fn session(&self) -> &SessionId {
        &self.place.session
    }

    fn next(&self) -> Seq {
        self.next
    }

    fn append(&mut self, expected: Seq, entries: &[Entry], keep: Keep) -> Result<Seq, StoreError> {
        self.check_broken()?;
        self.check_length()?;
        if self.lock.is_none() {
            return Err(StoreError::Released { session: self.place.session.clone() });
        }
        check_entries(&self.place.session, self.next, expected, entries)?;
        self.write(entries, keep)?;
        Ok(Seq(self.next.0.saturating_sub(1)))
    }

    fn release(&mut self) {
        self.lock = None;
    }

    fn reacquire(&mut self) -> Result<(), StoreError> {
        self.check_broken()?;
        if self.lock.is_some() {
            return Ok(());
        }
        let lock = self.place.lock(&self.holder)?;
        // By its name: the folder may have been taken away and made anew.
        self.file = self.place.open_log()?;
        self.check_length()?;
        self.lock = Some(lock);
        Ok(())
    }
}
