//! One run that comes through every phase, and something that happens at each of its events.

use std::collections::BTreeMap;

use petasos_core::approval::{Answer, Scope};
use petasos_core::budget::Limits;
use petasos_core::claims::Rerun;
use petasos_core::entry::{Body, NoteSource};
use petasos_core::error::{Handled, Rejected};
use petasos_core::session::Terms;
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::time::Span;
use petasos_core::turn::{Effect, Input, Phase};
use petasos_testkit::script::{Lost, Ran, Script, calls, cut, fails, nothing, text};
use petasos_testkit::words::terms;

use crate::behaviour::begins_work;

const YES: Answer = Answer::Yes { scope: Scope::Once };

/// Retry, text with calls of all sorts, an empty reply, a refused call, a cut answer, a closing call.
fn job(terms: Terms) -> Script {
    let replies = [
        fails(FailureKind::Network),
        calls(["read", "ask_write", "keyed", "alone"]).after_text("let me see"),
        nothing().after_reasoning("hm"),
        calls(["other_write", "deny_write", "question"]),
        cut("half of it"),
        text("closing").after_reasoning("hm"),
    ];
    let answers = [YES, Answer::Text("blue".into())];
    Script::new(terms).replies(replies).answers(answers).say("do it")
}

/// The run up to each of its events.
fn moments(mut script: Script) -> Vec<Script> {
    let mut moments = vec![script.clone()];
    while script.step().is_some() {
        moments.push(script.clone());
    }
    moments
}

fn is_running(script: &Script) -> bool {
    script.session().is_running()
}

/// Enough to say and to answer for any run that goes on from here.
fn with_more(script: Script) -> Script {
    script.with_no_replies().replies(vec![text("done"); 9]).with_an_obliging_person()
}

/// No call that may not run twice ran twice, and each that began has a result that says so (I3).
fn check_calls(ran: &Ran, name: &str) {
    let mut began = BTreeMap::new();
    for effect in &ran.effects {
        // What is free to run again leaves no trace that it began, and needs none.
        if let Effect::RunTool(approved) = effect
            && approved.proposal().claims.rerun != Rerun::Free
        {
            let proposal = approved.proposal();
            let times: &mut u32 = began.entry(proposal.call).or_default();
            *times += u32::from(proposal.claims.rerun == Rerun::Never);
            assert!(*times <= 1, "{name}: {} ran twice", proposal.call);
        }
    }
    for entry in &ran.entries {
        if let Body::ToolResult(result) = &entry.body
            && began.contains_key(&result.call)
        {
            assert!(result.outcome.began(), "{name}: {} began, and is {:?}", result.call, result.outcome);
        }
    }
}

/// How the last turn ended, and nothing of it is open.
fn end_of(ran: &Ran) -> StopReason {
    let told = ran.session.turn().unwrap().told();
    assert!(told.step.request.is_none() && !told.step.has_open_calls());
    told.ended.unwrap()
}

#[test]
fn a_deadline_at_any_event_stops_the_turn_and_nothing_begins() {
    let limits = Limits { steps: Some(4), time: Some(Span::seconds(60)), ..Limits::default() };
    let limited = Terms { limits, ..terms(4) };
    for (at, moment) in moments(job(limited)).into_iter().enumerate() {
        let phase = moment.session().turn().unwrap().phase();
        let can_be_stopped = !matches!(phase, Phase::Ending { .. } | Phase::Done);
        if !can_be_stopped {
            continue;
        }
        let before = moment.effects().len();
        let ran = moment.wait(Span::seconds(60)).input(Input::Woke).run();
        let begun: Vec<_> = ran.effects[before..].iter().filter(|effect| begins_work(effect)).collect();
        assert!(begun.is_empty(), "event {at}: {begun:#?}");
        assert_eq!(
            (ran.ends(), end_of(&ran)),
            (vec![StopReason::TimedOut], StopReason::TimedOut),
            "event {at}"
        );
        check_calls(&ran, &format!("event {at}"));
    }
}

#[test]
fn a_person_who_leaves_at_any_event_keeps_nothing_from_ending() {
    for (at, moment) in moments(job(terms(4))).into_iter().enumerate() {
        let mut script = moment;
        let before = script.session().clone();
        let handled = script.feed(Input::Park);
        if handled.is_err() {
            assert_eq!(*script.session(), before, "event {at}");
            continue;
        }
        let ran = script.run();
        let parked = [StopReason::AwaitingApproval, StopReason::AwaitingAnswer];
        assert!(parked.contains(&ran.status.unwrap()), "event {at}: {:?}", ran.status);
        let ran = with_more(ran.script).go_on().run();
        check_calls(&ran, &format!("event {at}"));
    }
}

#[test]
fn limits_that_are_raised_at_any_event_count_at_once() {
    let more = Limits { steps: Some(10), ..Limits::default() };
    for (at, moment) in moments(job(terms(4))).into_iter().enumerate() {
        if !is_running(&moment) {
            continue;
        }
        let ran = moment.replies(vec![text("done"); 3]).go_on_with(more.clone()).run();
        let is_closed = ran.entries.iter().any(
            |entry| matches!(&entry.body, Body::Note(note) if matches!(note.source, NoteSource::Closing(_))),
        );
        let status = ran.status.unwrap();
        let fits = status == StopReason::Completed
            || (is_closed && matches!(status, StopReason::BudgetExhausted(_)));
        assert!(fits, "event {at}: {status:?}");
    }
}

#[test]
fn adding_nothing_to_a_running_turn_changes_nothing() {
    for moment in moments(job(terms(4))) {
        if is_running(&moment) {
            let mut script = moment.clone();
            let handled = script.feed(Input::Continue { add: Limits::default() });
            assert_eq!((handled, script.session()), (Err(Rejected::Running), moment.session()));
        }
    }
}

#[test]
fn a_timer_that_goes_off_early_changes_nothing_for_good() {
    let limits = Limits { steps: Some(4), time: Some(Span::seconds(60)), ..Limits::default() };
    let whole = job(Terms { limits: limits.clone(), ..terms(4) }).run();
    for moment in moments(job(Terms { limits, ..terms(4) })) {
        let is_waiting = matches!(moment.session().turn().unwrap().phase(), Phase::Waiting { .. });
        let mut script = moment;
        assert_eq!(script.feed(Input::Woke), Ok(Handled::Stale));
        let ran = script.run();
        assert_eq!((ran.told, ran.status), (whole.told.clone(), whole.status), "waiting: {is_waiting}");
    }
}

#[test]
fn s01_two_kills_at_any_events_leave_a_turn_that_ends() {
    for lost in [Lost::Nothing, Lost::Unsynced] {
        for (first, moment) in moments(job(terms(4))).into_iter().enumerate() {
            let killed = with_more(moment.kill(lost));
            if !killed.session().can_continue() {
                continue;
            }
            for (second, moment) in moments(killed.go_on()).into_iter().enumerate() {
                let name = format!("{lost:?} at {first}, then at {second}");
                let script = with_more(moment.kill(lost));
                let ran =
                    if script.session().can_continue() { script.go_on().run() } else { script.stop_here() };
                let end = end_of(&ran);
                let fits = matches!(end, StopReason::Completed | StopReason::BudgetExhausted(_));
                assert!(fits, "{name}: {end:?}");
                check_calls(&ran, &name);
            }
        }
    }
}

#[test]
fn s01_something_new_after_a_kill_at_any_event_starts_on_a_valid_transcript() {
    for lost in [Lost::Nothing, Lost::Unsynced] {
        for (at, moment) in moments(job(terms(4))).into_iter().enumerate() {
            let script = moment.kill(lost).with_no_replies().replies(vec![text("hello"); 2]);
            let ran = script.say("something else").run();
            let name = format!("{lost:?} at {at}");
            let sent = ran.sent.iter().any(|sent| sent.told.contains(&"said: something else".to_owned()));
            assert!(sent, "{name}: {:#?}", ran.told);
            assert_eq!(end_of(&ran), StopReason::Completed, "{name}");
            check_calls(&ran, &name);
        }
    }
}

/// Tries, nudges and continuations are bounded over all kills (I12).
#[test]
fn i12_a_turn_that_is_killed_again_and_again_still_ends() {
    for pace in 12..30 {
        let mut script = job(terms(4)).events(pace);
        let mut kills = 0;
        while script.session().is_running() {
            kills += 1;
            assert!(kills < 50, "every {pace} events");
            script = with_more(script.kill(Lost::Nothing));
            if script.session().can_continue() {
                script = script.go_on().events(pace);
            }
        }
        check_calls(&script.run(), &format!("killed every {pace} events"));
    }
}
