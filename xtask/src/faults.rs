//! Plants faults in core, one by one, and wants the walk to catch each with the invariants it is for.
//!
//! A walk that finds nothing in a right machine tells nothing until it finds something in a wrong one. Each
//! fault is a patch file in `crates/petasos-core/tests/faults`; it is applied to a copy of the tree, so that
//! no working file is ever wrong, and the copy's builds are kept so that only what changed is compiled.
//!
//! The walk is testkit's example [`WALK`]: it sees everything there is to see and prints `walk caught: I3 I10`,
//! or `walk caught: nothing`. A program of its own, so that a fault costs the build of core and testkit alone.

mod copy;
mod patch;
mod verdict;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Message;

use crate::report::Outcome;
use crate::workspace::{cargo, metadata, root};
use patch::Patch;
use verdict::{Ending, Planted, Round};

const FOLDER: &str = "crates/petasos-core/tests/faults";
const WALK: &str = "walk_for_faults";
/// The right machine is walked in seconds. A fault may make the walk longer, or endless.
const WALK_LIMIT: Duration = Duration::from_secs(120);

/// Which faults are planted.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    All,
    /// The one whose file starts with this.
    Only(&'a str),
}

pub fn run(which: Which<'_>) -> Result<Outcome> {
    let root = root()?;
    let faults = read_faults(&root.join(FOLDER))?;
    let spoken = read_invariants(&root.join(FOLDER).join("INVARIANTS"))?;
    let chosen: Vec<&Fault> = faults
        .iter()
        .filter(|fault| match which {
            Which::All => true,
            Which::Only(number) => fault.name.starts_with(number),
        })
        .collect();
    ensure!(!chosen.is_empty(), "no file in {FOLDER} is meant by {which:?}; they are named NN-name.patch");

    let bench = Bench::lay_out(&root)?;
    println!("the tree as it is");
    let ending = bench.walk()?;
    println!("  {ending}");
    ensure!(
        ending == Ending::Caught(BTreeSet::new()),
        "the walk does not pass without a fault; run `cargo test -p petasos-core --test it walk` first"
    );

    let mut rounds = Vec::new();
    for fault in chosen {
        println!("{}: {}", fault.name, fault.patch.fault);
        let started = Instant::now();
        let planted = Planted {
            name: fault.name.clone(),
            fault: fault.patch.fault.clone(),
            expected: fault.patch.caught_by.clone(),
        };
        let round =
            Round { planted, ending: bench.plant(&fault.patch)?, seconds: started.elapsed().as_secs_f32() };
        println!("  {} ({:.1} s)", round.ending, round.seconds);
        rounds.push(round);
    }
    verdict::settle(&rounds, &spoken, which)
}

struct Fault {
    name: String,
    patch: Patch,
}

fn read_faults(folder: &Path) -> Result<Vec<Fault>> {
    let listed = folder.read_dir().with_context(|| {
        format!("{} is not there; it holds the faults that the walk must catch", folder.display())
    })?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in listed {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "patch") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut faults = Vec::new();
    for path in paths {
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let patch = Patch::parse(&text).with_context(|| format!("{} is no planted fault", path.display()))?;
        faults.push(Fault { name, patch });
    }
    Ok(faults)
}

/// One invariant a line; what follows a `#` is for people.
fn read_invariants(path: &Path) -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!("{} cannot be read; it lists the invariants the walk speaks of", path.display())
    })?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// The copy of the tree and the folder of its builds.
struct Bench {
    tree: PathBuf,
    target: PathBuf,
}

impl Bench {
    fn lay_out(root: &Path) -> Result<Self> {
        let folder = metadata()?.target_directory.into_std_path_buf().join("faults");
        let bench = Self { tree: folder.join("tree"), target: folder.join("target") };
        copy::refresh(root, &bench.tree)?;
        Ok(bench)
    }

    /// Applies, walks, and puts back what was there, whatever came of it.
    fn plant(&self, patch: &Patch) -> Result<Ending> {
        let mut changed = Vec::new();
        for file in &patch.files {
            let path = self.tree.join(&file.path);
            let Ok(before) = std::fs::read_to_string(&path) else {
                return Ok(Ending::NotApplied(format!("{} is not there", file.path)));
            };
            match patch::apply(&before, &file.hunks) {
                Ok(after) => changed.push((path, before, after)),
                Err(error) => return Ok(Ending::NotApplied(format!("{}: {error:#}", file.path))),
            }
        }
        for (path, _, after) in &changed {
            write(path, after)?;
        }
        let ending = self.walk();
        // Written anew, a file is younger than what was built from its wrong text, so cargo builds again.
        for (path, before, _) in &changed {
            write(path, before)?;
        }
        ending
    }

    fn walk(&self) -> Result<Ending> {
        match self.build()? {
            Built::Walk(program) => self.run(&program),
            Built::No(why) => Ok(Ending::NotCompiled(why)),
        }
    }

    /// Builds apart from running: then a fault that does not compile is told as such, and a walk without end
    /// is a process of ours that can be killed.
    fn build(&self) -> Result<Built> {
        let output = cargo()?
            .args(["build", "--package", "petasos-testkit", "--example", WALK, "--locked"])
            .args(["--quiet", "--message-format", "json-render-diagnostics"])
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1")
            // A fault may leave a warning; whether it is caught is the question.
            .env_remove("RUSTFLAGS")
            .output()
            .context("cargo could not be started")?;
        if !output.status.success() {
            return Ok(Built::No(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        for message in Message::parse_stream(output.stdout.as_slice()) {
            if let Message::CompilerArtifact(artifact) = message? {
                let program = artifact.executable.filter(|_| artifact.target.name == WALK);
                if let Some(program) = program {
                    return Ok(Built::Walk(program.into_std_path_buf()));
                }
            }
        }
        bail!("cargo built no example `{WALK}` for petasos-testkit");
    }

    fn run(&self, program: &Path) -> Result<Ending> {
        let mut child = Command::new(program)
            .current_dir(&self.tree)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        let stdout = drain(child.stdout.take().context("the walk has no stdout")?);
        let stderr = drain(child.stderr.take().context("the walk has no stderr")?);
        let started = Instant::now();
        let status = loop {
            let status = child.try_wait()?;
            if status.is_some() || started.elapsed() > WALK_LIMIT {
                break status;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        let stdout = stdout.join().ok().context("the reader of the walk's stdout died")??;
        let stderr = stderr.join().ok().context("the reader of the walk's stderr died")??;
        Ok(match status {
            Some(status) if status.success() => verdict::read(&stdout),
            Some(_) => Ending::died(&format!("{stdout}\n{stderr}")),
            None => Ending::TooLong(WALK_LIMIT),
        })
    }
}

/// Reads a pipe to its end while the walk goes on: a full pipe would stop it.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<std::io::Result<String>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    })
}

enum Built {
    Walk(PathBuf),
    No(String),
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
