//! The licence of every package in the graph, those of tests and tools included.
//!
//! The evaluator is our own, sixty lines. The crate `spdx` knows the names and texts of all licences, which a
//! list of nine has no use for.

use anyhow::{Result, bail};

use crate::report::{Finding, Outcome, settle};
use crate::workspace::metadata;

/// What we link. A new one is a decision of the project, not of who adds a crate.
const ALLOWED: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "MPL-2.0",
    "CDLA-Permissive-2.0",
];
const OURS: &str = "MIT OR Apache-2.0";

pub fn run() -> Result<Outcome> {
    let metadata = metadata()?;
    let mut found = Vec::new();
    for package in &metadata.packages {
        let ours = metadata.workspace_members.contains(&package.id);
        let place = format!("{} {}", package.name, package.version);
        found.extend(check(&place, package.license.as_deref(), ours));
    }
    settle("licences", &format!("{} packages", metadata.packages.len()), &found)
}

fn check(place: &str, expression: Option<&str>, ours: bool) -> Option<Finding> {
    let Some(expression) = expression else {
        return Some(Finding::new(place, "names no licence", "use another crate, or set `license`"));
    };
    if ours {
        return (expression != OURS).then(|| {
            Finding::new(place, format!("is ours and says `{expression}`"), format!("write `{OURS}`"))
        });
    }
    let next = "use another crate; the list of licences is in xtask/src/licences.rs";
    match allows(expression) {
        Ok(true) => None,
        Ok(false) => Some(Finding::new(place, format!("`{expression}` is not on the list"), next)),
        Err(error) => Some(Finding::new(place, format!("`{expression}` cannot be read: {error}"), next)),
    }
}

/// Whether an SPDX expression can be met by the list. The old `A/B` means `A OR B`.
fn allows(expression: &str) -> Result<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words };
    let allowed = reader.any()?;
    match reader.words.first() {
        None => Ok(allowed),
        Some(word) => bail!("`{word}` is where nothing is expected"),
    }
}

/// `AND` binds tighter than `OR`, `WITH` tighter than both.
struct Reader<'a> {
    words: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn take(&mut self, wanted: &str) -> bool {
        let found = self.words.first() == Some(&wanted);
        self.words = &self.words[usize::from(found)..];
        found
    }

    fn any(&mut self) -> Result<bool> {
        let mut allowed = self.all()?;
        while self.take("OR") {
            allowed |= self.all()?;
        }
        Ok(allowed)
    }

    fn all(&mut self) -> Result<bool> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Ok(allowed)
    }

    fn one(&mut self) -> Result<bool> {
        if self.take("(") {
            let allowed = self.any()?;
            if !self.take(")") {
                bail!("a parenthesis is not closed");
            }
            return Ok(allowed);
        }
        let licence = self.name()?;
        // An exception only gives more than the licence it stands beside.
        if self.take("WITH") {
            self.name()?;
        }
        Ok(ALLOWED.contains(&licence))
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.words.split_first() {
            Some((name, rest)) if !["OR", "AND", "WITH", ")"].contains(name) => {
                self.words = rest;
                Ok(name)
            }
            _ => bail!("a name of a licence is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_expression(expression: &str, wanted: bool) {
        assert_eq!(allows(expression).unwrap(), wanted, "{expression}");
    }

    #[test]
    fn one_of_several_is_enough_and_all_of_a_pair_are_needed() {
        check_expression("MIT", true);
        check_expression("GPL-3.0-only", false);
        check_expression("GPL-3.0-only OR MIT", true);
        check_expression("Unlicense/MIT", true);
        check_expression("MIT AND GPL-3.0-only", false);
        check_expression("MIT OR Apache-2.0 AND GPL-3.0-only", true);
        check_expression("(MIT OR Apache-2.0) AND GPL-3.0-only", false);
        check_expression("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check_expression("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true);
        check_expression("GPL-2.0-only WITH Classpath-exception-2.0", false);
        check_expression("mit", false);
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for expression in ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "AND MIT", "MIT WITH"] {
            assert!(allows(expression).is_err(), "{expression}");
        }
    }

    #[test]
    fn ours_say_both_and_every_package_says_something() {
        assert_eq!(check("petasos-core 0.1.0", Some("MIT OR Apache-2.0"), true), None);
        assert!(check("petasos-core 0.1.0", Some("MIT"), true).is_some());
        assert_eq!(check("a 1.0.0", Some("MIT"), false), None);
        assert!(check("a 1.0.0", None, false).is_some());
        assert!(check("a 1.0.0", Some("LGPL-3.0-only"), false).is_some());
    }
}
