//! Row L08: what is published or returned is a snapshot. Whoever changes it changes nothing that is kept or sent.

use petasos_core::entry::When;
use petasos_core::tool::Outcome;
use petasos_runtime::{Event, Op, Replayed};
use petasos_testkit::words::terms;

use crate::around::{Around, calls, text, to_the_end};

/// Changes all that events hold, down to the arguments of calls.
fn meddle(events: &mut [Event]) -> usize {
    let mut changed = 0;
    for event in events {
        changed += 1;
        match event {
            Event::Said { text, .. } | Event::Note { text, .. } => *text = "meddled".into(),
            Event::Reply { text, calls, .. } => {
                *text = "meddled".into();
                for call in calls.iter_mut() {
                    call.arguments = "{\"path\":\"meddled\"}".into();
                    call.name = "meddled".into();
                }
            }
            Event::ToolResult { text, outcome, .. } => {
                *text = "meddled".into();
                *outcome = Outcome::Error;
            }
            Event::Result(result) => std::sync::Arc::make_mut(result).reply = "meddled".into(),
            _ => changed -= 1,
        }
    }
    changed
}

/// Events, results, what is shown, the loaded session, its terms and how it stands: all of it is changed, and each next
/// request and each line of the log is as if nobody had. That the requests are those of the log a replay shows.
#[tokio::test]
async fn l08_what_was_told_may_be_changed_and_nothing_kept_or_sent_changes() {
    let around = Around::new([calls(&["reads"]), text("done"), text("on"), text("again")]);
    let agent = around.agent();
    let mut session = agent.create(terms(9)).await.unwrap();
    let id = session.id().clone();
    let op = Op::say("do it", When::Now);
    let mut kept = op.clone();
    session.ask(op).await.unwrap();
    let Op::Say(said) = &mut kept else { unreachable!() };
    said.content.clear();
    let mut events = to_the_end(&mut session).await;
    let before = around.store().read(&id).unwrap().entries;
    assert_eq!(meddle(&mut events), 5, "{events:#?}");
    let mut own = session.terms().clone();
    own.target.model = "meddled".into();
    session.ask(Op::say("and on", When::Now)).await.unwrap();
    to_the_end(&mut session).await;
    session.close().await;

    let mut loaded = around.store().read(&id).unwrap();
    assert!(loaded.entries.starts_with(&before));
    let whole = loaded.entries.clone();
    loaded.entries.clear();
    let mut session = agent.open(&id, |_| terms(9)).await.unwrap();
    let mut standing = session.standing().clone();
    (standing.can_continue, standing.asking) = (!standing.can_continue, Vec::new());
    session.ask(Op::say("once more", When::Now)).await.unwrap();
    to_the_end(&mut session).await;
    session.close().await;

    let log = around.store().read(&id).unwrap().entries;
    assert!(log.starts_with(&whole));
    let replayed = Replayed::of(&log, None).unwrap();
    assert_eq!((replayed.differences.as_slice(), replayed.requests.len()), (&[][..], 4));
    let bodies = around.model.bodies();
    assert_eq!(bodies.len(), 4);
    assert!(bodies.iter().all(|body| !String::from_utf8_lossy(body).contains("meddled")));
}
