//! Going back: words are taken back, never money, settings, grants or what was done.

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::{Body, Cause, Entry, LeafReason, Lifetime, Setting, SettingSource};
use petasos_core::error::Rejected;
use petasos_core::id::Seq;
use petasos_core::request::Break;
use petasos_core::session::Terms;
use petasos_core::stop::StopReason;
use petasos_core::turn::{Input, Mode, OnAsk};
use petasos_testkit::script::{Lost, Ran, Script, calls, text};
use petasos_testkit::words::terms;

use crate::behaviour::check;

/// Two turns, and the seq of the last entry of the first one's last step.
fn two_turns() -> (Script, Seq) {
    let yes = Answer::Yes { scope: Scope::Session };
    let replies = [text("one"), calls(["ask_write"]), text("two")];
    let script = Script::new(terms(9)).answers([yes]).replies(replies).say("first").run().script;
    let place = script.last(|body| matches!(body, Body::Reply(_))).unwrap().seq;
    let title = Setting {
        key: "title".into(),
        value: Some("a test".into()),
        by: SettingSource::Person,
        lifetime: Lifetime::Session,
    };
    (script.say("second").run().script.input(Input::Set(title)), place)
}

#[test]
fn going_back_takes_back_words_and_nothing_else() {
    let (script, place) = two_turns();
    let before = script.session().clone();
    let ran = script.replies([text("other")]).input(Input::GoTo(place)).stop_here();
    assert_eq!(ran.told, ["said: first", "reply: one"]);
    assert_eq!(ran.session.account(), before.account());
    assert_eq!(ran.session.settings(), before.settings());
    assert_eq!(ran.session.grants(), before.grants());
    assert!(!ran.session.can_continue());

    let ran = ran.script.say("another").run();
    check(&ran, StopReason::Completed, &["said: first", "reply: one", "said: another", "reply: other"]);
    assert_eq!(ran.requests().last().unwrap().breaks, [Break::Leaf]);
}

#[test]
fn one_can_go_back_to_what_was_taken_back() {
    let (script, place) = two_turns();
    let far = script.last(|body| matches!(body, Body::Reply(_))).unwrap().seq;
    let ran = script.input(Input::GoTo(place)).run().script.input(Input::GoTo(far)).run();
    assert_eq!(ran.told, ["said: first", "reply: one", "said: second", "reply: ask_write=ok", "reply: two"]);
}

#[test]
fn one_can_go_to_what_was_said_or_a_closed_step_and_nowhere_else() {
    let (script, _) = two_turns();
    let items: Vec<Seq> = script.session().transcript().items().iter().map(|(seq, _)| *seq).collect();
    for seq in (0..script.session().next_seq().0 + 2).map(Seq) {
        let mut copy = script.clone();
        let before = copy.session().clone();
        let handled = copy.feed(Input::GoTo(seq));
        if items.contains(&seq) {
            assert!(handled.is_ok(), "{seq}");
        } else {
            assert_eq!((handled, copy.session()), (Err(Rejected::NoPlace(seq)), &before));
        }
    }
}

#[test]
fn one_cannot_go_back_while_a_turn_runs() {
    let mut script = Script::new(terms(9)).replies([text("done")]).say("do it");
    loop {
        let mut copy = script.clone();
        if copy.session().is_running() {
            assert_eq!(copy.feed(Input::GoTo(Seq(2))), Err(Rejected::Running));
            assert_eq!(copy.session(), script.session());
        }
        if script.step().is_none() {
            break;
        }
    }
}

#[test]
fn going_back_from_a_parked_turn_closes_its_step() {
    let parked = Terms { mode: Mode { on_ask: OnAsk::Park, ..Mode::default() }, ..terms(9) };
    let script = Script::new(parked).replies([calls(["ask_write"])]).say("do it").run().script;
    let said = script.last(|body| matches!(body, Body::Said(_))).unwrap().seq;
    let ran = script.input(Input::GoTo(said)).run();
    assert_eq!(
        (ran.told.clone(), ran.results()),
        (vec!["said: do it".to_owned()], vec!["6.0 denied".to_owned()])
    );
    assert!(!ran.session.can_continue());
}

/// Where and why the leaf moved, in order.
fn leaves(ran: &Ran) -> Vec<(Option<Seq>, LeafReason)> {
    let leaf = |entry: &Entry| match &entry.body {
        Body::Leaf(leaf) => Some((leaf.to, leaf.why)),
        _ => None,
    };
    ran.entries.iter().filter_map(leaf).collect()
}

fn causes(ran: &Ran) -> Vec<Cause> {
    let cause = |entry: &Entry| match &entry.body {
        Body::TurnStart(start) => Some(start.cause),
        _ => None,
    };
    ran.entries.iter().filter_map(cause).collect()
}

#[test]
fn undo_takes_back_what_was_said_last_and_all_that_came_of_it() {
    let (script, place) = two_turns();
    let before = script.session().clone();
    let ran = script.replies([text("other")]).input(Input::Undo).stop_here();
    assert_eq!(ran.told, ["said: first", "reply: one"]);
    assert_eq!(leaves(&ran), [(Some(place), LeafReason::Undo)]);
    assert_eq!(ran.session.account(), before.account());
    assert_eq!(ran.session.settings(), before.settings());
    assert_eq!(ran.session.grants(), before.grants());
    // And once more, to the empty transcript.
    let ran = ran.script.input(Input::Undo).stop_here();
    assert_eq!((ran.told.len(), leaves(&ran)[1]), (0, (None, LeafReason::Undo)));
    let mut script = ran.script;
    let before = script.session().clone();
    assert_eq!((script.feed(Input::Undo), script.session()), (Err(Rejected::NothingSaid), &before));
    let ran = script.say("another").run();
    check(&ran, StopReason::Completed, &["said: another", "reply: other"]);
    assert_eq!(ran.requests().last().unwrap().breaks, [Break::Leaf]);
}

#[test]
fn undo_takes_back_a_steer_alone_and_what_waits_before_all_else() {
    let replies = [calls(["write"]), text("done")];
    let has_begun = |script: &Script| script.last(|body| matches!(body, Body::ToolStart(_))).is_some();
    let script = Script::new(terms(9)).replies(replies).say("do it").until(has_begun);
    let ran = script.steer("and this").run();
    assert_eq!(ran.told, ["said: do it", "reply: write=ok", "said: and this", "reply: done"]);
    let ran = ran.script.input(Input::Undo).stop_here();
    assert_eq!(ran.told, ["said: do it", "reply: write=ok"]);

    // What was said for after a turn that was stopped is said last.
    let script = Script::new(terms(9)).replies([calls(["write"])]).deaf("write").say("do it").events(12);
    let ran = script.follow_up("then this").interrupt().run();
    assert_eq!(ran.session.waiting().len(), 1);
    let ran = ran.script.input(Input::Undo).stop_here();
    assert_eq!((ran.session.waiting().len(), ran.told[0].as_str()), (0, "said: do it"));
    let ran = ran.script.input(Input::Undo).stop_here();
    assert_eq!(ran.told, [""; 0]);
}

#[test]
fn retry_answers_anew_what_was_said_last() {
    let (script, _) = two_turns();
    let said = script.last(|body| matches!(body, Body::Said(_))).unwrap().seq;
    let ran = script.replies([text("again")]).input(Input::Retry).run();
    check(&ran, StopReason::Completed, &["said: first", "reply: one", "said: second", "reply: again"]);
    assert_eq!(leaves(&ran), [(Some(said), LeafReason::Retry)]);
    assert_eq!(causes(&ran).last(), Some(&Cause::Retry));
    assert_eq!(ran.requests().last().unwrap().breaks, [Break::Leaf]);
    // What was told so far is what the log tells.
    let again = petasos_core::session::Session::fold(&ran.entries, terms(9));
    assert!(again.is_told_as(&ran.session));
}

#[test]
fn a_turn_that_was_parked_stopped_or_killed_can_be_retried() {
    let parked = Terms { mode: Mode { on_ask: OnAsk::Park, ..Mode::default() }, ..terms(9) };
    let script = Script::new(parked).replies([calls(["ask_write"]), text("done")]);
    let ran = script.say("do it").run().script.input(Input::Retry).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    assert_eq!(ran.results(), ["6.0 denied"]);

    let script = Script::new(terms(9)).replies([calls(["write"]), text("done")]).deaf("write").say("do it");
    let ran = script.clone().events(12).interrupt().run().script.input(Input::Retry).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);

    let ran = script.events(12).kill(Lost::Nothing).input(Input::Retry).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    assert_eq!(causes(&ran), [Cause::Said { said: Seq(2) }, Cause::Retry]);
}

#[test]
fn what_was_never_answered_is_answered_by_a_retry() {
    // Killed between `said` and `turn_start`.
    let script = Script::new(terms(9)).replies([text("one"), text("two")]).say("first").run().script;
    let log: Vec<Entry> = script.clone().say("second").run().entries;
    let said = log.iter().rposition(|entry| matches!(entry.body, Body::Said(_))).unwrap();
    let script = Script::with_log(terms(9), log[..=said].to_vec()).replies([text("two")]);
    let ran = script.input(Input::Retry).run();
    check(&ran, StopReason::Completed, &["said: first", "reply: one", "said: second", "reply: two"]);
    assert_eq!(leaves(&ran), []);
}

#[test]
fn nothing_is_undone_or_retried_while_a_turn_runs() {
    let mut script = Script::new(terms(9)).replies([text("done")]).say("do it");
    loop {
        let mut copy = script.clone();
        if copy.session().is_running() {
            for input in [Input::Undo, Input::Retry] {
                assert_eq!(copy.feed(input), Err(Rejected::Running));
                assert_eq!(copy.session(), script.session());
            }
        }
        if script.step().is_none() {
            break;
        }
    }
}
