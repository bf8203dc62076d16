//! A process that runs to its end, or is ended from outside.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Fault;

/// A process that is over.
#[derive(Debug)]
pub(super) struct Ended {
    /// The exit code, or the signal that ended it, below zero.
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    pub(super) fn is_killed(&self) -> bool {
        self.code == -Signal::KILL.as_raw()
    }
}

/// Between looks at something that has no other sign.
const LOOK: Duration = Duration::from_millis(2);
/// Only a guard against a run that hangs; nothing is decided by it.
const GUARD: Duration = Duration::from_secs(60);

/// Runs a command with this on stdin. It is ended by SIGKILL where the fault says when, and by SIGINT once the file
/// `up` is there.
pub(super) fn run(command: &mut Command, stdin: &str, (fault, up): (&Fault, Option<PathBuf>)) -> Ended {
    let began = Instant::now();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // It may end without reading all of it.
    drop(pipe.write_all(stdin.as_bytes()));
    drop(pipe);
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let kill_at = if let Fault::After(span) = fault { Some(began + *span) } else { None };
    let (code, stdout, stderr) = std::thread::scope(|scope| {
        let stdout = scope.spawn(move || read(&mut out));
        let stderr = scope.spawn(move || read(&mut err));
        let code = ended_from_outside(&mut child, kill_at, up, began);
        (code, stdout.join().unwrap(), stderr.join().unwrap())
    });
    Ended { code, stdout, stderr }
}

fn ended_from_outside(
    child: &mut Child,
    kill_at: Option<Instant>,
    mut up: Option<PathBuf>,
    began: Instant,
) -> i32 {
    while child.try_wait().unwrap().is_none() {
        if kill_at.is_some_and(|at| Instant::now() >= at) {
            child.kill().unwrap();
            break;
        }
        if up.as_ref().is_some_and(|up| up.exists()) {
            up = None;
            // It may be over by now.
            kill_process(Pid::from_child(child), Signal::INT).ok();
        }
        if began.elapsed() > GUARD {
            child.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(LOOK);
    }
    code(child)
}

fn code(child: &mut Child) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    let status = child.wait().unwrap();
    status.code().unwrap_or_else(|| -status.signal().unwrap())
}
