//! More than one holder of a session.

use petasos_core::entry::When;
use petasos_runtime::{Event, Op, OpError, StoreError};
use petasos_testkit::words::terms;

use crate::around::{Around, Says, text, to_the_end, until};

#[tokio::test]
async fn a_session_at_rest_may_be_held_by_another_and_is_folded_anew_when_one_comes_back() {
    let around = Around::new([text("one"), text("two"), text("three")]);
    let mut first = around.agent().create(terms(9)).await.unwrap();
    first.ask(Op::say("1", When::Now)).await.unwrap();
    to_the_end(&mut first).await;
    let mut second = around.agent().open(first.id(), |_| terms(9)).await.unwrap();
    second.ask(Op::say("2", When::Now)).await.unwrap();
    to_the_end(&mut second).await;
    first.ask(Op::say("3", When::Now)).await.unwrap();
    to_the_end(&mut first).await;
    let last = around.model.bodies().pop().unwrap();
    let last = String::from_utf8(last.to_vec()).unwrap();
    let pieces = ["1", "one", "2", "two", "3"].map(|text| format!("\"content\":\"{text}\""));
    let places = pieces.map(|piece| last.find(&piece));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{last}");
}

#[tokio::test]
async fn a_session_whose_turn_runs_is_held() {
    let around = Around::new([Says::Stalls(Vec::new())]);
    let mut first = around.agent().create(terms(9)).await.unwrap();
    first.ask(Op::say("1", When::Now)).await.unwrap();
    until(&mut first, |event| matches!(event, Event::StepStart { .. })).await;
    let refused = around.agent().open(first.id(), |_| terms(9)).await;
    match refused {
        Err(StoreError::Held { by, .. }) => assert!(by.contains(&std::process::id().to_string()), "{by}"),
        other => panic!("{other:?}"),
    }
    first.ask(Op::Interrupt).await.unwrap();
    to_the_end(&mut first).await;
    assert!(around.agent().open(first.id(), |_| terms(9)).await.is_ok());
}

#[tokio::test]
async fn an_op_that_does_not_fit_says_why_and_changes_nothing() {
    let around = Around::new([text("one")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    let refused = session.ask(Op::Continue { add: Default::default() }).await;
    assert!(matches!(refused, Err(OpError::Rejected(_))), "{refused:?}");
    session.ask(Op::say("1", When::Now)).await.unwrap();
    to_the_end(&mut session).await;
}
