//! The built-in tools, in the order in which a model sees them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use petasos_core::text::NotJson;

use crate::calculate::Calculate;
use crate::condense::{Condense, CondenseRule};
use crate::current_time::CurrentTime;
use crate::edit_file::EditFile;
use crate::exec::CommandBounds;
use crate::fetch::FetchOptions;
use crate::fetch_url::FetchUrl;
use crate::job::JobTool;
use crate::list_files::ListFiles;
use crate::read_file::ReadFile;
use crate::run_command::RunCommand;
use crate::run_tests::RunTests;
use crate::search_files::SearchFiles;
use crate::searching::Limits;
use crate::tool::Tool;
use crate::typed::{Typed, TypedTool};
use crate::workspace::Workspace;
use crate::write_file::WriteFile;

/// What a person has set for the built-in tools.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command of `run_tests`; without one there is no such tool.
    pub run_tests: Option<String>,
    /// Bytes of output after which a command is stopped. All before that is kept in a blob.
    pub most_output: u64,
    /// How long a command may take whose call does not say, and a search.
    pub limit: Duration,
    /// Bytes that one search reads.
    pub most_searched: u64,
    /// Which pages are fetched, and how far one is waited for.
    pub fetch: FetchOptions,
    /// The program that guards commands: one that begins with [`guardian`](crate::guardian). Without one what a
    /// command began is ended as far as this process can find it.
    pub guardian: Option<PathBuf>,
    /// What is picked of JSON results; the first rule that fits a call counts.
    pub condense: Vec<CondenseRule>,
}

impl Options {
    /// How long a command may take if nobody says: enough for most, and not so long that a person gives up first.
    pub const LIMIT: Duration = Duration::from_secs(120);
}

impl Default for Options {
    fn default() -> Self {
        let most = 1024 * 1024 * 1024;
        let fetch = FetchOptions::default();
        Self {
            run_tests: None,
            most_output: most,
            limit: Self::LIMIT,
            most_searched: most,
            fetch,
            guardian: None,
            condense: Vec::new(),
        }
    }
}

/// The built-in tools on a workspace, in the order of the page on formats.
pub fn builtin(workspace: Arc<Workspace>, options: Options) -> Vec<Arc<dyn Tool>> {
    let Options { run_tests, most_output, limit, most_searched, fetch, guardian, condense } = options;
    let bounds = CommandBounds { most_output, limit, guardian };
    let condense = Condense::new(condense);
    let condense = &condense;
    let workspace = || Arc::clone(&workspace);
    let tests = run_tests.map(|command| RunTests { workspace: workspace(), command, bounds: bounds.clone() });
    let tools = [
        behind(condense, ReadFile { workspace: workspace() }),
        behind(condense, WriteFile { workspace: workspace() }),
        behind(condense, EditFile { workspace: workspace() }),
        behind(condense, ListFiles { workspace: workspace() }),
        behind(
            condense,
            SearchFiles { workspace: workspace(), limits: Limits { time: limit, bytes: most_searched } },
        ),
        behind(condense, RunCommand { workspace: workspace(), bounds }),
        behind(condense, JobTool),
    ];
    let rest =
        [behind(condense, FetchUrl::new(fetch)), behind(condense, CurrentTime), behind(condense, Calculate)];
    // A schema that was written as JSON is JSON, so none is left out; a test counts them.
    tools.into_iter().chain(tests.map(|tests| behind(condense, tests))).chain(rest).flatten().collect()
}

fn behind(condense: &Condense, tool: impl TypedTool + 'static) -> Result<Arc<dyn Tool>, NotJson> {
    Ok(Arc::new(Typed::new(tool, condense.clone())?))
}
