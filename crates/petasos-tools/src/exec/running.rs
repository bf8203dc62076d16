//! A command that runs, under a guardian where there is one, and what it says.

use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::sleep;

use super::guarded::{Begun, Guarded};
use super::local::Local;
use super::{Kind, LOOK, Run, environment};
use crate::output::Problem;
use crate::tool::Stop;

/// A command under way. Dropping it ends all of it that can be reached.
#[derive(Debug)]
pub(crate) enum Running {
    /// With a guardian.
    Guarded(Box<Guarded>),
    /// Without one.
    Local(Box<Local>),
}

/// How the shell of a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody knows.
    Unknown,
}

/// What is known of the processes of a command when it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// There was none beside the shell.
    Nothing,
    /// Some ran on when the shell had ended, and were stopped.
    Background,
    /// These could not be ended.
    Some(String),
    /// Its guardian ends them still.
    Ending,
    /// Its guardian was ended by somebody else, and nobody knows.
    Unknown,
}

/// How a command is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its shell has ended; what it left is ended.
    Exited,
    /// It is asked to, and killed if it does not.
    Asked,
}

/// The input of a command is as full as it may be, or it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Running {
    /// Begins a command, if it is not to stop before.
    pub(crate) async fn begin(run: &Run, kind: Kind, stop: &mut Stop) -> Result<(Self, Output), Problem> {
        if stop.is_raised() {
            return Err(called_off());
        }
        let (reader, writer) = io::pipe().map_err(|error| not_begun(&error.to_string()))?;
        let output = Output::new(reader).map_err(|error| not_begun(&error.to_string()))?;
        if let Some(guardian) = &run.bounds.guardian {
            let stderr = writer.try_clone().map_err(|error| not_begun(&error.to_string()))?;
            match Guarded::begin(guardian, run, kind, stderr, stop).await {
                Begun::Running(guarded) => return Ok((Self::Guarded(guarded), output)),
                Begun::Failed(why) => return Err(not_begun(&why)),
                Begun::CalledOff => return Err(called_off()),
                // It cannot be run: nothing has begun.
                Begun::NoGuardian => {}
            }
        }
        let local = Local::begin(run, kind, writer).map_err(|error| not_begun(&error.to_string()))?;
        Ok((Self::Local(Box::new(local)), output))
    }

    /// Ends when its shell has ended. May be dropped and called anew.
    pub(crate) async fn exited(&mut self) -> Exit {
        match self {
            Self::Guarded(guarded) => guarded.exited().await,
            Self::Local(local) => local.exited().await,
        }
    }

    /// Ends when nothing of it is left, after its shell has ended: of a job, which is more than its shell. May be
    /// dropped and called anew.
    pub(crate) async fn over(&mut self) -> Left {
        match self {
            Self::Guarded(guarded) => guarded.over().await,
            Self::Local(local) => local.over().await,
        }
    }

    /// Ends what is left of it, in less than two seconds.
    pub(crate) async fn end(&mut self, ending: Ending) -> Left {
        match self {
            Self::Guarded(guarded) => guarded.end(ending).await,
            Self::Local(local) => local.end(ending).await,
        }
    }

    /// Gives it input; no text ends its input. It is taken in when the command reads it.
    pub(crate) async fn give(&mut self, text: &str) -> Result<(), Full> {
        match self {
            Self::Guarded(guarded) => guarded.give(text).await,
            Self::Local(local) => local.give(text),
        }
    }
}

/// Both outputs in one pipe, so that lines come in the order in which they were written.
#[derive(Debug)]
pub(crate) struct Output(Receiver);

impl Output {
    fn new(reader: PipeReader) -> io::Result<Self> {
        Receiver::from_owned_fd(OwnedFd::from(reader)).map(Self)
    }

    /// Reads what comes next; nothing is its end. May be dropped and called anew.
    pub(crate) async fn read<'a>(&mut self, piece: &'a mut [u8]) -> &'a [u8] {
        // What cannot be read any more is over.
        let length = self.0.read(piece).await.unwrap_or_default();
        piece.get(..length).unwrap_or_default()
    }

    /// How many bytes wait in the pipe.
    pub(crate) fn waiting(&self) -> u64 {
        // There is no pipe that cannot say it.
        rustix::io::ioctl_fionread(&self.0).unwrap_or_default()
    }
}

/// A program in the folder of a run, with the environment of commands.
pub(super) fn program(run: &Run, path: &std::path::Path) -> Command {
    // Entered by its descriptor where that can be: what is put in the place of its name changes nothing.
    let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", run.folder.as_raw_fd()));
    let place = if by_descriptor.exists() { by_descriptor } else { run.path.clone() };
    let mut command = Command::new(path);
    command.current_dir(place).env_clear().envs(environment::of_commands(&run.mask)).stdin(Stdio::null());
    command
}

/// Waits for so long by the system's clock, which a guardian goes by too. What is there at once is always taken.
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let began = Instant::now();
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Some(done),
            () = sleep(LOOK) => {}
        }
        if began.elapsed() >= time {
            return None;
        }
    }
}

fn called_off() -> Problem {
    let cause = "the call was stopped before the command began; nothing of it has run";
    Problem::new("stopped", cause, "run it again if it is still wanted")
}

fn not_begun(why: &str) -> Problem {
    let hint = "check cwd and that the command is not too long; then try again";
    Problem::new("the command did not start", why, hint)
}
