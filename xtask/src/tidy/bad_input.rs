//! README's table of what users get wrong, and the tests of it: a row without its test is a promise that nobody keeps.
//!
//! A row belongs to the test that is named after its first cell: "The prompt is empty" to
//! `bad_input_the_prompt_is_empty`.

use super::File;
use crate::report::Finding;

const PAGE: &str = "README.md";
const SECTION: &str = "## When something is wrong";
const TESTS: &str = "crates/petasos-cli/tests/it/bad_input.rs";

pub fn check(files: &[File]) -> Vec<Finding> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let (rows, tests) = (rows(text(PAGE)), tests(text(TESTS)));
    let untested = rows.iter().filter(|(_, row)| tests.iter().all(|(_, test)| test != row));
    let untold = tests.iter().filter(|(_, test)| rows.iter().all(|(_, row)| row != test));
    let doubled =
        rows.iter().enumerate().filter(|(at, (_, row))| rows[..*at].iter().any(|(_, other)| other == row));
    let finding = |path: &str, line: usize, what: String, next: &str| {
        Finding::new(format!("{path}:{line}"), what, next)
    };
    let mut found = Vec::new();
    found.extend(untested.map(|(line, row)| {
        finding(
            PAGE,
            *line,
            format!("the row has no test {row}"),
            "write it in tests/it/bad_input.rs of petasos-cli",
        )
    }));
    found.extend(
        doubled
            .map(|(_, (line, row))| finding(PAGE, *line, format!("a second row of {row}"), "make them one")),
    );
    found.extend(untold.map(|(line, test)| {
        finding(
            TESTS,
            *line,
            format!("{test} has no row in {PAGE}"),
            "add it under \"When something is wrong\"",
        )
    }));
    found
}

/// The names of the tests that the rows want, with their lines.
fn rows(page: &str) -> Vec<(usize, String)> {
    let lines = (1..).zip(page.lines()).skip_while(|(_, line)| *line != SECTION).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    // The first two lines of a table are its head.
    let table = section.filter(|(_, line)| line.starts_with('|')).skip(2);
    table
        .map(|(at, line)| (at, format!("bad_input_{}", slug(line.split('|').nth(1).unwrap_or("")))))
        .collect()
}

fn slug(cell: &str) -> String {
    let words = cell.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

fn tests(text: &str) -> Vec<(usize, String)> {
    let name = |line: &str| {
        let name = line.strip_prefix("fn bad_input_")?.split('(').next()?;
        Some(format!("bad_input_{name}"))
    };
    (1..).zip(text.lines()).filter_map(|(at, line)| Some((at, name(line)?))).collect()
}
