//! Every state of a few small worlds, each invariant looked at in each.

use petasos_core::session::Terms;
use petasos_testkit::walk::{Until, walk};
use petasos_testkit::walks::{
    MOST, failing_model, odd_model, one_call, parked, repeating_model, three_calls, two_calls,
};
use petasos_testkit::world::Menu;

fn check((menu, terms): (Menu, Terms)) {
    let walked = walk(&menu, &terms, MOST, Until::FirstFinding);
    println!("{walked}");
    assert!(walked.findings.is_empty(), "{}", walked.findings.report());
}

#[test]
fn three_calls_in_one_step() {
    check(three_calls());
}

#[test]
fn two_calls_in_two_steps_with_kill_and_power_cut() {
    check(two_calls());
}

#[test]
fn one_call_in_three_steps_with_all_that_can_fail() {
    check(one_call());
}

#[test]
fn a_model_that_answers_oddly() {
    check(odd_model());
}

#[test]
fn a_model_that_fails() {
    check(failing_model());
}

#[test]
fn a_model_that_repeats_itself() {
    check(repeating_model());
}

#[test]
fn calls_that_ask_when_nobody_is_there() {
    check(parked());
}
