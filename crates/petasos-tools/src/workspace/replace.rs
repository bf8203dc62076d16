//! A file of the workspace gets another content, whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Dir, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};
use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::files::{hash_of, regular};
use super::{Content, Location, NotOpened, Stamp, There, Workspace, file_in, rights};
use crate::output::Problem;

/// What a written file was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It was not there.
    New,
    /// It was there.
    Old,
}

/// A file that was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) replaced: Replaced,
    /// What did not stay as it was, or may not last, for the end of a result; empty if all is well.
    pub(crate) note: String,
}

impl Workspace {
    /// Gives a file its content, whole or not at all: written and synced under another name in the same
    /// folder, then renamed. Its owner and mode are kept; folders on the way are made. What is no longer as it was
    /// when the content was made is left alone; a change in the moment between the last look and the rename is not
    /// seen.
    pub(crate) fn replace(
        &self,
        location: &Location,
        bytes: &[u8],
        there: There,
    ) -> Result<Written, Problem> {
        let Some((parent, name)) = location.split() else {
            return Err(Problem::new("a folder", "the workspace is no file", "give the path of a file"));
        };
        let failed = |error: io::Error| self.of_file(location, &error);
        let Made { folder, holders } = self.make(&parent).map_err(|why| self.no_folder(&parent, why))?;
        let before = now(&folder, &name).map_err(failed)?;
        if let Some(before) = &before {
            regular(location, before.file_type())?;
            writable(location, &folder, &name, before)?;
            has_one_name(location, before)?;
        }
        let unfinished = unfinished_name();
        // From here on that name is ours to remove, and not before: it may be another's.
        let file = begin(&folder, &unfinished, before.as_ref());
        let file = file.map_err(|error| self.not_made(location, before.as_ref(), error))?;
        // One that may be written and not read keeps its attributes to itself.
        let old = before.as_ref().and_then(|_| file_in(&folder, &name).ok());
        let written = write_synced(file, bytes, before.as_ref(), old.as_ref()).map_err(failed);
        let renamed = written.and_then(|owner| {
            self.rename(location, &folder, &unfinished, there)?;
            Ok(owner)
        });
        let mut note = match renamed {
            Ok(note) => note,
            Err(problem) => {
                // Nothing is left behind, so far as the disk lets us.
                folder.remove_file(&unfinished).ok();
                return Err(problem);
            }
        };
        if let Err(error) = std::iter::once(&folder).chain(holders.iter().rev()).try_for_each(sync) {
            note.push_str(&format!(
                "; the folder could not be synced ({error}), so a power cut may undo this"
            ));
        }
        sweep(&folder, &name);
        Ok(Written { replaced: if before.is_some() { Replaced::Old } else { Replaced::New }, note })
    }

    /// What the model reads of a file that nothing could be written beside.
    fn not_made(&self, location: &Location, before: Option<&Metadata>, error: io::Error) -> Problem {
        let is_refused =
            matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
        let Some((parent, _)) = location.split().filter(|_| is_refused) else {
            return self.of_file(location, &error);
        };
        let (parent, shown) = (parent.shown(), location.shown());
        let cause = if before.is_some() {
            format!("{shown} may be written, but nothing may be put beside it in {parent}: {error}")
        } else {
            format!("nothing may be put into {parent}: {error}")
        };
        let hint = if before.is_some() {
            "it is written whole or not at all, and that takes a second file for a moment; change it in place with \
             run_command (python3, or cat > it), or ask the person"
        } else {
            "choose another folder, or ask the person to allow it"
        };
        Problem::new("the folder is read only", cause, hint)
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
            (There::File(before), Some(now)) => is_still(folder, &name, &before, &now),
            (There::Nothing, Some(_)) | (There::File(_), None) => false,
        };
        if !is_same {
            return Err(changed_meanwhile(location));
        }
        if matches!(there, There::Nothing) {
            match rustix::fs::renameat_with(folder, unfinished, folder, &name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => return Err(changed_meanwhile(location)),
                // Not every disk knows it; then the look a moment ago must do.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        let renamed = folder.rename(unfinished, folder, &name);
        // In a folder such as /tmp, what another owns cannot be replaced.
        renamed.map_err(|error| self.not_made(location, None, error))
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

/// True if a file has the content that it had. Who only touched it changed nothing.
fn is_still(folder: &Dir, name: &OsStr, before: &Content, now: &Metadata) -> bool {
    let stamp = Some(Stamp::of(now));
    stamp == before.stamp || {
        let hash = file_in(folder, name).ok().and_then(|file| hash_of(file).ok().flatten());
        hash.is_some() && before.is(&Content { stamp, hash })
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

/// A rename gives one name a new file and leaves the other names the old one.
fn has_one_name(location: &Location, metadata: &Metadata) -> Result<(), Problem> {
    let names = metadata.nlink();
    if names <= 1 {
        return Ok(());
    }
    let shown = location.shown();
    let word = as_word(&shown);
    let cause =
        format!("{shown} is one file under {names} names (hard links), and writing it would part them");
    let hint = format!(
        "to change it under all names, write the text to a new file, then run_command: cat NEW > {word} && rm NEW; \
         to part this name from the others, run_command: cp {word} NEW && mv NEW {word}, then call this again"
    );
    Err(Problem::new("it has several names", cause, hint))
}

/// A path as one word of a command.
fn as_word(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-');
    if path.chars().all(is_plain) && !path.starts_with('-') {
        return path.to_owned();
    }
    format!("'./{}'", path.replace('\'', "'\\''"))
}

/// What the names of unfinished files begin with; 16 hexadecimal digits follow.
const UNFINISHED: &str = ".petasos-unfinished-";
/// Seconds after which nobody writes an unfinished file any more: a write takes a moment.
const LEFT_BEHIND: i64 = 3_600;
/// Names of a folder that are looked at for what was left behind.
const MOST_LOOKED_AT: usize = 10_000;

/// Random, since process numbers and counters are the same in two containers that share a folder.
fn unfinished_name() -> OsString {
    let random = RandomState::new().build_hasher().finish();
    OsString::from(format!("{UNFINISHED}{random:016x}"))
}

/// True if a name is one of a file that is being written, or was when its process was killed.
pub(crate) fn is_unfinished(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Removes what a process that was killed left of its writes in a folder: files of this user that are older than a
/// file just written, by the clock of that disk.
fn sweep(folder: &Dir, just_written: &OsStr) {
    let Ok(Some(written)) = now(folder, just_written) else { return };
    let Ok(entries) = folder.entries() else { return };
    for entry in entries.take(MOST_LOOKED_AT).flatten() {
        let name = entry.file_name();
        let Ok(Some(left)) = (if is_unfinished(&name) { now(folder, &name) } else { Ok(None) }) else {
            continue;
        };
        let is_old = left.mtime().saturating_add(LEFT_BEHIND) < written.mtime();
        if left.is_file() && left.uid() == written.uid() && is_old {
            folder.remove_file(&name).ok();
        }
    }
}

fn begin(folder: &Dir, name: &OsStr, before: Option<&Metadata>) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    // An old file's content is shown to nobody else on the way; a new file gets what the umask leaves.
    let mode = if before.is_some() { 0o600 } else { 0o666 };
    folder.open_with(Path::new(name), options.write(true).create_new(true).mode(mode))
}

/// Writes a file to the disk, with what belongs to the one it is to replace. Answers with what of that could not be
/// kept.
fn write_synced(
    mut file: cap_std::fs::File,
    bytes: &[u8],
    before: Option<&Metadata>,
    old: Option<&File>,
) -> io::Result<String> {
    file.write_all(bytes)?;
    let mut note = String::new();
    if let Some(before) = before {
        rights::give(&file, before, old, &mut note)?;
    }
    file.sync_all()?;
    Ok(note)
}

/// Syncs the names in a folder. The descriptor that is held for paths cannot be synced, so one is opened that
/// can.
fn sync(folder: &Dir) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    Ok(rustix::fs::fsync(opened)?)
}
