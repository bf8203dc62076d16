//! What came of a planted fault, and whether all of them together show that each invariant is needed.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use anyhow::{Result, bail};

use super::Which;
use super::patch::names;
use crate::report::Outcome;

/// How a walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By these invariants; none is a walk that found nothing.
    Caught(BTreeSet<String>),
    NotApplied(String),
    NotCompiled(String),
    TooLong(Duration),
    /// The walk died, or printed no line that says what it caught.
    Silent(String),
}

impl Ending {
    /// A walk that has no answer, with the end of what it said instead.
    pub fn died(output: &str) -> Self {
        let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        Self::Silent(lines[lines.len().saturating_sub(25)..].join("\n"))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(by) => write!(f, "caught by {}", shown(by)),
            Self::NotApplied(why) => write!(f, "the patch no longer applies: {why}"),
            Self::NotCompiled(why) => write!(f, "does not compile:\n{why}"),
            Self::TooLong(limit) => write!(f, "the walk was killed after {} s", limit.as_secs()),
            Self::Silent(text) => write!(f, "the walk did not say what it caught; its last words:\n{text}"),
        }
    }
}

/// A fault, by its file.
#[derive(Clone, Debug)]
pub struct Planted {
    pub name: String,
    pub fault: String,
    pub expected: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub struct Round {
    pub planted: Planted,
    pub ending: Ending,
    pub seconds: f32,
}

/// Reads the walk's line, wherever it stands: the test harness may write on the same line before it.
pub fn read(output: &str) -> Ending {
    let line = output.lines().find_map(|line| line.split_once("walk caught: "));
    match line {
        Some((_, "nothing")) => Ending::Caught(BTreeSet::new()),
        Some((_, caught)) => Ending::Caught(names(caught)),
        None => Ending::died(output),
    }
}

/// Prints the tables and says whether all is as it should be.
pub fn settle(rounds: &[Round], spoken: &BTreeSet<String>, which: Which<'_>) -> Result<Outcome> {
    println!("\n{:<44} | caught by", "fault");
    for round in rounds {
        let Ending::Caught(by) = &round.ending else {
            println!("{:<44} | no answer", round.planted.name);
            continue;
        };
        println!("{:<44} | {}", round.planted.name, shown(by));
    }
    let mut wrong: Vec<String> = rounds.iter().filter_map(problem).collect();
    wrong.extend(unlisted(rounds, spoken));
    if matches!(which, Which::All) {
        println!("\ninvariant that is the only one to catch some fault");
        let alone = alone(rounds);
        for invariant in spoken.union(&alone) {
            println!("alone: {invariant} {}", if alone.contains(invariant) { "yes" } else { "no" });
        }
        wrong.extend(spoken.difference(&alone).map(|invariant| {
            format!("{invariant} is nowhere the only one to catch a fault; add a fault that only it sees")
        }));
    }
    for text in &wrong {
        eprintln!("{text}");
    }
    match wrong.len() {
        0 => Ok(Outcome::Passed),
        count => bail!(
            "{count} problem(s) with planted faults, listed above; one alone: `cargo xtask faults --only NN`"
        ),
    }
}

fn problem(round: &Round) -> Option<String> {
    let name = &round.planted.name;
    match &round.ending {
        Ending::Caught(by) if by == &round.planted.expected => None,
        Ending::Caught(by) if by.is_empty() => Some(format!(
            "{name} is caught by nothing ({}); the walk must learn to see it",
            round.planted.fault
        )),
        Ending::Caught(by) => Some(format!(
            "{name} is caught by {}, not by {}; find out why, then write the true set into the file",
            shown(by),
            shown(&round.planted.expected)
        )),
        other => Some(format!("{name}: {other}")),
    }
}

fn unlisted(rounds: &[Round], spoken: &BTreeSet<String>) -> Vec<String> {
    let mut caught = BTreeSet::new();
    for round in rounds {
        if let Ending::Caught(by) = &round.ending {
            caught.extend(by.iter().cloned());
        }
    }
    caught
        .difference(spoken)
        .map(|invariant| {
            format!("{invariant} catches a fault and is not in the file INVARIANTS; add it there")
        })
        .collect()
}

fn alone(rounds: &[Round]) -> BTreeSet<String> {
    rounds
        .iter()
        .filter_map(|round| match &round.ending {
            Ending::Caught(by) if by.len() == 1 => by.first().cloned(),
            _ => None,
        })
        .collect()
}

/// I10 after I9.
fn shown(invariants: &BTreeSet<String>) -> String {
    let mut sorted: Vec<&str> = invariants.iter().map(String::as_str).collect();
    sorted.sort_by_key(|name| (name.len(), *name));
    if sorted.is_empty() { "nothing".to_owned() } else { sorted.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(expected: &str, ending: Ending) -> Round {
        let planted = Planted { name: "01-a".into(), fault: "a".into(), expected: names(expected) };
        Round { planted, ending, seconds: 0.0 }
    }

    fn caught(expected: &str, by: &str) -> Round {
        round(expected, Ending::Caught(names(by)))
    }

    #[track_caller]
    fn check(rounds: &[Round], spoken: &str, which: Which<'_>, wanted: bool) {
        assert_eq!(settle(rounds, &names(spoken), which).is_ok(), wanted);
    }

    #[test]
    fn the_line_of_the_walk_is_found() {
        assert_eq!(read("test a ... walk caught: I3 I10\nok\n"), Ending::Caught(names("I3 I10")));
        assert_eq!(read("walk caught: nothing\n"), Ending::Caught(BTreeSet::new()));
        assert_eq!(read("a\nb\n"), Ending::Silent("a\nb".into()));
    }

    #[test]
    fn a_fault_is_caught_by_exactly_what_its_file_says() {
        check(&[caught("I3", "I3")], "I3", Which::All, true);
        check(&[caught("I3", "I3"), caught("I3", "")], "I3", Which::All, false);
        check(&[caught("I3", "I3"), caught("I3 I4", "I3")], "I3", Which::All, false);
        check(&[caught("I3", "I3"), round("I3", Ending::NotApplied("a".into()))], "I3", Which::All, false);
        check(&[caught("I3", "I3"), round("I3", Ending::TooLong(Duration::ZERO))], "I3", Which::All, false);
    }

    #[test]
    fn each_invariant_is_once_the_only_one() {
        check(&[caught("I3 I4", "I3 I4"), caught("I3", "I3")], "I3 I4", Which::All, false);
        check(&[caught("I4", "I4"), caught("I3", "I3")], "I3 I4", Which::All, true);
        check(&[caught("I4", "I4")], "I3 I4", Which::Only("01"), true);
        check(&[caught("I3", "I3"), caught("I4", "I4")], "I3", Which::All, false);
    }

    #[test]
    fn invariants_are_told_in_their_order() {
        assert_eq!(shown(&names("I10 I9 I3")), "I3 I9 I10");
    }
}
