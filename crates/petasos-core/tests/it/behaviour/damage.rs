//! A log with a line that cannot be read: it costs itself only.

use petasos_core::approval::{Answer, Scope};
use petasos_core::budget::Limits;
use petasos_core::entry::Entry;
use petasos_core::session::Session;
use petasos_core::stop::StopReason;
use petasos_testkit::script::{Lost, Script, calls, cut, fails, nothing, text, told};
use petasos_testkit::words::terms;

/// Logs of many shapes: finished, parked in the middle of calls, denied, closed by a budget.
fn logs() -> Vec<Vec<Entry>> {
    let yes = Answer::Yes { scope: Scope::Once };
    let job = [
        fails(petasos_core::stop::FailureKind::Network),
        calls(["read", "other_write", "ask_write"]).after_text("let me see"),
        nothing(),
        cut("half "),
        text("done"),
        text("again"),
    ];
    let finished = Script::new(terms(9)).replies(job.clone()).answers(vec![yes.clone(); 2]).say("do it");
    let finished = finished.steer("and this").run().script.say("more").run().entries;
    let running =
        Script::new(terms(9)).replies(job.clone()).deaf("other_write").say("do it").steer("and this");
    let killed = running.clone().events(40).kill(Lost::Nothing).stop_here().entries;
    let interrupted = running.events(40).interrupt().run().entries;
    let denied =
        Script::new(terms(9)).replies([calls(["read", "write", "hard_write"])]).say("do it").run().entries;
    let refused =
        Script::new(terms(9)).replies(job).answers([yes, Answer::NoAndStop]).say("do it").run().entries;
    let spent = Script::new(terms(1)).replies([calls(["write"]), text("half")]).say("do it").run().entries;
    vec![finished, killed, interrupted, denied, refused, spent]
}

/// Every log without one of its lines.
fn damaged_logs() -> impl Iterator<Item = (String, Vec<Entry>)> {
    logs().into_iter().enumerate().flat_map(|(which, log)| {
        (2..log.len()).map(move |gap| {
            let mut damaged = log.clone();
            let entry = damaged.remove(gap);
            (format!("log {which} without {} {}", entry.body.kind(), entry.seq), damaged)
        })
    })
}

fn script(log: Vec<Entry>) -> Script {
    let yes = Answer::Yes { scope: Scope::Once };
    let script = Script::with_log(terms(9), log).kill(Lost::Nothing);
    script.replies(vec![text("hello"); 9]).answers(vec![yes; 9])
}

#[test]
fn without_any_one_line_the_transcript_has_one_result_for_each_call() {
    for (name, log) in damaged_logs() {
        println!("{name}");
        told(&Session::fold(&log, terms(9)));
    }
}

#[test]
fn without_any_one_line_a_turn_that_can_go_on_does() {
    for (name, log) in damaged_logs() {
        println!("{name}");
        let script = script(log);
        if script.session().can_continue() {
            let ran = script.go_on_with(Limits { steps: Some(9), ..Limits::default() }).run();
            assert!(ran.status.is_some(), "{name}");
        }
    }
}

#[test]
fn without_any_one_line_the_leaf_can_go_back() {
    for (name, log) in damaged_logs() {
        println!("{name}");
        let script = script(log);
        let Some((first, _)) = script.session().transcript().items().first().copied() else { continue };
        if script.session().transcript().is_place(first) {
            script.input(petasos_core::turn::Input::GoTo(first)).run();
        }
    }
}

#[test]
fn what_was_answered_is_not_answered_again_because_a_line_is_damaged() {
    let script = Script::new(terms(9)).replies([text("one"), text("two"), text("three")]);
    let script = script.say("first").run().script;
    let log = script.log().to_vec();
    for entry in log.iter().skip(3) {
        let ran = script.clone().kill_and_damage(entry.seq).say("second").run();
        let kind = entry.body.kind();
        assert_eq!(ran.told.iter().filter(|line| *line == "said: first").count(), 1, "without {kind}");
        assert_eq!(ran.told.last().map(String::as_str), Some("reply: two"), "without {kind}");
    }
}

/// How many lines of the transcript the damage of one line of the log costs.
#[test]
fn a_damaged_line_costs_at_most_its_own_message() {
    let mut costs = Vec::new();
    for (which, log) in logs().into_iter().enumerate() {
        let whole = told(&Session::fold(&log, terms(9)));
        for gap in 2..log.len() {
            let mut damaged = log.clone();
            let entry = damaged.remove(gap);
            let left = told(&Session::fold(&damaged, terms(9)));
            let owes = usize::from(matches!(entry.body.kind(), "said" | "note" | "reply" | "tool_result"));
            let lost = whole.iter().filter(|line| !left.contains(line)).count();
            if lost > owes {
                costs.push(format!("log {which} without {} {}: {left:?}", entry.body.kind(), entry.seq));
            }
        }
    }
    assert!(costs.is_empty(), "{costs:#?}");
}

#[test]
fn without_any_one_line_something_new_can_be_said() {
    for (name, log) in damaged_logs() {
        println!("{name}");
        let ran = script(log).say("something else").run();
        assert_eq!(ran.status, Some(StopReason::Completed), "{name}");
        assert!(ran.sent.last().unwrap().told.contains(&"said: something else".to_owned()), "{name}");
    }
}
