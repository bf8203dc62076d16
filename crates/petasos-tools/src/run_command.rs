//! `run_command`: a command of the shell.

use std::sync::Arc;
use std::time::Duration;

use petasos_core::claims::{Access, Claims, Place, Rerun};
use petasos_core::tool::Fact;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::exec::{CommandBounds, Run, exec, words};
use crate::job::told;
use crate::mask::unwritten::check_command;
use crate::output::{Problem, Told, blocking};
use crate::tool::Context;
use crate::typed::TypedTool;
use crate::workspace::{Location, Workspace};

/// How long a job may take whose call does not say: its session ends before.
const UNBOUNDED: Duration = Duration::from_secs(365 * 24 * 3_600);
/// Seconds that a call may ask for.
const MOST: u64 = 3_600;

/// `run_command`.
#[derive(Debug)]
pub(crate) struct RunCommand {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) bounds: CommandBounds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A shell command line such as ls -la | head.
    command: String,
    /// Folder to start in, such as src; the workspace if left out.
    cwd: Option<String>,
    /// Seconds it may take, usually 120, at most 3600.
    timeout_s: Option<u64>,
    /// For a server: it goes on as a job.
    background: Option<bool>,
}

impl TypedTool for RunCommand {
    const NAME: &'static str = "run_command";
    const DESCRIPTION: &'static str = "Run a shell command without input. Gives the exit code, then stdout and stderr. \
        Each call starts anew: no cd or variable is kept, and what it leaves running is stopped. For files prefer \
        read_file, write_file, edit_file, list_files, search_files.";
    const EXAMPLE: &'static str = r#"{"command":"ls"}"#;
    type Arguments = Arguments;
    type Target = Location;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        check(&arguments)?;
        let (_, places) = self.find(&arguments)?;
        let argv = vec![words(&arguments.command)];
        Ok(Claims { rerun: Rerun::Never, places, alone: false, argv, probe: None })
    }

    fn find(&self, arguments: &Arguments) -> Result<(Location, Vec<Place>), Problem> {
        let location = self.workspace.find(arguments.cwd.as_deref().unwrap_or("."))?;
        // A command reaches all of it, wherever it begins.
        Ok((location, vec![self.workspace.find(".")?.place(Access::Write)]))
    }

    async fn work(&self, arguments: Arguments, cwd: Location, context: &Context) -> Result<Told, Problem> {
        check(&arguments)?;
        let workspace = Arc::clone(&self.workspace);
        let folder = blocking(move || Ok((workspace.folder(&cwd)?, workspace.root().join(cwd.path()))));
        let (folder, path) = folder.await?;
        let asked = arguments.timeout_s.map(|seconds| Duration::from_secs(seconds.clamp(1, MOST)));
        let is_job = arguments.background == Some(true);
        let limit = asked.unwrap_or(if is_job { UNBOUNDED } else { self.bounds.limit });
        let bounds = CommandBounds { limit, ..self.bounds.clone() };
        let mask = Arc::clone(&context.session.mask);
        let run = Run { command: arguments.command, folder, path, bounds, mask };
        if !is_job {
            return exec(run, context).await;
        }
        let fact = Fact::Ran { argv: words(&run.command), exit: None };
        context.session.jobs.begin(run, context).await.map(|answer| told(answer).with(fact))
    }
}

fn check(arguments: &Arguments) -> Result<(), Problem> {
    if arguments.command.trim().is_empty() || arguments.command.contains('\0') {
        let cause = format!("{:?} is nothing that a shell could run", arguments.command);
        return Err(Problem::new("no command", cause, "give a command such as: cargo test"));
    }
    check_command(&arguments.command)
}
