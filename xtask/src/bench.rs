//! How fast the store and the search are; what is measured are an example of petasos-store and one of
//! petasos-tools.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::report::Outcome;
use crate::workspace::{cargo, metadata, must_pass};

/// The store on the disk of that folder, beside plain SQLite.
pub fn store(folder: Option<&Path>) -> Result<Outcome> {
    run(["petasos-store", "bench"], folder)
}

/// `search_files` in that folder, beside `rg`.
pub fn search(folder: Option<&Path>) -> Result<Outcome> {
    run(["petasos-tools", "bench_search"], folder)
}

fn run([package, example]: [&str; 2], folder: Option<&Path>) -> Result<Outcome> {
    must_pass(cargo()?.args(["build", "--locked", "--release", "-p", package, "--example", example]))?;
    let built: PathBuf = metadata()?.target_directory.into_std_path_buf();
    let folder = folder.unwrap_or(&built);
    must_pass(Command::new(built.join("release/examples").join(example)).arg(folder))?;
    Ok(Outcome::Passed)
}
