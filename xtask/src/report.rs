//! How a check answers: passed, left out for want of a tool, or the list of what is broken.

use std::fmt;

use anyhow::{Result, bail};

/// What a check that did not fail has to say.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// The check needs a tool that is not on this machine; a check that is left out is red under `CI`.
    LeftOut(String),
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A path with its line, or the name of a crate.
    pub place: String,
    /// What was wanted and what was met.
    pub what: String,
    /// The way out.
    pub next: String,
}

impl Finding {
    pub fn new(place: impl Into<String>, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), next: next.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    {}\n    next: {}", self.place, self.what, self.next)
    }
}

/// Prints what was found and turns it into the check's answer.
pub fn settle(check: &str, seen: &str, findings: &[Finding]) -> Result<Outcome> {
    for finding in findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("{check}: {seen}, nothing found");
            Ok(Outcome::Passed)
        }
        count => bail!("{check} found {count} broken rule(s), listed above; rules: STYLE.md 21"),
    }
}

/// Whether a check that is left out counts as failed: it does where `CI` is set.
pub fn strict() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "1" || value == "true")
}
