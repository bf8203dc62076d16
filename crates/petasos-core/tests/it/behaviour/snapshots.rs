//! What is handed out is a snapshot (L08).

use std::sync::Arc;

use petasos_core::entry::{Block, Body, Reply, Said};
use petasos_core::transcript::Item;
use petasos_core::turn::Effect;
use petasos_testkit::script::{Script, calls, text};
use petasos_testkit::words::terms;

/// A job right before its second request is measured.
fn job() -> Script {
    Script::new(terms(9)).replies([calls(["read", "write"]), text("done")]).say("do it")
}

/// What is sent and kept when somebody changes all that was handed out, at every event.
fn run_with(
    change: impl Fn(&Script),
) -> (Vec<petasos_testkit::script::Sent>, Vec<petasos_core::entry::Entry>) {
    let mut script = job();
    loop {
        change(&script);
        if script.step().is_none() {
            let ran = script.run();
            return (ran.sent, ran.entries);
        }
    }
}

fn spoil_reply(reply: &Reply) -> Reply {
    let mut spoilt = reply.clone();
    for block in &mut spoilt.blocks {
        if let Block::Call(call) = block {
            call.arguments = "{\"path\":\"/etc/passwd\"}".into();
            call.name = "spoilt".into();
        }
    }
    spoilt.blocks.push(Block::Text("spoilt".into()));
    spoilt
}

#[test]
fn l08_changing_the_returned_transcript_changes_neither_store_nor_next_request() {
    let unchanged = run_with(|_| {});
    let changed = run_with(|script| {
        let items: Vec<Item> =
            script.session().transcript().items().into_iter().map(|(_, item)| item.clone()).collect();
        for item in items {
            match item {
                Item::Said(mut said) => Arc::make_mut(&mut said).content.clear(),
                Item::Note(mut note) => Arc::make_mut(&mut note).text = "spoilt".into(),
                Item::Step(mut step) => {
                    step.results.clear();
                    let spoilt = spoil_reply(&step.reply);
                    *Arc::make_mut(&mut step.reply) = spoilt;
                }
            }
        }
    });
    assert_eq!(changed, unchanged);
}

#[test]
fn l08_changing_a_nested_tool_argument_of_the_open_step_changes_nothing() {
    let unchanged = run_with(|_| {});
    let changed = run_with(|script| {
        let Some(turn) = script.session().turn() else { return };
        let mut step = turn.told().step.clone();
        if let Some(open) = &mut step.reply {
            let spoilt = spoil_reply(&open.reply);
            *Arc::make_mut(&mut open.reply) = spoilt;
            open.calls.clear();
        }
    });
    assert_eq!(changed, unchanged);
}

#[test]
fn l08_changing_an_effect_or_an_entry_that_was_handed_out_changes_nothing() {
    let unchanged = run_with(|_| {});
    let changed = run_with(|script| {
        for mut effect in script.effects().iter().cloned() {
            match &mut effect {
                Effect::Append { entries, .. } => {
                    entries.iter_mut().for_each(|entry| match &mut entry.body {
                        Body::Said(said) => said.content.clear(),
                        Body::Reply(reply) => *reply = spoil_reply(reply),
                        _ => entry.seq.0 += 1,
                    })
                }
                Effect::Measure(draft) => draft.upto.0 += 7,
                _ => {}
            }
        }
    });
    assert_eq!(changed, unchanged);
}

#[test]
fn l08_driving_a_copy_of_the_session_changes_nothing() {
    let unchanged = run_with(|_| {});
    let changed = run_with(|script| {
        let mut copy = script.clone().replies([text("other"), text("other"), text("other")]);
        if copy.session().is_running() {
            copy = copy.interrupt();
        }
        copy.run();
    });
    assert_eq!(changed, unchanged);
}

#[test]
fn l08_what_was_said_stays_the_callers() {
    let said: Said = petasos_testkit::words::say("do it", petasos_core::entry::When::Now);
    let kept = said.clone();
    let script = Script::new(terms(9)).replies([text("done")]);
    let ran = script.input(petasos_core::turn::Input::Say(said.clone())).run();
    assert_eq!(said, kept);
    assert_eq!(ran.sent[0].told, ["said: do it"]);
}

#[test]
fn l08_a_folded_session_and_the_entries_it_was_folded_from_are_apart() {
    let mut entries = job().run().entries;
    let folded = petasos_core::Session::fold(&entries, terms(9));
    let told = petasos_testkit::script::told(&folded);
    entries.iter_mut().for_each(|entry| {
        if let Body::Reply(reply) = &mut entry.body {
            *reply = spoil_reply(reply);
        }
    });
    entries.clear();
    assert_eq!(petasos_testkit::script::told(&folded), told);
}
