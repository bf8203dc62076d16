//! The guardian: a small process between us and a command, which leaves nothing of it behind.
//!
//! It is this program run anew with one hidden word ([`guardian`]), before anything is read or set up. It makes a
//! session of its own, so that nothing below it has a terminal, and is the *child subreaper* of all that the command
//! begins: whoever loses its parent, also after a double fork or `setsid`, becomes its child. So `waitpid` saying that
//! there is no child is the proof that nothing is left.
//!
//! Its descriptors: **stdin** is control and life line (a run, `go`, then `end` and input; at its end, however we came
//! to ours, all is killed at once), **stdout** tells lines (`begins` before anything runs, then it waits for `go`; `started PID`, `exited code N`,
//! `exited signal N`, `left`, `given` or `full` after input, `stay PIDS` of those that it goes on killing, `gone`), **stderr** is the output of the command.
//! The first two are one socket: what it holds cannot be opened through `/proc`, as a pipe can.
//! It is told the command on stdin, so that no `pkill -f` of the command meets it, and has no environment but the
//! command's.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, set_child_subreaper,
    set_dumpable_behavior, setsid, wait,
};

use tokio::signal::unix::{SignalKind, signal};

use super::tree::Tree;
use super::{AFTER_KILL, GRACE, Kind, LINGER};

/// The hidden first argument.
const WORD: &str = "petasos-guardian";
/// The longest command: more than the system takes.
const LONGEST: u64 = 1024 * 1024;
/// Pieces of input that wait for a command to read them.
const WAITING: usize = 16;
/// How often it is killed before it is told who is left. It is killed again until there is none.
const KILLS: u8 = 3;
/// How many times longer the wait between two kills becomes.
const SLOWEST: u8 = 25;
/// How often is looked for what began while the others were stopped. What goes on beginning others is stopped sooner or
/// later, as those that are stopped begin none.
const ROUNDS: u8 = 64;

/// Acts as a guardian if these arguments, the first of which is the program's own name, ask for one. A program that
/// calls this before all else may be named as the guardian of its commands.
pub fn guardian(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    arguments.into_iter().nth(1).filter(|word| word == WORD).map(|_| serve())
}

/// How it is called.
pub(super) fn word() -> &'static str {
    WORD
}

/// What there is to react to.
enum Event {
    Asked(Control),
    Ended(Pid, WaitStatus),
    NoneLeft,
}

/// What is asked of it.
enum Control {
    Run { command: String, kind: Kind },
    Go,
    End,
    Kill,
    Input(Vec<u8>),
}

/// Where it stands.
enum Phase {
    /// The command runs.
    Running,
    /// The shell has ended; what it left may end by itself.
    Lingering,
    /// All were asked to end.
    Asked,
    /// All were killed, so often.
    Killed(u8),
}

struct Guardian {
    shell: Pid,
    kind: Kind,
    phase: Phase,
    until: Option<Instant>,
    input: Option<SyncSender<Vec<u8>>>,
}

fn serve() -> ExitCode {
    // Nothing below looks into it either. And whoever calls it from a shell is no petasos.
    let is_hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok();
    let is_line = fstat(io::stdin()).is_ok_and(|stdin| FileType::from_raw_mode(stdin.st_mode).is_socket());
    if !is_hidden || !is_line || mind_no_signals().is_err() {
        return ExitCode::FAILURE;
    }
    let (events, happened) = channel();
    let asked = events.clone();
    let (begin_to_reap, begun) = channel();
    // Before the shell: without them nobody would guard it.
    let is_ready = thread(move || listen(&asked)).is_ok()
        && thread(move || {
            if begun.recv().is_ok() {
                reap(&events)
            }
        })
        .is_ok();
    if !is_ready {
        return ExitCode::FAILURE;
    }
    let Ok(Event::Asked(Control::Run { command, kind })) = happened.recv() else { return ExitCode::FAILURE };
    // Who does not hear it, or does not say so, has called it off.
    if say("begins").is_err() || !matches!(happened.recv(), Ok(Event::Asked(Control::Go))) {
        return ExitCode::FAILURE;
    }
    match Guardian::begin(&command, kind) {
        Ok(guardian) => {
            begin_to_reap.send(()).ok();
            guardian.watch(&happened);
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell(&format!("failed {error}"));
            ExitCode::FAILURE
        }
    }
}

impl Guardian {
    fn begin(command: &str, kind: Kind) -> io::Result<Self> {
        setsid()?;
        set_child_subreaper(Some(getpid()))?;
        let output = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
        let stdin = match kind {
            Kind::Call => Stdio::null(),
            Kind::Job => Stdio::piped(),
        };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).stdin(stdin).stdout(output()?).stderr(output()?).process_group(0);
        let mut child = shell.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
        tell(&format!("started {pid}"));
        let input = child.stdin.take().and_then(|stdin| {
            let (input, given) = sync_channel(WAITING);
            thread(move || hand_on(&given, stdin)).ok().map(|()| input)
        });
        Ok(Self { shell: pid, kind, phase: Phase::Running, until: None, input })
    }

    fn watch(mut self, happened: &Receiver<Event>) {
        loop {
            let event = match self.until {
                Some(until) => happened.recv_timeout(until.saturating_duration_since(Instant::now())),
                None => happened.recv().map_err(RecvTimeoutError::from),
            };
            match event {
                Ok(Event::NoneLeft) => return tell("gone"),
                Ok(Event::Ended(pid, status)) if pid == self.shell => self.exited(status),
                Ok(Event::Ended(..)) => {}
                Ok(Event::Asked(Control::End)) => self.ask_to_end(),
                Ok(Event::Asked(Control::Input(input))) => self.take(input),
                // One command is all that a guardian begins.
                Ok(Event::Asked(Control::Kill | Control::Run { .. } | Control::Go))
                | Err(RecvTimeoutError::Disconnected) => {
                    self.kill(0);
                }
                Err(RecvTimeoutError::Timeout) => match self.phase {
                    Phase::Running | Phase::Lingering => {
                        tell("left");
                        self.ask_to_end();
                    }
                    Phase::Asked => self.kill(0),
                    Phase::Killed(times) => {
                        if times == KILLS {
                            tell(&format!("stay {}", below().numbers()));
                        }
                        self.kill(times);
                    }
                },
            }
        }
    }

    fn exited(&mut self, status: WaitStatus) {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => tell(&format!("exited code {code}")),
            (None, Some(signal)) => tell(&format!("exited signal {signal}")),
            (None, None) => tell("exited"),
        }
        // A job is all that it began; a call is over with its shell.
        if matches!((&self.phase, self.kind), (Phase::Running, Kind::Call)) {
            self.enter(Phase::Lingering, LINGER);
        }
    }

    fn ask_to_end(&mut self) {
        if matches!(self.phase, Phase::Running | Phase::Lingering) {
            // From now on, however long it takes to reach them all.
            self.enter(Phase::Asked, GRACE);
            let all = below();
            self.signal(&all, Signal::TERM);
            // One that is stopped hears nothing until it goes on.
            self.signal(&all, Signal::CONT);
        }
    }

    /// Stops all first: what is stopped begins no others that would be missed.
    fn kill(&mut self, times: u8) {
        let mut stopped = Tree::default();
        for _ in 0..ROUNDS {
            if stopped.grow(getpid()) == 0 {
                break;
            }
            stopped.signal(Signal::STOP);
        }
        self.signal(&stopped, Signal::KILL);
        // Those that it was told of cannot be killed soon, if ever.
        let wait = AFTER_KILL.saturating_mul(u32::from(times.saturating_sub(KILLS).clamp(1, SLOWEST)));
        self.enter(Phase::Killed(times.saturating_add(1)), wait);
    }

    fn signal(&self, all: &Tree, signal: Signal) {
        if all.is_empty() {
            // No `/proc`: the group is all that is known. There may be none left, which is what is wanted.
            kill_process_group(self.shell, signal).ok();
        }
        all.signal(signal);
    }

    fn enter(&mut self, phase: Phase, time: Duration) {
        (self.phase, self.until) = (phase, Some(Instant::now() + time));
    }

    /// No text is the end of the input.
    fn take(&mut self, input: Vec<u8>) {
        let is_last = input.is_empty();
        let given = self.input.as_ref().map(|waiting| is_last || waiting.try_send(input).is_ok());
        tell(if given == Some(true) { "given" } else { "full" });
        if is_last {
            self.input = None;
        }
    }
}

fn below() -> Tree {
    let mut tree = Tree::default();
    tree.grow(getpid());
    tree
}

/// Nobody may be left to hear it.
fn tell(line: &str) {
    say(line).ok();
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush())
}

/// Signals that end a program end no guardian, as all that it guards would be free: it ends with its command. They are caught
/// and not ignored, as what is ignored would be so for the command too. What catches them stays when the runtime is gone.
fn mind_no_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    let kinds = [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
        SignalKind::alarm(),
    ];
    kinds.into_iter().try_for_each(|kind| signal(kind).map(drop))
}

/// There may be no room for another.
fn thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().spawn(work).map(drop)
}

/// Waits for whatever ends below.
fn reap(events: &Sender<Event>) {
    loop {
        let event = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Ended(pid, status),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => Event::NoneLeft,
        };
        let is_last = matches!(event, Event::NoneLeft);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Hands on what is asked; the end of it is the end of all.
fn listen(events: &Sender<Event>) {
    let mut stdin = BufReader::new(io::stdin().lock());
    while let Some(control) = read(&mut stdin) {
        if events.send(Event::Asked(control)).is_err() {
            return;
        }
    }
    events.send(Event::Asked(Control::Kill)).ok();
}

fn read(stdin: &mut impl BufRead) -> Option<Control> {
    let mut line = String::new();
    stdin.by_ref().take(64).read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (what, length) = (words.next()?, words.next().and_then(|length| length.parse().ok()));
    let mut bytes = Vec::new();
    let length: u64 = length.unwrap_or_default();
    if stdin.by_ref().take(length.min(LONGEST)).read_to_end(&mut bytes).ok()? as u64 != length {
        return None;
    }
    match what {
        "call" => Some(Control::Run { command: String::from_utf8(bytes).ok()?, kind: Kind::Call }),
        "job" => Some(Control::Run { command: String::from_utf8(bytes).ok()?, kind: Kind::Job }),
        "go" => Some(Control::Go),
        "end" => Some(Control::End),
        "input" => Some(Control::Input(bytes)),
        _ => None,
    }
}

/// Hands on input, on a thread that may wait for the command to read it.
fn hand_on(given: &Receiver<Vec<u8>>, mut stdin: ChildStdin) {
    while let Ok(input) = given.recv() {
        if stdin.write_all(&input).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}
