//! Requests made by chance, before a judge that is no part of this project. By hand, not in CI: the judge may want more
//! than Rust.

use std::fs::File;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::report::Outcome;
use crate::workspace::root;

const WIRES: [&str; 3] = ["chat", "responses", "messages"];

/// Makes so many requests on each wire, and has the validator judge them: a Python program that takes a file of JSON
/// lines, and whose exit code is 0 if all are good. `PYTHON` names another interpreter than python3.
pub fn run(validator: &str, count: u64) -> Result<Outcome> {
    let root = root()?;
    let build =
        ["build", "--release", "--locked", "-p", "petasos-providers", "--example", "generated_requests"];
    let built = Command::new(env!("CARGO")).args(build).current_dir(&root).status()?;
    if !built.success() {
        bail!("the example generated_requests does not build");
    }
    let folder = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), Into::into);
    let example = folder.join("release/examples/generated_requests");
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut refused = Vec::new();
    for wire in WIRES {
        let path = folder.join(format!("generated-{wire}.jsonl"));
        let file = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
        let made = Command::new(&example)
            .args([wire, &count.to_string()])
            .stdout(file)
            .status()
            .with_context(|| format!("{} did not start", example.display()))?;
        if !made.success() {
            bail!("no requests on {wire} were made");
        }
        println!("{wire}: {count} requests in {}", path.display());
        let judged = Command::new(&python)
            .args([validator, "--quiet"])
            .arg(&path)
            .status()
            .with_context(|| format!("{python} did not start; PYTHON names another"))?;
        if !judged.success() {
            refused.push(wire);
        }
    }
    if refused.is_empty() { Ok(Outcome::Passed) } else { bail!("refused on {}", refused.join(", ")) }
}
