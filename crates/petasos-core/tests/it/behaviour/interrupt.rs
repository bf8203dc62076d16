//! An interrupt at every event (L12).

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::Body;
use petasos_core::error::{Handled, Rejected};
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::time::Span;
use petasos_core::turn::{Effect, Input, Phase};
use petasos_testkit::script::{Lost, Script, calls, fails, nothing, text};
use petasos_testkit::words::terms;

use crate::behaviour::{begins_work, check};

/// A run that comes through every phase: retry wait, streams with and without text that can be seen,
/// calls that prepare, ask, start, run and wait for each other, a closing call.
fn job() -> Script {
    let replies = [
        fails(FailureKind::Network),
        calls(["read", "ask_write", "keyed", "alone"]).after_text("let me see").after_reasoning("hm"),
        nothing().after_reasoning("hm"),
        calls(["probed", "deny_write"]),
        text("half of it").after_reasoning("hm"),
    ];
    let yes = Answer::Yes { scope: Scope::Once };
    Script::new(terms(3)).replies(replies).answers([yes]).say("do it")
}

/// The run up to each of its events.
fn all_moments(job: impl Fn() -> Script) -> Vec<Script> {
    let mut moments = vec![job()];
    loop {
        let mut next = moments[moments.len() - 1].clone();
        if next.step().is_none() {
            return moments;
        }
        moments.push(next);
    }
}

#[test]
fn the_job_comes_through_every_phase() {
    let mut phases: Vec<String> = Vec::new();
    for moment in all_moments(job) {
        let phase = format!("{:?}", moment.session().turn().unwrap().phase());
        let name: String = phase.chars().take_while(char::is_ascii_alphanumeric).collect();
        if !phases.contains(&name) {
            phases.push(name);
        }
    }
    phases.sort();
    let expected = [
        "AwaitingModel",
        "Done",
        "Ending",
        "Measuring",
        "Opening",
        "Recording",
        "Reserving",
        "Tools",
        "Waiting",
    ];
    assert_eq!(phases, expected);
}

/// Interrupts at this moment, and goes on with something new.
fn check_interrupt(at: usize, moment: Script) {
    let phase = moment.session().turn().unwrap().phase().clone();
    let before = moment.effects().len();
    let mut script = moment;
    let handled = script.feed(Input::Interrupt);
    match phase {
        Phase::Done => return assert_eq!(handled, Err(Rejected::AtRest)),
        Phase::Ending { .. } => assert_eq!(handled, Ok(Handled::Stale), "event {at}"),
        _ => assert_eq!(handled, Ok(Handled::Taken), "event {at}, in {phase:?}"),
    }
    let ran = script.run();
    let begun: Vec<_> = ran.effects[before..].iter().filter(|effect| begins_work(effect)).collect();
    assert!(begun.is_empty(), "event {at}, in {phase:?}: {begun:#?}");
    let late = matches!(phase, Phase::Ending { .. });
    assert_eq!(ran.ends(), [if late { ran.status.unwrap() } else { StopReason::Interrupted }], "event {at}");
    assert!(ran.session.turn().unwrap().told().step.request.is_none(), "event {at}");
    assert!(!ran.session.turn().unwrap().told().step.has_open_calls(), "event {at}");

    // The next turn starts on a valid transcript: `told` panics on a step without all its results.
    let told = ran.told.clone();
    let ran = ran.script.clone().with_no_replies().replies([text("hello")]).say("something else").run();
    let expected: Vec<String> =
        told.into_iter().chain(["said: something else", "reply: hello"].map(str::to_owned)).collect();
    assert_eq!((ran.status, ran.told), (Some(StopReason::Completed), expected), "event {at}");
}

#[test]
fn l12_after_an_interrupt_at_any_event_nothing_begins_and_the_next_turn_starts_well() {
    for (at, moment) in all_moments(job).into_iter().enumerate() {
        check_interrupt(at, moment);
    }
}

#[test]
fn l12_a_turn_that_was_interrupted_at_any_event_can_go_on() {
    for (at, moment) in all_moments(job).into_iter().enumerate() {
        if !moment.session().is_running() {
            continue;
        }
        let script = moment.interrupt().run().script;
        if !script.session().can_continue() {
            continue;
        }
        let yes = Answer::Yes { scope: Scope::Once };
        let ran = script.with_no_replies().answers([yes]).replies(vec![text("done"); 2]).go_on().run();
        let status = ran.status.unwrap();
        assert!(
            matches!(status, StopReason::Completed | StopReason::BudgetExhausted(_)),
            "event {at}: {status:?}"
        );
    }
}

#[test]
fn l12_an_interrupt_and_a_kill_right_after_it_leave_a_valid_transcript() {
    for (at, moment) in all_moments(job).into_iter().enumerate() {
        if !moment.session().is_running() {
            continue;
        }
        for lost in [Lost::Nothing, Lost::Unsynced] {
            let script = moment.clone().interrupt().kill(lost).with_no_replies().replies([text("hello")]);
            if script.session().turn().is_none() {
                continue;
            }
            let ran = script.say("something else").run();
            assert_eq!(ran.status, Some(StopReason::Completed), "event {at}");
        }
    }
}

#[test]
fn l12_text_that_was_seen_is_kept_and_sent_later() {
    let script = Script::new(terms(9)).replies([text(" two").after_text("one")]).say("count");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. })).events(1);
    let ran = script.interrupt().run();
    check(&ran, StopReason::Interrupted, &["said: count", "reply: one"]);
    assert_eq!(ran.reply, "one");

    let ran = ran.script.replies([text("three")]).say("and then").run();
    assert_eq!(ran.sent.last().unwrap().told, ["said: count", "reply: one", "said: and then"]);
}

#[test]
fn l12_reasoning_that_nobody_saw_is_not_kept() {
    let script = Script::new(terms(9)).replies([text("one").after_reasoning("hm")]).say("count");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. })).events(1);
    let ran = script.interrupt().run();
    check(&ran, StopReason::Interrupted, &["said: count"]);
    assert_eq!(ran.entries.iter().rev().nth(1).map(|entry| entry.body.kind()), Some("request_end"));
}

/// What a tool does that is told to stop.
fn running(tool: &'static str) -> Script {
    let script = Script::new(terms(9)).replies([calls([tool])]).say("do it");
    script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)))
}

#[test]
fn l12_a_tool_that_stops_tells_how_it_ended_and_the_turn_does_not_wait_longer() {
    let script = running("write");
    let now = script.now();
    let ran = script.interrupt().run();
    check(&ran, StopReason::Interrupted, &["said: do it", "reply: write=cut_short"]);
    assert_eq!(ran.script.now(), now);
}

#[test]
fn l12_a_tool_that_does_not_stop_is_waited_for_two_seconds_and_is_unknown_then() {
    let script = running("write").deaf("write");
    let now = script.now();
    let ran = script.interrupt().run();
    check(&ran, StopReason::Interrupted, &["said: do it", "reply: write=unknown"]);
    assert_eq!(ran.script.now(), now.after(Span::seconds(2)));
}

#[test]
fn l12_an_end_after_the_grace_is_late_and_changes_nothing() {
    let script = running("write").deaf("write");
    let mut script = script.interrupt().run().script;
    let call = "6.0".parse().unwrap();
    let output = petasos_testkit::words::output(petasos_core::tool::Outcome::Ok, "late");
    let before = script.session().clone();
    assert_eq!(script.feed(Input::ToolEnded { call, output }), Ok(Handled::Stale));
    assert_eq!(*script.session(), before);
}

#[test]
fn l12_a_second_interrupt_changes_nothing() {
    let mut script = running("write").deaf("write").interrupt();
    let before = script.session().clone();
    assert_eq!(script.feed(Input::Interrupt), Ok(Handled::Stale));
    assert_eq!(*script.session(), before);
}

#[test]
fn l12_calls_that_wait_or_ask_never_begin() {
    let replies = [calls(["write", "write", "ask_alone", "read"])];
    let script = Script::new(terms(9)).replies(replies).say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)));
    let ran = script.interrupt().run();
    let line = "reply: write=cut_short write=never_began ask_alone=never_began read=never_began";
    check(&ran, StopReason::Interrupted, &["said: do it", line]);
    assert_eq!(ran.effects.iter().filter(|effect| matches!(effect, Effect::Unask(_))).count(), 1);
}

#[test]
fn l12_a_call_whose_start_is_on_its_way_to_the_disk_never_begins() {
    let script = Script::new(terms(9)).replies([calls(["write"])]).say("do it");
    let script = script.until(|script| script.last(|body| matches!(body, Body::ToolStart(_))).is_some());
    let ran = script.interrupt().run();
    check(&ran, StopReason::Interrupted, &["said: do it", "reply: write=never_began"]);
    assert_eq!(ran.ran(), [""; 0]);
}

#[test]
fn l12_a_tool_that_ended_well_while_it_was_told_to_stop_ended_well() {
    let script = running("write").deaf("write").interrupt();
    let call = "6.0".parse().unwrap();
    let output = petasos_testkit::words::output(petasos_core::tool::Outcome::Ok, "done");
    let ran = script.input(Input::ToolEnded { call, output }).run();
    check(&ran, StopReason::Interrupted, &["said: do it", "reply: write=ok"]);
}

#[test]
fn l12_an_end_after_the_grace_is_late_in_any_later_turn_too() {
    let script = running("write").deaf("write").interrupt().run().script;
    let mut script = script.replies([calls(["read", "keyed"]), text("done")]).say("something else");
    loop {
        let call = "6.0".parse().unwrap();
        let output = petasos_testkit::words::output(petasos_core::tool::Outcome::Ok, "late");
        let mut copy = script.session().clone();
        let handled = copy.handle(script.now(), Input::ToolEnded { call, output });
        assert_eq!((handled, &copy), (Ok(Handled::Stale), script.session()));
        if script.step().is_none() {
            break;
        }
    }
}
