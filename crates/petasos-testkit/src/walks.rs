//! The small worlds that are walked in full: profiles instead of one product of everything.

use crate::words::{target, terms};
use crate::world::{Cuts, Deciding, Left, Menu, Replying};
use petasos_core::budget::Limits;
use petasos_core::session::Terms;
use petasos_core::stop::FailureKind;
use petasos_core::time::Span;
use petasos_core::tool::Outcome;
use petasos_core::turn::{Guards, Mode};

/// More states than a sound core has in any of these worlds (the largest has 60,000).
pub const MOST: usize = 100_000;

const NOTHING: Left = Left { crashes: 0, fails: 0, steers: 0, follow_ups: 0, interrupts: 0, continues: 0 };

/// Guards remember the calls of a turn, which would make two states of each: they have a world of their own.
fn unguarded(steps: u32) -> Terms {
    let terms = terms(steps);
    Terms { mode: Mode { guards: Guards::Off, ..terms.mode }, ..terms }
}

/// Three calls of all sorts in one step: what may run beside what, asked, denied, stopped, parked.
pub fn three_calls() -> (Menu, Terms) {
    let menu = Menu {
        name: "three calls, one step",
        replies: &[Replying::Text, Replying::Calls(3), Replying::CutCalls(2)],
        closing: &[Replying::Text, Replying::Calls(1)],
        failures: &[],
        pieces: &[Replying::Text, Replying::Calls(1)],
        tools: &["read", "write", "other_write", "ask_alone", "deny_write"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[Deciding::Yes, Deciding::No, Deciding::NoAndStop],
        cuts: Cuts::KillAndPower,
        left: Left { interrupts: 1, ..NOTHING },
    };
    (menu, unguarded(1))
}

/// Two calls in each of two steps, and a crash at any state, cut at any entry.
pub fn two_calls() -> (Menu, Terms) {
    let menu = Menu {
        name: "two calls, two steps, kill and power cut",
        replies: &[Replying::Text, Replying::Calls(1), Replying::Calls(2)],
        closing: &[Replying::Text],
        failures: &[],
        pieces: &[Replying::Text],
        tools: &["read", "write", "probed"],
        outcomes: &[Outcome::Ok],
        probes: &[Outcome::Ok, Outcome::Unknown],
        decisions: &[Deciding::Yes, Deciding::No],
        cuts: Cuts::Everywhere,
        left: Left { crashes: 1, interrupts: 1, ..NOTHING },
    };
    (menu, unguarded(2))
}

/// One call in each of three steps, and everything around it that can fail.
pub fn one_call() -> (Menu, Terms) {
    let menu = Menu {
        name: "one call, three steps, failing disk, two crashes, two steers",
        replies: &[Replying::Text, Replying::Calls(1)],
        closing: &[Replying::Text, Replying::Empty],
        failures: &[],
        pieces: &[],
        tools: &["write"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 2, fails: 1, steers: 2, ..NOTHING },
    };
    (menu, unguarded(3))
}

/// A model that answers oddly: nothing, too much, cut, refused; and a limit of time.
pub fn odd_model() -> (Menu, Terms) {
    let menu = Menu {
        name: "odd model, time that runs out, one crash",
        replies: &[Replying::Text, Replying::Empty, Replying::Cut, Replying::CutCalls(1), Replying::Refusal],
        closing: &[Replying::Text, Replying::Calls(1)],
        failures: &[],
        pieces: &[],
        tools: &["read"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 1, continues: 1, ..NOTHING },
    };
    let limits = Limits { time: Some(Span(50_000)), ..terms(7).limits };
    (menu, Terms { limits, ..unguarded(7) })
}

/// A model that fails, with a fallback, a follow-up, and a person who goes on.
pub fn failing_model() -> (Menu, Terms) {
    let menu = Menu {
        name: "failing model, fallback, follow-up, one crash",
        replies: &[Replying::Text, Replying::Calls(1)],
        closing: &[Replying::Text],
        failures: &[FailureKind::Network, FailureKind::Auth],
        pieces: &[],
        tools: &["read"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 1, follow_ups: 1, continues: 1, ..NOTHING },
    };
    (menu, Terms { fallback: vec![target("second")], ..unguarded(2) })
}

/// Calls that ask when nobody is there: parked, continued, asked again.
pub fn parked() -> (Menu, Terms) {
    let menu = Menu {
        name: "parked calls, one crash",
        replies: &[Replying::Text, Replying::Calls(2)],
        closing: &[Replying::Text],
        failures: &[],
        pieces: &[],
        tools: &["ask_write", "question", "keyed"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[Deciding::Yes, Deciding::No, Deciding::Park],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 1, continues: 1, ..NOTHING },
    };
    (menu, unguarded(1))
}

/// A model that does and says the same again and again, and guards that see it.
pub fn repeating_model() -> (Menu, Terms) {
    let menu = Menu {
        name: "model that repeats itself, guards, one crash",
        replies: &[Replying::Text, Replying::Calls(1), Replying::Again],
        closing: &[Replying::Text],
        failures: &[],
        pieces: &[],
        tools: &["write"],
        outcomes: &[Outcome::Ok],
        probes: &[],
        decisions: &[],
        cuts: Cuts::KillAndPower,
        left: Left { crashes: 1, interrupts: 1, ..NOTHING },
    };
    (menu, terms(6))
}

/// All of them.
pub fn all() -> [(Menu, Terms); 7] {
    [three_calls(), two_calls(), one_call(), odd_model(), failing_model(), parked(), repeating_model()]
}
