//! Files of the workspace: looked at, opened and read below its descriptor.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use cap_std::fs::{Dir, FileType, FileTypeExt as _, Metadata};
use petasos_core::id::Digest;

use super::hashed::{Hashed, MOST_HASHED};
use super::{Content, Location, NotOpened, Stamp, There, Workspace, file_in};
use crate::output::Problem;

/// Bytes of an old file that are looked at for its encoding and its line ends.
const LOOKED_AT: usize = 16 * 1024 * 1024;

/// A file as it is before it is written.
#[derive(Debug)]
pub(crate) struct Old {
    pub(crate) there: There,
    /// As much of it as is looked at; nothing if it is not there or cannot be read.
    pub(crate) beginning: Vec<u8>,
}

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

    /// Opens a regular file to read it, and answers with its state. Never waits for who is at the other end.
    pub(crate) fn file(&self, location: &Location) -> Result<(File, Stamp), Problem> {
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
        Ok((file, Stamp::of(&metadata)))
    }

    /// Reads a regular file of at most `most` bytes, and answers also with its state when that began.
    pub(crate) fn bytes(&self, location: &Location, most: u64) -> Result<(Vec<u8>, Stamp), Problem> {
        let (file, stamp) = self.file(location)?;
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
        Ok((bytes, stamp))
    }

    /// A file as it is before it is written.
    pub(crate) fn old(&self, location: &Location) -> Old {
        let as_looked_at = |stamp| There::File(Content { stamp: Some(stamp), hash: None });
        let there = self.look(location);
        let there = there.map_or(There::Nothing, |there| as_looked_at(Stamp::of(&there)));
        let mut old = Old { there, beginning: Vec::new() };
        let Ok((file, stamp)) = self.file(location) else { return old };
        let mut hashed = Hashed::default();
        // What was read before an error is the beginning all the same.
        let whole = in_pieces(file, |piece| {
            let room = LOOKED_AT.saturating_sub(old.beginning.len());
            old.beginning.extend(piece.iter().take(room));
            hashed.push(piece);
            !hashed.is_too_large()
        });
        let hash = whole.ok().and_then(|()| hashed.end());
        old.there = There::File(Content { stamp: Some(stamp), hash });
        old
    }

    /// The hash of a file's content; none if there is no file that can be read. A problem if it is too large to
    /// be looked through.
    pub(crate) fn hash(&self, location: &Location) -> Result<Option<Digest>, Problem> {
        let Ok((file, stamp)) = self.file(location) else { return Ok(None) };
        // Asked first, so that nothing of what is too large is read; it may still grow while it is.
        if stamp.bytes() <= MOST_HASHED {
            match hash_of(file) {
                Ok(Some(hash)) => return Ok(Some(hash)),
                Ok(None) => {}
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

/// The hash of all of a file; none if it is too large.
pub(super) fn hash_of(file: File) -> io::Result<Option<Digest>> {
    let mut hashed = Hashed::default();
    in_pieces(file, |piece| {
        hashed.push(piece);
        !hashed.is_too_large()
    })?;
    Ok(hashed.end())
}

/// Reads a file to its end, or until a piece is the last one that is wanted.
fn in_pieces(mut file: File, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) if !take(piece.get(..length).unwrap_or_default()) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
