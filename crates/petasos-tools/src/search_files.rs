//! `search_files`: where a pattern stands, in the text of files or in their names.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_core::claims::{Access, Claims, Place};
use petasos_core::tool::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

use crate::file_name;
use crate::found::Found;
use crate::list_files::hidden;
use crate::output::{Problem, Told, blocking};
use crate::pattern::{Pattern, Wanted};
use crate::searching::{Ended, Limits, Searching};
use crate::tool::{Context, Stop};
use crate::typed::{TypedTool, reads};
use crate::walk::{Go, LeftOut, Met, Walk, open_regular};
use crate::workspace::{Location, Workspace};

/// The most lines shown around a match: what is more is read with `read_file`.
const MOST_AROUND: u32 = 20;

/// How long a search that is to end may take to tell what it found. Shorter than the turn waits for a stopped tool.
const PATIENCE: Duration = Duration::from_secs(1);

/// `search_files`.
#[derive(Debug)]
pub(crate) struct SearchFiles {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) limits: Limits,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Regular expression; (?i) before it ignores case.
    pattern: String,
    /// Folder or file such as src; the workspace if left out.
    path: Option<String>,
    /// Only files such as *.rs or src/**/*.ts.
    glob: Option<String>,
    /// Match paths instead of text.
    names: Option<bool>,
    /// Lines shown around each match, at most 20.
    context: Option<u32>,
}

impl TypedTool for SearchFiles {
    const NAME: &'static str = "search_files";
    const DESCRIPTION: &'static str = "Search the text of files in the workspace (names: true for their names), \
        without what git ignores. Use it when you do not know where something is. Gives path:line: text, sorted. To read a file use read_file.";
    const EXAMPLE: &'static str = r#"{"pattern":"fn main"}"#;
    type Arguments = Arguments;
    type Target = Location;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        Ok(reads(self.find(&arguments)?.1))
    }

    fn find(&self, arguments: &Arguments) -> Result<(Location, Vec<Place>), Problem> {
        let location = self.workspace.find(arguments.path.as_deref().unwrap_or("."))?;
        let place = location.place(Access::Read);
        Ok((location, vec![place]))
    }

    async fn work(&self, arguments: Arguments, at: Location, context: &Context) -> Result<Told, Problem> {
        let (workspace, stop, limits) = (Arc::clone(&self.workspace), context.stop.clone(), self.limits);
        let found = Found::new(Arc::clone(&context.session.mask));
        let given_up = given_up(context.stop.clone(), limits.time);
        let searching = blocking(move || search(&workspace, &at, &arguments, found, &stop, limits));
        tokio::select! {
            biased;
            told = searching => told,
            told = given_up => Ok(told),
        }
    }
}

/// Who searches looks up between two pieces of a file, but not within a line, and a pattern may take minutes for a long
/// one. It goes on by itself then, and is not waited for.
async fn given_up(mut stop: Stop, time: Duration) -> Told {
    let is_stopped = tokio::select! {
        () = stop.raised() => true,
        () = sleep(time) => false,
    };
    sleep(PATIENCE).await;
    let cause = "the pattern takes too long for a very long line; what was found before is not told";
    if is_stopped {
        let problem = Problem::new("stopped", cause, "call it again if it is still wanted");
        return Told { outcome: Outcome::CutShort, ..Told::from(problem) };
    }
    let hint = "give a simpler pattern, or a path or glob without files that are one long line";
    Told { outcome: Outcome::TimedOut, ..Told::from(Problem::new("too slow", cause, hint)) }
}

fn search(
    workspace: &Workspace,
    location: &Location,
    arguments: &Arguments,
    found: Found,
    stop: &Stop,
    limits: Limits,
) -> Result<Told, Problem> {
    let pattern = Pattern::new(&arguments.pattern)?;
    let wanted = Wanted::new(arguments.glob.as_deref(), workspace.root())?;
    let around = arguments.context.unwrap_or(0).min(MOST_AROUND);
    let mut searching = Searching::new(pattern, usize::try_from(around).unwrap_or(0), found, stop, limits);
    let by_name = arguments.names.unwrap_or(false);
    let mut left_out = LeftOut::default();
    let mut unwanted = 0;
    if workspace.look(location)?.is_dir() {
        let base = location.path();
        let base = if base == Path::new(".") { Path::new("") } else { base };
        let mut meet = |met: &Met<'_>| {
            if searching.goes_no_further() {
                return Go::Stop;
            }
            let below = met.path.strip_prefix(base).unwrap_or(met.path);
            if !by_name && !met.kind.is_file() {
                return Go::On;
            }
            if !wanted.is(met.path, below) {
                unwanted += 1;
            } else if by_name {
                name(&mut searching, met);
            } else {
                file(&mut searching, met);
            }
            if searching.found.is_full() { Go::Stop } else { Go::On }
        };
        left_out = Walk::new(usize::MAX, stop, &mut meet).through(workspace, location)?;
    } else if by_name {
        searching.name(location.path().as_os_str().as_bytes(), &location.name());
    } else {
        let (opened, _) = workspace.file(location)?;
        searching.file(&opened, &location.name());
    }
    Ok(told(searching, arguments, left_out, &Where { place: location.shown(), unwanted }))
}

fn name(searching: &mut Searching<'_>, met: &Met<'_>) {
    let (mut bytes, mut shown) = (met.path.as_os_str().as_bytes().to_vec(), file_name::shown(met.path));
    if met.kind.is_dir() {
        bytes.push(b'/');
        shown.push('/');
    }
    searching.name(&bytes, &shown);
}

fn file(searching: &mut Searching<'_>, met: &Met<'_>) {
    match open_regular(met.folder, met.name) {
        Some(file) => searching.file(&file, &file_name::shown(met.path)),
        None => searching.unread += 1,
    }
}

/// Where it was looked.
struct Where {
    place: String,
    /// How many files the glob left out.
    unwanted: u64,
}

fn told(searching: Searching<'_>, arguments: &Arguments, left_out: LeftOut, looked: &Where) -> Told {
    let Where { place, unwanted } = looked;
    // Who has all that is shown lacks nothing.
    let ended = searching.ended().filter(|_| !searching.found.is_full());
    let Searching { found, looked_into, binary, unread, .. } = searching;
    let mut not_searched = hidden(LeftOut { unread: left_out.unread + unread, ..left_out });
    if binary > 0 {
        not_searched.push_str(&format!("; {binary} binary"));
    }
    if let Some(ended) = ended {
        let (why, outcome) = match ended {
            Ended::Stopped => ("it was stopped".to_owned(), Outcome::CutShort),
            Ended::Time(limit) => (format!("it took {} s", limit.as_secs_f64()), Outcome::TimedOut),
            Ended::Bytes(limit) => (format!("it read {limit} bytes"), Outcome::CutShort),
        };
        if found.is_empty() {
            let cause = format!("{why} before all of {place} was searched; nothing was found until then");
            let hint = match ended {
                Ended::Stopped => "call it again if it is still wanted",
                Ended::Time(_) | Ended::Bytes(_) => "search a folder below (path), or fewer files (glob)",
            };
            let error = if ended == Ended::Stopped { "stopped" } else { "not all was searched" };
            return Told { outcome, ..Told::from(Problem::new(error, cause, hint)) };
        }
        not_searched.push_str(&format!("; {why} before all was searched"));
        return Told { outcome, ..Told::ok(found.text(&not_searched)) };
    }
    if !found.is_empty() {
        return Told::ok(found.text(&not_searched));
    }
    let pattern = &arguments.pattern;
    let what = if arguments.names.unwrap_or(false) { "names" } else { "files" };
    if looked_into == 0 && *unwanted > 0 {
        let glob = arguments.glob.as_deref().unwrap_or_default();
        return Told::empty(format!(
            "the glob {glob:?} fits none of {unwanted} {what} of {place}{not_searched}, so nothing was searched. It \
             counts from the workspace or from path: *.rs, src/**/*.ts"
        ));
    }
    let special = Pattern::hint_of_none(pattern);
    Told::empty(format!(
        "nothing matches {pattern:?} in {looked_into} {what} of {place}{not_searched}. That is normal if it is not \
         there; a wider pattern, (?i), another path or no glob may find more{special}"
    ))
}
