//! `list_files`: what is in a folder.

use std::fmt::Write as _;
use std::sync::Arc;

use petasos_core::claims::{Access, Claims, Place};
use petasos_core::tool::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file_name;
use crate::output::{Problem, Told, blocking};
use crate::tool::{Context, Stop};
use crate::typed::{TypedTool, reads};
use crate::walk::{Go, LeftOut, Met, Walk};
use crate::workspace::{Location, Workspace, kind_of};

/// Lines of one result; as many again where a folder before them took these.
const MOST_SHOWN: u64 = 1_000;
/// What is counted beyond them.
const MOST_COUNTED: u64 = 100_000;

/// `list_files`.
#[derive(Debug)]
pub(crate) struct ListFiles {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A folder such as src; the workspace if left out.
    path: Option<String>,
    /// Levels of folders, 2 if left out.
    depth: Option<u32>,
}

impl TypedTool for ListFiles {
    const NAME: &'static str = "list_files";
    const DESCRIPTION: &'static str = "List a folder of the workspace with the sizes of its files, without what git \
        ignores. Use it to see what there is. To find a file by its name or its text use search_files.";
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
        let (workspace, stop) = (Arc::clone(&self.workspace), context.stop.clone());
        blocking(move || list(&workspace, &at, &arguments, &stop)).await
    }
}

fn list(
    workspace: &Workspace,
    location: &Location,
    arguments: &Arguments,
    stop: &Stop,
) -> Result<Told, Problem> {
    let depth = arguments.depth.unwrap_or(2);
    let (mut text, mut counts) = (String::new(), Counts { met: 0, shown: 0 });
    let above = location.path().iter().filter(|part| *part != ".").count();
    let mut meet = |found: &Met<'_>| {
        counts.met += 1;
        // One large folder is not to hide those that stand beside it.
        let is_beside = found.path.iter().count() == above + 1;
        if counts.shown < MOST_SHOWN || (is_beside && counts.shown < 2 * MOST_SHOWN) {
            counts.shown += 1;
            text.push_str(&line(found));
        }
        if counts.met < MOST_COUNTED { Go::On } else { Go::Stop }
    };
    let walk = Walk::new(usize::try_from(depth).unwrap_or(usize::MAX), stop, &mut meet);
    let left_out = walk.through(workspace, location)?;
    let mut hidden = hidden(left_out);
    if !stop.is_raised() {
        return Ok(listed(text, counts, &hidden, &location.shown()));
    }
    hidden.push_str("; it was stopped before all was listed");
    let told = if counts.met == 0 {
        let cause = format!("it was stopped before all was listed of {}", location.shown());
        Told::from(Problem::new("stopped", cause, "call it again if it is still wanted"))
    } else {
        listed(text, counts, &hidden, &location.shown())
    };
    Ok(Told { outcome: Outcome::CutShort, ..told })
}

/// How many were met, and of how many there is a line.
#[derive(Clone, Copy)]
struct Counts {
    met: u64,
    shown: u64,
}

fn listed(mut text: String, counts: Counts, hidden: &str, shown: &str) -> Told {
    if counts.met == 0 {
        let why = if hidden.is_empty() { "there is nothing in it" } else { "there is nothing else in it" };
        return Told::empty(format!("{shown} is an empty folder: {why}{hidden}"));
    }
    let more = counts.met - counts.shown;
    if more > 0 {
        let at_least = if counts.met >= MOST_COUNTED { " at least" } else { "" };
        // Writing to a String never fails.
        writeln!(text, "… and{at_least} {more} more; list a folder below, or less depth").ok();
    }
    if !hidden.is_empty() {
        writeln!(text, "[{}]", hidden.trim_start_matches("; ")).ok();
    }
    Told::ok(text)
}

fn line(met: &Met<'_>) -> String {
    let path = file_name::shown(met.path);
    if met.kind.is_dir() {
        return format!("{path}/\n");
    }
    if met.kind.is_symlink() {
        let target = met.folder.read_link_contents(met.name);
        return format!("{path} -> {}\n", file_name::shown(&target.unwrap_or_default()));
    }
    match met.folder.symlink_metadata(met.name) {
        Ok(metadata) if metadata.is_file() => format!("{path} ({} bytes)\n", metadata.len()),
        Ok(_) | Err(_) => format!("{path} ({})\n", kind_of(met.kind)),
    }
}

/// What was left out, for the end of a result; empty if nothing was.
pub(crate) fn hidden(left_out: LeftOut) -> String {
    let LeftOut { ignored, unread } = left_out;
    let mut text = String::new();
    if ignored > 0 {
        text.push_str(&format!("; {ignored} ignored (.gitignore, .git, node_modules and the like)"));
    }
    if unread > 0 {
        text.push_str(&format!("; {unread} could not be read"));
    }
    text
}
