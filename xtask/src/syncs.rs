//! Looks at the real store from outside: strace tells when a line is written and when it is synced.
//!
//! The driver is an example of testkit. It runs a few turns over a store on disk and writes what it is about
//! to do to stderr, so that its words stand in the same trace as its system calls:
//!
//! ```text
//! MARK acting on 3.0            the tool of call 3.0 is started now
//! MARK free step begins         a step whose calls are all free to run again
//! MARK free step ends
//! ```
//!
//! What must hold is in [`order`].

mod order;
mod trace;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::report::{Finding, Outcome, settle};
use crate::workspace::{cargo, has_program, metadata, must_pass, root};

const DRIVER: &str = "sync_driver";

pub fn run() -> Result<Outcome> {
    if !has_program("strace") {
        return Ok(Outcome::LeftOut(
            "strace is not installed, so nothing checked that a line is on disk before it is acted on; \
             on Debian: apt-get install strace"
                .to_owned(),
        ));
    }
    // Of the whole workspace, so that the crates it needs are the ones that the tests built.
    must_pass(cargo()?.args(["build", "--locked", "--workspace", "--example", DRIVER]))?;
    let target = metadata()?.target_directory.into_std_path_buf();
    let folder = target.join("syncs");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("{} cannot be emptied", folder.display()))?;
    }
    let scratch = folder.join("scratch");
    std::fs::create_dir_all(&scratch).with_context(|| format!("{} cannot be made", scratch.display()))?;
    let record = folder.join("trace");
    drive(&target.join("debug/examples").join(DRIVER), &scratch, &record)?;
    let text = std::fs::read(&record).with_context(|| format!("{} cannot be read", record.display()))?;
    let calls = trace::parse(&String::from_utf8_lossy(&text));
    let seen = order::check(&calls);
    for line in &seen.held {
        println!("  {line}");
    }
    let next = format!("read the trace in {}", record.strip_prefix(root()?).unwrap_or(&record).display());
    let findings: Vec<Finding> =
        seen.broken.iter().map(|what| Finding::new(DRIVER, what.as_str(), next.as_str())).collect();
    settle("syncs", &format!("{} system calls", calls.len()), &findings)
}

fn drive(driver: &Path, scratch: &Path, record: &Path) -> Result<()> {
    let output = Command::new("strace")
        // All threads, paths beside descriptors, and lines of a log whole.
        .args(["-f", "-y", "-s", "65536", "-e", "trace=fdatasync,fsync,write,writev,pwrite64,openat", "-o"])
        .arg(record)
        .arg(driver)
        .arg(scratch)
        .output()
        .context("strace could not be started")?;
    if !output.status.success() {
        bail!(
            "{DRIVER} under strace ended with {}; its last words: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}
