//! How fast the store is; what is measured is the example `bench` of petasos-store.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::report::Outcome;
use crate::workspace::{cargo, metadata, must_pass};

pub fn run(folder: Option<&Path>) -> Result<Outcome> {
    must_pass(cargo()?.args([
        "build",
        "--locked",
        "--release",
        "-p",
        "petasos-store",
        "--example",
        "bench",
    ]))?;
    let built = metadata()?.target_directory.into_std_path_buf();
    let folder = folder.unwrap_or(&built);
    must_pass(Command::new(built.join("release/examples/bench")).arg(folder))?;
    Ok(Outcome::Passed)
}
