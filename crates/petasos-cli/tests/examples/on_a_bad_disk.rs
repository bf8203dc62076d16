//! `petasos` on a disk that fails it: `on_a_bad_disk FAULT N ARGUMENTS…`.
//!
//! Whatever changes the disk is an *act*: a line that goes to a log, a write to another file, a sync, a new folder, a
//! new name, a cut, a lock. The N-th act is the last thing that happens, or the first that fails:
//!
//! | FAULT | what happens there |
//! |---|---|
//! | `before`, `within`, `after` | SIGKILL before the act, when half of a write is done, or after it |
//! | `cut-before`, `cut-within`, `cut-after` | the power goes there: what was not synced is lost, and the process with it |
//! | `full` | from there on the disk is full: half of that write is done, none after it |
//! | `list` | nothing; N is a file that gets the name of each act, one a line |
//!
//! Nothing else differs from the system's disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use petasos_cli::World;
use petasos_store::{Disk, DiskFile, DiskLock, LockError, Opening, OsDisk};
use petasos_testkit::unsynced::UnsyncedDisk;
use rustix::process::{Signal, getpid, kill_process};

/// Bytes of each file that are on the disk without a sync when the power goes within a write: they tear a line.
const TORN: usize = 40;

fn main() -> ExitCode {
    if let Some(code) = petasos_cli::guardian(std::env::args_os()) {
        return code;
    }
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap();
    let fault = arguments.next().unwrap().into_string().unwrap();
    let at = arguments.next().unwrap().into_string().unwrap();
    let sessions = PathBuf::from(std::env::var_os("PETASOS_HOME").unwrap()).join("sessions");
    let forgets = fault.strip_prefix("cut-");
    let forgetful = forgets.map(|_| UnsyncedDisk::of_folder(&sessions));
    let below: Arc<dyn Disk> = match &forgetful {
        Some(disk) => Arc::new(disk.clone()),
        None => Arc::new(OsDisk),
    };
    let plan = Plan {
        side: Side::parse(forgets.unwrap_or(&fault)),
        at: at.parse().unwrap_or(0),
        list: (fault == "list").then(|| PathBuf::from(&at)),
        forgetful: forgetful.clone(),
        sessions: sessions.clone(),
        acts: Mutex::new((0, String::new())),
    };
    let disk = BadDisk { below, plan: Arc::new(plan) };
    let world = World { disk: Arc::new(disk), ..World::of_process() };
    let code = petasos_cli::main(std::iter::once(name).chain(arguments), &world);
    if let Some(disk) = forgetful {
        disk.put_back(&sessions);
    }
    code
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    Within,
    After,
    Full,
    Never,
}

impl Side {
    fn parse(text: &str) -> Self {
        match text {
            "before" => Self::Before,
            "within" => Self::Within,
            "after" => Self::After,
            "full" => Self::Full,
            "list" => Self::Never,
            _ => panic!("there is no fault {text}"),
        }
    }
}

/// What is to fail, and how far it is.
#[derive(Debug)]
struct Plan {
    side: Side,
    at: u64,
    list: Option<PathBuf>,
    forgetful: Option<UnsyncedDisk>,
    sessions: PathBuf,
    /// Acts that were begun, and their names.
    acts: Mutex<(u64, String)>,
}

/// What is to become of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    Half,
    Last,
    Refused,
}

impl Plan {
    /// Counts an act, and says what is to become of it.
    fn begin(&self, name: &str) -> Fate {
        let mut acts = self.acts.lock().unwrap();
        acts.0 += 1;
        if let Some(list) = &self.list {
            writeln!(acts.1, "{name}").unwrap();
            std::fs::write(list, &acts.1).unwrap();
        }
        match self.side {
            Side::Full if acts.0 > self.at => Fate::Refused,
            _ if acts.0 != self.at => Fate::Done,
            Side::Before => self.die(0),
            Side::Within => Fate::Half,
            Side::After => Fate::Last,
            Side::Full => Fate::Half,
            Side::Never => Fate::Done,
        }
    }

    fn die(&self, kept: usize) -> ! {
        if let Some(disk) = &self.forgetful {
            disk.cut_power(kept);
            disk.put_back(&self.sessions);
        }
        // It cannot be refused: the process is our own.
        kill_process(getpid(), Signal::KILL).unwrap();
        loop {
            std::thread::park();
        }
    }

    /// Does an act that is done or not, with nothing between; `takes_room` if a full disk refuses it.
    fn act<T>(&self, name: &str, takes_room: Room, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match (self.begin(name), takes_room) {
            (Fate::Half | Fate::Refused, Room::Takes) if self.side == Side::Full => {
                Err(io::ErrorKind::StorageFull.into())
            }
            (Fate::Half, _) if self.side == Side::Within => self.die(TORN),
            (Fate::Last, _) => {
                let done = act();
                drop(done);
                self.die(0)
            }
            _ => act(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Takes,
    TakesNone,
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[derive(Debug)]
struct BadDisk {
    below: Arc<dyn Disk>,
    plan: Arc<Plan>,
}

impl Disk for BadDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.plan.act("make folder", Room::Takes, || self.below.make_folder(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.below.names(folder)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.plan.act("sync folder", Room::TakesNone, || self.below.sync_folder(path))
    }

    fn read(&self, path: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.below.read(path, range)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.below.length(path)
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        let file = self.below.open(path, how)?;
        let is_log = path.file_stem().is_some_and(|stem| stem == "log");
        let kind = if is_log { "line" } else { "write" };
        Ok(Box::new(BadFile { file, kind, name: name_of(path), plan: Arc::clone(&self.plan) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.act("rename", Room::TakesNone, || self.below.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.plan.act("remove", Room::TakesNone, || self.below.remove(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.plan.act("remove folder", Room::TakesNone, || self.below.remove_folder(path))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.act("link", Room::Takes, || self.below.link(from, to))
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        // A lock ends with the process, so of one that is got and lost at once nothing is seen.
        match self.plan.begin("lock") {
            Fate::Last | Fate::Half if self.plan.side != Side::Full => self.plan.die(0),
            _ => self.below.lock(path, holder),
        }
    }
}

#[derive(Debug)]
struct BadFile {
    file: Box<dyn DiskFile>,
    kind: &'static str,
    name: String,
    plan: Arc<Plan>,
}

impl BadFile {
    fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let written = self.file.write(rest)?;
            rest = &rest[written..];
        }
        Ok(())
    }
}

impl DiskFile for BadFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        // Lines of a log one by one, whatever comes together; other files as they are written.
        let is_end = |byte: &u8| *byte == b'\n' && self.kind == "line";
        let pieces: Vec<&[u8]> = bytes.split_inclusive(is_end).collect();
        for piece in pieces {
            match self.plan.begin(&format!("{} {}", self.kind, kind_of(piece))) {
                Fate::Done => self.write_all(piece)?,
                Fate::Half if self.plan.side == Side::Full => {
                    self.write_all(&piece[..piece.len() / 2])?;
                    return Ok(written + piece.len() / 2);
                }
                Fate::Half => {
                    self.write_all(&piece[..piece.len() / 2])?;
                    self.plan.die(TORN)
                }
                Fate::Last => {
                    self.write_all(piece)?;
                    self.plan.die(0)
                }
                Fate::Refused if written > 0 => return Ok(written),
                Fate::Refused => return Err(io::ErrorKind::StorageFull.into()),
            }
            written += piece.len();
        }
        Ok(written)
    }

    fn sync(&mut self) -> io::Result<()> {
        let name = format!("sync {}", self.name);
        let Self { file, plan, .. } = self;
        plan.act(&name, Room::TakesNone, || file.sync())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let Self { file, plan, .. } = self;
        plan.act("cut", Room::TakesNone, || file.cut(length))
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn distrust(&mut self) {
        self.file.distrust();
    }
}

/// The kind of the entry on a line, for the list.
fn kind_of(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let kind = text.split("\"kind\":\"").nth(1).and_then(|rest| rest.split('"').next());
    kind.unwrap_or("bytes").to_owned()
}
