//! The rules of this repository, executed: `cargo xtask ci` runs all of them, each also goes by itself.
//!
//! Nothing here is linked into Petasos. A check says what is wrong, where, and what to do next.

// The one block of allowances, the same in tests, testkit and xtask and checked by `cargo xtask tidy`:
// here a panic is a failed check, and a terminal is where the output goes.
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

mod bench;
mod ci;
mod faults;
mod layering;
mod leftovers;
mod licences;
mod report;
mod requests;
mod rust_text;
mod soak;
mod syncs;
mod tidy;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use report::Outcome;

const USAGE: &str = "\
cargo xtask <check>

  ci         all checks of STYLE.md rule 21, with their seconds
  tidy       lines, functions, allowances, tests' places, texts
  layering   who may use what (architecture: crates and the direction of dependencies)
  faults     plants each fault of crates/petasos-core/tests/faults and wants the walk to catch it
             --only NN   the one whose file starts with NN
  licences   the licence of every package in the graph
  syncs      the order of writes and syncs of the real store, seen by strace

By hand, no part of ci:

  bench store [FOLDER]   how fast the store is on that folder's disk, beside plain SQLite; in target/ without one
  bench search [FOLDER]  how fast search_files is in that folder, beside rg; in target/ without one
  requests VALIDATOR [COUNT]   so many requests on each wire (10000), judged by that Python program
  soak       kills the binary at random and goes on, until nothing is left to do; tells what was lost or doubled
             --minutes N   how long (1)
             --seed S      of the runs (1)
             --only RUN    the one run of that seed
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match words.as_slice() {
        ["ci"] => ci::run().map(|()| Outcome::Passed),
        ["tidy"] => tidy::run(),
        ["layering"] => layering::run(),
        ["faults"] => faults::run(faults::Which::All),
        ["faults", "--only", number] => faults::run(faults::Which::Only(number)),
        ["licences"] => licences::run(),
        ["syncs"] => syncs::run(),
        ["bench", "store"] => bench::store(None),
        ["bench", "store", folder] => bench::store(Some(Path::new(folder))),
        ["bench", "search"] => bench::search(None),
        ["bench", "search", folder] => bench::search(Some(Path::new(folder))),
        ["requests", validator] => requests::run(validator, 10_000),
        ["requests", validator, count] => match count.parse() {
            Ok(count) => requests::run(validator, count),
            Err(error) => Err(anyhow::anyhow!("{count} is no count: {error}")),
        },
        ["soak", rest @ ..] => soak::Soak::parse(rest).and_then(|soak| soak::run(&soak)),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match answer {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::LeftOut(why)) => {
            eprintln!("\nleft out: {why}");
            if report::strict() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
