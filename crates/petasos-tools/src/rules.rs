//! What the ignore files of the workspace leave out, in the order in which ripgrep asks them.
//!
//! `.rgignore` goes before `.ignore`, and both before what git ignores (`.gitignore`, then `.git/info/exclude`); among
//! files of one name the nearest decides. What git ignores ends where another repository begins; the other two belong to
//! who searches and hold everywhere. A `.gitignore` is heard without a repository too. Files outside of the workspace
//! are not read.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::Workspace;

/// Bytes of an ignore file.
const MOST: u64 = 1024 * 1024;
/// Files of rules, the first one asked first.
const FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// The place of the first one among all kinds of rules that ends where another repository begins.
const OF_GIT: usize = 2;

/// The rules that hold in the folder that is walked now.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// The folders that have any, from the outermost on.
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Of each file there is, and of `.git/info/exclude` at last.
    kinds: [Option<Gitignore>; FILES.len() + 1],
    begins_repository: bool,
}

/// The names in a folder.
pub(crate) enum Names<'a> {
    /// All of them, sorted.
    Known(&'a [(OsString, cap_std::fs::FileType)]),
    /// Nobody has looked.
    Unknown,
}

impl Names<'_> {
    fn may_have(&self, name: &str) -> bool {
        match self {
            Self::Known(names) => {
                names.binary_search_by(|(other, _)| other.as_os_str().cmp(OsStr::new(name))).is_ok()
            }
            Self::Unknown => true,
        }
    }
}

/// How many folders had rules before another was entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before(usize);

impl Rules {
    /// The rules of a folder hold from now on, until it is left.
    pub(crate) fn enter(
        &mut self,
        workspace: &Workspace,
        folder: &Dir,
        path: &Path,
        names: &Names<'_>,
    ) -> Before {
        let before = Before(self.folders.len());
        let read = |name: &str| names.may_have(name).then(|| read(folder, name)).flatten();
        let [first, second, third] = FILES.map(read);
        let repository = names.may_have(".git") && folder.symlink_metadata(".git").is_ok();
        let excluded = if repository { excluded(workspace, folder) } else { None };
        let kinds = [first, second, third, excluded];
        if repository || kinds.iter().any(Option::is_some) {
            self.folders.push(Folder { path: path.to_owned(), kinds, begins_repository: repository });
        }
        before
    }

    /// A folder is left.
    pub(crate) fn leave(&mut self, before: Before) {
        self.folders.truncate(before.0);
    }

    /// True if what is met in the folder that was entered last is left out.
    pub(crate) fn leave_out(&self, path: &Path, is_folder: IsFolder) -> bool {
        for kind in 0..=FILES.len() {
            for folder in self.folders.iter().rev() {
                match folder.judge(kind, path, is_folder) {
                    Match::None => {}
                    Match::Ignore(()) => return true,
                    Match::Whitelist(()) => return false,
                }
                if kind >= OF_GIT && folder.begins_repository {
                    break;
                }
            }
        }
        false
    }
}

/// Whether something is a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsFolder {
    /// It is.
    Yes,
    /// It is not.
    No,
}

impl Folder {
    fn judge(&self, kind: usize, path: &Path, is_folder: IsFolder) -> Match<()> {
        let rules = self.kinds.get(kind).and_then(Option::as_ref);
        match (rules, path.strip_prefix(&self.path)) {
            (Some(rules), Ok(below)) => rules.matched(below, is_folder == IsFolder::Yes).map(drop),
            _ => Match::None,
        }
    }
}

/// What `.git/info/exclude` says. A `.git` that is a file leads out of the workspace, and is not followed.
fn excluded(workspace: &Workspace, folder: &Dir) -> Option<Gitignore> {
    let git = workspace.step(folder, OsStr::new(".git")).ok()?;
    let info = workspace.step(&git, OsStr::new("info")).ok()?;
    read(&info, "exclude")
}

fn read(folder: &Dir, name: &str) -> Option<Gitignore> {
    let file = super::walk::open_regular(folder, &OsString::from(name))?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text));
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // A line that git would not understand either is no rule.
        builder.add_line(None, line).ok();
    }
    builder.build().ok()
}
