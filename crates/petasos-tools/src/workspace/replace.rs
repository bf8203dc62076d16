//! A file of the workspace gets another content, whole or not at all.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _};
use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::files::regular;
use super::{Location, NotOpened, Stamp, There, Workspace};
use crate::output::Problem;

/// What a written file was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It was not there.
    New,
    /// It was there.
    Old,
}

/// Whether what was written outlasts a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// It does.
    Synced,
    /// The content does; its name in the folder may not, because of this.
    Unsure(String),
}

impl Lasting {
    /// What the model reads of it; empty if all is well.
    pub(crate) fn note(&self) -> String {
        match self {
            Self::Synced => String::new(),
            Self::Unsure(why) => {
                format!("; the folder could not be synced ({why}), so a power cut may undo this")
            }
        }
    }
}

impl Workspace {
    /// Gives a file its content, whole or not at all: written and synced under another name in the same
    /// folder, then renamed. Its mode is kept; folders on the way are made. What is no longer as it was when the
    /// content was made is left alone; a change in the moment between the last look and the rename is not seen.
    pub(crate) fn replace(
        &self,
        location: &Location,
        bytes: &[u8],
        there: There,
    ) -> Result<(Replaced, Lasting), Problem> {
        let Some((parent, name)) = location.split() else {
            return Err(Problem::new("a folder", "the workspace is no file", "give the path of a file"));
        };
        let failed = |error: io::Error| self.of_file(location, &error);
        let Made { folder, holders } = self.make(&parent).map_err(|why| self.no_folder(&parent, why))?;
        let before = now(&folder, &name).map_err(failed)?;
        if let Some(before) = &before {
            regular(location, before.file_type())?;
            writable(location, &folder, &name, before)?;
        }
        let unfinished = unfinished_name();
        // From here on that name is ours to remove, and not before: it may be another's.
        let file = begin(&folder, &unfinished, before.as_ref()).map_err(failed)?;
        let written = write_synced(file, bytes, before.as_ref()).map_err(failed);
        if let Err(problem) = written.and_then(|()| self.rename(location, &folder, &unfinished, there)) {
            // Nothing is left behind, so far as the disk lets us.
            folder.remove_file(&unfinished).ok();
            return Err(problem);
        }
        let lasting = match std::iter::once(&folder).chain(holders.iter().rev()).try_for_each(sync) {
            Ok(()) => Lasting::Synced,
            Err(error) => Lasting::Unsure(error.to_string()),
        };
        Ok((if before.is_some() { Replaced::Old } else { Replaced::New }, lasting))
    }

    /// Gives what was written its name, if what has that name is still what it was.
    fn rename(
        &self,
        location: &Location,
        folder: &Dir,
        unfinished: &OsStr,
        there: There,
    ) -> Result<(), Problem> {
        let Some((_, name)) = location.split() else { return Ok(()) };
        let failed = |error: io::Error| self.of_file(location, &error);
        let is_same = match (there, now(folder, &name).map_err(failed)?) {
            (There::Nothing, None) => true,
            (There::File(stamp), Some(now)) => stamp == Stamp::of(&now),
            (There::Nothing, Some(_)) | (There::File(_), None) => false,
        };
        if !is_same {
            return Err(changed_meanwhile(location));
        }
        if there == There::Nothing {
            match rustix::fs::renameat_with(folder, unfinished, folder, &name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => return Err(changed_meanwhile(location)),
                // Not every disk knows it; then the look a moment ago must do.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        folder.rename(unfinished, folder, &name).map_err(failed)
    }

    /// Opens a folder by its parts, and makes those that are not there.
    fn make(&self, location: &Location) -> Result<Made, NotOpened> {
        let mut made = Made { folder: self.descend(Path::new("."))?, holders: Vec::new() };
        for part in location.path().iter().filter(|part| *part != ".") {
            match self.step(&made.folder, part) {
                Err(NotOpened::System(error)) if error.kind() == io::ErrorKind::NotFound => {
                    let next = self.make_in(&made.folder, part)?;
                    made.holders.push(std::mem::replace(&mut made.folder, next));
                }
                opened => made.folder = opened?,
            }
        }
        Ok(made)
    }

    /// Makes a folder in a folder and opens it.
    fn make_in(&self, folder: &Dir, name: &OsStr) -> Result<Dir, NotOpened> {
        let made = rustix::fs::mkdirat(folder, name, Mode::RWXU | Mode::RWXG | Mode::RWXO);
        // Another may have been faster.
        if let Err(error) = made
            && error != Errno::EXIST
        {
            return Err(error.into());
        }
        let opened = self.step(folder, name);
        // A disk may take two spellings for one name, so only what is there now shows that it is a closed one.
        if made.is_ok() && matches!(opened, Err(NotOpened::Closed)) {
            rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR).ok();
        }
        opened
    }
}

/// What has a name in a folder now; no link is followed.
fn now(folder: &Dir, name: &OsStr) -> io::Result<Option<Metadata>> {
    match folder.symlink_metadata(name) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn changed_meanwhile(location: &Location) -> Problem {
    let cause = format!("another program changed {} while it was being written", location.shown());
    let hint = "nothing was written; read it again, then write it with both changes";
    Problem::new("changed meanwhile", cause, hint)
}

/// A folder, opened.
struct Made {
    folder: Dir,
    /// The folders that hold those that were made for it, from the workspace on. Their names must last too.
    holders: Vec<Dir>,
}

/// A rename would get past it, and the one who took the right to write away meant something by it. Who may do
/// everything is told by the mode alone.
fn writable(location: &Location, folder: &Dir, name: &OsStr, metadata: &Metadata) -> Result<(), Problem> {
    let shown = location.shown();
    let cause = if metadata.permissions().mode() & 0o222 == 0 {
        format!("{shown} may be written by nobody")
    } else {
        match rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS) {
            Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
                format!("{shown} may not be written by this user: {error}")
            }
            // A system that cannot be asked says nothing about the file.
            Ok(()) | Err(_) => return Ok(()),
        }
    };
    Err(Problem::new("read only", cause, "leave it as it is, or ask the person to allow it"))
}

/// Random, since process numbers and counters are the same in two containers that share a folder.
fn unfinished_name() -> OsString {
    let random = RandomState::new().build_hasher().finish();
    OsString::from(format!(".petasos-unfinished-{random:016x}"))
}

fn begin(folder: &Dir, name: &OsStr, before: Option<&Metadata>) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    // An old file's content is shown to nobody else on the way; a new file gets what the umask leaves.
    let mode = if before.is_some() { 0o600 } else { 0o666 };
    folder.open_with(Path::new(name), options.write(true).create_new(true).mode(mode))
}

fn write_synced(mut file: cap_std::fs::File, bytes: &[u8], before: Option<&Metadata>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(before) = before {
        file.set_permissions(Permissions::from_mode(before.permissions().mode() & 0o7777))?;
    }
    file.sync_all()
}

/// Syncs the names in a folder. The descriptor that is held for paths cannot be synced, so one is opened that
/// can.
fn sync(folder: &Dir) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    Ok(rustix::fs::fsync(opened)?)
}
