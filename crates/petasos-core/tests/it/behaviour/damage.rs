//! A log with a line that cannot be read: it costs itself only.

use petasos_core::approval::{Answer, Scope};
use petasos_core::budget::Limits;
use petasos_core::entry::Entry;
use petasos_core::session::Session;
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
