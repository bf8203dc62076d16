//! Running a command of the shell, and ending it with all that it began.

mod tree;

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use cap_std::fs::Dir;
use petasos_core::text::Text;
use petasos_core::tool::{Fact, Outcome};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};

use crate::kept::Kept;
use crate::output::{Problem, Source, Told};
use crate::tool::Context;
use tree::{Tree, is_group_there};

/// How long output is waited for after the shell has ended, from what it left in the background.
const DRAIN: Duration = Duration::from_millis(300);
/// How long what is asked to end may take. Shorter than the turn waits for a stopped tool.
const GRACE: Duration = Duration::from_secs(1);
/// How often a group is looked for that was asked to end. To look is to go through all processes there are.
const LOOK: Duration = Duration::from_millis(100);
/// What commands get of our environment: no name that could hold a key.
const PASSED: [&str; 7] = ["PATH", "HOME", "LANG", "TZ", "USER", "SHELL", "TMPDIR"];
/// What they get so that nothing waits for a person.
const SET: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
];

/// A command to run.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the shell is given.
    pub(crate) command: String,
    /// Where it begins.
    pub(crate) folder: Dir,
    /// The path of that folder, for systems on which a descriptor has none.
    pub(crate) path: PathBuf,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// How many bytes it may say.
    pub(crate) most_output: u64,
}

/// Why a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The shell ended.
    Exited(ExitStatus),
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
    let (mut running, mut kept) = (Running::spawn(&run)?, Kept::new(context));
    let end = running.until_end(&run, &mut kept, context).await;
    let left = running.end_all(end, &mut kept, context).await;
    Ok(told(&run, end, left, kept, context).await)
}

/// What ran on when the shell had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    Background,
}

struct Running {
    child: Child,
    group: Group,
    output: Output,
    piece: Vec<u8>,
}

/// Both outputs in one pipe, so that lines come in the order in which they were written.
enum Output {
    Open(Receiver),
    Ended,
}

/// The processes of a command. Dropping it ends them at once.
struct Group {
    pid: Option<Pid>,
    /// Those that were begun, also if they have made a group of their own.
    tree: Tree,
}

impl Group {
    fn signal(&mut self, signal: Signal) {
        if let Some(pid) = self.pid {
            self.tree.grow(pid);
            // There may be none left, which is what is wanted.
            kill_process_group(pid, signal).ok();
        }
        self.tree.signal(signal);
    }

    /// All has ended: the number may be another's soon.
    fn forget(&mut self) {
        self.pid = None;
        self.tree = Tree::default();
    }

    /// Looked for off the threads that must not wait.
    async fn is_there(&self) -> bool {
        let (pid, tree) = (self.pid, self.tree.clone());
        let looking = spawn_blocking(move || pid.is_some_and(is_group_there) || tree.is_there());
        // Who cannot look does not know, and ends what may be there.
        looking.await.unwrap_or(true)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Output {
    /// Reads what comes next; never ends if there is nothing to come.
    async fn read<'a>(&mut self, piece: &'a mut [u8]) -> &'a [u8] {
        let Self::Open(receiver) = self else { return std::future::pending().await };
        match receiver.read(piece).await {
            Ok(length) if length > 0 => piece.get(..length).unwrap_or_default(),
            Ok(_) | Err(_) => {
                *self = Self::Ended;
                &[]
            }
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }
}

impl Running {
    fn spawn(run: &Run) -> Result<Self, Problem> {
        let not_started = |error: std::io::Error| {
            let hint = "check cwd and that the command is not too long; then try again";
            Problem::new("the command did not start", error.to_string(), hint)
        };
        let (reader, writer) = std::io::pipe().map_err(not_started)?;
        // Entered by its descriptor where that can be: what is put in the place of its name changes nothing.
        let by_descriptor = || PathBuf::from(format!("/proc/self/fd/{}", run.folder.as_raw_fd()));
        let place = if cfg!(target_os = "linux") { by_descriptor() } else { run.path.clone() };
        let mut command = Command::new("sh");
        let passed = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            PASSED.contains(&&*name) || name.starts_with("LC_")
        });
        command
            .arg("-c")
            .arg(&run.command)
            .current_dir(place)
            .env_clear()
            .envs(passed)
            .envs(SET)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(not_started)?)
            .stderr(writer)
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn().map_err(not_started)?;
        // It holds our ends of the pipe, which would never end with them open.
        drop(command);
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let receiver = Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(not_started)?;
        let (group, output) = (Group { pid, tree: Tree::default() }, Output::Open(receiver));
        Ok(Self { child, group, output, piece: vec![0; 64 * 1024] })
    }

    async fn until_end(&mut self, run: &Run, kept: &mut Kept, context: &Context) -> End {
        let mut stop = context.stop.clone();
        let limit = Instant::now() + run.limit;
        let status = loop {
            tokio::select! {
                piece = self.output.read(&mut self.piece) => kept.push(piece, context).await,
                status = self.child.wait() => break status,
                () = stop.raised() => return End::Stopped,
                () = sleep_until(limit) => return End::TimedOut,
            }
            if kept.bytes() > run.most_output {
                return End::TooMuch;
            }
        };
        // That a child of ours cannot be waited for has no cause that could be told apart.
        status.map_or(End::Stopped, End::Exited)
    }

    /// Reads what is still to come, and ends what is left: first asked, then forced.
    async fn end_all(&mut self, end: End, kept: &mut Kept, context: &Context) -> Left {
        let mut left = Left::Nothing;
        if matches!(end, End::Exited(_)) {
            self.drain(Instant::now() + DRAIN, kept, context).await;
            if !self.group.is_there().await {
                self.group.forget();
                return left;
            }
            left = Left::Background;
        }
        self.group.signal(Signal::TERM);
        let until = Instant::now() + GRACE;
        while self.group.is_there().await && Instant::now() < until {
            self.until_next_look(kept, context).await;
        }
        self.group.signal(Signal::KILL);
        // Killed, so this ends; a process that the kernel cannot end is not waited for.
        timeout(GRACE, self.child.wait()).await.ok();
        self.drain(Instant::now() + DRAIN, kept, context).await;
        self.group.forget();
        left
    }

    /// Reads until it is time to look again.
    async fn until_next_look(&mut self, kept: &mut Kept, context: &Context) {
        let next = Instant::now() + LOOK;
        loop {
            tokio::select! {
                piece = self.output.read(&mut self.piece) => kept.push(piece, context).await,
                // Waited for, so that it does not count as there when it has ended.
                _ = self.child.wait(), if self.child.id().is_some() => return,
                () = sleep_until(next) => return,
            }
        }
    }

    /// Reads up to the end of the output, or for so long. What was read is always taken in whole.
    async fn drain(&mut self, until: Instant, kept: &mut Kept, context: &Context) {
        while !self.output.has_ended() {
            tokio::select! {
                piece = self.output.read(&mut self.piece) => kept.push(piece, context).await,
                () = sleep_until(until) => return,
            }
        }
    }
}

async fn told(run: &Run, end: End, left: Left, kept: Kept, context: &Context) -> Told {
    let (outcome, first, exit) = match end {
        End::Exited(status) => exited(status),
        End::TimedOut => {
            let seconds = run.limit.as_secs();
            let hint = "give a longer timeout_s (at most 3600), or a command that does less";
            let error = format!("timed out after {seconds} s");
            (Outcome::TimedOut, stopped(&error, "it ran into its time limit", hint), None)
        }
        End::Stopped => {
            let hint = "run it again if it is still wanted; look first at what it has done";
            (Outcome::CutShort, stopped("stopped", "the call was stopped while it ran", hint), None)
        }
        End::TooMuch => {
            let cause = format!("it wrote more than {} bytes of output", run.most_output);
            let hint = "write the output into a file, or let the command say less";
            (Outcome::Error, stopped("too much output", &cause, hint), None)
        }
    };
    let note = match left {
        Left::Nothing => "",
        Left::Background => "[what it left running in the background was stopped]\n",
    };
    let (mut shown, bytes) = kept.finish(&format!("{first}{note}"), context).await;
    let mut outcome = outcome;
    if let (0, crate::output::Shown::Part { text, .. }) = (bytes, &mut shown) {
        text.push_str("(no output)");
        outcome = if outcome == Outcome::Ok { Outcome::Empty } else { outcome };
    }
    let facts = vec![Fact::Ran { argv: words(&run.command), exit }];
    Told { outcome, shown, facts, from: Source::Here }
}

/// The first line of a result; its end is never cut off with the output.
fn exited(status: ExitStatus) -> (Outcome, String, Option<i32>) {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(0), _) => (Outcome::Ok, "exit code 0\n".to_owned(), Some(0)),
        (Some(code), _) => (Outcome::Error, format!("exit code {code} (failed)\n"), Some(code)),
        (None, Some(signal)) => (Outcome::Error, format!("killed by signal {signal} (failed)\n"), None),
        (None, None) => (Outcome::Error, "ended in an unknown way (failed)\n".to_owned(), None),
    }
}

fn stopped(error: &str, cause: &str, hint: &str) -> String {
    let cause = format!("{cause}; it and all it began were stopped, its output so far is below");
    format!("{}\n", Problem::new(error, cause, hint).json(Problem::USUAL))
}
