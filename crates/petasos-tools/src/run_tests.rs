//! `run_tests`: the command that the person set for tests.

use std::sync::Arc;
use std::time::Duration;

use petasos_core::claims::{Access, Claims, Place, Rerun};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::exec::{CommandBounds, Run, exec, words};
use crate::output::{Problem, Told};
use crate::tool::Context;
use crate::typed::TypedTool;
use crate::workspace::{Location, Workspace};

/// Seconds that tests may take.
const LIMIT: u64 = 3_600;

/// `run_tests`.
#[derive(Debug)]
pub(crate) struct RunTests {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) command: String,
    pub(crate) bounds: CommandBounds,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {}

impl TypedTool for RunTests {
    const NAME: &'static str = "run_tests";
    const DESCRIPTION: &'static str = "Run the tests of this project, with the command set for them. Gives the exit \
        code (0: all passed), then the output. Use it after changes. For a part of them use run_command.";
    type Arguments = Arguments;
    type Target = Location;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        let (_, places) = self.find(&arguments)?;
        let argv = vec![words(&self.command)];
        Ok(Claims { rerun: Rerun::Free, places, alone: true, argv, probe: None })
    }

    fn find(&self, _: &Arguments) -> Result<(Location, Vec<Place>), Problem> {
        let location = self.workspace.find(".")?;
        let place = location.place(Access::Write);
        Ok((location, vec![place]))
    }

    async fn work(&self, _: Arguments, at: Location, context: &Context) -> Result<Told, Problem> {
        let folder = self.workspace.folder(&at)?;
        let (command, limit) = (self.command.clone(), Duration::from_secs(LIMIT));
        let path = self.workspace.root().to_owned();
        let bounds = CommandBounds { limit, ..self.bounds.clone() };
        let mask = Arc::clone(&context.session.mask);
        exec(Run { command, folder, path, bounds, mask }, context).await
    }
}
