//! Broken answers, a few thousand on each wire; `tests/examples/fuzz.rs` is fed more of them by hand.

use std::path::PathBuf;
use std::process::Command;

/// Inputs on each wire.
const INPUTS: &str = "3000";
/// Inputs are at most 32 KiB, so a decoder that keeps far more than it was given shows here.
const MOST_KIB: u64 = 32 << 10;

/// Cargo builds the examples of a package with its tests, but not with one test target alone.
fn example() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().with_file_name("examples").join("fuzz");
    assert!(path.exists(), "cargo build -p petasos-providers --examples comes first");
    path
}

fn check(what: &str) {
    let ran = Command::new(example()).args([what, INPUTS]).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    let most = told.trim().rsplit(' ').nth(1).and_then(|number| number.parse::<u64>().ok());
    assert!(most.is_some_and(|most| most < MOST_KIB), "{told}");
    println!("{told}");
}

#[test]
fn p03_broken_events() {
    check("sse");
}

#[test]
fn p03_broken_answers_of_chat() {
    check("chat");
}

#[test]
fn p03_broken_answers_of_responses() {
    check("responses");
}

#[test]
fn p03_broken_answers_of_messages() {
    check("messages");
}
