//! Arguments of the commands that look at how a session came about.

use std::path::PathBuf;

use clap::Args;

use super::ModelArguments;

/// `petasos replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The session, or how its id begins, or a file that holds a log; without it, the newest session of this folder
    #[arg(value_name = "ID|FILE")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) against: AgainstArguments,
    /// Show each step; at a terminal, one each time Enter is pressed
    #[arg(long, conflicts_with = "json")]
    pub(crate) step: bool,
    /// Tell what was found as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Afterwards go on with a model, in a fork: from the first request that differs, else from the end; what was said
    /// last there is answered anew
    #[arg(long, conflicts_with = "json")]
    pub(crate) live: bool,
    /// With --live: say this instead
    #[arg(short, long, value_name = "TEXT", requires = "live")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
}

/// What a log is held against.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct AgainstArguments {
    /// Against the system text, the tools and the rules of now, instead of those that the log froze
    #[arg(long)]
    pub(crate) present: bool,
    /// By the rules of now, and with --live, commands run without asking
    #[arg(long)]
    pub(crate) allow_commands: bool,
}

/// `petasos test`.
#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Recorded sessions: exported files, logs, or folders of sessions
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) against: AgainstArguments,
    /// Tell what was found as JSON, one line a file
    #[arg(long)]
    pub(crate) json: bool,
}

/// `petasos log`.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// The session, or how its id begins; without it, the newest of this folder
    #[arg(value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Go on with what comes, also from another process, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// With --follow: until no turn is under way
    #[arg(long, requires = "follow")]
    pub(crate) until_end: bool,
    /// One JSON object a line (docs/format/log.md)
    #[arg(long)]
    pub(crate) json: bool,
}
