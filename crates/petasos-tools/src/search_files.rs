//! `search_files`: where a pattern stands, in the text of files or in their names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use petasos_core::claims::{Access, Claims, Place};
use petasos_core::tool::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::found::Found;
use crate::list_files::hidden;
use crate::output::{Problem, Told, blocking};
use crate::tool::{Context, Stop};
use crate::typed::{TypedTool, reads};
use crate::walk::{Go, LeftOut, Met, Walk, open_regular};
use crate::workspace::Workspace;

/// Memory for one line; a file with a longer one is left out and counted.
const LONGEST_LINE: usize = 32 * 1024 * 1024;
/// Memory of one pattern.
const LARGEST_PATTERN: usize = 10 * 1024 * 1024;

/// `search_files`.
#[derive(Debug)]
pub(crate) struct SearchFiles {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Regular expression; (?i) before it ignores case.
    pattern: String,
    /// Folder or file; the workspace if left out.
    path: Option<String>,
    /// Only files such as *.rs or src/**/*.ts.
    glob: Option<String>,
    /// Match paths instead of text.
    names: Option<bool>,
    /// Lines shown around each match.
    context: Option<u32>,
}

/// A search that is ready to begin.
struct Search<'a> {
    stop: &'a Stop,
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    searcher: Searcher,
    found: Found,
    /// Files that were looked into.
    files: u64,
    binary: u64,
    unread: u64,
}

impl TypedTool for SearchFiles {
    const NAME: &'static str = "search_files";
    const DESCRIPTION: &'static str = "Search the text of files in the workspace (names: true for their names), \
        without what git ignores. Gives path:line: text, sorted. To read a file use read_file.";
    type Arguments = Arguments;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        Ok(reads(self.places(&arguments)?))
    }

    fn places(&self, arguments: &Arguments) -> Result<Vec<Place>, Problem> {
        Ok(vec![self.workspace.find(arguments.path.as_deref().unwrap_or("."))?.place(Access::Read)])
    }

    async fn work(&self, arguments: Arguments, context: &Context) -> Result<Told, Problem> {
        let (workspace, stop) = (Arc::clone(&self.workspace), context.stop.clone());
        blocking(move || search(&workspace, &arguments, &stop)).await
    }
}

fn search(workspace: &Workspace, arguments: &Arguments, stop: &Stop) -> Result<Told, Problem> {
    let mut search = Search::new(arguments, stop)?;
    let location = workspace.find(arguments.path.as_deref().unwrap_or("."))?;
    let by_name = arguments.names.unwrap_or(false);
    let mut left_out = LeftOut::default();
    if workspace.look(&location)?.is_dir() {
        let base = location.path();
        let base = if base == Path::new(".") { Path::new("") } else { base };
        let mut meet = |met: &Met<'_>| {
            if by_name { search.name(met, base) } else { search.met(met, base) }
        };
        left_out = Walk::new(usize::MAX, stop, &mut meet).through(workspace, &location)?;
    } else if by_name {
        search.path(&location.name());
    } else {
        let (file, _) = workspace.file(&location)?;
        search.file(&file, &location.name());
    }
    Ok(search.told(arguments, left_out, &location.shown()))
}

impl<'a> Search<'a> {
    fn new(arguments: &Arguments, stop: &'a Stop) -> Result<Self, Problem> {
        if arguments.pattern.is_empty() {
            let hint = "give a pattern; list_files shows what there is";
            return Err(Problem::new("no pattern", "the pattern is empty and would match everything", hint));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.line_terminator(Some(b'\n')).size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN);
        let matcher = builder.build(&arguments.pattern);
        let matcher = matcher.map_err(|error| bad_pattern(&arguments.pattern, &error.to_string()))?;
        let glob = arguments.glob.as_deref().filter(|glob| !glob.is_empty());
        let glob = glob.map(|glob| {
            // One without a folder is meant for files in every folder.
            let whole = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
            GlobBuilder::new(&whole).literal_separator(true).build()
        });
        let glob = glob.transpose().map_err(|error| {
            let hint = "give a glob such as *.rs or src/**/*.ts, or leave it out";
            Problem::new("the glob cannot be read", error.to_string(), hint)
        })?;
        let around = usize::try_from(arguments.context.unwrap_or(0).min(20)).unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LONGEST_LINE))
            .line_number(true)
            .before_context(around)
            .after_context(around)
            .build();
        let glob = glob.map(|glob| glob.compile_matcher());
        Ok(Self { stop, matcher, glob, searcher, found: Found::new(), files: 0, binary: 0, unread: 0 })
    }

    fn name(&mut self, met: &Met<'_>, base: &Path) -> Go {
        if self.is_wanted(met, base) {
            let mut path = met.path.to_string_lossy().into_owned();
            if met.kind.is_dir() {
                path.push('/');
            }
            self.path(&path);
        }
        if self.found.is_full() { Go::Stop } else { Go::On }
    }

    fn met(&mut self, met: &Met<'_>, base: &Path) -> Go {
        if met.kind.is_file() && self.is_wanted(met, base) {
            match open_regular(met.folder, met.name) {
                Some(file) => self.file(&file, &met.path.to_string_lossy()),
                None => self.unread += 1,
            }
        }
        if self.found.is_full() { Go::Stop } else { Go::On }
    }

    /// A glob counts from the workspace, or from the folder that is searched.
    fn is_wanted(&self, met: &Met<'_>, base: &Path) -> bool {
        let below = met.path.strip_prefix(base).unwrap_or(met.path);
        self.glob.as_ref().is_none_or(|glob| glob.is_match(met.path) || glob.is_match(below))
    }

    fn path(&mut self, path: &str) {
        self.files += 1;
        if self.matcher.is_match(path.as_bytes()).unwrap_or(false) {
            self.found.name(path);
        }
    }

    fn file(&mut self, file: &File, path: &str) {
        self.files += 1;
        self.found.begin(path);
        let mut lines = Lines { matcher: &self.matcher, found: &mut self.found, is_binary: false };
        let reader = Stoppable { file, stop: self.stop };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut lines);
        if lines.is_binary {
            self.binary += 1;
            self.found.take_back();
        } else if searched.is_err() {
            self.unread += 1;
        }
    }

    fn told(self, arguments: &Arguments, left_out: LeftOut, place: &str) -> Told {
        let mut not_searched = hidden(LeftOut { unread: left_out.unread + self.unread, ..left_out });
        if self.binary > 0 {
            not_searched.push_str(&format!("; {} binary", self.binary));
        }
        let Self { stop, found, files, .. } = self;
        if stop.is_raised() && found.is_empty() {
            let cause = format!("it was stopped before all of {place} was searched");
            let problem = Problem::new("stopped", cause, "call it again if it is still wanted");
            return Told { outcome: Outcome::CutShort, ..Told::from(problem) };
        }
        if stop.is_raised() {
            not_searched.push_str("; it was stopped before all was searched");
            return Told { outcome: Outcome::CutShort, ..Told::ok(found.text(&not_searched)) };
        }
        if found.is_empty() {
            let what = if arguments.names.unwrap_or(false) { "names" } else { "files" };
            let pattern = &arguments.pattern;
            let text = format!(
                "nothing matches {pattern:?} in {files} {what} of {place}{not_searched}. That is normal if it is \
                 not there; a wider pattern, (?i), another path or no glob may find more"
            );
            return Told::empty(text);
        }
        Told::ok(found.text(&not_searched))
    }
}

/// A file that can be read until the call is stopped: one of them may take longer than a stop may.
struct Stoppable<'a> {
    file: &'a File,
    stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_raised() {
            return Err(io::Error::other("the call was stopped"));
        }
        self.file.read(piece)
    }
}

/// Takes the lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    found: &'a mut Found,
    is_binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found.line(line.line_number().unwrap_or(0), line.bytes(), self.matcher);
        Ok(!self.found.is_full())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.found.around(line.line_number().unwrap_or(0), line.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.found.gap();
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// The pattern is read once more, as it was given: the library tells of one that it has put in parentheses.
fn bad_pattern(pattern: &str, error: &str) -> Problem {
    let cause = match regex_syntax::parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => {
            format!("{pattern:?} at character {}: {}", error.span().start.column, error.kind())
        }
        Err(regex_syntax::Error::Translate(error)) => {
            format!("{pattern:?} at character {}: {}", error.span().start.column, error.kind())
        }
        Ok(_) | Err(_) => format!("{pattern:?}: {error}"),
    };
    let hint = "put a backslash before ( ) [ ] { } . * + ? | ^ $ \\ that are meant as they stand";
    Problem::new("the pattern is no regular expression", cause, hint)
}
