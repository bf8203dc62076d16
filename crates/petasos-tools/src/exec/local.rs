//! A command without a guardian: ended by its process group and by the tree of processes below its shell, as far as the
//! system tells that. Who has made a session of its own *and* lost its parent is not found, and nothing of it is
//! found after this process was killed.

use std::io::{self, PipeWriter};
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use super::running::{Ending, Exit, Full, Left, program, within};
use super::tree::{Tree, is_group_there};
use super::{AFTER_KILL, GRACE, Kind, LINGER, LOOK, Run};

/// Pieces of input that wait for a command to read them.
const WAITING: usize = 16;

/// A command below this process itself. Dropping it ends what is known of it at once.
#[derive(Debug)]
pub(crate) struct Local {
    // Before the child: with the shell gone, nothing would tell what was below it.
    group: Group,
    child: Child,
    input: Option<Sender<String>>,
    _handing_on: JoinSet<()>,
}

impl Local {
    pub(super) fn begin(run: &Run, kind: Kind, writer: PipeWriter) -> io::Result<Self> {
        let mut command = program(run, Path::new("/bin/sh"));
        if matches!(kind, Kind::Job) {
            command.stdin(Stdio::piped());
        }
        command.arg("-c").arg(&run.command).process_group(0).kill_on_drop(true);
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // It holds our ends of the pipe, which would never end with them open.
        drop(command);
        let group = Group::of(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let mut handing_on = JoinSet::new();
        let input = child.stdin.take().map(|stdin| {
            let (input, given) = channel(WAITING);
            handing_on.spawn(hand_on(given, stdin));
            input
        });
        Ok(Self { group, child, input, _handing_on: handing_on })
    }

    pub(super) async fn exited(&mut self) -> Exit {
        // That a child of ours cannot be waited for has no cause that could be told apart.
        self.child.wait().await.map_or(Exit::Unknown, exit)
    }

    pub(super) async fn over(&mut self) -> Left {
        self.exited().await;
        while self.group.look().await {
            sleep(LOOK).await;
        }
        self.group.forget();
        Left::Nothing
    }

    pub(super) async fn end(&mut self, ending: Ending) -> Left {
        let mut left = Left::Nothing;
        if ending == Ending::Exited {
            if within(LINGER, self.over()).await.is_some() {
                return left;
            }
            left = Left::Background;
        }
        self.group.signal(Signal::TERM);
        self.group.signal(Signal::CONT);
        if within(GRACE, self.over()).await.is_none() {
            self.group.signal(Signal::KILL);
            if within(AFTER_KILL, self.over()).await.is_none() {
                left = Left::Some(self.group.tree.numbers());
            }
        }
        self.group.forget();
        left
    }

    pub(super) fn give(&mut self, text: &str) -> Result<(), Full> {
        let Some(input) = &self.input else { return Err(Full) };
        if text.is_empty() {
            self.input = None;
            return Ok(());
        }
        input.try_send(text.to_owned()).map_err(|_| Full)
    }
}

/// Hands on input, for as long as the command takes to read it.
async fn hand_on(mut given: Receiver<String>, mut stdin: ChildStdin) {
    while let Some(text) = given.recv().await {
        if stdin.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The processes of a command. Dropping it ends them at once.
#[derive(Debug)]
pub(super) struct Group {
    pid: Option<Pid>,
    /// Those that were begun, also if they have made a group of their own.
    tree: Tree,
}

impl Group {
    /// That of a shell that leads it.
    pub(super) fn of(pid: Option<Pid>) -> Self {
        Self { pid, tree: Tree::default() }
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(pid) = self.pid {
            self.tree.grow(pid);
            // There may be none left, which is what is wanted.
            kill_process_group(pid, signal).ok();
        }
        self.tree.signal(signal);
    }

    /// Ends them at once.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.forget();
    }

    /// All has ended: the number may be another's soon.
    pub(super) fn forget(&mut self) {
        *self = Self::of(None);
    }

    /// Looks whether one of them is there, and who is there by now, off the threads that must not wait.
    async fn look(&mut self) -> bool {
        let Some(pid) = self.pid else { return false };
        let mut tree = self.tree.clone();
        let looking = spawn_blocking(move || {
            tree.grow(pid);
            (is_group_there(pid) || tree.is_there(), tree)
        });
        // Who cannot look does not know, and ends what may be there.
        let Ok((is_there, tree)) = looking.await else { return true };
        self.tree = tree;
        is_there
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn exit(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
