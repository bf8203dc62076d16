//! What the folder store asks of a disk, and the one that the system gives.
//!
//! The seam is here so that the order of writes and syncs is tested on a disk that drops what was not synced
//! (`petasos-testkit`, `unsynced.rs`), with the very code that runs on a real one.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Advice, FlockOperation, fadvise, flock};

/// A disk with folders and files.
///
/// Called by [`FolderStore`](crate::FolderStore) alone. A path lies in the store's root. What was written is
/// seen by every later read; what of it is there after a power cut is only what was synced: the bytes of a file
/// by [`DiskFile::sync`], its name by [`Disk::sync_folder`] of the folder that holds it.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Makes a folder whose parent is there.
    ///
    /// # Errors
    /// `AlreadyExists`, `NotFound` if the parent is not there, or what the system says.
    fn make_folder(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder, in no order. Names that are no Unicode are left out.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Makes the names in a folder last over a power cut.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Reads those bytes of a file that are in the range and in the file.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn read(&self, path: &Path, range: Range<u64>) -> io::Result<Vec<u8>>;

    /// How many bytes a file has.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn length(&self, path: &Path) -> io::Result<u64>;

    /// Makes an empty file, or opens the one that is there, to write at its end.
    ///
    /// # Errors
    /// `AlreadyExists` or `NotFound` where `how` says so, or what the system says.
    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file or a folder another name in the same folder. A file that had the name is gone, at once.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a file away.
    ///
    /// # Errors
    /// `NotFound`, or what the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Takes an empty folder away.
    ///
    /// # Errors
    /// `NotFound`, `DirectoryNotEmpty`, or what the system says.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Gives a file, which is never written again, a second name. Each of the names may be taken away alone.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, or what the system says: not every disk knows second names.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Locks a file, which is made if it is not there, and writes `holder` into it. Does not wait. The lock
    /// ends when it is dropped, or with the process.
    ///
    /// # Errors
    /// [`LockError::Held`] if it is locked, by this process or another.
    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError>;
}

/// How a file is opened to write at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It must not be there.
    New,
    /// It is emptied if it is there.
    Empty,
    /// It must be there, and keeps what is in it.
    Existing,
}

/// A file that is written at its end. Dropping it closes it and syncs nothing.
pub trait DiskFile: fmt::Debug + Send {
    /// Writes at the end of the file, and answers how many of the bytes were written.
    ///
    /// # Errors
    /// What the system says; nothing was written then.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Makes the bytes of the file last over a power cut.
    ///
    /// # Errors
    /// What the system says. What was written since the last sync is then neither known to last nor known to
    /// be lost, and a second try proves nothing.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to a length.
    ///
    /// # Errors
    /// What the system says.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// How many bytes the file has.
    ///
    /// # Errors
    /// What the system says.
    fn length(&self) -> io::Result<u64>;

    /// A sync failed: what is read from here on should come from the disk, where that can be had. Systems
    /// keep pages as good whose write failed.
    fn distrust(&mut self);
}

/// A lock that ends when it is dropped.
pub trait DiskLock: fmt::Debug + Send {}

/// Why a lock was not got.
#[derive(Debug)]
pub enum LockError {
    /// Somebody has it: what that one wrote into the file, empty if it has not come to that yet.
    Held(String),
    /// What the system says.
    Io(io::Error),
}

/// The disk of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

/// Mode of new files: their owner reads and writes them, nobody else.
const OWN: u32 = 0o600;

impl Disk for OsDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        // What is said, read and run belongs to its person alone.
        fs::DirBuilder::new().mode(0o700).create(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for found in fs::read_dir(folder)? {
            names.extend(found?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn read(&self, path: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::new();
        file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        if how == Opening::Empty {
            // Append and truncate do not go together in one call.
            OpenOptions::new().write(true).create(true).truncate(true).mode(OWN).open(path)?;
        }
        let mut options = OpenOptions::new();
        let file = options.mode(OWN).read(true).append(true).create_new(how == Opening::New).open(path)?;
        Ok(Box::new(OsFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(OWN);
        let mut file = options.open(path).map_err(LockError::Io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut by = String::new();
                file.read_to_string(&mut by).map_err(LockError::Io)?;
                return Err(LockError::Held(by.trim_end().to_owned()));
            }
            Err(error) => return Err(LockError::Io(error.into())),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{holder}")).map_err(LockError::Io)?;
        Ok(Box::new(OsLock(file)))
    }
}

#[derive(Debug)]
struct OsFile(File);

impl DiskFile for OsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn distrust(&mut self) {
        // Advice: where it is not taken, reading gives what it gave before.
        fadvise(&self.0, 0, None, Advice::DontNeed).ok();
    }
}

#[derive(Debug)]
struct OsLock(File);

impl DiskLock for OsLock {}

impl Drop for OsLock {
    fn drop(&mut self) {
        // A text that stays behind names one that holds no more, and is only read while somebody has the lock;
        // the lock itself ends at the latest when the file is closed. So a failure here costs nothing.
        self.0.set_len(0).ok();
        // Said, and not left to the closing of the file: a child process that is just being started has a copy of
        // the descriptor for a moment, and the lock would last as long as that.
        flock(&self.0, FlockOperation::Unlock).ok();
    }
}
