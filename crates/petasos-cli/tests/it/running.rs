//! A run that is watched while it goes: what it says is waited for, never for how long.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::events_page::event;
use crate::program::Ended;

/// Only a guard against a test that hangs; nothing is decided by it.
const GUARD: Duration = Duration::from_secs(30);

/// A process under way, with its outputs read on threads of their own.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
    talk: Receiver<String>,
    talked: Vec<String>,
}

impl Running {
    /// Begins a command; what it finds on stdin is [`Running::say`].
    pub fn begin(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = read(child.stdout.take().unwrap());
        let talk = read(child.stderr.take().unwrap());
        let stdin = child.stdin.take();
        Self { child, stdin, lines, seen: Vec::new(), talk, talked: Vec::new() }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Nothing more comes on stdin.
    pub fn hush(mut self) -> Self {
        self.stdin = None;
        self
    }

    /// Writes a line to its stdin.
    pub fn say(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next line of stdout.
    pub fn line(&mut self) -> Option<String> {
        let line = next(&self.lines, &self.seen);
        self.seen.extend(line.clone());
        line
    }

    /// Waits for a line of stderr that holds this.
    pub fn wait_for_talk(&mut self, text: &str) {
        while let Some(line) = next(&self.talk, &self.talked) {
            self.talked.push(line);
            if self.talked.last().unwrap().contains(text) {
                return;
            }
        }
        panic!("nobody said {text}: {:#?}", self.talked);
    }

    /// The next event of a type.
    pub fn wait_for(&mut self, kind: &str) -> Value {
        while let Some(line) = self.line() {
            let event = event(&line);
            if event["type"] == kind {
                return event;
            }
        }
        panic!("no {kind} came: {:#?}", self.seen);
    }

    /// Sends a signal, by its name.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Says that nothing more comes on stdin, and waits for its end.
    pub fn end(mut self) -> Ended {
        self.stdin = None;
        self.end_by_itself()
    }

    /// Waits for its end; more could come on its stdin.
    pub fn end_by_itself(mut self) -> Ended {
        use std::os::unix::process::ExitStatusExt as _;
        while self.line().is_some() {}
        let status = self.child.wait().unwrap();
        while let Some(line) = next(&self.talk, &self.talked) {
            self.talked.push(line);
        }
        let code = status.code().unwrap_or_else(|| -status.signal().unwrap());
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
        let (stdout, stderr) = (text(&self.seen), text(&self.talked));
        Ended { code, stdout, stderr }
    }
}

fn read(from: impl Read + Send + 'static) -> Receiver<String> {
    let (out, lines) = channel();
    let from = BufReader::new(from);
    std::thread::spawn(move || from.lines().map_while(Result::ok).try_for_each(|line| out.send(line)));
    lines
}

fn next(lines: &Receiver<String>, seen: &[String]) -> Option<String> {
    match lines.recv_timeout(GUARD) {
        Ok(line) => Some(line),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("it hangs after {seen:#?}"),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; one that is over has waited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// True if a process has not ended; one that nobody has waited for has.
pub fn is_alive(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(") ").unwrap().1.starts_with('Z')
}

/// Waits for the end of a process: a guardian sees it a moment later that the program is gone. The bound only keeps a broken
/// test from hanging.
#[track_caller]
pub fn until_gone(pid: &str) {
    let begun = std::time::Instant::now();
    while is_alive(pid) {
        assert!(begun.elapsed().as_secs() < 30, "{pid} is left");
        std::thread::yield_now();
    }
}
