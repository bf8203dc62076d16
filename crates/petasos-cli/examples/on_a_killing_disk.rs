//! `petasos` on a disk that ends its process: `on_a_killing_disk before|within|after N ARGUMENTS…`.
//!
//! The N-th line that goes to a log, those of a new one among them, is the last thing that happens: SIGKILL comes
//! before it is written, when half of it is, or when all of it is. Nothing else differs from the system's disk.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use petasos_cli::World;
use petasos_store::{Disk, DiskFile, DiskLock, LockError, Opening, OsDisk};
use rustix::process::{Signal, getpid, kill_process};

/// What `sysexits.h` calls a usage error.
const MISUSED: u8 = 64;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let mut next = || arguments.next();
    let (Some(name), Some(side), Some(line)) = (next(), next(), next()) else {
        return ExitCode::from(MISUSED);
    };
    let Some(point) = Point::parse(&side, &line) else { return ExitCode::from(MISUSED) };
    let world = World { disk: Arc::new(KillingDisk(Arc::new(point))), ..World::of_process() };
    petasos_cli::main(std::iter::once(name).chain(arguments), &world)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    Within,
    After,
}

/// Where the process ends.
#[derive(Debug)]
struct Point {
    side: Side,
    line: u64,
    /// Lines that were begun.
    begun: AtomicU64,
}

impl Point {
    fn parse(side: &OsString, line: &OsString) -> Option<Self> {
        let side = match side.to_str()? {
            "before" => Side::Before,
            "within" => Side::Within,
            "after" => Side::After,
            _ => return None,
        };
        Some(Self { side, line: line.to_str()?.parse().ok()?, begun: AtomicU64::new(0) })
    }

    /// Which side of the line that begins now is the end, if it is that line.
    fn of_next_line(&self) -> Option<Side> {
        let line = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        (line == self.line).then_some(self.side)
    }
}

fn die() -> ! {
    // It cannot be refused: the process is our own.
    kill_process(getpid(), Signal::KILL).ok();
    loop {
        std::thread::park();
    }
}

#[derive(Debug)]
struct KillingDisk(Arc<Point>);

impl Disk for KillingDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        OsDisk.make_folder(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        OsDisk.names(folder)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        OsDisk.sync_folder(path)
    }

    fn read(&self, path: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
        OsDisk.read(path, range)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        OsDisk.length(path)
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        let file = OsDisk.open(path, how)?;
        let is_log = path.file_stem().is_some_and(|stem| stem == "log");
        Ok(if is_log { Box::new(KillingFile { file, point: Arc::clone(&self.0) }) } else { file })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        OsDisk.lock(path, holder)
    }
}

#[derive(Debug)]
struct KillingFile {
    file: Box<dyn DiskFile>,
    point: Arc<Point>,
}

impl KillingFile {
    fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let written = self.file.write(rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

impl DiskFile for KillingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let half = line.get(..line.len() / 2).unwrap_or_default();
            match self.point.of_next_line() {
                None => self.write_all(line)?,
                Some(Side::Before) => die(),
                Some(Side::Within) => {
                    self.write_all(half)?;
                    die()
                }
                Some(Side::After) => {
                    self.write_all(line)?;
                    die()
                }
            }
        }
        Ok(bytes.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.cut(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn distrust(&mut self) {
        self.file.distrust();
    }
}
