//! The commands, one a file.

mod chat;
mod decode;
mod demo;
mod kept;
mod log;
mod look_on;
mod manage;
mod model_server;
mod prompt;
mod replay;
mod request;
mod resume;
mod run;
mod search;
mod seen;
mod sessions;
mod test;
mod tools;
mod transfer;
mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use petasos_core::request::Wire;
use petasos_core::stop::StopReason;
use petasos_core::turn::OnAsk;
use petasos_runtime::config::{ConfigError, Flags};
use petasos_runtime::{Commands, FindError, NotStarted, OpError, RunResult, Setup, StoreError};

use crate::args::{Arguments, ChatArguments, Command, DevCommand, HowArguments};
use crate::exit::Signal;
use crate::print::Printer;
use crate::{World, exit};

/// Runs a command.
pub(crate) async fn run(arguments: Arguments, world: &World) -> ExitCode {
    match arguments.command {
        None => chat::chat(ChatArguments::default(), world).await,
        Some(Command::Chat(arguments)) => chat::chat(arguments, world).await,
        Some(Command::Run(arguments)) => run::run(arguments, world).await,
        Some(Command::Resume(arguments)) => resume::resume(arguments, world).await,
        Some(Command::Sessions { what }) => sessions::sessions(what, world).await,
        Some(Command::Replay(arguments)) => replay::replay(arguments, world).await,
        Some(Command::Tools { what }) => tools::tools(what, world),
        Some(Command::Test(arguments)) => test::test(arguments, world).await,
        Some(Command::Log(arguments)) => log::log(arguments, world).await,
        Some(Command::Demo(arguments)) => demo::demo(arguments, world).await,
        Some(Command::Dev { what }) => dev(what, world).await,
    }
}

async fn dev(what: DevCommand, world: &World) -> ExitCode {
    match what {
        DevCommand::ModelServer { script, port, record } => model_server::serve(&script, port, record).await,
        DevCommand::Decode { wire, file } => decode::decode(wire.into(), &file),
        DevCommand::Request { wire, session, step } => {
            request::request(wire.map(Wire::from), &session, step, world).await
        }
    }
}

/// Why no turn began.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Something is wrong: what, and what next.
    Wrong { why: NotStarted, message: String, hint: String },
    /// A signal came first.
    Stopped(Signal),
    /// A fault of ours.
    Broken,
}

impl Refusal {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Wrong { why: NotStarted::Usage, message: message.into(), hint: hint.into() }
    }

    pub(crate) fn config(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Wrong { why: NotStarted::Config, message: message.into(), hint: hint.into() }
    }

    /// What is wrong, in a line.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Wrong { message, .. } => message,
            Self::Stopped(_) => "stopped",
            Self::Broken => "a fault of petasos itself",
        }
    }

    /// Tells it, and gives the exit code.
    pub(crate) fn tell(self, printer: &mut Printer) -> ExitCode {
        let (result, signal) = match self {
            Self::Wrong { why, message, hint } => (RunResult::not_started(why, message, hint), None),
            Self::Stopped(signal) => (RunResult::without_turn(StopReason::Interrupted, None), Some(signal)),
            Self::Broken => (RunResult::without_turn(StopReason::InternalError, None), None),
        };
        printer.result(&result);
        exit::code(&result, signal)
    }
}

impl From<ConfigError> for Refusal {
    fn from(error: ConfigError) -> Self {
        Self::config(error.to_string(), "correct that, and run it again")
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Held { .. }) {
            let hint = "wait until its turn is over, or stop that process".to_owned();
            return Self::Wrong { why: NotStarted::Held, message: error.to_string(), hint };
        }
        Self::config(error.to_string(), "petasos sessions list shows the sessions there are")
    }
}

impl From<FindError> for Refusal {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Store(error) => error.into(),
            FindError::NoneBegins { .. } | FindError::NoneHere { .. } => {
                Self::usage(error.to_string(), "petasos sessions list --all shows the sessions there are")
            }
            FindError::Several { .. } => Self::usage(error.to_string(), "give more of its id"),
            FindError::SeveralTitled { .. } => Self::usage(error.to_string(), "name one of them by its id"),
        }
    }
}

impl From<OpError> for Refusal {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Store(error) => error.into(),
            OpError::Rejected(_) => {
                Self::usage(error.to_string(), "petasos sessions show tells how the session stands")
            }
            OpError::Closed => Self::Broken,
        }
    }
}

/// Reads the settings.
pub(crate) fn set_up(world: &World, workspace: Option<&Path>, flags: Flags) -> Result<Setup, ConfigError> {
    let setup = Setup::read(world.environment.clone(), workspace, flags, Arc::clone(&world.disk))?;
    Ok(setup.guarded_by(world.guardian.clone()))
}

/// What commands may do without a question.
pub(crate) fn commands(allow: bool) -> Commands {
    if allow { Commands::Allowed } else { Commands::Asked }
}

/// What becomes of a question in a run that nobody watches.
pub(crate) fn unattended(how: &HowArguments, setup: &Setup) -> OnAsk {
    match (how.park, setup.settings.on_ask) {
        (true, _) | (false, Some(OnAsk::Park)) => OnAsk::Park,
        (false, Some(OnAsk::Ask | OnAsk::Refuse) | None) => OnAsk::Refuse,
    }
}

/// The printer of a command that does one job.
pub(crate) fn printer(how: &HowArguments) -> Printer {
    if how.json { Printer::json() } else { Printer::job() }
}
