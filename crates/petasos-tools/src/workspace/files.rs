//! Files of the workspace: opened, read and replaced below its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{
    Dir, FileType, FileTypeExt as _, Metadata, OpenOptions, OpenOptionsExt as _, Permissions,
    PermissionsExt as _,
};
use petasos_core::id::Digest;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::{Location, Workspace};
use crate::output::Problem;

/// Makes the names of unfinished files differ within a process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// What a written file was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It was not there.
    New,
    /// It was there.
    Old,
}

impl Workspace {
    /// Opens a folder.
    pub(crate) fn folder(&self, location: &Location) -> Result<Dir, Problem> {
        self.dir.open_dir(location.path()).map_err(|error| self.of_folder(location, &error))
    }

    /// Opens a folder by a path that was found before.
    pub(crate) fn below(&self, path: &Path) -> io::Result<Dir> {
        self.dir.open_dir(path)
    }

    /// What is at a location, with links followed.
    pub(crate) fn look(&self, location: &Location) -> Result<Metadata, Problem> {
        self.dir.metadata(location.path()).map_err(|error| self.of_file(location, &error))
    }

    /// Opens a regular file to read it, and answers with its size. Never waits for who is at the other end.
    pub(crate) fn file(&self, location: &Location) -> Result<(File, u64), Problem> {
        // Looked at before it is opened, since opening a device may do something.
        regular(location, &self.look(location)?)?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let opened = self.dir.open_with(location.path(), &options);
        let file = opened.map_err(|error| self.of_file(location, &error))?;
        let metadata = file.metadata().map_err(|error| self.of_file(location, &error))?;
        // Looked at again, since another one may be there by now.
        regular(location, &metadata)?;
        Ok((file.into_std(), metadata.len()))
    }

    /// Reads a regular file of at most `most` bytes.
    pub(crate) fn bytes(&self, location: &Location, most: u64) -> Result<Vec<u8>, Problem> {
        let (file, _) = self.file(location)?;
        let mut bytes = Vec::new();
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| self.of_file(location, &error))?;
        if bytes.len() as u64 > most {
            let cause = format!("{} has more than {most} bytes", location.shown());
            return Err(Problem::new(
                "the file is too large",
                cause,
                "change it with run_command (sed, python3)",
            ));
        }
        Ok(bytes)
    }

    /// The hash of a file's content; none if there is no file that can be read.
    pub(crate) fn hash(&self, location: &Location) -> Option<Digest> {
        let (mut file, _) = self.file(location).ok()?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Some(Digest(hash.finalize().into())),
                Ok(length) => hash.update(piece.get(..length)?),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Gives a file its content, whole or not at all: written and synced under another name in the same
    /// folder, then renamed. Its mode is kept; folders on the way are made.
    pub(crate) fn replace(&self, location: &Location, bytes: &[u8]) -> Result<Replaced, Problem> {
        let Some((parent, name)) = location.split() else {
            return Err(Problem::new("a folder", "the workspace is no file", "give the path of a file"));
        };
        let failed = |error: io::Error| self.of_file(location, &error);
        self.dir.create_dir_all(parent.path()).map_err(|error| self.of_folder(&parent, &error))?;
        let folder = self.folder(&parent)?;
        let before = match folder.symlink_metadata(&name) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(there) = &before {
            regular(location, there)?;
            writable(location, there)?;
        }
        let unfinished = unfinished_name();
        let written = write_synced(&folder, &unfinished, bytes, before.as_ref())
            .and_then(|()| folder.rename(&unfinished, &folder, &name));
        if let Err(error) = written {
            // Nothing is left behind, so far as the disk lets us.
            folder.remove_file(&unfinished).ok();
            return Err(failed(error));
        }
        // The content is in place; that its name lasts over a power cut is the best that can be done now.
        rustix::fs::fsync(&folder).ok();
        Ok(if before.is_some() { Replaced::Old } else { Replaced::New })
    }

    fn of_folder(&self, location: &Location, error: &io::Error) -> Problem {
        if error.kind() != io::ErrorKind::NotADirectory {
            return self.of_file(location, error);
        }
        let cause = format!("{} is a file, or leads through one", location.shown());
        Problem::new("not a folder", cause, "give the path of a folder; list_files shows them")
    }

    fn of_file(&self, location: &Location, error: &io::Error) -> Problem {
        use io::ErrorKind::{NotFound, PermissionDenied, QuotaExceeded, StorageFull};
        let (shown, kind) = (location.shown(), error.kind());
        if kind == NotFound {
            return Problem::new("not found", format!("there is no {shown}"), self.hint_of_missing(location));
        }
        let (error_in_short, hint) = if kind == PermissionDenied {
            ("no permission", "it may not be reached; go on without it, or tell the person")
        } else if matches!(kind, StorageFull | QuotaExceeded) {
            ("the disk is full", "nothing was changed; free some room, then try again")
        } else {
            ("the system said no", "look at it with list_files")
        };
        Problem::new(error_in_short, format!("{shown}: {error}"), hint)
    }

    /// The nearest name in the folder where a file was looked for.
    fn hint_of_missing(&self, location: &Location) -> String {
        let near = location.split().and_then(|(parent, name)| {
            let names = self.dir.read_dir(parent.path()).ok()?.take(10_000).flatten();
            let names: Vec<String> =
                names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            let found = crate::nearest::nearest(&name.to_string_lossy(), names.iter().map(String::as_str))?;
            let folder = parent.name();
            Some(if folder.is_empty() { found.to_owned() } else { format!("{folder}/{found}") })
        });
        match near {
            Some(near) => format!("did you mean {near}? list_files shows what is there"),
            None => {
                "list_files shows what is there, search_files with names finds a file by its name".to_owned()
            }
        }
    }
}

/// What a file is, for people.
pub(crate) fn kind_of(kind: FileType) -> &'static str {
    if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "folder"
    } else if kind.is_symlink() {
        "link"
    } else if kind.is_fifo() {
        "FIFO"
    } else if kind.is_socket() {
        "socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "device"
    } else {
        "special file"
    }
}

fn regular(location: &Location, metadata: &Metadata) -> Result<(), Problem> {
    if metadata.is_file() {
        return Ok(());
    }
    let shown = location.shown();
    if metadata.is_dir() {
        let cause = format!("{shown} is a folder");
        return Err(Problem::new("a folder, not a file", cause, "list_files shows what is in it"));
    }
    let kind = kind_of(metadata.file_type());
    let cause = format!("{shown} is a {kind}, not a regular file");
    Err(Problem::new("not a regular file", cause, "only regular files can be read and written"))
}

/// A rename would get past it, and the one who took the right to write away meant something by it.
fn writable(location: &Location, metadata: &Metadata) -> Result<(), Problem> {
    if metadata.permissions().mode() & 0o222 != 0 {
        return Ok(());
    }
    let cause = format!("{} may be written by nobody", location.shown());
    Err(Problem::new("read only", cause, "leave it as it is, or ask the person to allow it"))
}

fn unfinished_name() -> OsString {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    OsString::from(format!(".petasos-unfinished-{}-{number}", std::process::id()))
}

fn write_synced(folder: &Dir, name: &OsStr, bytes: &[u8], before: Option<&Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // An old file's content is shown to nobody else on the way; a new file gets what the umask leaves.
    let mode = if before.is_some() { 0o600 } else { 0o644 };
    let mut file = folder.open_with(Path::new(name), options.write(true).create_new(true).mode(mode))?;
    file.write_all(bytes)?;
    if let Some(before) = before {
        file.set_permissions(Permissions::from_mode(before.permissions().mode() & 0o7777))?;
    }
    file.sync_all()
}
