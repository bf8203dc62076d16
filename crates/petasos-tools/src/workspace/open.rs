//! Opening what a location means: part by part from the workspace's descriptor, and never through a link.
//!
//! Which location a path means was decided before, with every link followed. What is a link now was put there
//! since, so it is told and not followed. A folder that no tool may reach is known by what it is, not by its
//! name: it may have got another one, be mounted a second time, or lie on a disk that takes two spellings for one
//! name. A second name of a *file* in such a folder is not seen here; who can make one can read it already.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt as _};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Location, Workspace};
use crate::output::Problem;

/// Right to go through a folder is enough to open what is in it; elsewhere it must be readable too.
#[cfg(any(target_os = "linux", target_os = "android"))]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const THROUGH: OFlags = OFlags::RDONLY;

/// Why something was not opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// The system said no.
    System(io::Error),
    /// No tool reaches it.
    Closed,
    /// It is a link now, and was none when it was decided what the path means.
    Changed,
}

impl From<Errno> for NotOpened {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// What a folder is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(folder: &Dir) -> io::Result<Self> {
        let metadata = folder.dir_metadata()?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// A folder that no tool reaches.
#[derive(Debug)]
pub(super) struct Closed {
    /// Its name from the workspace on, every link followed; none if it lies elsewhere.
    name: Option<PathBuf>,
    /// The folder itself, if it was there. Held open, so that no other folder gets its number.
    held: Option<(Dir, Identity)>,
}

impl Closed {
    pub(super) fn new(folder: &Path, name: Option<PathBuf>) -> Self {
        let opened = Dir::open_ambient_dir(folder, cap_std::ambient_authority()).ok();
        let held = opened.and_then(|folder| Identity::of(&folder).ok().map(|identity| (folder, identity)));
        Self { name, held }
    }

    /// True if a location lies in it by its name.
    pub(super) fn holds(&self, location: &Path) -> bool {
        self.name.as_ref().is_some_and(|name| location.starts_with(name))
    }
}

impl Workspace {
    /// True if an open folder is one that no tool reaches.
    pub(crate) fn closes(&self, folder: &Dir) -> bool {
        // What it is cannot be seen: then it is not gone into either.
        let Ok(identity) = Identity::of(folder) else { return true };
        self.closed.iter().any(|closed| {
            closed.held.as_ref().is_some_and(|(_, held)| *held == identity)
                || closed.name.as_ref().is_some_and(|name| self.identity_now(name) == Some(identity))
        })
    }

    /// The folder that has a name now, which may have been made after the workspace was opened.
    fn identity_now(&self, name: &Path) -> Option<Identity> {
        let mut folder = None;
        for part in name {
            folder = Some(folder_in(folder.as_ref().unwrap_or(&self.dir), part).ok()?);
        }
        Identity::of(folder.as_ref()?).ok()
    }

    /// Opens a folder by its parts, none of which is a link.
    pub(super) fn descend(&self, path: &Path) -> Result<Dir, NotOpened> {
        let mut folder = self.dir.try_clone().map_err(NotOpened::System)?;
        for part in path.iter().filter(|part| *part != ".") {
            folder = self.step(&folder, part)?;
        }
        Ok(folder)
    }

    /// Opens a folder of a folder, if tools may reach it.
    pub(crate) fn step(&self, folder: &Dir, name: &OsStr) -> Result<Dir, NotOpened> {
        let opened = folder_in(folder, name).map_err(|error| why_not(folder, name, error))?;
        if self.closes(&opened) { Err(NotOpened::Closed) } else { Ok(opened) }
    }

    /// Opens the folder that a location lies in, and answers with its name there; none for the workspace itself.
    pub(super) fn holder(&self, location: &Location) -> Result<Option<(Dir, OsString)>, NotOpened> {
        let Some((parent, name)) = location.split() else { return Ok(None) };
        Ok(Some((self.descend(parent.path())?, name)))
    }

    /// What the model reads of it.
    pub(super) fn not_opened(&self, location: &Location, why: NotOpened) -> Problem {
        match why {
            NotOpened::System(error) => self.of_file(location, &error),
            NotOpened::Closed => closed(&location.shown()),
            NotOpened::Changed => changed(location),
        }
    }
}

/// The problem that no tool reaches a place.
pub(super) fn closed(shown: &str) -> Problem {
    let cause = format!("{shown:?} lies in a folder that belongs to the program and its person");
    let hint = "work with the other files; only a person changes settings and keys";
    Problem::new("not to be reached", cause, hint)
}

fn changed(location: &Location) -> Problem {
    let cause = format!("a part of {} became a link while it was looked at", location.shown());
    Problem::new("changed meanwhile", cause, "nothing was done; call it again if it is still wanted")
}

/// Opens a folder of a folder; a link to one is none.
pub(crate) fn folder_in(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<Dir> {
    let flags = THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(opened)))
}

/// Opens what is in a folder to read it: no link, and without waiting for who is at the other end.
pub(crate) fn file_in(folder: impl AsFd, name: &OsStr) -> Result<File, NotOpened> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder, name, flags, Mode::empty());
    opened.map(File::from).map_err(|error| why_not(folder, name, error))
}

/// A link and what is no folder are told alike by the system, and differently from system to system.
fn why_not(folder: impl AsFd, name: &OsStr, error: Errno) -> NotOpened {
    let is_link = || {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    let is_unclear = matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK);
    // One that was a link a moment ago, and is none any more, is told as such too.
    if error == Errno::LOOP || (is_unclear && is_link()) { NotOpened::Changed } else { error.into() }
}
