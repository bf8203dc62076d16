//! What we hold of a command that has a guardian.

use std::io::{self, PipeWriter};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::guardian::word;
use super::local::Group;
use super::running::{Ending, Exit, Full, Left, program, within};
use super::tree::Tree;
use super::{Kind, LINGER, Run};

/// How long a guardian may take to begin a command: it only guards against one that was stopped.
const BEGIN: Duration = Duration::from_secs(10);
/// How long it may take to end one: as long as it waits and kills, and less than a turn waits for a stopped tool.
const END: Duration = Duration::from_millis(1_800);

/// A command with a guardian, which ends it when this is dropped: its life line is closed then.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// None when it was given up.
    control: Option<ChildStdin>,
    told: Lines<BufReader<ChildStdout>>,
    heard: Heard,
    /// The shell as long as it runs, for the case that its guardian is ended by somebody else.
    shell: Option<Pid>,
    /// Ends by itself.
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
    /// There is no guardian where it should be.
    NoGuardian,
}

impl Guarded {
    pub(super) async fn begin(guardian: &Path, run: &Run, kind: Kind, stderr: PipeWriter) -> Begun {
        let mut command = program(run, guardian);
        command.arg0("petasos").arg(word()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let Ok(mut child) = command.spawn() else { return Begun::NoGuardian };
        // It holds our end of the pipe, which would never end with it open.
        drop(command);
        let (Some(control), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Begun::NoGuardian;
        };
        // From now on whoever drops this ends what may run by then.
        let mut guarded = Box::new(Self {
            control: Some(control),
            told: BufReader::new(stdout).lines(),
            heard: Heard::default(),
            shell: None,
            guardian: child,
        });
        let kind = match kind {
            Kind::Call => "call",
            Kind::Job => "job",
        };
        let begun = async {
            // One that is no guardian reads nothing, and says nothing either.
            guarded.ask(kind, &run.command).await.ok();
            if next(&mut guarded.told).await.as_deref() != Some("begins") {
                return None;
            }
            // From here on something may have run, and nothing else may run it again.
            Some(next(&mut guarded.told).await)
        };
        let line = match within(BEGIN, begun).await {
            Some(Some(line)) => line,
            Some(None) => return Begun::NoGuardian,
            None => return Begun::Failed("its guardian did not begin it".to_owned()),
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
        // Stopped by somebody, most likely.
        self.kill();
        self.guardian.start_kill().ok();
        self.heard.over = Some(Left::Unknown);
        Left::Unknown
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

    /// Kills what is found now, without a wait; its guardian sees to the rest when its life line is closed.
    fn kill(&mut self) {
        if let Some(guardian) = self.guardian.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let mut tree = Tree::default();
            tree.grow(guardian);
            tree.signal(Signal::KILL);
        }
        self.control = None;
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
            self.kill();
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

/// Its next line; none when it has ended. May be dropped and called anew.
async fn next(told: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    told.next_line().await.ok().flatten()
}

async fn ask(control: &mut ChildStdin, what: &str, text: &str) -> io::Result<()> {
    control.write_all(format!("{what} {}\n{text}", text.len()).as_bytes()).await?;
    control.flush().await
}
