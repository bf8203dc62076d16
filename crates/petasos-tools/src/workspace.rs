//! The folder that tools work in, held as an open descriptor.
//!
//! Whatever a path says, and whatever is swapped while a call runs, nothing outside the folder is read or
//! written: a path is first walked part by part to find which file it means, and that file is then opened
//! part by part from the descriptor, through no link. Names are never compared as strings to decide.

mod files;
mod hashed;
mod open;
mod replace;
mod rights;
mod stamp;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use petasos_core::claims::{Access, Place, PlaceKind};
use petasos_core::text::Text;
use rustix::fs::readlinkat;

use crate::file_name;
use crate::output::Problem;
pub(crate) use files::kind_of;
pub(crate) use hashed::{Hashed, MOST_HASHED};
use open::{Closed, closed, folder_in};
pub(crate) use open::{NotOpened, file_in};
pub(crate) use replace::{Replaced, Written, is_unfinished};
pub(crate) use stamp::{Content, Stamp, There};

/// Links that one path may lead through; Linux has the same number.
const MOST_LINKS: usize = 40;

/// Where Linux shows what processes have in their memory and environment, keys too, and ways to all that they have
/// open. It can only be reached if the workspace is `/`.
const PROCESSES: &str = "/proc";

/// The folder that tools work in.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    root: PathBuf,
    given: PathBuf,
    /// Folders that no tool reaches.
    closed: Vec<Closed>,
}

/// Why a folder cannot be a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It is not there, is no folder, or may not be opened.
    #[error("{} cannot be the workspace: {source}; name a folder that is there", path.display())]
    Unusable {
        /// The folder that was named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A file or folder of the workspace, by its parts after every link was followed. It need not be there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location(PathBuf);

impl Location {
    /// The path from the workspace on; `.` is the workspace.
    pub(crate) fn path(&self) -> &Path {
        if self.0.as_os_str().is_empty() { Path::new(".") } else { &self.0 }
    }

    /// The folder it lies in and its name there; none for the workspace itself.
    pub(crate) fn split(&self) -> Option<(Self, OsString)> {
        let name = self.0.file_name()?.to_owned();
        Some((Self(self.0.parent()?.to_owned()), name))
    }

    /// Its name to people and in claims: the parts joined by `/`, empty for the workspace.
    pub(crate) fn name(&self) -> String {
        file_name::shown(&self.0)
    }

    /// Its name where an empty one would read badly.
    pub(crate) fn shown(&self) -> String {
        if self.0.as_os_str().is_empty() { "the workspace".to_owned() } else { self.name() }
    }

    /// The place that a call touches here.
    pub(crate) fn place(&self, access: Access) -> Place {
        Place { kind: PlaceKind::Path, name: Text::from(self.name()), access }
    }
}

/// A part of the path to a location.
struct Part {
    name: OsString,
    /// If it is a folder that may be looked into.
    folder: Option<Dir>,
}

impl Workspace {
    /// Opens a folder. From then on it is that folder, also if a link that led to it is changed.
    ///
    /// # Errors
    /// [`WorkspaceError::Unusable`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let unusable = |source| WorkspaceError::Unusable { path: path.to_owned(), source };
        let given = std::path::absolute(path).map_err(unusable)?;
        let root = path.canonicalize().map_err(unusable)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(unusable)?;
        let workspace = Self { dir, root, given, closed: Vec::new() };
        Ok(workspace.with_closed(Path::new(PROCESSES)))
    }

    /// The same with a folder closed to all tools, wherever it lies: what is in it would let the agent read keys, or
    /// allow itself what nobody allowed.
    #[must_use]
    pub fn with_closed(mut self, folder: &Path) -> Self {
        // A folder that is not there yet is closed by the name it will have.
        let whole = folder.canonicalize().or_else(|_| std::path::absolute(folder));
        if let Ok(whole) = whole {
            let below = whole.strip_prefix(&self.root).or_else(|_| whole.strip_prefix(&self.given));
            self.closed.push(Closed::new(&whole, below.map(Path::to_owned).ok()));
        }
        self
    }

    /// The folder's path with every link followed, for people and for the prompt.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Finds which file of the workspace a path means.
    pub(crate) fn find(&self, path: &str) -> Result<Location, Problem> {
        if path.is_empty() || path.contains('\0') {
            let hint = "give a path from the workspace on, such as src/main.rs; . is the workspace itself";
            return Err(Problem::new("no path", format!("{path:?} names nothing"), hint));
        }
        let inside = self.inside(Path::new(path)).ok_or_else(|| self.outside(path))?;
        let found = self.walk(path, &inside)?;
        let other =
            file_name::meant(path).and_then(|other| self.walk(path, &self.inside(other.as_ref())?).ok());
        Ok(match other {
            Some(other) if self.is_meant(&other, &found) => other,
            Some(_) | None => found,
        })
    }

    /// True if a name that is no text was given as it is shown, and nothing has just the name that was given.
    fn is_meant(&self, other: &Location, given: &Location) -> bool {
        let is_there = |location: &Location| self.look(location).is_ok();
        let has_a_place = |location: &Location| location.split().is_none_or(|(folder, _)| is_there(&folder));
        !is_there(given) && (is_there(other) || (has_a_place(other) && !has_a_place(given)))
    }

    /// The part of a path below the workspace; models often give whole paths. None if it lies elsewhere.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        if !path.has_root() {
            return Some(path.to_owned());
        }
        let below = path.strip_prefix(&self.root).or_else(|_| path.strip_prefix(&self.given));
        below.map(Path::to_owned).ok()
    }

    fn walk(&self, told: &str, inside: &Path) -> Result<Location, Problem> {
        let mut rest: VecDeque<OsString> = inside.iter().map(OsString::from).collect();
        let mut way: Vec<Part> = Vec::new();
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            let name = match Path::new(&part).components().next() {
                None | Some(Component::CurDir) => continue,
                Some(Component::ParentDir) if way.pop().is_none() => return Err(self.outside(told)),
                Some(Component::ParentDir) => continue,
                // A link to an absolute path in the workspace starts again from its root.
                Some(Component::RootDir | Component::Prefix(_)) => return Err(self.outside(told)),
                Some(Component::Normal(name)) => name,
            };
            let holder = way.last().map_or(Some(&self.dir), |part| part.folder.as_ref());
            // What is not there has no link in it; what may not be looked at is refused when it is opened.
            let target = holder.and_then(|folder| readlinkat(folder, name, Vec::new()).ok());
            let Some(target) = target else {
                let folder = holder.and_then(|folder| folder_in(folder, name).ok());
                if folder.as_ref().is_some_and(|folder| self.closes(folder)) {
                    return Err(closed(told));
                }
                way.push(Part { name: name.to_owned(), folder });
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                let cause = format!("{told} leads through more than {MOST_LINKS} links");
                let hint = "look at the links with list_files";
                return Err(Problem::new("links lead in a circle", cause, hint));
            }
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            let Some(below) = self.inside(&target) else { return Err(self.outside(told)) };
            if target.has_root() {
                way.clear();
            }
            below.iter().rev().for_each(|part| rest.push_front(OsString::from(part)));
        }
        let found: PathBuf = way.into_iter().map(|part| part.name).collect();
        // One that is not there yet has nothing but its name.
        if self.closed.iter().any(|closed| closed.holds(&found)) {
            return Err(closed(told));
        }
        Ok(Location(found))
    }

    fn outside(&self, path: &str) -> Problem {
        let cause = format!("{path:?} leads out of the workspace {}", self.root.display());
        let hint = "only files in the workspace can be reached; give a path from the workspace on, such as \
                    src/main.rs";
        Problem::new("outside the workspace", cause, hint)
    }
}
