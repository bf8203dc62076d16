//! The command line.

mod amounts;
mod replay;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use petasos_core::budget::Limits;
use petasos_core::id::CallId;
use petasos_core::request::Wire;
use petasos_core::time::Span;
use petasos_runtime::config::Flags;

pub(crate) use replay::{AgainstArguments, LogArguments, ReplayArguments, TestArguments};

/// An agent that works in one folder with tools until the task is done. Every step is journaled: a run that
/// was killed goes on with `petasos resume`.
#[derive(Debug, Parser)]
#[command(name = "petasos", version, arg_required_else_help = false)]
pub(crate) struct Arguments {
    /// What to do; without it, `petasos` chats.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do one job, then leave with the exit code of what came of it
    Run(RunArguments),
    /// Go on with a session
    Resume(ResumeArguments),
    /// Talk with the agent, line by line
    Chat(ChatArguments),
    /// Look at the sessions that are kept
    Sessions {
        /// What to see.
        #[command(subcommand)]
        what: SessionsCommand,
    },
    /// Go through a session again from its log, offline: each entry made again, each request written again and
    /// compared; the exit code is 0 if all is the same, 1 if something differs
    Replay(ReplayArguments),
    /// Tell a session a line a step: its tools, tokens, cost and times
    Log(LogArguments),
    /// Replay recorded sessions as tests: one line a file; the exit code is 0 if all are the same, 1 if not
    Test(TestArguments),
    /// Look at the tools that a model gets, and whether they are described well
    Tools {
        /// What to see.
        #[command(subcommand)]
        what: ToolsCommand,
    },
    /// Watch a small job being done in a scratch folder
    Demo(DemoArguments),
    /// Tools for those who work on petasos or write scripts for it
    Dev {
        /// Which.
        #[command(subcommand)]
        what: DevCommand,
    },
}

/// Whom to ask, and how far.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ModelArguments {
    /// Address of the model's server, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Name of the model; without it, the first that --base-url lists
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Environment variable that holds the key
    #[arg(long, value_name = "VAR")]
    pub(crate) api_key_env: Option<String>,
    /// The protocol that the server speaks
    #[arg(long, value_name = "MODE")]
    pub(crate) api_mode: Option<ApiMode>,
    /// Steps (model calls) that a turn may take [default: 90]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
    /// As little chance as there can be: temperature 0, and calls one after the other
    #[arg(long)]
    pub(crate) deterministic: bool,
}

impl ModelArguments {
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            base_url: self.base_url.clone(),
            model: self.model.clone(),
            api_key_env: self.api_key_env.clone(),
            api_mode: self.api_mode.map(Wire::from),
            max_steps: self.max_steps,
            deterministic: self.deterministic,
        }
    }
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiMode {
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
    /// Messages.
    Messages,
}

impl From<ApiMode> for Wire {
    fn from(mode: ApiMode) -> Self {
        match mode {
            ApiMode::Chat => Self::Chat,
            ApiMode::Responses => Self::Responses,
            ApiMode::Messages => Self::Messages,
        }
    }
}

/// How a run is told, and what it may do without asking.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct HowArguments {
    /// Tell every event as a line of JSON on stdout; the last line is the result
    #[arg(long)]
    pub(crate) json: bool,
    /// Let the agent run commands without asking
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// Where a call needs approval, stop and wait for `petasos resume --approve` instead of refusing it
    #[arg(long)]
    pub(crate) park: bool,
}

/// `petasos run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// What is to be done; what comes on stdin is added to it
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
}

/// `petasos resume`.
#[derive(Debug, Default, Args)]
pub(crate) struct ResumeArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    /// The session: how its id begins, or its title, or how that begins; without it, the one of this folder in which
    /// something happened last
    #[arg(value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Look on while another process works in it, and change nothing
    #[arg(long, conflicts_with_all = ["approve", "deny", "message", "add_steps", "add_tokens", "add_usd", "add_time"])]
    pub(crate) read_only: bool,
    /// Say yes to a call that waits, such as 17.0; without one, to the one that waits
    #[arg(long, value_name = "CALL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) approve: Option<Which>,
    /// Say no to it
    #[arg(long, value_name = "CALL", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "approve")]
    pub(crate) deny: Option<Which>,
    /// Steps to add to the turn's budget
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) add_steps: Option<u32>,
    /// Tokens to add to it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) add_tokens: Option<u64>,
    /// Dollars to add to it, such as 0.50
    #[arg(long, value_name = "X", value_parser = dollars)]
    pub(crate) add_usd: Option<u64>,
    /// Seconds at work to add to it
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) add_time: Option<u64>,
    /// Something new to say
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["approve", "deny"])]
    pub(crate) message: Option<String>,
    /// Answer anew what was said last; what was done stays done
    #[arg(long, conflicts_with_all = ["approve", "deny", "message", "add_steps", "add_tokens", "add_usd", "add_time"])]
    pub(crate) retry: bool,
}

impl ResumeArguments {
    /// What is added to the budget of the turn.
    pub(crate) fn add(&self) -> Limits {
        let Self { add_steps, add_tokens, add_usd, add_time, .. } = self;
        Limits {
            steps: *add_steps,
            tokens: *add_tokens,
            micro_usd: *add_usd,
            time: add_time.map(Span::seconds),
        }
    }
}

/// Dollars in millionths of one.
fn dollars(text: &str) -> Result<u64, String> {
    let amount = petasos_runtime::micro_usd(text).filter(|amount| *amount > 0);
    amount.ok_or_else(|| "an amount of dollars is a number above 0, such as 0.50".to_owned())
}

/// Which call is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one that waits.
    TheOne,
    /// This one.
    This(CallId),
}

impl std::str::FromStr for Which {
    type Err = petasos_core::id::BadId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() { Ok(Self::TheOne) } else { text.parse().map(Self::This) }
    }
}

/// `petasos chat`.
#[derive(Debug, Default, Args)]
pub(crate) struct ChatArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Let the agent run commands without asking
    #[arg(long)]
    pub(crate) allow_commands: bool,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// `petasos sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List them, the one in which something happened last at the end
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// Those of all folders, not of the current one alone
        #[arg(long)]
        all: bool,
    },
    /// Find what was said, answered, called and given back, in the sessions of this folder
    Search {
        /// What stands in an entry: words, parts of code or signs; all of them, quotes hold one together
        #[arg(value_name = "QUERY", allow_hyphen_values = true)]
        query: String,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// In the sessions of all folders
        #[arg(long)]
        all: bool,
        /// The most entries to tell
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Make the index of the sessions anew; lists and searches do without it, only slower
    Reindex,
    /// Show what happened in one
    Show {
        /// The session: how its id or its title begins; without it, the newest of this folder
        #[arg(value_name = "ID")]
        session: Option<String>,
        /// As events, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Write one into a file, with all that is kept of it (docs/format/export.md)
    Export {
        /// The session, or how its id begins; without it, the newest of this folder
        #[arg(value_name = "ID")]
        session: Option<String>,
        /// The file; without it, stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Take in one that was exported, under a new id
    Import {
        /// The file; - reads stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder that it works in from here on [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Begin a session that goes off another one; the other one stays as it is
    Fork {
        /// The session: how its id or its title begins; without it, the newest of this folder
        #[arg(value_name = "ID")]
        session: Option<String>,
        /// The last entry that comes along (`petasos sessions show` tells the numbers) [default: the last one]
        #[arg(long, value_name = "ENTRY")]
        at: Option<u64>,
    },
    /// Take back what was said last, with all that came of it, and print it; what was done stays done
    Undo {
        /// The session: how its id or its title begins; without it, the newest of this folder
        #[arg(value_name = "ID")]
        session: Option<String>,
    },
    /// Give one a title
    Rename {
        /// The session: how its id or its title begins
        #[arg(value_name = "ID")]
        session: String,
        /// The title; an empty one takes it back
        #[arg(value_name = "TITLE")]
        title: String,
    },
    /// Delete one, with all that is kept of it
    Delete {
        /// The session: how its id begins
        #[arg(value_name = "ID")]
        session: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Delete old or large ones; what is held stays, and what waits for an answer
    Clean(CleanArguments),
}

/// `petasos sessions clean`.
#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Those in which nothing has happened for so long, such as 30d, 12h or 2w
    #[arg(long, value_name = "TIME", value_parser = amounts::age)]
    pub(crate) older_than: Option<Span>,
    /// Those that take more than this, such as 100MB
    #[arg(long, value_name = "SIZE", value_parser = amounts::size)]
    pub(crate) larger_than: Option<u64>,
    /// The oldest ones, until those that stay take no more than this
    #[arg(long, value_name = "SIZE", value_parser = amounts::size)]
    pub(crate) total: Option<u64>,
    /// Those that wait for an answer, too
    #[arg(long)]
    pub(crate) parked: bool,
    /// Those of all folders, not of the current one alone
    #[arg(long)]
    pub(crate) all: bool,
    /// Say which ones, and delete none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `petasos tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List them in the order in which a model sees them: on or off and why, and what a usual call of each touches
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// The folder whose settings count [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Show one: what a model is told of it, its arguments, an example and what that touches
    Show {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// The folder whose settings count [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Judge descriptions (docs/guide/tools.md); the exit code is 0 if nothing is found, 1 if something is
    Lint {
        /// Tools as JSON, in the shape of any common service; - reads stdin [default: those of petasos]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// `petasos demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Use the script that comes with petasos, whatever model is there
    #[arg(long)]
    pub(crate) scripted: bool,
}

/// `petasos dev`.
#[derive(Debug, Subcommand)]
pub(crate) enum DevCommand {
    /// Serve scripted replies on this machine's loopback
    ModelServer {
        /// The script: one reply a line of JSON (docs/format/model-server.md)
        #[arg(long, value_name = "FILE")]
        script: PathBuf,
        /// The port; 0 takes a free one, and the first line on stdout tells the address
        #[arg(long, value_name = "N", default_value_t = 0)]
        port: u16,
        /// Keep every request in this file, one a line
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
    },
    /// Tell what a recorded stream of a model's server means, as JSON; the exit code is 0 for a complete reply, 1 for
    /// an error told in it, 3 for a stream that was cut
    Decode {
        /// The protocol that it was recorded from
        #[arg(long, value_name = "WIRE")]
        wire: ApiMode,
        /// The body as it came; - reads stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the body of a request of a session, byte for byte
    Request {
        /// The protocol to write it for [default: the one it was sent on]
        #[arg(long, value_name = "WIRE")]
        wire: Option<ApiMode>,
        /// The session, or how its id begins
        #[arg(value_name = "SESSION")]
        session: String,
        /// Which step, counted from 1 over all turns [default: the last]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        step: Option<u64>,
    },
}
