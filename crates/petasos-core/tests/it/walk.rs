//! Every state of three small worlds.

use petasos_core::stop::FailureKind;
use petasos_core::tool::Outcome;
use petasos_testkit::walk::{Until, Walked, walk};
use petasos_testkit::words::terms;
use petasos_testkit::world::{Cuts, Deciding, Left, Menu, Replying};

const NOTHING: Left = Left { crashes: 0, fails: 0, steers: 0, follow_ups: 0, interrupts: 0, continues: 0 };

fn three_calls() -> Walked {
    let menu = Menu {
        name: "three calls, one step",
        replies: &[Replying::Text, Replying::Calls(3)],
        closing: &[Replying::Text],
        failures: &[],
        pieces: &[],
        tools: &["read", "write", "ask_alone"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[Deciding::Yes, Deciding::No],
        cuts: Cuts::KillAndPower,
        left: Left { interrupts: 1, ..NOTHING },
    };
    walk(&menu, &terms(1), 6_000_000, Until::FirstFinding)
}

fn two_calls() -> Walked {
    let menu = Menu {
        name: "two calls, two steps, kill and power cut",
        replies: &[Replying::Text, Replying::Calls(1), Replying::Calls(2)],
        closing: &[Replying::Text],
        failures: &[],
        pieces: &[],
        tools: &["read", "write"],
        outcomes: &[Outcome::Ok],
        probes: &[Outcome::Ok],
        decisions: &[Deciding::Yes],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 1, ..NOTHING },
    };
    walk(&menu, &terms(2), 6_000_000, Until::FirstFinding)
}

fn one_call() -> Walked {
    let menu = Menu {
        name: "one call, three steps, failing disk, two crashes, two steers",
        replies: &[Replying::Text, Replying::Calls(1)],
        closing: &[Replying::Text, Replying::Empty],
        failures: &[],
        pieces: &[],
        tools: &["write"],
        outcomes: &[Outcome::Ok],
        probes: &[Outcome::Ok],
        decisions: &[Deciding::Yes],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 2, fails: 1, steers: 1, ..NOTHING },
    };
    walk(&menu, &terms(3), 6_000_000, Until::FirstFinding)
}

fn check(walked: &Walked) {
    println!("{walked}");
    assert!(walked.findings.is_empty(), "{}", walked.findings.report());
}

#[test]
fn three_calls_in_one_step() {
    check(&three_calls());
}

#[test]
fn two_calls_in_two_steps_with_kill_and_power_cut() {
    check(&two_calls());
}

#[test]
fn one_call_in_three_steps_with_all_that_can_fail() {
    check(&one_call());
}
