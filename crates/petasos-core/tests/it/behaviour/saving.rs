//! A log that cannot be written: `not_saved`.

use petasos_core::error::Rejected;
use petasos_core::stop::StopReason;
use petasos_core::turn::{Effect, Input};
use petasos_testkit::script::{Ran, Script, calls, fails, text};
use petasos_testkit::words::terms;

use crate::behaviour::begins_work;

fn job() -> Script {
    let replies = [
        fails(petasos_core::stop::FailureKind::Network),
        calls(["read", "other_write", "ask_write"]),
        text("done"),
    ];
    let yes = petasos_core::approval::Answer::Yes { scope: petasos_core::approval::Scope::Once };
    Script::new(terms(9)).replies(replies).answers([yes])
}

fn is_append(effect: &Effect) -> bool {
    matches!(effect, Effect::Append { .. })
}

fn appends(ran: &Ran) -> usize {
    let mut count = 0;
    for effect in &ran.effects {
        count += usize::from(is_append(effect));
    }
    count
}

#[test]
fn an_append_that_fails_ends_the_turn_and_nothing_more_is_begun_or_written() {
    let appends = appends(&job().say("do it").run());
    assert!(appends > 8, "{appends}");
    for good in 0..appends {
        let script = job().disk_fails_after(good).say("do it");
        let mut before = script.clone();
        let ran = script.run();
        // Up to the event that tells of the failure.
        while before.clone().step().is_some_and(|input| !matches!(input, Input::AppendFailed(_))) {
            before.step();
        }
        let later = &ran.effects[before.effects().len()..];
        assert_eq!(ran.ends(), [StopReason::NotSaved], "append {good}");
        let later: Vec<_> = later.iter().filter(|effect| begins_work(effect) || is_append(effect)).collect();
        assert!(later.is_empty(), "append {good}: {later:#?}");
        assert!(!ran.session.is_running());
    }
}

#[test]
fn a_session_that_was_not_saved_takes_nothing_more() {
    let mut script = job().disk_fails_after(3).say("do it").run().script;
    for input in [
        Input::Say(petasos_testkit::words::say("more", petasos_core::entry::When::Now)),
        Input::Continue { add: petasos_core::budget::Limits::default() },
        Input::GoTo(petasos_core::id::Seq(2)),
    ] {
        let before = script.session().clone();
        assert_eq!(script.feed(input), Err(Rejected::NotSaved));
        assert_eq!(*script.session(), before);
    }
}

#[test]
fn what_was_saved_goes_on_once_the_log_can_be_written_again() {
    let appends = appends(&job().say("do it").run());
    for good in 1..appends {
        let script = job().disk_fails_after(good).say("do it").run().script;
        let replies = [calls(["read", "other_write", "ask_write"]), text("done")];
        let yes = petasos_core::approval::Answer::Yes { scope: petasos_core::approval::Scope::Once };
        let script = script.kill(petasos_testkit::script::Lost::Nothing).replies(replies).answers([yes]);
        let ran = script.go_on().run();
        assert_eq!(ran.status, Some(StopReason::Completed), "append {good}: {:#?}", ran.told);
        assert_eq!(ran.reply, "done", "append {good}");
    }
}

#[test]
fn a_log_that_fails_at_any_event_ends_the_turn_and_nothing_more_is_begun_or_written() {
    let mut script = job().say("do it");
    for at in 0.. {
        if !script.session().is_running() {
            break;
        }
        let before = script.effects().len();
        let ran = script.clone().disk_fails().run();
        let later: Vec<_> = ran.effects[before..].iter().filter(|e| begins_work(e) || is_append(e)).collect();
        assert!(later.is_empty(), "event {at}: {later:#?}");
        assert_eq!((ran.ends(), ran.session.is_running()), (vec![StopReason::NotSaved], false), "event {at}");
        script.step();
    }
}

#[test]
fn a_log_that_fails_while_what_runs_was_told_to_stop_ends_the_turn_as_not_saved() {
    let script = Script::new(terms(9)).replies([calls(["write"])]).deaf("write").say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)));
    let ran = script.interrupt().disk_fails().run();
    assert_eq!(ran.ends(), [StopReason::NotSaved]);
}

#[test]
fn an_end_that_comes_after_the_log_failed_is_late() {
    let script = Script::new(terms(9)).replies([calls(["write"])]).deaf("write").say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)));
    let mut script = script.disk_fails().run().script;
    let output = petasos_testkit::words::output(petasos_core::tool::Outcome::Ok, "late");
    let before = script.session().clone();
    let handled = script.feed(Input::ToolEnded { call: "6.0".parse().unwrap(), output });
    assert_eq!((handled, script.session()), (Ok(petasos_core::error::Handled::Stale), &before));
}
