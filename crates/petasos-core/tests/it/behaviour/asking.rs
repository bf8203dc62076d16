//! Calls that ask: yes, no, no and stop, a question's answer, nobody there, parked and gone on.

use petasos_core::approval::{Action, Answer, Grants, Policy, Proposal, Rule, Scope, Verdict, judge};
use petasos_core::budget::Limits;
use petasos_core::entry::{Body, VerdictKind};
use petasos_core::error::Rejected;
use petasos_core::session::Terms;
use petasos_core::stop::StopReason;
use petasos_core::turn::{Effect, Input, Mode, OnAsk};
use petasos_testkit::script::{Lost, Script, calls, text};
use petasos_testkit::words::{digest, terms};

use crate::behaviour::check;

const YES: Answer = Answer::Yes { scope: Scope::Once };

fn no() -> Answer {
    Answer::No { reason: "not now".into() }
}

fn asking(on_ask: OnAsk) -> Terms {
    Terms { mode: Mode { on_ask, ..Mode::default() }, ..terms(9) }
}

/// The last call that was asked about.
fn asked(script: &Script) -> Input {
    let ask = script.effects().iter().rev().find_map(|effect| match effect {
        Effect::Ask { call, shown } => Some((*call, *shown)),
        _ => None,
    });
    let (call, shown) = ask.unwrap();
    Input::Decide { call, answer: YES, shown }
}

#[test]
fn a_yes_lets_just_this_call_run_and_a_no_does_not() {
    let replies = [calls(["ask_write", "ask_write"]), text("done")];
    let ran = Script::new(terms(9)).replies(replies).answers([YES, no()]).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: ask_write=ok ask_write=denied", "reply: done"],
    );
    assert_eq!(ran.ran(), ["ask_write"]);
}

#[test]
fn a_no_and_stop_ends_the_turn_and_what_is_open_does_not_begin() {
    let replies = [calls(["ask_write", "other_write", "ask_alone"])];
    let ran = Script::new(terms(9)).replies(replies).answers([Answer::NoAndStop]).say("do it").run();
    assert_eq!(ran.status, Some(StopReason::Denied));
    let line = ran.told.last().unwrap();
    assert!(line.starts_with("reply: ask_write=denied"), "{line}");
    assert!(line.ends_with("ask_alone=never_began"), "{line}");
    assert!(!ran.session.can_continue());
    let asked = ran.effects.iter().filter(|effect| matches!(effect, Effect::Ask { .. })).count();
    let taken_back = ran.effects.iter().filter(|effect| matches!(effect, Effect::Unask(_))).count();
    assert_eq!(asked, 1 + taken_back);
}

#[test]
fn the_answer_to_a_question_is_its_result_and_it_never_runs() {
    let replies = [calls(["question"]), text("done")];
    let ran =
        Script::new(terms(9)).replies(replies).answers([Answer::Text("blue".into())]).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: question=ok", "reply: done"]);
    assert_eq!(ran.ran(), [""; 0]);
    let result = ran.entries.iter().find_map(|entry| match &entry.body {
        Body::ToolResult(result) => Some(result.text.text().to_string()),
        _ => None,
    });
    assert_eq!(result.as_deref(), Some("blue"));
}

#[test]
fn an_answer_of_the_wrong_sort_or_for_something_else_changes_nothing() {
    for (tool, wrong) in [("ask_write", Answer::Text("blue".into())), ("question", YES)] {
        let mut script = Script::new(terms(9)).replies([calls([tool])]).say("do it");
        while script.step().is_some() {}
        let before = script.session().clone();
        let Input::Decide { call, shown, .. } = asked(&script) else { panic!() };
        let handled = script.feed(Input::Decide { call, answer: wrong, shown });
        assert_eq!(handled, Err(Rejected::OtherAnswer(call)));
        let handled = script.feed(Input::Decide { call, answer: no(), shown: digest(99) });
        assert_eq!((handled, script.session()), (Err(Rejected::OtherShown(call)), &before));
    }
}

#[test]
fn where_nobody_can_be_asked_it_is_refused_and_the_turn_goes_on() {
    let replies = [calls(["ask_write", "read", "question"]), text("done")];
    let ran = Script::new(asking(OnAsk::Refuse)).replies(replies).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: ask_write=denied read=ok question=denied", "reply: done"],
    );
    assert!(!ran.effects.iter().any(|effect| matches!(effect, Effect::Ask { .. })));
}

#[test]
fn a_yes_for_the_session_is_not_asked_for_again() {
    let yes = Answer::Yes { scope: Scope::Session };
    let replies = [calls(["ask_write"]), calls(["ask_write"]), text("done")];
    let ran = Script::new(terms(9)).replies(replies).answers([yes]).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: ask_write=ok", "reply: ask_write=ok", "reply: done"],
    );
}

/// A turn that is parked over a call, after what else could run did.
fn parked(tool: &'static str) -> Script {
    let script =
        Script::new(asking(OnAsk::Park)).replies([calls(["other_write", tool, "keyed"]), text("done")]);
    script.say("do it").run().script
}

#[test]
fn a_parked_turn_goes_as_far_as_it_can_and_then_rests() {
    let ran = parked("ask_write").stop_here();
    assert_eq!(
        (ran.status, ran.ran()),
        (Some(StopReason::AwaitingApproval), vec!["other_write".to_owned(), "keyed".to_owned()])
    );
    check(&ran, StopReason::AwaitingApproval, &["said: do it"]);
    let ran = parked("ask_alone").stop_here();
    assert_eq!((ran.status, ran.ran()), (Some(StopReason::AwaitingApproval), vec!["other_write".to_owned()]));
    assert_eq!(parked("question").stop_here().status, Some(StopReason::AwaitingAnswer));
}

#[test]
fn a_parked_call_is_asked_when_the_turn_goes_on_and_the_others_do_not_run_again() {
    for lost in [None, Some(Lost::Nothing), Some(Lost::Unsynced)] {
        let script = parked("ask_write").answers([YES]);
        let script = match lost {
            Some(lost) => script.kill(lost),
            None => script,
        };
        // Somebody is there now, and says so: a turn that goes on keeps its own terms otherwise.
        let ran = script.terms(terms(9)).go_on().run();
        check(
            &ran,
            StopReason::Completed,
            &["said: do it", "reply: other_write=ok ask_write=ok keyed=ok", "reply: done"],
        );
        assert_eq!(ran.ran(), ["other_write", "keyed", "ask_write"]);
    }
}

#[test]
fn a_person_who_leaves_parks_the_turn() {
    let mut script = Script::new(terms(9)).replies([calls(["ask_write"]), text("done")]).say("do it");
    while script.step().is_some() {}
    let ran = script.input(Input::Park).run();
    check(&ran, StopReason::AwaitingApproval, &["said: do it"]);
    let ran = ran.script.answers([YES]).go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: ask_write=ok", "reply: done"]);
}

fn shown_otherwise(proposal: Proposal) -> Proposal {
    Proposal { shown: digest(200), ..proposal }
}

/// A yes is on the disk, and the process ends before the call begins.
fn allowed_and_killed() -> Script {
    let script =
        Script::new(terms(9)).replies([calls(["ask_write"]), text("done")]).answers([YES]).say("do it");
    let script = script.until(|script| script.last(|body| matches!(body, Body::Decision(_))).is_some());
    let decision = script.last(|body| matches!(body, Body::Decision(_))).unwrap().seq;
    let script = script.kill(Lost::Nothing);
    // As if the line after it had not been written.
    let log: Vec<_> = script.log().iter().filter(|entry| entry.seq <= decision).cloned().collect();
    Script::with_log(terms(9), log).replies([text("done")])
}

#[test]
fn a_yes_counts_in_a_later_run_for_just_what_was_shown() {
    let ran = allowed_and_killed().go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: ask_write=ok", "reply: done"]);
    assert!(!ran.effects.iter().any(|effect| matches!(effect, Effect::Ask { .. })));
}

#[test]
fn what_looks_otherwise_is_asked_again() {
    let script = allowed_and_killed().preparing(shown_otherwise).go_on();
    let ran = script.answers([no()]).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: ask_write=denied", "reply: done"]);
    assert_eq!(ran.ran(), [""; 0]);
}

fn denied_now(proposal: Proposal) -> Proposal {
    Proposal { at_least: petasos_core::approval::Action::Deny, ..proposal }
}

#[test]
fn what_the_policy_of_now_denies_does_not_run_whatever_was_said() {
    let ran = allowed_and_killed().preparing(denied_now).go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: ask_write=denied", "reply: done"]);
}

#[test]
fn something_new_said_to_a_parked_approval_closes_the_open_step() {
    let ran = parked("ask_write").replies([text("else")]).say("something else").run();
    check(
        &ran,
        StopReason::Completed,
        &[
            "said: do it",
            "reply: other_write=ok ask_write=denied keyed=ok",
            "said: something else",
            // The reply that was scripted for the turn before.
            "reply: done",
        ],
    );
}

#[test]
fn to_a_parked_question_a_message_is_the_answer() {
    let ran = parked("question").say("blue").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: other_write=ok question=ok keyed=ok", "reply: done"],
    );
    assert_eq!(ran.ends(), [StopReason::AwaitingAnswer, StopReason::Completed]);
    assert!(ran.session.waiting().is_empty());
}

#[test]
fn two_parked_questions_are_answered_one_by_one() {
    let script = Script::new(asking(OnAsk::Park)).replies([calls(["question", "question"]), text("done")]);
    let script = script.say("do it").run().script.say("blue").run().script;
    assert_eq!(script.clone().stop_here().status, Some(StopReason::AwaitingAnswer));
    let ran = script.say("red").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: question=ok question=ok", "reply: done"]);
}

#[test]
fn something_new_after_a_kill_closes_the_open_step_by_what_is_known() {
    let replies = [calls(["other_write", "ask_write", "ask_write", "keyed"])];
    let script = Script::new(terms(9)).replies(replies).deaf("other_write").deaf("keyed").say("do it");
    let mut script = script;
    for _ in 0..60 {
        // Short of the end of what hangs: nothing more comes then.
        if script.step().is_none() {
            break;
        }
    }
    let ran = script.kill(Lost::Nothing).replies([text("else")]).say("something else").run();
    check(
        &ran,
        StopReason::Completed,
        &[
            "said: do it",
            "reply: other_write=unknown ask_write=denied ask_write=denied keyed=unknown",
            "said: something else",
            "reply: else",
        ],
    );
}

#[test]
fn something_new_after_a_kill_before_anything_began_says_so() {
    let script = Script::new(terms(9)).replies([calls(["write", "read"])]).say("do it");
    let script = script.until(|script| script.last(|body| matches!(body, Body::Reply(_))).is_some());
    let ran = script.kill(Lost::Nothing).replies([text("else")]).say("something else").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: write=never_began read=never_began", "said: something else", "reply: else"],
    );
}

/// The call that a parked turn waits for, as it was shown.
fn waiting(script: &Script) -> (petasos_core::id::CallId, petasos_core::id::Digest) {
    let call = script.log().iter().rev().find_map(|entry| match &entry.body {
        Body::Call(call) if call.verdict == VerdictKind::Ask => Some((call.call, call.shown)),
        _ => None,
    });
    call.unwrap()
}

#[test]
fn t07_a_parked_call_is_decided_about_at_rest_and_the_run_after_follows_it() {
    for (answer, outcome) in [(YES, "ok"), (no(), "denied")] {
        // Whatever the run after makes of questions, and also when the process ended in between.
        for on_ask in [OnAsk::Ask, OnAsk::Refuse, OnAsk::Park] {
            let script = parked("ask_write").terms(asking(on_ask));
            let (call, shown) = waiting(&script);
            let answer = answer.clone();
            let decided = script.input(Input::Decide { call, answer, shown }).run().script;
            let script = decided.kill(Lost::Unsynced);
            let ran = script.terms(asking(on_ask)).go_on().run();
            let line = format!("reply: other_write=ok ask_write={outcome} keyed=ok");
            check(&ran, StopReason::Completed, &["said: do it", &line, "reply: done"]);
        }
    }
}

#[test]
fn t07_a_no_and_stop_at_rest_ends_the_turn_when_it_goes_on() {
    let script = parked("ask_write");
    let (call, shown) = waiting(&script);
    let ran = script.input(Input::Decide { call, answer: Answer::NoAndStop, shown }).go_on().run();
    assert_eq!(ran.status, Some(StopReason::Denied));
    assert!(ran.ran().iter().all(|tool| tool != "ask_write"));
}

#[test]
fn t07_a_no_at_rest_holds_when_the_policy_allows_the_call_by_then() {
    let script = parked("ask_write");
    let (call, shown) = waiting(&script);
    let mut script = script
        .input(Input::Decide { call, answer: no(), shown })
        .input(Input::Continue { add: Limits::default() });
    let prepared = |input: &Input| matches!(input, Input::Prepared { call: about, .. } if *about == call);
    let mut due = script.take_due(prepared);
    while due.is_none() {
        script.step().unwrap();
        due = script.take_due(prepared);
    }
    let Some(Input::Prepared { prepared, .. }) = due else { panic!() };
    let Verdict::Ask(asked) = prepared.verdict else { panic!() };
    let allowing = Rule { tool: "*".into(), action: Action::Allow, name: "today".into() };
    let policy = Policy { rules: vec![allowing], hash: prepared.policy };
    let prepared = judge(&policy, &Grants::default(), asked.proposal().clone());
    let ran = script.input(Input::Prepared { call, prepared }).run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: other_write=ok ask_write=denied keyed=ok", "reply: done"],
    );
}

#[test]
fn t07_an_answer_at_rest_that_does_not_fit_changes_nothing() {
    let mut script = parked("ask_write");
    let (call, shown) = waiting(&script);
    let before = script.session().clone();
    let other = petasos_core::id::CallId { place: 0, ..call };
    let wrong = [(call, digest(99), Rejected::OtherShown(call)), (other, shown, Rejected::OtherCall(other))];
    for (call, shown, why) in wrong {
        assert_eq!(script.feed(Input::Decide { call, answer: YES, shown }), Err(why));
        assert_eq!(script.session(), &before);
    }
    let mut script = script.input(Input::Decide { call, answer: YES, shown });
    let twice = script.feed(Input::Decide { call, answer: no(), shown });
    assert_eq!(twice, Err(Rejected::OtherCall(call)), "the first answer counts");
    let mut rest = Script::new(terms(9)).replies([text("done")]).say("do it").run().script;
    assert_eq!(rest.feed(Input::Decide { call, answer: YES, shown }), Err(Rejected::AtRest));
}
