//! The list of situations that broke other agents, and the tests of them: a row without a test is a promise that
//! nobody keeps, a test without a row is found by nobody.
//!
//! A row belongs to the tests whose name begins with its id: A-04 to `case_a04_…`. One test may stand for several:
//! `case_d10_d11_…`.

use std::collections::BTreeMap;

use super::File;
use crate::report::Finding;

const PAGE: &str = "docs/cases.md";

pub fn check(files: &[File]) -> Vec<Finding> {
    let page = files.iter().find(|file| file.path == PAGE).map_or("", |file| file.text.as_str());
    let rows = rows(page);
    let mut tests: BTreeMap<String, String> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust() && file.is_test()) {
        let mut before = "";
        for (line, text) in (1..).zip(file.text.lines()) {
            // A helper by such a name shows nothing.
            let is_test =
                before.trim_start().starts_with("#[test") || before.trim_start().starts_with("#[tokio::test");
            before = text;
            for id in ids(text).into_iter().filter(|_| is_test) {
                tests.entry(id).or_insert_with(|| file.at(line));
            }
        }
    }
    let mut found = Vec::new();
    for (at, (line, id)) in rows.iter().enumerate() {
        let place = || format!("{PAGE}:{line}");
        if rows[..at].iter().any(|(_, other)| other == id) {
            found.push(Finding::new(place(), format!("a second row of {id}"), "make them one"));
        } else if !tests.contains_key(id) {
            let what = format!("no test's name begins with case_{id}_");
            found.push(Finding::new(place(), what, "write one, with the input of the case as it stands"));
        }
    }
    for (id, place) in tests {
        if rows.iter().all(|(_, row)| *row != id) {
            found.push(Finding::new(place, format!("case {id} has no row in {PAGE}"), "add it there"));
        }
    }
    found
}

/// The ids of the rows as tests write them, with their lines.
fn rows(page: &str) -> Vec<(usize, String)> {
    let id = |line: &str| {
        let (group, number) = line.strip_prefix("| ")?.split(" |").next()?.split_once('-')?;
        let id = format!("{}{number}", group.to_ascii_lowercase());
        is_id(&id).then_some(id)
    };
    (1..).zip(page.lines()).filter_map(|(at, line)| Some((at, id(line)?))).collect()
}

/// The ids in the name of a test that begins on this line.
fn ids(line: &str) -> Vec<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let Some(name) = line.strip_prefix("fn case_") else { return Vec::new() };
    name.split(['_', '(']).take_while(|word| is_id(word)).map(str::to_owned).collect()
}

/// A letter of a group of cases (A to K; rows of behaviour have other letters or stand elsewhere) and two digits.
fn is_id(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|letter| ('a'..='k').contains(&letter))
        && word.len() == 3
        && letters.all(|letter| letter.is_ascii_digit())
}
