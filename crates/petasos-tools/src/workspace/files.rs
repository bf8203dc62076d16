//! Files of the workspace: opened, read and replaced below its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use cap_std::fs::{
    Dir, FileType, FileTypeExt as _, Metadata, OpenOptions, OpenOptionsExt as _, Permissions,
    PermissionsExt as _,
};
use petasos_core::id::Digest;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::{Location, Workspace};
use crate::output::Problem;

/// Bytes of a file whose hash is taken: more would hold up the call that waits for it.
const MOST_HASHED: u64 = 64 * 1024 * 1024;

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

    /// The first bytes of a regular file, at most `most`; none if there is no file that can be read.
    pub(crate) fn beginning(&self, location: &Location, most: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Ok((file, _)) = self.file(location) else { return bytes };
        // What was read before an error is the beginning all the same.
        file.take(most).read_to_end(&mut bytes).ok();
        bytes
    }

    /// The hash of a file's content; none if there is no file that can be read. A problem if it is too large to
    /// be looked through.
    pub(crate) fn hash(&self, location: &Location) -> Result<Option<Digest>, Problem> {
        let Ok((file, bytes)) = self.file(location) else { return Ok(None) };
        // Asked first, so that nothing of what is too large is read; it may still grow while it is.
        let mut file = file.take(MOST_HASHED.saturating_add(1));
        let (mut hash, mut piece, mut read) = (Sha256::new(), vec![0; 64 * 1024], 0_u64);
        while bytes <= MOST_HASHED && read <= MOST_HASHED {
            match file.read(&mut piece) {
                Ok(0) => return Ok(Some(Digest(hash.finalize().into()))),
                Ok(length) => {
                    hash.update(piece.get(..length).unwrap_or_default());
                    read = read.saturating_add(length as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(None),
            }
        }
        let cause = format!("{} has more than {MOST_HASHED} bytes", location.shown());
        Err(Problem::new("the file is too large", cause, "use a smaller one"))
    }

    /// Gives a file its content, whole or not at all: written and synced under another name in the same
    /// folder, then renamed. Its mode is kept; folders on the way are made.
    pub(crate) fn replace(&self, location: &Location, bytes: &[u8]) -> Result<(Replaced, Lasting), Problem> {
        let Some((parent, name)) = location.split() else {
            return Err(Problem::new("a folder", "the workspace is no file", "give the path of a file"));
        };
        let failed = |error: io::Error| self.of_file(location, &error);
        let made = self.missing(&parent);
        self.dir.create_dir_all(parent.path()).map_err(|error| self.of_folder(&parent, &error))?;
        let folder = self.folder(&parent)?;
        let before = match folder.symlink_metadata(&name) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(there) = &before {
            regular(location, there)?;
            writable(location, &folder, &name, there)?;
        }
        let unfinished = unfinished_name();
        // From here on that name is ours to remove, and not before: it may be another's.
        let file = begin(&folder, &unfinished, before.as_ref()).map_err(failed)?;
        let written = write_synced(file, bytes, before.as_ref())
            .and_then(|()| folder.rename(&unfinished, &folder, &name));
        if let Err(error) = written {
            // Nothing is left behind, so far as the disk lets us.
            folder.remove_file(&unfinished).ok();
            return Err(failed(error));
        }
        let lasting = match sync(&folder).and_then(|()| self.sync_made(&parent, made)) {
            Ok(()) => Lasting::Synced,
            Err(error) => Lasting::Unsure(error.to_string()),
        };
        Ok((if before.is_some() { Replaced::Old } else { Replaced::New }, lasting))
    }

    /// How many folders of a path are not there, counted from its end.
    fn missing(&self, folder: &Location) -> usize {
        let paths = folder.path().ancestors().filter(|path| !path.as_os_str().is_empty());
        paths.take_while(|path| self.dir.symlink_metadata(path).is_err()).count()
    }

    /// Syncs the folders that hold the last `made` folders of a path, so that their names last too.
    fn sync_made(&self, folder: &Location, made: usize) -> io::Result<()> {
        for path in folder.path().ancestors().skip(1).take(made) {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            sync(&self.dir.open_dir(path)?)?;
        }
        Ok(())
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
