//! What a search has found, as text of bounded size.

use std::collections::BTreeSet;
use std::sync::Arc;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

use crate::mask::Mask;

/// Matches of one result.
const MOST: usize = 200;
/// Characters of a line that are shown.
const LONGEST: usize = 300;

/// Lines and names, in the order in which they were met.
#[derive(Debug)]
pub(crate) struct Found {
    text: String,
    matches: usize,
    files: BTreeSet<String>,
    path: String,
    /// Where the file that is being searched begins, in `text` and in `matches`.
    begun: (usize, usize),
    mask: Arc<Mask>,
}

impl Found {
    /// Nothing yet.
    pub(crate) fn new(mask: Arc<Mask>) -> Self {
        let (text, path) = (String::new(), String::new());
        Self { text, matches: 0, files: BTreeSet::new(), path, begun: (0, 0), mask }
    }

    /// True if no more will be shown.
    pub(crate) fn is_full(&self) -> bool {
        self.matches > MOST
    }

    /// True if there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.matches == 0
    }

    /// The lines that follow are of this file, by its shown name.
    pub(crate) fn begin(&mut self, path: &str) {
        path.clone_into(&mut self.path);
        self.begun = (self.text.len(), self.matches);
    }

    /// What was found in this file does not count.
    pub(crate) fn take_back(&mut self) {
        self.text.truncate(self.begun.0);
        self.matches = self.begun.1;
        self.files.remove(&self.path);
    }

    /// A name that matches.
    pub(crate) fn name(&mut self, path: &str) {
        self.begin(path);
        self.counted(|path| format!("{path}\n"));
    }

    /// A line that matches.
    pub(crate) fn line(&mut self, number: u64, line: &[u8], matcher: &RegexMatcher) {
        let line = self.readable(line);
        let at = matcher.find(line.as_bytes()).ok().flatten().map_or(0, |found| found.start());
        let before = line.get(..at).unwrap_or_default().chars().count();
        let text = cut(&line, before);
        self.counted(|path| format!("{path}:{number}: {text}\n"));
    }

    /// A line beside one that matches.
    pub(crate) fn around(&mut self, number: u64, line: &[u8]) {
        if self.matches <= MOST {
            let line = cut(&self.readable(line), 0);
            self.text.push_str(&format!("{}-{number}- {line}\n", self.path));
        }
    }

    /// A line without its end, its keys hidden before it is cut: half of one would be known to nobody.
    fn readable(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.hide(&String::from_utf8_lossy(line))
    }

    /// A text with its keys hidden.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.mask.hide(text).into_owned()
    }

    /// Lines are left out here.
    pub(crate) fn gap(&mut self) {
        if self.matches <= MOST {
            self.text.push_str("--\n");
        }
    }

    /// All of it, with what was not searched.
    pub(crate) fn text(mut self, not_searched: &str) -> String {
        let (files, shown) = (self.files.len(), self.matches.min(MOST));
        let count = if self.is_full() {
            format!(
                "the first {shown} matches, in {files} files; more are not shown: narrow it with path or glob"
            )
        } else {
            format!("{shown} matches in {files} files")
        };
        self.text.push_str(&format!("[{count}{not_searched}]\n"));
        self.text
    }

    fn counted(&mut self, shown: impl FnOnce(&str) -> String) {
        self.matches += 1;
        if self.matches <= MOST {
            self.text.push_str(&shown(&self.path));
            self.files.insert(self.path.clone());
        }
    }
}

/// As much of a line as fits around a place in it.
fn cut(text: &str, place: usize) -> String {
    let from = if place < LONGEST * 2 / 3 { 0 } else { place - LONGEST / 3 };
    let mut rest = text.chars().skip(from);
    let mut shown: String = rest.by_ref().take(LONGEST).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}
