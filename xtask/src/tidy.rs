//! The limits and habits that no compiler checks: STYLE.md rule 21.
//!
//! Every file that git knows, or would know after `git add`, is read. There is no list of exceptions.

mod bad_input;
mod cases;
mod rust_files;
#[cfg(test)]
mod tests;
mod texts;
mod tree;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::report::{Finding, Outcome, settle};
use crate::workspace::root;

/// A text file of the tree.
#[derive(Debug)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Under a `tests/` folder: the limits of lines do not hold there.
    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests")
    }

    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }
}

pub fn run() -> Result<Outcome> {
    let files = read_tree(&root()?)?;
    settle("tidy", &format!("{} files", files.len()), &findings(&files))
}

fn findings(files: &[File]) -> Vec<Finding> {
    let mut found = tree::check(files);
    found.extend(bad_input::check(files));
    found.extend(cases::check(files));
    for file in files {
        found.extend(texts::check(file));
        if file.is_rust() {
            found.extend(rust_files::check(file));
        }
    }
    found
}

/// Tracked files and those that are new but not ignored. Files that are no text are left out, and so are
/// those that are deleted and not yet committed.
fn read_tree(root: &Path) -> Result<Vec<File>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("git could not be started; tidy asks it for the list of files")?;
    if !listed.status.success() {
        bail!("git ls-files in {} said: {}", root.display(), String::from_utf8_lossy(&listed.stderr).trim());
    }
    let mut files = Vec::new();
    for path in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
        let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => files.push(File { path: path.to_owned(), text }),
            _ if path.ends_with(".rs") => bail!("{path} is not UTF-8; Rust source must be"),
            _ => {}
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    Ok(files)
}
