//! Running a command of the shell, and ending it with all that it began.

mod environment;
mod guarded;
pub(crate) mod guardian;
mod local;
pub(crate) mod running;
mod tree;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::Dir;
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::kept::Kept;
use crate::mask::Mask;
use crate::output::{Problem, Source, Told};
use crate::tool::Context;
use running::{Ending, Exit, Left, Output, Running};

/// How long what a command left in the background may take to end by itself.
const LINGER: Duration = Duration::from_millis(300);
/// How long what is asked to end may take. Shorter than the turn waits for a stopped tool.
const GRACE: Duration = Duration::from_secs(1);
/// How long what was killed may take to be gone.
const AFTER_KILL: Duration = Duration::from_millis(200);
/// How often a group is looked for that was asked to end. To look is to go through all processes there are.
const LOOK: Duration = Duration::from_millis(100);

/// A command to run.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the shell is given.
    pub(crate) command: String,
    /// Where it begins.
    pub(crate) folder: Dir,
    /// The path of that folder, for systems on which a descriptor has none.
    pub(crate) path: PathBuf,
    /// How far it may go.
    pub(crate) bounds: CommandBounds,
    /// What it must not find in its environment.
    pub(crate) mask: Arc<Mask>,
}

/// How far a command may go, and who looks after it.
#[derive(Clone, Debug)]
pub(crate) struct CommandBounds {
    /// How many bytes it may say.
    pub(crate) most_output: u64,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// The program that guards it, if there is one.
    pub(crate) guardian: Option<PathBuf>,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command that is waited for: it is over with its shell, and has no input.
    Call,
    /// One that runs on by itself: it is over when nothing of it is left.
    Job,
}

/// Why a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The shell ended.
    Exited(Exit),
    /// Its time is over.
    TimedOut,
    /// The call was stopped.
    Stopped,
    /// It said more than is kept.
    TooMuch,
}

/// The words of a command as the system gets them.
pub(crate) fn words(command: &str) -> Vec<Text> {
    vec![Text::from("sh"), Text::from("-c"), Text::from(command)]
}

/// Runs a command until nothing of it is left.
pub(crate) async fn exec(run: Run, context: &Context) -> Result<Told, Problem> {
    let mut kept = Kept::new(context);
    let mut stop = context.stop.clone();
    let (running, output) = match Running::begin(&run, Kind::Call, &mut stop).await {
        Ok(begun) => begun,
        Err(problem) if stop.is_raised() => {
            return Ok(Told { outcome: Outcome::CutShort, ..Told::from(problem) });
        }
        Err(problem) => return Err(problem),
    };
    let (end, left) = watch(running, output, &run, &mut kept, context).await;
    Ok(told(&run, end, left, kept, context).await)
}

/// Waits for the end of a command, ends what is left of it, and keeps all it says meanwhile. A disk that hangs while
/// output is kept there delays no end.
async fn watch(
    mut running: Running,
    mut output: Output,
    run: &Run,
    kept: &mut Kept,
    context: &Context,
) -> (End, Left) {
    let (mut stop, limit) = (context.stop.clone(), Instant::now() + run.bounds.limit);
    let enough = Notify::new();
    let mut keeping = pin!(keep(&mut output, kept, &enough, run, context).fuse());
    let mut end = loop {
        tokio::select! {
            // Output last: there may be always more.
            biased;
            () = stop.raised() => break End::Stopped,
            exit = running.exited() => break End::Exited(exit),
            () = sleep_until(limit) => break End::TimedOut,
            kept = &mut keeping, if !keeping.is_terminated() => if kept == Keeping::TooMuch { break End::TooMuch },
        }
    };
    let ending = if matches!(end, End::Exited(_)) { Ending::Exited } else { Ending::Asked };
    let mut ended = pin!(running.end(ending));
    let left = loop {
        tokio::select! {
            biased;
            left = &mut ended => break left,
            kept = &mut keeping, if !keeping.is_terminated() => if kept == Keeping::TooMuch { end = End::TooMuch },
        }
    };
    if !keeping.is_terminated() {
        enough.notify_one();
        if keeping.await == Keeping::TooMuch {
            end = End::TooMuch;
        }
    }
    (end, left)
}

/// Why no more is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Done,
    TooMuch,
}

/// Keeps all that is said until it is enough. What waits in the pipe then is kept too, however long the disk takes for it:
/// all that the command said is in there. What comes later is somebody else's, who may hold the pipe for ever.
async fn keep(
    output: &mut Output,
    kept: &mut Kept,
    enough: &Notify,
    run: &Run,
    context: &Context,
) -> Keeping {
    let mut piece = vec![0; 64 * 1024];
    let mut rest = None;
    loop {
        let read = match rest {
            Some(0) => return Keeping::Done,
            Some(_) => output.read(&mut piece).await,
            None => tokio::select! {
                biased;
                () = enough.notified() => {
                    rest = Some(output.waiting());
                    continue;
                }
                read = output.read(&mut piece) => read,
            },
        };
        if read.is_empty() {
            return Keeping::Done;
        }
        rest = rest.map(|rest: u64| rest.saturating_sub(read.len() as u64));
        kept.push(read, context).await;
        if kept.bytes() > run.bounds.most_output {
            return Keeping::TooMuch;
        }
    }
}

async fn told(run: &Run, end: End, left: Left, kept: Kept, context: &Context) -> Told {
    let (outcome, first, exit) = match end {
        End::Exited(exit) => exited(exit),
        End::TimedOut => {
            let seconds = run.bounds.limit.as_secs();
            let hint = "give a longer timeout_s (at most 3600), or a command that does less";
            let error = format!("timed out after {seconds} s");
            (Outcome::TimedOut, stopped(&error, "it ran into its time limit", hint), None)
        }
        End::Stopped => {
            let hint = "run it again if it is still wanted; look first at what it has done";
            (Outcome::CutShort, stopped("stopped", "the call was stopped while it ran", hint), None)
        }
        End::TooMuch => {
            let cause = format!("it wrote more than {} bytes of output", run.bounds.most_output);
            let hint = "write the output into a file, or let the command say less";
            (Outcome::Error, stopped("too much output", &cause, hint), None)
        }
    };
    let note = note(&left);
    let (mut shown, bytes) = kept.finish(&format!("{first}{note}"), context).await;
    let mut outcome = outcome;
    if let (0, crate::output::Shown::Part { text, .. }) = (bytes, &mut shown) {
        text.push_str("(no output)");
        outcome = if outcome == Outcome::Ok { Outcome::Empty } else { outcome };
    }
    let facts = vec![Fact::Ran { argv: words(&run.command), exit }];
    Told { outcome, shown, facts, from: Source::Here }
}

/// What is said of processes that were left.
pub(crate) fn note(left: &Left) -> String {
    match left {
        Left::Nothing => String::new(),
        Left::Background => "[what it left running in the background was stopped]\n".to_owned(),
        Left::Some(pids) => format!("[processes of it could not be ended: {pids}]\n"),
        Left::Ending => "[what is left of it is still being ended]\n".to_owned(),
        Left::Unknown => {
            "[its guardian was ended by something else: processes of it may be left]\n".to_owned()
        }
    }
}

/// The first line of a result; its end is never cut off with the output.
pub(crate) fn exited(exit: Exit) -> (Outcome, String, Option<i32>) {
    match exit {
        Exit::Code(0) => (Outcome::Ok, "exit code 0\n".to_owned(), Some(0)),
        Exit::Code(code) => {
            (Outcome::Error, format!("exit code {code} (failed{})\n", meaning(code)), Some(code))
        }
        Exit::Signal(signal) => (Outcome::Error, format!("killed by signal {signal} (failed)\n"), None),
        Exit::Unknown => (Outcome::Error, "ended in an unknown way (failed)\n".to_owned(), None),
    }
}

/// What a code says that a shell gives for a program. Most above 128 are a program's own, as 129 is for an option that git does
/// not know: only those are explained that signals usually end a program with.
fn meaning(code: i32) -> String {
    match code {
        126 => "; 126: what was to run is there and may not be run".to_owned(),
        127 => "; 127: a command was not found".to_owned(),
        137 => "; usually 128 + 9: killed by signal 9, often for want of memory".to_owned(),
        130 | 134 | 135 | 136 | 139 | 141 | 143 => {
            format!("; usually 128 + {}: killed by signal {}", code - 128, code - 128)
        }
        _ => String::new(),
    }
}

fn stopped(error: &str, cause: &str, hint: &str) -> String {
    let cause = format!("{cause}; it and all it began were stopped, its output so far is below");
    format!("{}\n", Problem::new(error, cause, hint).json(Problem::USUAL))
}
