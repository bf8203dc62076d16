//! One session and its driver.

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::{Body, When};
use petasos_core::id::Seq;
use petasos_core::request::Break;
use petasos_core::stop::StopReason;
use petasos_core::tool::Outcome;
use petasos_core::turn::Delta;
use petasos_runtime::{Event, Follows, Op, OpError, RunResult};
use petasos_testkit::words::{target, terms};

use crate::around::{Around, Says, calls, other_hash, text, to_the_end, types, until};

fn result(events: &[Event]) -> &RunResult {
    match events.last() {
        Some(Event::Result(result)) => result,
        other => panic!("no result: {other:?}"),
    }
}

fn outcomes(events: &[Event]) -> Vec<(String, Outcome)> {
    let of = |event: &Event| match event {
        Event::ToolResult { tool, outcome, .. } => Some((tool.to_string(), *outcome)),
        _ => None,
    };
    // Calls end in any order; what the model gets is in the order of the calls.
    let mut outcomes: Vec<_> = events.iter().filter_map(of).collect();
    outcomes.sort();
    outcomes
}

#[tokio::test]
async fn a_turn_is_told_in_the_order_of_its_entries() {
    let around = Around::new([calls(&["reads", "writes"]), text("all done")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("do it", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    let kept = events.iter().filter_map(|event| match event {
        Event::Said { entry, .. }
        | Event::TurnStart { entry, .. }
        | Event::StepStart { entry, .. }
        | Event::Reply { entry, .. }
        | Event::ToolStart { entry: Some(entry), .. }
        | Event::ToolResult { entry, .. }
        | Event::TurnEnd { entry: Some(entry), .. } => Some(*entry),
        _ => None,
    });
    let kept: Vec<Seq> = kept.collect();
    assert!(kept.is_sorted(), "{events:#?}");
    let told = types(&events);
    assert_eq!(told[..4], ["said", "turn_start", "step_start", "reply"]);
    assert_eq!(told[told.len() - 5..], ["step_start", "delta", "reply", "turn_end", "result"]);
    assert_eq!((result(&events).status, &*result(&events).reply), ("completed", "all done"));
}

#[tokio::test]
async fn s01_what_is_said_is_told_once_it_is_on_disk() {
    let around = Around::new([text("hello")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    around.gate.shut();
    session.ask(Op::say("hi", When::Now)).await.unwrap();
    // The disk waits, so nothing of it is told; what is asked meanwhile is still heard.
    assert!(session.ask(Op::Interrupt).await.is_ok(), "an interrupt is heard while the disk is slow");
    assert!(around.model.bodies().is_empty(), "no request before what it depends on is on disk");
    around.gate.open();
    let events = to_the_end(&mut session).await;
    assert_eq!(types(&events), ["said", "turn_start", "step_start", "turn_end", "result"]);
    assert_eq!(result(&events).reason, Some(StopReason::Interrupted));
}

#[tokio::test]
async fn l09_a_panic_in_a_tool_is_a_result_and_the_turn_goes_on() {
    let around = Around::new([calls(&["panics", "panics_early", "reads"]), text("I see")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    let wanted = [("panics", Outcome::Error), ("panics_early", Outcome::Invalid), ("reads", Outcome::Ok)];
    assert_eq!(outcomes(&events), wanted.map(|(tool, outcome)| (tool.to_owned(), outcome)));
    for event in &events {
        if let Event::ToolResult { outcome: Outcome::Error | Outcome::Invalid, text, .. } = event {
            assert!(text.starts_with("{\"error\":") && text.contains("\"hint\":"), "{text}");
            assert!(!text.contains("breaks down"), "no words of a panic: {text}");
        }
    }
    assert_eq!(result(&events).status, "completed");
}

/// `look.up` fits no wire and `look_up` is another tool, so it is sent under a name of its own, and called by it.
#[tokio::test]
async fn p02_a_call_under_the_name_that_was_sent_finds_its_own_tool() {
    let sent = "look_up_wmzkqh";
    let around = Around::new([calls(&[sent, "look_up"]), text("done")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    let id = session.id().clone();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    // Events tell calls by the words of the model; which tool ran stands in the log.
    let wanted = [("look_up", Outcome::Ok), (sent, Outcome::Ok)];
    assert_eq!(outcomes(&events), wanted.map(|(tool, outcome)| (tool.to_owned(), outcome)));
    for body in around.model.bodies() {
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains(&format!("\"name\":\"{sent}\"")), "{body}");
        assert!(!body.contains("look.up\",\"arguments"), "{body}");
    }
    drop(session);
    let read = around.store().read(&id).unwrap();
    let mut changed: Vec<String> = read
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Call(call) => Some(format!("{} {:?}", call.tool, call.changed_by)),
            _ => None,
        })
        .collect();
    // They are prepared at once, and written as each is done.
    changed.sort();
    assert_eq!(changed, [r#"look.up ["repair: name"]"#, "look_up []"]);
}

#[tokio::test]
async fn a_panic_in_the_reader_of_a_reply_is_a_failed_request() {
    let around = Around::new([Says::Panics, text("again")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert!(types(&events).contains(&"retrying"), "{events:#?}");
    assert_eq!((result(&events).status, &*result(&events).reply), ("completed", "again"));
}

#[tokio::test]
async fn l12_an_interrupt_in_a_stream_keeps_what_came_and_the_next_turn_is_valid() {
    let half = vec![Delta::Text("I begin".into())];
    let around = Around::new([Says::Stalls(half), text("yes")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::Delta { .. })).await;
    session.ask(Op::Interrupt).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!((result(&events).status, &*result(&events).reply), ("interrupted", "I begin"));
    session.ask(Op::say("are you there?", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!((result(&events).status, &*result(&events).reply), ("completed", "yes"));
    let bodies = around.model.bodies();
    let wire = petasos_core::request::Wire::Chat;
    for body in &bodies {
        assert_eq!(petasos_testkit::check_request::check_request(wire, body), Vec::<String>::new());
    }
}

#[tokio::test]
async fn l12_an_interrupt_stops_a_tool_and_waits_for_its_own_word() {
    let around = Around::new([calls(&["waits", "writes"])]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::ToolStart { .. })).await;
    session.ask(Op::Interrupt).await.unwrap();
    let events = to_the_end(&mut session).await;
    let waits = outcomes(&events).into_iter().find(|(tool, _)| tool == "waits").unwrap();
    assert_eq!(waits.1, Outcome::CutShort);
    assert_eq!(result(&events).status, "interrupted");
}

#[tokio::test]
async fn u01_what_was_said_before_calls_is_no_answer_of_a_turn_that_was_broken_off() {
    let looks = |tool| {
        let mut pieces = vec![Delta::Text("I look.".into())];
        pieces.extend(petasos_testkit::words::call(0, tool, "{}"));
        Says::All(pieces)
    };
    // Interrupted while the tool runs, and while the next reply comes.
    let around = Around::new([looks("waits")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::ToolStart { .. })).await;
    session.ask(Op::Interrupt).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!((result(&events).status, &*result(&events).reply), ("interrupted", ""));
    let around = Around::new([looks("reads"), Says::Stalls(vec![])]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::ToolResult { .. })).await;
    until(&mut session, |event| matches!(event, Event::StepStart { .. })).await;
    session.ask(Op::Interrupt).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!((result(&events).status, &*result(&events).reply), ("interrupted", ""));
    // What came of the reply itself is what there is, calls in it or not.
    let around = Around::new([Says::Stalls(vec![Delta::Text("I be".into())])]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::Delta { .. })).await;
    session.ask(Op::Interrupt).await.unwrap();
    assert_eq!(&*result(&to_the_end(&mut session).await).reply, "I be");
}

#[tokio::test]
async fn l13_a_steer_enters_with_the_next_request_and_keeps_the_turn_going() {
    let around = Around::new([Says::Stalls(Vec::new())]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::StepStart { .. })).await;
    session.ask(Op::say("the blue one", When::NextStep)).await.unwrap();
    let events = until(&mut session, |event| matches!(event, Event::Said { .. })).await;
    assert_eq!(types(&events), ["said"]);
    session.ask(Op::Interrupt).await.unwrap();
    to_the_end(&mut session).await;
}

#[tokio::test]
async fn i2_an_answer_over_something_else_than_was_shown_runs_nothing() {
    let around = Around::new([calls(&["asks"]), text("thanks")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = until(&mut session, |event| matches!(event, Event::Asking { .. })).await;
    let Some(Event::Asking { call, shown, tool, arguments, .. }) = events.last() else {
        panic!("{events:#?}")
    };
    assert_eq!((&**tool, &**arguments), ("asks", "{}"));
    let yes = Answer::Yes { scope: Scope::Once };
    let refused = session.ask(Op::Decide { call: *call, answer: yes.clone(), shown: other_hash() }).await;
    assert!(matches!(refused, Err(OpError::Rejected(_))), "{refused:?}");
    session.ask(Op::Decide { call: *call, answer: yes, shown: *shown }).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!(outcomes(&events), [("asks".to_owned(), Outcome::Ok)]);
}

#[tokio::test]
async fn a_target_that_nobody_serves_fails_and_says_so() {
    let around = Around::new([]);
    let mut nobody = terms(9);
    nobody.target.provider = "nobody".into();
    let mut session = around.agent().create(nobody).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    let error = result(&events).error.clone().unwrap();
    assert_eq!((result(&events).status, error.kind), ("model_failed", "not_found"));
    assert!(error.message.contains("nobody"), "{error:?}");
}

#[tokio::test]
async fn p10_new_parts_in_the_log_are_all_parts_of_the_last_body_also_over_processes() {
    let around = Around::new([calls(&["reads"]), text("one"), calls(&["writes"]), text("two")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("first", When::Now)).await.unwrap();
    to_the_end(&mut session).await;
    let id = session.id().clone();
    session.close().await;
    let mut session = around.agent().open(&id, |_| terms(9)).await.unwrap();
    session.ask(Op::say("second", When::Now)).await.unwrap();
    to_the_end(&mut session).await;
    let entries = around.store().read(&id).unwrap().entries;
    let requests: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Request(request) => Some(request),
            _ => None,
        })
        .collect();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| request.breaks.is_empty()), "{requests:#?}");
    let new: Vec<usize> = requests.iter().map(|request| request.parts.len()).collect();
    // Parameters, tools, system and what was said; then a step; then its end and what was said; then a step.
    assert_eq!(new, [4, 1, 2, 1]);
    let bodies = around.model.bodies();
    for pair in bodies.windows(2) {
        let complaints = petasos_testkit::check_request::check_prefix(
            petasos_core::request::Wire::Chat,
            &pair[0],
            &pair[1],
        );
        assert_eq!(complaints, Vec::<String>::new());
    }
    assert_eq!(target("first"), requests[0].target);
}

#[tokio::test]
async fn p10_that_the_same_things_are_written_differently_is_named() {
    let around = Around::new([text("one"), text("two"), text("three")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("first", When::Now)).await.unwrap();
    to_the_end(&mut session).await;
    let id = session.id().clone();
    session.close().await;
    around.model.write_differently();
    let mut session = around.agent().open(&id, |_| terms(9)).await.unwrap();
    for text in ["second", "third"] {
        session.ask(Op::say(text, When::Now)).await.unwrap();
        to_the_end(&mut session).await;
    }
    let entries = around.store().read(&id).unwrap().entries;
    let told = entries.iter().filter_map(|entry| match &entry.body {
        Body::Request(request) => Some((request.parts.len(), request.breaks.clone())),
        _ => None,
    });
    // All parts are new then, and only then.
    assert_eq!(told.collect::<Vec<_>>(), [(4, vec![]), (6, vec![Break::Adapt]), (2, vec![])]);
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_any_more_parks_the_turn() {
    let around = Around::new([calls(&["asks", "reads"])]);
    let session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let id = session.id().clone();
    // Closing waits for the end of the run: it would wait for ever if the question did.
    session.close().await;
    let session = around.agent().open(&id, |_| terms(9)).await.unwrap();
    assert_eq!(session.standing().asking.len(), 1);
    assert!(session.standing().can_continue);
}

#[tokio::test]
async fn t07_a_call_that_was_parked_is_decided_about_at_rest() {
    let around = Around::new([calls(&["asks", "asks", "writes"]), text("thanks")]);
    let session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let id = session.id().clone();
    session.close().await;
    let mut session = around.agent().open(&id, |_| terms(9)).await.unwrap();
    let [first, second] = session.standing().asking.clone().try_into().unwrap();
    let yes = Answer::Yes { scope: Scope::Once };
    let no = Answer::No { reason: "no".into() };
    session.ask(Op::Decide { call: second.call, answer: yes, shown: second.shown }).await.unwrap();
    session.ask(Op::Decide { call: first.call, answer: no, shown: first.shown }).await.unwrap();
    session.ask(Op::Continue { add: Default::default() }).await.unwrap();
    let events = to_the_end(&mut session).await;
    // The third call ran before the turn was parked, and does not run again.
    let told = outcomes(&events).into_iter().map(|(_, outcome)| outcome);
    assert_eq!(told.collect::<Vec<_>>(), [Outcome::Ok, Outcome::Denied]);
    assert_eq!(result(&events).status, "completed");
}

#[tokio::test]
async fn what_was_said_for_after_the_turn_starts_the_next_one_and_the_result_says_so() {
    let around = Around::new([Says::Stalls(vec![Delta::Text("hm".into())]), text("two")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("1", When::Now)).await.unwrap();
    until(&mut session, |event| matches!(event, Event::Delta { .. })).await;
    session.ask(Op::say("2", When::AfterTurn)).await.unwrap();
    session.ask(Op::Interrupt).await.unwrap();
    let events = to_the_end(&mut session).await;
    // After an interrupt what waits goes on waiting (0004).
    assert_eq!((result(&events).status, result(&events).follows), ("interrupted", Follows::Nothing));
    session.ask(Op::say("3", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!(result(&events).status, "completed");
}

#[tokio::test]
async fn p10_a_request_that_was_measured_and_not_made_leaves_no_gap_in_the_parts() {
    let around = Around::new([calls(&["reads"]), text("that is all"), text("more")]);
    let mut session = around.agent().create(terms(1)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    assert_eq!(result(&events).status, "budget_exhausted");
    let add = petasos_core::budget::Limits { steps: Some(3), ..Default::default() };
    session.ask(Op::Continue { add }).await.unwrap();
    to_the_end(&mut session).await;
    let entries = around.store().read(session.id()).unwrap().entries;
    let parts = entries.iter().filter_map(|entry| match &entry.body {
        Body::Request(request) => Some((request.parts.len(), request.breaks.len())),
        _ => None,
    });
    // The closing request holds the step and the note; the one after the raise its end and another note.
    assert_eq!(parts.collect::<Vec<_>>(), [(4, 0), (2, 0), (2, 0)]);
}

#[tokio::test]
async fn l02_l14_calls_that_run_at_once_and_end_in_reverse_have_their_results_in_call_order() {
    let around = Around::new([calls(&["third", "second", "first"]), text("done")]);
    let mut session = around.agent().create(terms(9)).await.unwrap();
    session.ask(Op::say("go", When::Now)).await.unwrap();
    let events = to_the_end(&mut session).await;
    // None could end before the last of them had begun, so they ran at once.
    let ended = events.iter().filter_map(|event| match event {
        Event::ToolResult { call, .. } => Some(call.place),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [2, 1, 0]);
    let sent = String::from_utf8(around.model.bodies()[1].to_vec()).unwrap();
    let places = ["call_0", "call_1", "call_2"].map(|id| sent.find(&format!("\"tool_call_id\":\"{id}\"")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{sent}");
}
