//! More than one holder of a session.

use std::sync::Arc;

use petasos_core::entry::{Body, When};
use petasos_core::stop::StopReason;
use petasos_core::time::Span;
use petasos_runtime::{Agent, Event, Op, OpError, Parts, StoreError};
use petasos_testkit::words::terms;

use crate::around::{Around, Paused, Says, text, to_the_end, until};

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

/// The clock of the second process was set back to 1970, where the first one had today.
#[tokio::test]
async fn s02_a_clock_that_was_set_back_between_two_processes_costs_nothing() {
    let around = Around::new([text("one"), text("two")]);
    let mut first = around.agent().create(terms(9)).await.unwrap();
    first.ask(Op::say("1", When::Now)).await.unwrap();
    to_the_end(&mut first).await;
    let id = first.id().clone();
    first.close().await;
    let before = around.store().read(&id).unwrap().entries;
    let clock = Arc::new(Paused(tokio::time::Instant::now()));
    let agent = Agent::new(Parts { clock, ..around.parts() });
    let mut second = agent.open(&id, |_| terms(9)).await.unwrap();
    second.ask(Op::say("2", When::Now)).await.unwrap();
    to_the_end(&mut second).await;
    let contents = around.store().read(&id).unwrap();
    assert_eq!((contents.damage, &contents.entries[..before.len()]), (Vec::new(), &before[..]));
    let last = contents.entries.last().unwrap();
    let Body::TurnEnd(end) = &last.body else { panic!("{last:?}") };
    assert_eq!(end.reason, StopReason::Completed);
    assert!(last.at < before[0].at && end.worked < Span::seconds(30), "{last:?}");
    let listed = around.store().list().unwrap().sessions.pop().unwrap();
    assert!(listed.last >= before.last().unwrap().at, "what was last stays last");
}
