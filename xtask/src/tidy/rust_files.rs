//! What holds for Rust files: limits of size, a doc at the top, and no way to wave a lint away.

use super::File;
use crate::report::Finding;
use crate::rust_text::{Token, functions, tokens};

const FILE_LINES: usize = 500;
/// Clippy's `too_many_lines` leaves out comments and blank lines, and what is read is all of them.
const FUNCTION_LINES: usize = 80;

/// The only allowances there are. The limits of lines, arguments and nesting are not among them.
pub const BLOCK: &str = "
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]
";

/// Whether a file opens with the block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowances {
    Must,
    May,
    Never,
}

fn allowances(path: &str) -> Allowances {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["crates", _, "tests", "it", "main.rs"]
        | ["crates", "petasos-testkit", "src", "lib.rs"]
        | ["xtask", "src", "main.rs"] => Allowances::Must,
        // An example is a crate of its own, so testkit's block does not reach it.
        ["crates", "petasos-testkit", "examples", _] => Allowances::May,
        // Programs that tests start are crates of their own, too.
        ["crates", _, "tests", "examples", _] => Allowances::May,
        _ => Allowances::Never,
    }
}

pub fn check(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    if !file.text.starts_with("//!") {
        found.push(Finding::new(
            file.at(1),
            "no module doc on the first line",
            "open with `//!`: what the module is for and what it promises",
        ));
    }
    let mut text = file.text.clone();
    let wanted = allowances(&file.path);
    if wanted != Allowances::Never && text.contains(BLOCK) {
        // Blank lines keep the numbers of the lines after it.
        text = text.replacen(BLOCK, &"\n".repeat(BLOCK.matches('\n').count()), 1);
    } else if wanted == Allowances::Must {
        found.push(Finding::new(
            file.at(1),
            "the fixed block of allowances is missing or changed",
            format!("put this after the module doc, as it stands:\n{BLOCK}"),
        ));
    }
    let tokens = tokens(&text);
    found.extend(attributes(file, &tokens));
    if !file.is_test() {
        found.extend(sizes(file, &tokens));
        found.extend(testkit_uses(file, &tokens));
    }
    found
}

fn sizes(file: &File, tokens: &[Token<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    let lines = file.text.lines().count();
    if lines > FILE_LINES {
        found.push(Finding::new(
            &file.path,
            format!("{lines} lines, at most {FILE_LINES}"),
            "give a part of it a file and a name of its own",
        ));
    }
    for function in functions(tokens).iter().filter(|function| function.lines > FUNCTION_LINES) {
        found.push(Finding::new(
            file.at(function.line),
            format!("fn {} has {} lines, at most {FUNCTION_LINES}", function.name, function.lines),
            "split it where its story has a break",
        ));
    }
    found
}

/// `allow` and `expect` in an attribute, also inside a `cfg_attr`, and `ignore`.
fn attributes(file: &File, tokens: &[Token<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for attribute in attribute_tokens(tokens) {
        for (at, token) in attribute.iter().enumerate() {
            let called = attribute.get(at + 1).is_some_and(|next| next.is("("));
            if (token.is("allow") || token.is("expect")) && called {
                found.push(Finding::new(
                    file.at(token.line),
                    format!("`{}` waves a lint away", token.text),
                    "do what the lint asks, or change the lint for all in a commit of its own",
                ));
            }
            if token.is("ignore") {
                found.push(Finding::new(
                    file.at(token.line),
                    "an ignored test is no test",
                    "make it fast and certain, or delete it",
                ));
            }
        }
    }
    found
}

/// The tokens between the brackets of each attribute.
fn attribute_tokens<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let open = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|next| next.is("!")));
        if !token.is("#") || !tokens.get(open).is_some_and(|next| next.is("[")) {
            continue;
        }
        let mut depth = 0_usize;
        let length = tokens[open..].iter().position(|next| {
            depth += usize::from(next.is("["));
            depth -= usize::from(next.is("]"));
            depth == 0
        });
        found.push(&tokens[open..open + length.unwrap_or(0)]);
    }
    found
}

/// Testkit depends on the crates it tests. A unit test that uses it would link its crate twice, and the
/// types of the two would not fit.
fn testkit_uses(file: &File, tokens: &[Token<'_>]) -> Option<Finding> {
    if !file.path.contains("/src/") || file.path.starts_with("crates/petasos-testkit/") {
        return None;
    }
    let used = tokens.iter().find(|token| token.is("petasos_testkit"))?;
    Some(Finding::new(
        file.at(used.line),
        "petasos_testkit is used from src/",
        "move the test to tests/it/, where the crate is linked once",
    ))
}
