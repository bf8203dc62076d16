//! Files of the workspace: looked at, opened and read below its descriptor.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use cap_std::fs::{Dir, FileType, FileTypeExt as _, Metadata};
use petasos_core::id::Digest;
use sha2::{Digest as _, Sha256};

use super::{Location, NotOpened, Workspace, file_in};
use crate::output::Problem;

/// Bytes of a file whose hash is taken: more would hold up the call that waits for it.
const MOST_HASHED: u64 = 64 * 1024 * 1024;

impl Workspace {
    /// Opens a folder.
    pub(crate) fn folder(&self, location: &Location) -> Result<Dir, Problem> {
        self.descend(location.path()).map_err(|why| self.no_folder(location, why))
    }

    /// Opens a folder by a path that was found before.
    pub(crate) fn below(&self, path: &Path) -> Result<Dir, NotOpened> {
        self.descend(path)
    }

    /// What is at a location; no link is followed.
    pub(crate) fn look(&self, location: &Location) -> Result<Metadata, Problem> {
        let holder = self.holder(location).map_err(|why| self.not_opened(location, why))?;
        let looked = match &holder {
            Some((folder, name)) => folder.symlink_metadata(name),
            None => self.dir.dir_metadata(),
        };
        looked.map_err(|error| self.of_file(location, &error))
    }

    /// Opens a regular file to read it, and answers with its size. Never waits for who is at the other end.
    pub(crate) fn file(&self, location: &Location) -> Result<(File, u64), Problem> {
        let not_opened = |why| self.not_opened(location, why);
        let Some((folder, name)) = self.holder(location).map_err(not_opened)? else {
            return Err(a_folder(location));
        };
        // Looked at before it is opened, since opening a device may do something.
        let looked = folder.symlink_metadata(&name).map_err(|error| self.of_file(location, &error))?;
        regular(location, looked.file_type())?;
        let file = file_in(&folder, &name).map_err(not_opened)?;
        let metadata = Metadata::from_file(&file).map_err(|error| self.of_file(location, &error))?;
        // Looked at again, since another one may be there by now.
        regular(location, metadata.file_type())?;
        Ok((file, metadata.len()))
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

    /// What the model reads of a folder that was not opened.
    pub(super) fn no_folder(&self, location: &Location, why: NotOpened) -> Problem {
        let is_file =
            matches!(&why, NotOpened::System(error) if error.kind() == io::ErrorKind::NotADirectory);
        if !is_file {
            return self.not_opened(location, why);
        }
        let cause = format!("{} is a file, or leads through one", location.shown());
        Problem::new("not a folder", cause, "give the path of a folder; list_files shows them")
    }

    pub(super) fn of_file(&self, location: &Location, error: &io::Error) -> Problem {
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
            let names = self.descend(parent.path()).ok()?.entries().ok()?.take(10_000).flatten();
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

/// A problem if it is no regular file.
pub(super) fn regular(location: &Location, kind: FileType) -> Result<(), Problem> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(a_folder(location));
    }
    let cause = format!("{} is a {}, not a regular file", location.shown(), kind_of(kind));
    Err(Problem::new("not a regular file", cause, "only regular files can be read and written"))
}

fn a_folder(location: &Location) -> Problem {
    let cause = format!("{} is a folder", location.shown());
    Problem::new("a folder, not a file", cause, "list_files shows what is in it")
}
