//! What we hold of a command that has a guardian.

use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;

use super::guardian::word;
use super::local::Group;
use super::running::{Ending, Exit, Full, Left, program, within};
use super::{Kind, LINGER, Run};
use crate::tool::Stop;

/// How long a guardian may take to begin a command: it only guards against one that was stopped.
const BEGIN: Duration = Duration::from_secs(10);
/// How long it may take to end one: as long as it waits and kills, and less than a turn waits for a stopped tool.
const END: Duration = Duration::from_millis(1_800);

/// A command with a guardian, which ends it when this is dropped: its life line is closed then.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// None when it was given up.
    control: Option<OwnedWriteHalf>,
    told: Lines<BufReader<OwnedReadHalf>>,
    heard: Heard,
    /// The shell as long as it runs, for the case that its guardian is ended by somebody else.
    shell: Option<Pid>,
    /// Ends by itself, when nothing of the command is left. It is never killed: all that it guards would be free.
    guardian: Child,
}

/// What it told so far.
#[derive(Debug, Default)]
struct Heard {
    exit: Option<Exit>,
    /// What ran on after its shell, if some did.
    ran_on: Option<Left>,
    over: Option<Left>,
    /// What came of the last input.
    given: Option<Result<(), Full>>,
}

impl Heard {
    /// Its guardian is gone.
    fn lost() -> Self {
        Self { exit: Some(Exit::Unknown), over: Some(Left::Unknown), ..Self::default() }
    }
}

/// What came of beginning one.
#[derive(Debug)]
pub(super) enum Begun {
    /// It runs.
    Running(Box<Guarded>),
    /// The command cannot be begun, and why.
    Failed(String),
    /// It was called off before it began.
    CalledOff,
    /// There is no guardian where it should be.
    NoGuardian,
}

impl Guarded {
    pub(super) async fn begin(
        guardian: &Path,
        run: &Run,
        kind: Kind,
        stderr: PipeWriter,
        stop: &mut Stop,
    ) -> Begun {
        let mut command = program(run, guardian);
        // No pipes: those can be opened by others through `/proc`, and a socket cannot.
        let ends = lines().and_then(|(ours, its)| Ok((ours, its.try_clone()?, its)));
        let ((told, control), stdin, stdout) = match ends {
            Ok(ends) => ends,
            Err(error) => return Begun::Failed(error.to_string()),
        };
        command.arg0("petasos").arg(word()).stdin(stdin).stdout(stdout).stderr(stderr);
        let Ok(child) = command.spawn() else { return Begun::NoGuardian };
        // It holds its ends of the pipe and the socket, which would never end with them open.
        drop(command);
        // From now on whoever drops this ends what may run by then.
        let mut guarded = Box::new(Self {
            control: Some(control),
            told: BufReader::new(told).lines(),
            heard: Heard::default(),
            shell: None,
            guardian: child,
        });
        let kind = match kind {
            Kind::Call => "call",
            Kind::Job => "job",
        };
        let ready = async {
            // One that is no guardian reads nothing, and says nothing either.
            guarded.ask(kind, &run.command).await.ok();
            next(&mut guarded.told).await.is_some_and(|line| line == "begins")
        };
        let not_begun = tokio::select! {
            biased;
            () = stop.raised() => Some(Begun::CalledOff),
            is_ready = within(BEGIN, ready) => match is_ready {
                Some(true) => None,
                Some(false) => Some(Begun::NoGuardian),
                None => Some(Begun::Failed("its guardian did not begin it".to_owned())),
            },
        };
        if let Some(not_begun) = not_begun {
            // It guards nothing yet, if it is a guardian at all.
            guarded.guardian.start_kill().ok();
            return not_begun;
        }
        let begun = async {
            // From here on something may have run, and nothing else may run it again.
            guarded.ask("go", "").await.ok();
            next(&mut guarded.told).await
        };
        let Some(line) = within(BEGIN, begun).await else {
            return Begun::Failed("its guardian did not begin it".to_owned());
        };
        match line.as_deref().and_then(|line| line.split_once(' ')) {
            Some(("failed", why)) => return Begun::Failed(why.to_owned()),
            Some(("started", shell)) => guarded.shell = shell.parse().ok().and_then(Pid::from_raw),
            Some(_) | None => guarded.heard = Heard::lost(),
        }
        Begun::Running(guarded)
    }

    pub(super) async fn exited(&mut self) -> Exit {
        loop {
            match self.heard.exit {
                Some(exit) => return exit,
                None => self.hear().await,
            }
        }
    }

    pub(super) async fn over(&mut self) -> Left {
        loop {
            match &self.heard.over {
                Some(left) => return left.clone(),
                None => self.hear().await,
            }
        }
    }

    pub(super) async fn end(&mut self, ending: Ending) -> Left {
        self.wake();
        let time = match ending {
            Ending::Exited => END + LINGER,
            Ending::Asked => {
                self.ask("end", "").await.ok();
                END
            }
        };
        if let Some(left) = within(time, self.over()).await {
            return left;
        }
        // There are many, or the machine has no time. It goes on until nothing is left, also without us.
        self.let_go();
        self.heard.over = Some(Left::Ending);
        Left::Ending
    }

    pub(super) async fn give(&mut self, text: &str) -> Result<(), Full> {
        self.heard.given = None;
        self.ask("input", text).await.map_err(|_| Full)?;
        let answered = async {
            loop {
                match (self.heard.given, &self.heard.over) {
                    (Some(given), _) => return given,
                    (None, Some(_)) => return Err(Full),
                    (None, None) => self.hear().await,
                }
            }
        };
        within(END, answered).await.unwrap_or(Err(Full))
    }

    /// Its guardian kills all when its life line is closed.
    fn let_go(&mut self) {
        self.control = None;
        self.wake();
    }

    /// The command may have stopped its guardian, which does nothing then.
    fn wake(&self) {
        if let Some(guardian) = self.guardian.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // It may have ended by itself.
            kill_process(guardian, Signal::CONT).ok();
        }
    }

    async fn ask(&mut self, what: &str, text: &str) -> io::Result<()> {
        match &mut self.control {
            Some(control) => ask(control, what, text).await,
            None => Ok(()),
        }
    }

    /// Takes in what it tells next.
    async fn hear(&mut self) {
        let Some(line) = next(&mut self.told).await else {
            Group::of(self.shell.take()).kill();
            self.heard.exit.get_or_insert(Exit::Unknown);
            self.heard.over = Some(Left::Unknown);
            return;
        };
        let words: Vec<&str> = line.splitn(2, ' ').collect();
        match words.as_slice() {
            ["exited", how] => self.heard.exit = Some(exit(how)),
            ["exited"] => self.heard.exit = Some(Exit::Unknown),
            ["left"] => self.heard.ran_on = Some(Left::Background),
            ["given"] => self.heard.given = Some(Ok(())),
            ["full"] => self.heard.given = Some(Err(Full)),
            ["gone"] => {
                self.heard.over = Some(self.heard.ran_on.take().unwrap_or(Left::Nothing));
            }
            ["stay", pids] => self.heard.over = Some(Left::Some((*pids).to_owned())),
            _ => {}
        }
        if self.heard.exit.is_some() {
            self.shell = None;
        }
        if self.heard.over.is_some() {
            self.heard.exit.get_or_insert(Exit::Unknown);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.heard.over.is_none() {
            self.let_go();
        }
    }
}

fn exit(how: &str) -> Exit {
    match how.split_once(' ').and_then(|(kind, number)| Some((kind, number.parse().ok()?))) {
        Some(("code", code)) => Exit::Code(code),
        Some(("signal", signal)) => Exit::Signal(signal),
        Some(_) | None => Exit::Unknown,
    }
}

/// Our end of its lines, and its own.
fn lines() -> io::Result<((OwnedReadHalf, OwnedWriteHalf), OwnedFd)> {
    let (ours, its) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((tokio::net::UnixStream::from_std(ours)?.into_split(), its.into()))
}

/// Its next line; none when it has ended. May be dropped and called anew.
async fn next(told: &mut Lines<BufReader<OwnedReadHalf>>) -> Option<String> {
    told.next_line().await.ok().flatten()
}

async fn ask(control: &mut OwnedWriteHalf, what: &str, text: &str) -> io::Result<()> {
    control.write_all(format!("{what} {}\n{text}", text.len()).as_bytes()).await?;
    control.flush().await
}
