//! Nothing of the tests is left when they are over.
//!
//! While tests run this process is the child subreaper of all that they begin, so that a process which lost its parent, also
//! by `setsid` or a double fork, is below it. What is below it when the tests have ended was left by one.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use crate::report::Outcome;

/// What is on its way to its end may get there: a guardian ends a command in less than two seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process that is left.
#[derive(Debug, PartialEq, Eq)]
struct Leftover {
    pid: i32,
    parent: i32,
    /// In clock ticks since the machine began.
    began: u64,
    command: String,
}

/// Runs checks that begin processes, and is red if one is left.
pub fn watched(check: impl FnOnce() -> Result<Outcome>) -> Result<Outcome> {
    set_child_subreaper(Some(getpid())).context("xtask cannot become a child subreaper")?;
    let checked = check();
    let left = after_patience();
    set_child_subreaper(None).context("xtask cannot stop being a child subreaper")?;
    let outcome = checked?;
    if left.is_empty() {
        return Ok(outcome);
    }
    for Leftover { pid, parent, began, command } in &left {
        eprintln!("left: process {pid} below {parent}, begun at tick {began}: {command}");
        if let Some(pid) = Pid::from_raw(*pid) {
            // It may end by itself meanwhile.
            kill_process(pid, Signal::KILL).ok();
        }
    }
    bail!("{} process(es) of the tests are left, listed above; find the test that began them", left.len());
}

fn after_patience() -> Vec<Leftover> {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = below(getpid().as_raw_nonzero().get());
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// All processes below one that have not ended.
fn below(root: i32) -> Vec<Leftover> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut others: Vec<Leftover> =
        entries.flatten().filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect();
    let mut found: Vec<Leftover> = Vec::new();
    loop {
        let is_below = |process: &Leftover| {
            process.parent == root || found.iter().any(|above| above.pid == process.parent)
        };
        let (new, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_below);
        if new.is_empty() {
            return found;
        }
        found.extend(new);
        others = rest;
    }
}

fn read(pid: i32) -> Option<Leftover> {
    let stat = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
    let (name, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    // One that has ended and is waited for by nobody holds nothing but its number.
    if fields.first()?.starts_with(['Z', 'X']) {
        return None;
    }
    let words = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).ok()?).replace('\0', " ");
    let command = if words.trim().is_empty() { name.to_owned() } else { words.trim().to_owned() };
    let (parent, began) = (fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?);
    Some(Leftover { pid, parent, began, command })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{WaitOptions, wait};

    use super::watched;
    use crate::report::Outcome;

    /// One test: being a subreaper is a property of the process, as are its children.
    #[test]
    fn what_a_check_leaves_is_found_also_in_a_session_of_its_own() {
        let clean = || {
            Command::new("true").status().unwrap();
            Ok(Outcome::Passed)
        };
        assert_eq!(watched(clean).unwrap(), Outcome::Passed);
        let leaves = || {
            Command::new("sh").args(["-c", "setsid sleep 300 >/dev/null 2>&1 &"]).status().unwrap();
            Ok(Outcome::Passed)
        };
        let error = watched(leaves).unwrap_err().to_string();
        assert!(error.starts_with("1 process(es) of the tests are left"), "{error}");
        wait(WaitOptions::empty()).unwrap();
        assert_eq!(watched(clean).unwrap(), Outcome::Passed);
    }
}
