//! Going back: words are taken back, never money, settings, grants or what was done.

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::{Body, Lifetime, Setting, SettingSource};
use petasos_core::error::Rejected;
use petasos_core::id::Seq;
use petasos_core::request::Break;
use petasos_core::session::Terms;
use petasos_core::stop::StopReason;
use petasos_core::turn::{Input, Mode, OnAsk};
use petasos_testkit::script::{Script, calls, text};
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
