//! How long `search_files` takes beside `rg` on the same tree in the same run: `bench_search FOLDER [PATTERN]...`.
//!
//! Each is run once to warm the disk's cache, then in turns; the least time of each is told, with the ratio to `rg -j1`
//! and to `rg` as it comes. `rg` gets the options under which it looks at the same files. A search of ours ends at 200
//! matches, so only patterns that are rarer compare. `cargo xtask bench search` builds and starts it.

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

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use petasos_core::approval::{Action, Grants, Policy, Rule, Verdict, judge};
use petasos_core::bounded::Cap;
use petasos_core::entry::{CallForm, ModelCall};
use petasos_core::id::{CallId, Digest, Seq};
use petasos_core::text::Text;
use petasos_core::time::Time;
use petasos_tools::{BlobTrouble, BlobWriter, Blobs, Context, Options, Registry, Stop, Workspace, builtin};

const TURNS: usize = 7;
const PATTERNS: [&str; 5] = [
    "no_such_word_anywhere",
    r"fn \w+_no_such\(",
    "(?i)impossible to reach here",
    r"\bFIXME\(\w+\)$",
    "注释.计算",
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(words.first().expect("bench_search FOLDER [PATTERN]..."));
    let given: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let patterns = if given.is_empty() { PATTERNS.to_vec() } else { given };
    println!("{} in {TURNS} turns, least milliseconds of each", folder.display());
    println!(
        "{:>8} {:>8} {:>8} {:>6} {:>6}  pattern, and how ours ended",
        "ours", "rg -j1", "rg", "/ -j1", "/ rg"
    );
    for pattern in patterns {
        let searching = Searching::new(folder);
        let mut least = [Duration::MAX; 3];
        let mut ended = String::new();
        for turn in 0..=TURNS {
            let begun = Instant::now();
            ended = searching.once(pattern);
            let times = [begun.elapsed(), rg(folder, pattern, &["-j1"]), rg(folder, pattern, &[])];
            if turn > 0 {
                least = [0, 1, 2].map(|place| times[place].min(least[place]));
            }
        }
        let [ours, one, all] = least.map(|time| time.as_secs_f64() * 1000.0);
        let last = ended.lines().last().unwrap_or_default();
        println!("{ours:8.1} {one:8.1} {all:8.1} {:6.2} {:6.2}  {pattern}: {last}", ours / one, ours / all);
    }
}

fn rg(folder: &Path, pattern: &str, options: &[&str]) -> Duration {
    let mut command = Command::new("rg");
    command.args(["--no-config", "--no-require-git", "--hidden", "--line-number", "--crlf"]).args(options);
    for name in [".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".petasos"] {
        command.args(["--glob", &format!("!{name}")]);
    }
    command.args(["-e", pattern, "."]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().expect("rg is not there: apt-get install ripgrep");
    let took = begun.elapsed();
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    took
}

/// A workspace and what runs calls on it.
struct Searching {
    registry: Registry,
    runtime: tokio::runtime::Runtime,
}

impl Searching {
    fn new(folder: &Path) -> Self {
        let workspace = Arc::new(Workspace::open(folder).unwrap());
        let registry = Registry::new(builtin(workspace, Options::default()));
        Self {
            registry,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// One call, from its arguments to its result.
    fn once(&self, pattern: &str) -> String {
        let arguments = format!("{{\"pattern\":{}}}", serde_json::to_string(pattern).unwrap());
        let made = ModelCall {
            wire_id: None,
            name: Text::from("search_files"),
            arguments: Text::from(arguments),
            form: CallForm::Native,
            complete: true,
        };
        let proposal = self.registry.propose(CallId { reply: Seq(3), place: 0 }, &made).unwrap();
        let rule = Rule { tool: Text::from("*"), action: Action::Allow, name: Text::from("all") };
        let policy = Policy { rules: vec![rule], hash: Digest([0; 32]) };
        let Verdict::Allow(approved) = judge(&policy, &Grants::default(), proposal).verdict else {
            unreachable!("all is allowed")
        };
        let (_raise, stop) = Stop::new();
        let tool = self.registry.get("search_files").unwrap();
        let context = Context {
            stop,
            cap: Cap(usize::MAX),
            blobs: Arc::new(Nowhere),
            now: Time(0),
            session: Arc::default(),
        };
        self.runtime.block_on(tool.run(&approved, context)).for_model.text().to_string()
    }
}

/// No result here is kept.
#[derive(Debug)]
struct Nowhere;

impl Blobs for Nowhere {
    fn create(&self) -> BoxFuture<'_, Result<Box<dyn BlobWriter>, BlobTrouble>> {
        Box::pin(std::future::ready(Err(BlobTrouble::NotFound("any".to_owned()))))
    }

    fn read<'a>(
        &'a self,
        name: &'a str,
        _: std::ops::Range<u64>,
    ) -> BoxFuture<'a, Result<(Vec<u8>, u64), BlobTrouble>> {
        Box::pin(std::future::ready(Err(BlobTrouble::NotFound(name.to_owned()))))
    }
}
