//! `job`: a look at a command that runs beside the steps, its input, and its end.

use petasos_core::claims::{Access, Claims, Place, PlaceKind, Rerun};
use petasos_core::text::Text;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::jobs::{Answer, Ask, Patience};
use crate::output::{Problem, Source, Told};
use crate::tool::Context;
use crate::typed::TypedTool;

/// The most bytes of one input.
const MOST: usize = 32 * 1024;

/// `job`.
#[derive(Debug)]
pub(crate) struct JobTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Its number, such as 1; poll without lists all.
    id: Option<u32>,
    /// poll: state and new output; write: give it text.
    action: Action,
    /// For write, such as y\n; empty ends its input.
    text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Poll,
    Stop,
    Write,
}

impl TypedTool for JobTool {
    const NAME: &'static str = "job";
    const DESCRIPTION: &'static str = "Use it to look at, stop or write to what runs in the background. poll waits up to 5 s \
        for news. Begin one with run_command.";
    const EXAMPLE: &'static str = r#"{"action":"poll"}"#;
    type Arguments = Arguments;
    type Target = Asked;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        let (asked, places) = self.find(&arguments)?;
        let (rerun, argv) = match asked {
            Asked::List | Asked::Of(_, Ask::Poll(_)) => (Rerun::Free, Vec::new()),
            Asked::Of(_, Ask::Stop) => (Rerun::Never, Vec::new()),
            // What a shell reads is a command.
            Asked::Of(_, Ask::Write(text)) => (Rerun::Never, vec![vec![Text::from(&*text)]]),
        };
        Ok(Claims { rerun, places, alone: false, argv, probe: None })
    }

    fn find(&self, arguments: &Arguments) -> Result<(Asked, Vec<Place>), Problem> {
        let place =
            |id| Place { kind: PlaceKind::Named, name: format!("job:{id}").into(), access: Access::Write };
        Ok((asked(arguments)?, arguments.id.map(place).into_iter().collect()))
    }

    async fn work(&self, _: Arguments, asked: Asked, context: &Context) -> Result<Told, Problem> {
        let jobs = &context.session.jobs;
        match asked {
            Asked::List => Ok(match jobs.list() {
                list if list.is_empty() => {
                    Told::empty("no job runs; run_command begins one with background: true")
                }
                list => Told::ok(list),
            }),
            Asked::Of(id, ask) => jobs.ask(id, ask, context).await.map(told),
        }
    }
}

/// What a call is read as.
pub(crate) enum Asked {
    List,
    Of(u32, Ask),
}

fn asked(arguments: &Arguments) -> Result<Asked, Problem> {
    let ask = match (arguments.action, &arguments.text) {
        (Action::Poll, None) => Ask::Poll(Patience::Polled),
        (Action::Stop, None) => Ask::Stop,
        (Action::Write, Some(text)) if text.len() <= MOST => Ask::Write(text.clone()),
        (Action::Write, Some(text)) => {
            let cause = format!("it has {} bytes, and a job gets {MOST} at most at a time", text.len());
            return Err(Problem::new("too much input", cause, "write it in parts, or into a file"));
        }
        (Action::Write, None) => {
            let hint = "give text, with \\n at the end of a line; an empty one ends its input";
            return Err(Problem::new("no text", "write gives a job input, and there is none", hint));
        }
        (Action::Poll | Action::Stop, Some(_)) => {
            let hint = "use action write to give a job input; leave text out else";
            return Err(Problem::new("text without write", "poll and stop take no text", hint));
        }
    };
    match (arguments.id, ask) {
        (Some(id), ask) => Ok(Asked::Of(id, ask)),
        (None, Ask::Poll(_)) => Ok(Asked::List),
        (None, Ask::Stop | Ask::Write(_)) => {
            let hint = "give its id; poll without one lists all";
            Err(Problem::new("no id", "stop and write are about one job", hint))
        }
    }
}

/// What is told of a job.
pub(crate) fn told(answer: Answer) -> Told {
    Told { outcome: answer.outcome, shown: answer.shown, facts: Vec::new(), from: Source::Here }
}
