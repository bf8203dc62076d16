//! All checks of STYLE.md rule 21, those that people trip over first, the long one last.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::report::{Outcome, strict};
use crate::workspace::{cargo, must_pass};
use crate::{faults, layering, leftovers, licences, syncs, tidy};

type Check = fn() -> Result<Outcome>;

const CHECKS: [(&str, Check); 9] = [
    ("fmt", || passes(&["fmt", "--all", "--check"])),
    ("clippy", || {
        passes(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"])
    }),
    // Examples first: the binary's tests run one of them. Then unit tests and integration tests, of which no process
    // may be left.
    ("tests", || {
        passes(&["build", "--workspace", "--examples", "--locked"])?;
        leftovers::watched(|| passes(&["test", "--workspace", "--tests", "--locked"]))
    }),
    ("doc tests", || passes(&["test", "--workspace", "--doc", "--locked"])),
    ("tidy", tidy::run),
    ("layering", layering::run),
    ("licences", licences::run),
    ("syncs", syncs::run),
    ("faults", || faults::run(faults::Which::All)),
];

/// How a check ended, for the table at the end.
enum Ended {
    Passed,
    LeftOut(String),
    Failed(String),
    NotRun,
}

pub fn run() -> Result<()> {
    let mut rows = Vec::new();
    for (name, check) in CHECKS {
        if rows.iter().any(|(_, ended, _)| matches!(ended, Ended::Failed(_))) {
            rows.push((name, Ended::NotRun, 0.0));
            continue;
        }
        println!("\n==== {name} ====");
        let started = Instant::now();
        let ended = match check() {
            Ok(Outcome::Passed) => Ended::Passed,
            Ok(Outcome::LeftOut(why)) if strict() => Ended::Failed(format!("left out, and CI is set: {why}")),
            Ok(Outcome::LeftOut(why)) => Ended::LeftOut(why),
            Err(error) => Ended::Failed(format!("{error:#}")),
        };
        let seconds = started.elapsed().as_secs_f32();
        println!("==== {name}: {seconds:.1} s ====");
        rows.push((name, ended, seconds));
    }
    summary(&rows)
}

fn summary(rows: &[(&str, Ended, f32)]) -> Result<()> {
    println!("\ncheck      | seconds | result");
    let mut failed = None;
    for (name, ended, seconds) in rows {
        let result = match ended {
            Ended::Passed => "passed".to_owned(),
            Ended::LeftOut(why) => format!("LEFT OUT: {why}"),
            Ended::NotRun => "not run".to_owned(),
            Ended::Failed(why) => {
                failed = Some((name, why));
                "FAILED".to_owned()
            }
        };
        println!("{name:<10} | {seconds:>7.1} | {result}");
    }
    if let Some((name, why)) = failed {
        bail!("{name}: {why}\nnext: mend it, then run `{}`; then `cargo xtask ci` for the rest", alone(name));
    }
    Ok(())
}

/// The command that runs one check by itself.
fn alone(name: &str) -> &str {
    match name {
        "fmt" => "cargo fmt --all",
        "clippy" => "cargo clippy --workspace --all-targets",
        "tests" => "cargo test --workspace --tests",
        "doc tests" => "cargo test --workspace --doc",
        "tidy" => "cargo xtask tidy",
        "layering" => "cargo xtask layering",
        "licences" => "cargo xtask licences",
        "syncs" => "cargo xtask syncs",
        _ => "cargo xtask faults",
    }
}

fn passes(arguments: &[&str]) -> Result<Outcome> {
    must_pass(cargo()?.args(arguments))?;
    Ok(Outcome::Passed)
}
