//! What a search looks for, and in which files, as the model wrote it.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::output::Problem;

/// Memory of one pattern.
const LARGEST: usize = 10 * 1024 * 1024;
/// What means something else than itself in a pattern.
const SPECIAL: &str = "()[]{}.*+?|^$\\";

/// A pattern, and where the lines end that it is looked for in.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) matcher: RegexMatcher,
    pub(crate) ends: LineTerminator,
}

impl Pattern {
    /// Reads one.
    pub(crate) fn new(written: &str) -> Result<Self, Problem> {
        if written.is_empty() {
            let hint = "give a pattern; list_files shows what there is";
            return Err(Problem::new("no pattern", "the pattern is empty and would match everything", hint));
        }
        // `$` is to stand before CRLF as before LF, but then no pattern can hold a CR: who looks for one means it.
        let both = with_ends(written, LineTerminator::crlf());
        let read = both.or_else(|_| with_ends(written, LineTerminator::byte(b'\n')));
        read.map_err(|error| unread(written, &error))
    }

    /// What to try when nothing was found and the pattern has letters that mean something; empty if it has none.
    pub(crate) fn hint_of_none(written: &str) -> String {
        let mut met: Vec<char> = SPECIAL.chars().filter(|letter| written.contains(*letter)).collect();
        if written.starts_with("(?") && met.len() <= 3 {
            met.retain(|letter| !matches!(letter, '(' | ')' | '?'));
        }
        if met.is_empty() {
            return String::new();
        }
        let met: Vec<String> = met.iter().map(char::to_string).collect();
        format!("; where {} is meant as it stands, a backslash goes before it", met.join(" "))
    }
}

fn with_ends(written: &str, ends: LineTerminator) -> Result<Pattern, grep_regex::Error> {
    let mut builder = RegexMatcherBuilder::new();
    builder.size_limit(LARGEST).dfa_size_limit(LARGEST).multi_line(true);
    if ends.is_crlf() {
        builder.crlf(true);
    } else {
        builder.line_terminator(Some(ends.as_byte()));
    }
    Ok(Pattern { matcher: builder.build(written)?, ends })
}

/// The pattern is read once more, as it was given: the library tells of one that it has put in parentheses.
fn unread(written: &str, error: &grep_regex::Error) -> Problem {
    if matches!(error.kind(), ErrorKind::NotAllowed(_)) {
        let cause = format!("{written:?} reaches over the end of a line, and lines are searched one by one");
        let hint = "search for one of its lines; context shows the lines around each match";
        return Problem::new("the pattern has more than one line", cause, hint);
    }
    let cause = match regex_syntax::parse(written) {
        Err(regex_syntax::Error::Parse(error)) => {
            format!("{written:?} at character {}: {}", error.span().start.column, error.kind())
        }
        Err(regex_syntax::Error::Translate(error)) => {
            format!("{written:?} at character {}: {}", error.span().start.column, error.kind())
        }
        Ok(_) | Err(_) => format!("{written:?}: {error}"),
    };
    let hint = "put a backslash before ( ) [ ] { } . * + ? | ^ $ \\ that are meant as they stand";
    Problem::new("the pattern is no regular expression", cause, hint)
}

/// Which files are looked into.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// All of them.
    All,
    /// Those that a glob fits.
    Fitting(GlobMatcher),
    /// Those that it does not fit.
    Others(GlobMatcher),
}

impl Wanted {
    /// Reads a glob of the workspace: from its root on, or from the folder that is searched.
    pub(crate) fn new(written: Option<&str>, root: &Path) -> Result<Self, Problem> {
        let Some(written) = written.filter(|written| !written.is_empty()) else { return Ok(Self::All) };
        let (glob, is_for_others) = match written.strip_prefix('!') {
            Some(glob) => (glob, true),
            None => (written, false),
        };
        let below = Path::new(glob).strip_prefix(root).ok().and_then(Path::to_str);
        let below = below.unwrap_or(glob).trim_start_matches("./").trim_start_matches('/');
        // A folder is meant for what is in it, and a name without a folder for files in every folder.
        let whole = match below.strip_suffix('/') {
            Some(folder) if folder.contains('/') => format!("{folder}/**"),
            Some(folder) => format!("**/{folder}/**"),
            None if glob.contains('/') => below.to_owned(),
            None => format!("**/{below}"),
        };
        let read = GlobBuilder::new(&whole).literal_separator(true).build();
        let glob = read.map(|glob| glob.compile_matcher()).map_err(|error| {
            let hint = "give a glob such as *.rs or src/**/*.ts, or leave it out";
            Problem::new("the glob cannot be read", error.to_string(), hint)
        })?;
        Ok(if is_for_others { Self::Others(glob) } else { Self::Fitting(glob) })
    }

    /// True if a file is looked into, by its path from the workspace and from the folder that is searched.
    pub(crate) fn is(&self, path: &Path, below: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Fitting(glob) => glob.is_match(path) || glob.is_match(below),
            Self::Others(glob) => !glob.is_match(path) && !glob.is_match(below),
        }
    }
}
