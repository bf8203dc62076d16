//! What is said while a turn runs (L13).

use petasos_core::entry::{Body, Cause, Keep, Said, When};
use petasos_core::error::Rejected;
use petasos_core::id::Seq;
use petasos_core::session::Session;
use petasos_core::stop::{Limit, StopReason};
use petasos_core::turn::{Effect, Input, Phase};
use petasos_testkit::script::{Lost, Script, calls, nothing, refusal, text};
use petasos_testkit::words::{say, terms};

use crate::behaviour::check;

/// A job of two steps, right before the reply of its first.
fn at_the_first_reply() -> Script {
    let script = Script::new(terms(9)).replies([calls(["read"]), text("done")]).say("do it");
    script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }))
}

fn said_at(script: &Script) -> Seq {
    script.last(|body| matches!(body, Body::Said(_))).unwrap().seq
}

/// Who looks on knows from the log whether more comes by itself.
#[test]
fn what_waits_begins_the_next_turn_or_waits_for_a_person() {
    let waits = |script: Script| {
        let log = script.run().entries;
        let end = log.iter().position(|entry| matches!(entry.body, Body::TurnEnd(_))).unwrap();
        Session::fold(&log[..=end], terms(9)).begins_the_next()
    };
    let begun =
        |steps| Script::new(terms(steps)).replies([calls(["read"]), text("one"), text("two")]).say("do it");
    assert!(waits(begun(9).follow_up("then this")));
    assert!(waits(begun(1).follow_up("then this")), "steps used up");
    assert!(!waits(begun(9)), "nothing waits");
    assert!(!waits(begun(9).follow_up("then this").interrupt()), "a person stopped it");
}

#[test]
fn l13_what_is_said_during_a_turn_goes_to_the_disk_at_once() {
    for when in [When::Now, When::NextStep, When::AfterTurn] {
        let before = at_the_first_reply();
        let effects = before.effects().len();
        let after = before.input(Input::Say(say("and this", when)));
        let [Effect::Append { entries, keep: Keep::Synced }] = &after.effects()[effects..] else { panic!() };
        let kept = if when == When::NextStep { When::NextStep } else { When::AfterTurn };
        assert_eq!(entries[0].body, Body::Said(say("and this", kept)));
    }
}

#[test]
fn l13_a_steer_enters_with_the_next_request_after_the_results_of_the_step() {
    let ran = at_the_first_reply().steer("and this").run();
    let told = ["said: do it", "reply: read=ok", "said: and this", "reply: done"];
    check(&ran, StopReason::Completed, &told);
    assert_eq!((&ran.sent[0].told[..], &ran.sent[1].told[..]), (&ran.told[..1], &ran.told[..3]));
}

#[test]
fn l13_a_steer_keeps_the_turn_going_if_the_reply_has_no_calls() {
    let script = Script::new(terms(9)).replies([text("done"), text("that too")]).say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    let ran = script.steer("and this").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done", "said: and this", "reply: that too"]);
    assert_eq!(ran.ends(), [StopReason::Completed]);
}

#[test]
fn l13_a_steer_stands_for_a_nudge() {
    let script = Script::new(terms(9)).replies([nothing(), text("that too")]).say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    let ran = script.steer("and this").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: ", "said: and this", "reply: that too"]);
}

/// Whatever event it comes before, a steer is sent once, in this turn or as the next one's start.
#[test]
fn l13_a_steer_at_any_event_is_sent_exactly_once() {
    for events in 0..40 {
        let script =
            Script::new(terms(9)).replies([calls(["read", "write"]), text("done"), text("that too")]);
        let script = script.say("do it").events(events);
        if !script.session().is_running() {
            break;
        }
        let ran = script.steer("and this").run();
        let times = ran.told.iter().filter(|line| *line == "said: and this").count();
        assert_eq!((times, ran.status), (1, Some(StopReason::Completed)), "{events}: {:#?}", ran.told);
        let last = ran.sent.last().unwrap();
        assert!(last.told.contains(&"said: and this".to_owned()), "{events}: {:#?}", last.told);
    }
}

#[test]
fn l13_a_follow_up_starts_the_next_turn() {
    let script =
        Script::new(terms(9)).replies([calls(["read"]), text("done"), text("that too"), text("more")]);
    let script = script.say("do it").follow_up("then that").follow_up("then more");
    let ran = script.run();
    check(
        &ran,
        StopReason::Completed,
        &[
            "said: do it",
            "reply: read=ok",
            "reply: done",
            "said: then that",
            "reply: that too",
            "said: then more",
            "reply: more",
        ],
    );
    assert_eq!(ran.ends(), [StopReason::Completed; 3]);
}

#[test]
fn l13_what_is_said_now_while_a_turn_runs_starts_the_next_turn() {
    let script =
        Script::new(terms(9)).replies([text("done"), text("that too")]).say("do it").say("then that");
    check(
        &script.run(),
        StopReason::Completed,
        &["said: do it", "reply: done", "said: then that", "reply: that too"],
    );
}

#[test]
fn l13_a_follow_up_waits_after_an_interrupt_and_for_an_answer() {
    let ran = at_the_first_reply().follow_up("then that").interrupt().run();
    assert_eq!((ran.ends(), ran.session.waiting().len()), (vec![StopReason::Interrupted], 1));

    let ran = ran.script.replies([text("that too")]).go_on().run();
    assert_eq!(ran.ends(), [StopReason::Interrupted, StopReason::Completed, StopReason::Completed]);
    check(&ran, StopReason::Completed, &["said: do it", "reply: done", "said: then that", "reply: that too"]);
}

#[test]
fn l13_a_follow_up_starts_after_an_end_that_nobody_wanted() {
    for (first, status) in [
        (refusal("no"), StopReason::Refused),
        (
            petasos_testkit::script::fails(petasos_core::stop::FailureKind::Auth),
            StopReason::ModelFailed(petasos_core::stop::FailureKind::Auth),
        ),
    ] {
        let script = Script::new(terms(9)).replies([first, text("that too")]).say("do it");
        let ran = script.follow_up("then that").run();
        assert_eq!(ran.ends(), [status, StopReason::Completed]);
    }
    let script =
        Script::new(terms(1)).replies([calls(["read"]), text("half"), text("that too")]).say("do it");
    let ran = script.follow_up("then that").run();
    assert_eq!(ran.ends(), [StopReason::BudgetExhausted(Limit::Steps), StopReason::Completed]);
}

#[test]
fn l13_what_waits_can_be_taken_back_until_it_is_on_its_way_and_not_after() {
    for events in 0..40 {
        let script =
            Script::new(terms(9)).replies([calls(["read", "write"]), text("done"), text("that too")]);
        let script = script.say("do it").steer("and this");
        let steer = said_at(&script);
        let mut script = script.events(events);
        if !script.session().is_running() {
            break;
        }
        let is_drafted = script
            .effects()
            .iter()
            .any(|effect| matches!(effect, Effect::Measure(draft) if draft.upto >= steer));
        let before = script.session().clone();
        let back = Said { content: Vec::new(), withdraws: Some(steer), ..say("", When::Now) };
        let handled = script.feed(Input::Say(back));
        if is_drafted {
            assert_eq!(handled, Err(Rejected::NotWaiting(steer)), "event {events}");
            assert_eq!(*script.session(), before);
        }
        let ran = script.run();
        let is_told = ran.told.iter().any(|line| line == "said: and this");
        assert_eq!((handled.is_ok(), is_told), (!is_drafted, is_drafted), "event {events}: {:#?}", ran.told);
    }
}

#[test]
fn l13_what_was_taken_back_cannot_be_taken_back_again() {
    let script = at_the_first_reply().steer("and this");
    let steer = said_at(&script);
    let mut script = script.take_back(steer);
    let again = Said { content: Vec::new(), withdraws: Some(steer), ..say("", When::Now) };
    assert_eq!(script.feed(Input::Say(again)), Err(Rejected::NotWaiting(steer)));
    check(&script.run(), StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);
}

#[test]
fn l13_a_message_can_take_the_place_of_one_that_waits() {
    let script = at_the_first_reply().steer("and this");
    let steer = said_at(&script);
    let other = Said { withdraws: Some(steer), ..say("no, that", When::NextStep) };
    let ran = script.input(Input::Say(other)).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "said: no, that", "reply: done"]);
}

/// The session is killed right after what was said is on the disk.
#[test]
fn l13_a_kill_in_between_loses_nothing_that_was_acknowledged() {
    for when in [When::NextStep, When::AfterTurn] {
        for lost in [Lost::Nothing, Lost::Unsynced] {
            for events in 0..40 {
                check_kept(when, lost, events);
            }
        }
    }
}

fn check_kept(when: When, lost: Lost, events: usize) {
    let replies = [calls(["read", "write"]), text("done"), text("that too")];
    let script = Script::new(terms(9)).replies(replies.clone()).say("do it").events(events);
    if !script.session().is_running() {
        return;
    }
    let script = script.input(Input::Say(say("and this", when)));
    let said = said_at(&script);
    // Acknowledged: its append was answered.
    let script = script.until(|script| script.safe().iter().any(|entry| entry.seq == said));
    let mut script = script.kill(lost).replies(replies);
    if script.session().can_continue() {
        script = script.go_on();
    }
    let ran = script.run();
    let times = ran.told.iter().filter(|line| *line == "said: and this").count();
    assert_eq!(times, 1, "{when:?} {lost:?} {events}: {:#?}", ran.told);
    assert!(ran.session.waiting().is_empty());
}

#[test]
fn a_steer_that_starts_a_turn_is_named_as_its_cause() {
    let script = Script::new(terms(9)).replies([text("done"), text("that too")]).say("do it");
    let is_ending =
        |script: &Script| matches!(script.session().turn().unwrap().phase(), Phase::Ending { .. });
    let ran = script.until(is_ending).steer("and this").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done", "said: and this", "reply: that too"]);
    let causes: Vec<Cause> = ran
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::TurnStart(start) => Some(start.cause),
            _ => None,
        })
        .collect();
    let said: Vec<Cause> = ran
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Said(_) => Some(Cause::Said { said: entry.seq }),
            _ => None,
        })
        .collect();
    assert_eq!(causes, said);
}

#[test]
fn nothing_is_no_message() {
    let mut script = Script::new(terms(9)).say("do it");
    for blank in ["", " \n\t", "\u{3000}"] {
        let before = script.session().clone();
        assert_eq!(script.feed(Input::Say(say(blank, When::NextStep))), Err(Rejected::Empty));
        assert_eq!(*script.session(), before);
    }
}

#[test]
fn what_was_said_first_is_told_first() {
    let ran = at_the_first_reply().steer("and this").interrupt().run();
    let ran = ran.script.say("something else").run();
    let place = |wanted: &str| ran.told.iter().position(|line| line == wanted);
    assert!(place("said: and this") < place("said: something else"), "{:#?}", ran.told);
}
