//! Sessions that are ended at random for a while; what does it, and what must hold, is the example `soak` of the CLI.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::report::Outcome;
use crate::workspace::{cargo, metadata, must_pass};

/// How long, from which seed, and whether it is one run alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soak {
    seconds: u64,
    seed: u64,
    only: Option<u64>,
}

impl Soak {
    /// Reads `--minutes N [--seed S] [--only RUN]`, in any order.
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut soak = Self { seconds: 60, seed: 1, only: None };
        for pair in words.chunks(2) {
            let [name, value] = pair else { bail!("{} has no value", pair.join(" ")) };
            let number: u64 = value.parse().with_context(|| format!("{value} is no number"))?;
            match *name {
                "--minutes" => soak.seconds = number * 60,
                "--seed" => soak.seed = number,
                "--only" => soak.only = Some(number),
                other => bail!("soak knows no {other}; it takes --minutes, --seed and --only"),
            }
        }
        Ok(soak)
    }
}

pub fn run(soak: &Soak) -> Result<Outcome> {
    must_pass(cargo()?.args(["build", "--locked", "-p", "petasos-cli", "--bins", "--examples"]))?;
    let built = metadata()?.target_directory.into_std_path_buf().join("debug");
    let examples = built.join("examples");
    let mut command = Command::new(examples.join("soak"));
    command.arg(built.join("petasos")).arg(examples.join("on_a_bad_disk"));
    command.args([soak.seconds.to_string(), soak.seed.to_string()]);
    command.args(soak.only.map(|run| run.to_string()));
    must_pass(&mut command)?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::Soak;

    #[test]
    fn its_words_are_read_in_any_order() {
        let soak = Soak::parse(&["--seed", "7", "--minutes", "2"]).unwrap();
        assert_eq!(soak, Soak { seconds: 120, seed: 7, only: None });
        let soak = Soak::parse(&["--only", "9"]).unwrap();
        assert_eq!(soak, Soak { seconds: 60, seed: 1, only: Some(9) });
        for wrong in [&["--minutes"][..], &["--minutes", "long"], &["--hours", "1"]] {
            assert!(Soak::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
