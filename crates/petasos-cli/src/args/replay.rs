//! Arguments of the commands that look at how a session came about.

use clap::Args;

/// `petasos replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The session, or how its id begins, or a file that holds a log; without it, the newest session of this folder
    #[arg(value_name = "ID|FILE")]
    pub(crate) session: Option<String>,
    /// Tell what was found as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}
