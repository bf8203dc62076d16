//! Walking through the workspace, folder by folder on open descriptors, in the order of names.
//!
//! Ignore files are judged by the `ignore` crate (`rules.rs`); its own walk is not used, since that goes
//! by paths and so can be led out of the workspace by who swaps a folder for a link. Links are told of and
//! never followed.

use std::ffi::OsString;
use std::path::Path;

use cap_std::fs::{Dir, FileType};

use crate::output::Problem;
use crate::rules::{IsFolder, Names, Rules};
use crate::tool::Stop;
use crate::workspace::{Location, NotOpened, Workspace, file_in, is_unfinished};

/// Folders in folders; each holds a descriptor.
const DEEPEST: usize = 64;
/// Names of one folder that are looked at.
const MOST_NAMES: usize = 100_000;
/// What nobody looks for and git ignores only if it is told to.
const HABIT: [&str; 7] = [".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".petasos"];

/// Something that was met.
#[derive(Debug)]
pub(crate) struct Met<'a> {
    /// The folder that holds it.
    pub(crate) folder: &'a Dir,
    /// Its name there.
    pub(crate) name: &'a OsString,
    /// Its path from the workspace on.
    pub(crate) path: &'a Path,
    /// What it is.
    pub(crate) kind: FileType,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Go {
    /// To the next.
    On,
    /// No further.
    Stop,
}

/// What was left out, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// By an ignore file, or by habit.
    pub(crate) ignored: u64,
    /// May not be read, is too deep, or is in a folder with too many names.
    pub(crate) unread: u64,
}

/// A walk.
pub(crate) struct Walk<'a> {
    /// How many levels are looked at; 1 is the folder itself.
    pub(crate) depth: usize,
    /// Ends it.
    pub(crate) stop: &'a Stop,
    /// Called for each thing that is met.
    pub(crate) meet: &'a mut dyn FnMut(&Met<'_>) -> Go,
    left_out: LeftOut,
    rules: Rules,
}

impl<'a> Walk<'a> {
    /// A walk that has not begun.
    pub(crate) fn new(depth: usize, stop: &'a Stop, meet: &'a mut dyn FnMut(&Met<'_>) -> Go) -> Self {
        let depth = depth.clamp(1, DEEPEST);
        Self { depth, stop, meet, left_out: LeftOut::default(), rules: Rules::default() }
    }

    /// Walks through a folder, which is looked at even if it is ignored itself.
    pub(crate) fn through(mut self, workspace: &Workspace, location: &Location) -> Result<LeftOut, Problem> {
        let folder = workspace.folder(location)?;
        let start = location.path();
        let start = if start == Path::new(".") { Path::new("") } else { start };
        let above: Vec<&Path> = start.ancestors().skip(1).collect();
        for path in above.into_iter().rev() {
            let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            if let Ok(folder) = workspace.below(shown) {
                self.rules.enter(workspace, &folder, path, &Names::Unknown);
            }
        }
        self.folder(workspace, &folder, start, 1);
        Ok(self.left_out)
    }

    fn folder(&mut self, workspace: &Workspace, folder: &Dir, path: &Path, level: usize) -> Go {
        let Ok(entries) = folder.entries() else {
            self.left_out.unread += 1;
            return Go::On;
        };
        let mut names: Vec<(OsString, FileType)> = Vec::new();
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if names.len() < MOST_NAMES => names.push((entry.file_name(), kind)),
                Ok(_) | Err(_) => self.left_out.unread += 1,
            }
        }
        names.sort_by(|one, other| one.0.cmp(&other.0));
        let before = self.rules.enter(workspace, folder, path, &Names::Known(&names));
        let mut go = Go::On;
        for (name, kind) in &names {
            let path = path.join(name);
            go = self.one(workspace, &Met { folder, name, path: &path, kind: *kind }, level);
            if go == Go::Stop {
                break;
            }
        }
        self.rules.leave(before);
        go
    }

    fn one(&mut self, workspace: &Workspace, met: &Met<'_>, level: usize) -> Go {
        if self.stop.is_raised() {
            return Go::Stop;
        }
        let is_ignored = self.is_ignored(met);
        // Opened before it is told of: only what it is shows whether tools may reach it.
        let below = (met.kind.is_dir() && !is_ignored).then(|| workspace.step(met.folder, met.name));
        if is_ignored || matches!(below, Some(Err(NotOpened::Closed))) {
            self.left_out.ignored += 1;
            return Go::On;
        }
        if (self.meet)(met) == Go::Stop {
            return Go::Stop;
        }
        let Some(below) = below else { return Go::On };
        if level >= self.depth {
            self.left_out.unread += u64::from(level >= DEEPEST);
            return Go::On;
        }
        match below {
            Ok(folder) => self.folder(workspace, &folder, met.path, level + 1),
            Err(_) => {
                self.left_out.unread += 1;
                Go::On
            }
        }
    }

    fn is_ignored(&self, met: &Met<'_>) -> bool {
        let is_folder = if met.kind.is_dir() { IsFolder::Yes } else { IsFolder::No };
        let is_habit = HABIT.iter().any(|name| met.name == name) || is_unfinished(met.name);
        is_habit || self.rules.leave_out(met.path, is_folder)
    }
}

/// Opens a regular file of a folder, through no link and without waiting for anybody.
pub(crate) fn open_regular(folder: &Dir, name: &OsString) -> Option<std::fs::File> {
    let file = file_in(folder, name).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}
