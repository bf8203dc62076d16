//! Requests made by chance, before a judge that is no part of this project. By hand, not in CI: the judge may want more
//! than Rust.

use std::fs::File;
use std::process::{Child, Command, Stdio};

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
    // What cargo builds goes below the folder that it runs in, where the variable is no whole path.
    let folder = root.join(std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned()));
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
            .stderr(Stdio::piped())
            .spawn()
            .and_then(Child::wait_with_output)
            .with_context(|| format!("{python} did not start; PYTHON names another"))?;
        let said = String::from_utf8_lossy(&judged.stderr);
        eprint!("{said}");
        match verdict(judged.status.code(), &said) {
            Verdict::Good => {}
            Verdict::Refused => refused.push(wire),
            Verdict::None(why) => bail!("{validator} did not judge with {python}: {why}"),
        }
    }
    if refused.is_empty() { Ok(Outcome::Passed) } else { bail!("refused on {}", refused.join(", ")) }
}

/// What came of the validator.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Refused,
    /// It could not do its work: why, and what next.
    None(String),
}

/// What an exit code means; a program that broke down before it looked has that of a refusal.
fn verdict(code: Option<i32>, said: &str) -> Verdict {
    let missing = said.lines().find_map(|line| line.split_once("No module named "));
    match (code, missing) {
        (Some(0), _) => Verdict::Good,
        (_, Some((_, module))) => Verdict::None(format!(
            "it lacks the Python module {module}; install that, or set PYTHON to an interpreter that has it"
        )),
        (Some(1), None) if !said.contains("Traceback (most recent call last)") => Verdict::Refused,
        (Some(code), None) => Verdict::None(format!("it ended with exit code {code}")),
        (None, None) => Verdict::None("it was killed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, verdict};

    #[test]
    fn a_validator_that_could_not_look_has_not_refused() {
        let no_module = "Traceback (most recent call last):\n  File \"v.py\", line 3\nModuleNotFoundError: No module named 'openai'\n";
        let lacks =
            "it lacks the Python module 'openai'; install that, or set PYTHON to an interpreter that has it";
        for (code, said, is) in [
            (Some(0), "", Verdict::Good),
            (Some(1), "line 3: bad id\n", Verdict::Refused),
            (Some(1), no_module, Verdict::None(lacks.to_owned())),
            (
                Some(1),
                "Traceback (most recent call last):\nKeyError: 1\n",
                Verdict::None("it ended with exit code 1".to_owned()),
            ),
            (Some(2), "can't open file", Verdict::None("it ended with exit code 2".to_owned())),
            (None, "", Verdict::None("it was killed".to_owned())),
        ] {
            assert_eq!(verdict(code, said), is, "{code:?} {said}");
        }
    }
}
