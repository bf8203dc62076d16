//! Row L10: the same calls again and again, a tool that fails and fails. Cases D-01, D-02, D-03.

use petasos_core::entry::FinishReason;
use petasos_core::guard::Finding;
use petasos_core::session::Terms;
use petasos_core::stop::StopReason;
use petasos_core::tool::Outcome;
use petasos_core::turn::{Effect, Guards, Mode};
use petasos_testkit::script::{Lost, Ran, Saying, Script, calls, calls_with, text};
use petasos_testkit::words::terms;

use crate::behaviour::check;

/// A model that says these things, then that it is done.
fn saying(replies: impl IntoIterator<Item = Saying>) -> Script {
    Script::new(terms(40)).replies(replies).replies([text("done")]).say("do it")
}

fn again(tools: &[&str], times: usize) -> Vec<Saying> {
    (0..times).flat_map(|_| tools.iter().map(|tool| calls([tool]))).collect()
}

/// The transcript behind what was said.
#[track_caller]
fn check_row(ran: &Ran, status: StopReason, row: &[&str]) {
    let told: Vec<&str> = ["said: do it"].iter().chain(row).copied().collect();
    check(ran, status, &told);
}

const WRITE: &str = "reply: write=ok";
const READ: &str = "reply: read=ok";
const REFUSED: &str = "reply: write=never_began";
const TOLD: &str = "note: Guard";

#[test]
fn case_d01_the_third_is_told_the_fourth_not_run_the_fifth_ends_the_turn() {
    let ran = saying(again(&["write"], 9)).run();
    check_row(&ran, StopReason::Stuck, &[WRITE, WRITE, WRITE, TOLD, REFUSED, REFUSED]);
    assert_eq!((ran.ran(), ran.requests().len()), (vec!["write".to_owned(); 3], 5));
    let found = Finding::Calls { tools: vec!["write".into()], times: 5 };
    let told = ran.session.turn().unwrap().told().finding();
    assert_eq!(told, Some(&found));
    assert_eq!(
        told.unwrap().to_string(),
        "write was called 5 times with the same arguments, and the result was the same each time"
    );
}

#[test]
fn l10_a_call_that_is_free_runs_and_its_result_decides() {
    let ran = saying(again(&["read"], 9)).run();
    check_row(&ran, StopReason::Stuck, &[READ, READ, READ, TOLD, READ, READ]);
    let changed = saying(again(&["read"], 5)).says("read", ["no", "no", "no", "no", "yes"]).run();
    check_row(&changed, StopReason::Completed, &[READ, READ, READ, TOLD, READ, READ, "reply: done"]);
}

/// It is told anew, for it is another row.
#[test]
fn l10_a_result_that_changed_begins_a_new_row() {
    let ran = saying(again(&["read"], 7)).says("read", ["1", "1", "1", "2", "2", "2", "3"]).run();
    check_row(
        &ran,
        StopReason::Completed,
        &[READ, READ, READ, TOLD, READ, READ, READ, TOLD, READ, "reply: done"],
    );
}

#[test]
fn l10_blanks_and_the_order_of_keys_make_no_other_call() {
    let same = [
        r#"{"path":"a","content":"é","n":{"x":[1, 2],"y":null}}"#,
        "{ \"content\" : \"\\u00e9\", \"n\" : {\"y\":null,\"x\":[1,2]}, \"path\":\"\\u0061\" }\n",
        "\t{\"n\": {\"x\":[1,2] ,\"y\": null}, \"path\":\"a\",\"content\":\"é\"}",
    ];
    let ran = saying(same.map(|arguments| calls_with([("write", arguments)]))).run();
    check_row(&ran, StopReason::Completed, &[WRITE, WRITE, WRITE, TOLD, "reply: done"]);
    for other in [r#"{"n":1.50}"#, r#"{"n":[2,1]}"#, r#"{"n":"1.5"}"#, r#"{"m":1.5}"#, "n: 1.5", "{}"] {
        let arguments = [r#"{"n":1.5}"#, r#"{"n":1.5}"#, other];
        let ran = saying(arguments.map(|arguments| calls_with([("write", arguments)]))).run();
        check_row(&ran, StopReason::Completed, &[WRITE, WRITE, WRITE, "reply: done"]);
    }
}

/// The whole block must have come three times; its first call ends the turn when it comes for the fifth.
#[test]
fn case_d02_a_cycle_is_seen_as_one_call_is() {
    let lookups = || {
        let calls = [calls_with([("read", r#"{"q":"a"}"#)]), calls_with([("free_alone", r#"{"q":"b"}"#)])];
        std::iter::repeat_n(calls, 6).flatten()
    };
    let free = "reply: free_alone=ok";
    let told = [READ, free, READ, free, READ, free, TOLD, READ, free, READ];
    check_row(&saying(lookups()).run(), StopReason::Stuck, &told);
    let ran = saying(again(&["write", "other_write"], 6)).run();
    let other = "reply: other_write=ok";
    let refused = [REFUSED, "reply: other_write=never_began", REFUSED];
    let told = [&[WRITE, other, WRITE, other, WRITE, other, TOLD][..], &refused].concat();
    check_row(&ran, StopReason::Stuck, &told);
    let found = ran.session.turn().unwrap().told().finding().unwrap().to_string();
    assert_eq!(
        found,
        "write, other_write were called in turn 5 times with the same arguments, and the result was the same each time"
    );
}

#[test]
fn l10_cycles_of_up_to_six_calls_are_seen_and_no_longer_ones() {
    for length in 1..=8 {
        let block = (0..length).map(|number| format!("{{\"n\":{number}}}"));
        let block: Vec<String> = block.collect();
        let replies = (0..6).flat_map(|_| block.iter().map(|arguments| calls_with([("read", arguments)])));
        let ran = Script::new(terms(90)).replies(replies).replies([text("done")]).say("do it").run();
        let notes = ran.told.iter().position(|line| line == TOLD);
        if length <= 6 {
            assert_eq!((ran.status, notes), (Some(StopReason::Stuck), Some(3 * length + 1)), "{length}");
            assert_eq!(ran.requests().len(), 4 * length + 1, "{length}");
        } else {
            assert_eq!((ran.status, notes), (Some(StopReason::Completed), None), "{length}");
        }
    }
}

/// The tests still fail after each edit: that is work, and no cycle.
#[test]
fn l10_calls_that_come_again_among_others_are_no_row() {
    let edit = |number: usize| calls_with([("write", &*format!("{{\"n\":{number}}}"))]);
    let ran = saying((0..8).flat_map(|number| [edit(number), calls(["read"])])).run();
    assert_eq!((ran.status, ran.told.contains(&TOLD.to_owned())), (Some(StopReason::Completed), false));
}

#[test]
fn case_d03_polling_with_news_is_no_row() {
    let polls = || again(&["read"], 5);
    let ran = saying(polls()).says("read", ["10%", "35%", "60%", "90%", "done"]).run();
    check_row(&ran, StopReason::Completed, &[READ, READ, READ, READ, READ, "reply: done"]);
    let ran = saying(polls()).says("read", ["10%", "10%", "10%", "90%", "done"]).run();
    check_row(&ran, StopReason::Completed, &[READ, READ, READ, TOLD, READ, READ, "reply: done"]);
}

#[test]
fn l10_equal_calls_of_one_reply_count_and_end_nothing_before_the_model_is_told() {
    let many = || calls(["write", "write", "write", "write", "write", "write"]);
    let row = "reply: write=ok write=ok write=ok write=never_began write=never_began write=never_began";
    check_row(&saying([many()]).run(), StopReason::Completed, &[row, TOLD, "reply: done"]);
    let ran = saying([many(), calls(["write"])]).run();
    check_row(&ran, StopReason::Stuck, &[row, TOLD, REFUSED]);
    let ran = saying([calls(["read"]), calls(["read", "read"]), calls(["read", "write"])]).run();
    let told = [READ, "reply: read=ok read=ok", TOLD, "reply: read=ok write=ok", "reply: done"];
    check_row(&ran, StopReason::Completed, &told);
}

/// The row of six stands, and the model was told; what is cut then is no seventh.
#[test]
fn l10_only_one_more_call_of_the_row_ends_the_turn() {
    let many = || calls(["write", "write", "write", "write", "write", "write"]);
    let row = "reply: write=ok write=ok write=ok write=never_began write=never_began write=never_began";
    let half = || calls([]).with_half_a_call("read").finish(FinishReason::Length);
    let ran = saying([many(), half()]).run();
    check_row(&ran, StopReason::Completed, &[row, TOLD, "reply: read=never_began", "reply: done"]);
    let ran = saying([many(), text(&"and again ".repeat(900))]).run();
    assert_eq!((ran.status, ran.requests().len()), (Some(StopReason::Completed), 3));
}

/// Nobody is asked about a call that is not to run.
#[test]
fn l10_a_call_that_would_be_refused_asks_nobody() {
    let script = saying(again(&["ask_write"], 9)).with_an_obliging_person();
    let ran = script.run();
    let (ok, never) = ("reply: ask_write=ok", "reply: ask_write=never_began");
    check_row(&ran, StopReason::Stuck, &[ok, ok, ok, TOLD, never, never]);
    assert_eq!(ran.effects.iter().filter(|effect| matches!(effect, Effect::Ask { .. })).count(), 3);
}

#[test]
fn l10_denied_calls_are_a_row_too() {
    let denied = "reply: deny_write=denied";
    let ran = saying(again(&["deny_write"], 9)).run();
    check_row(&ran, StopReason::Stuck, &[denied, denied, denied, TOLD, denied, denied]);
}

#[test]
fn l10_what_a_person_says_meanwhile_begins_anew() {
    let script = saying(again(&["write"], 5));
    let script = script.until(|script| {
        script.effects().iter().filter(|effect| matches!(effect, Effect::CallModel { .. })).count() == 4
    });
    let ran = script.steer("try again").run();
    check_row(
        &ran,
        StopReason::Completed,
        &[WRITE, WRITE, WRITE, TOLD, WRITE, "said: try again", WRITE, "reply: done"],
    );
}

#[test]
fn l10_a_turn_begins_its_own_row() {
    let script = saying(again(&["write"], 2)).run().script;
    let ran = script.replies(again(&["write"], 2)).replies([text("done")]).say("and again").run();
    let told = [WRITE, WRITE, "reply: done", "said: and again", WRITE, WRITE, "reply: done"];
    check_row(&ran, StopReason::Completed, &told);
}

/// Killed at each place and gone on with, the turn ends as it would have.
#[test]
fn l10_a_kill_at_any_event_forgets_no_row() {
    for events in 1..200 {
        let script = saying(again(&["keyed"], 9)).events(events).kill(Lost::Nothing);
        if !script.session().can_continue() {
            // Its end was written already.
            assert_eq!(script.session().turn().unwrap().told().ended, Some(StopReason::Stuck));
            return;
        }
        let ran = script.go_on().run();
        let (ok, never) = ("reply: keyed=ok", "reply: keyed=never_began");
        check_row(&ran, StopReason::Stuck, &[ok, ok, ok, TOLD, never, never]);
    }
    panic!("it does not end");
}

#[test]
fn l10_without_guards_everything_runs() {
    let terms = Terms { mode: Mode { guards: Guards::Off, ..Mode::default() }, ..terms(40) };
    let ran = Script::new(terms).replies(again(&["write"], 7)).replies([text("done")]).say("do it").run();
    check_row(&ran, StopReason::Completed, &[WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, "reply: done"]);
}

/// Calls of a tool with other arguments each time.
fn others(tool: &str, times: usize) -> Vec<Saying> {
    (0..times).map(|number| calls_with([(tool, &*format!("{{\"n\":{number}}}"))])).collect()
}

#[test]
fn l10_one_tool_that_fails_eight_times_running_ends_the_turn() {
    for outcome in [Outcome::Error, Outcome::TimedOut, Outcome::Unknown] {
        let ran = saying(others("write", 12)).ends("write", outcome).run();
        assert_eq!((ran.status, ran.requests().len()), (Some(StopReason::ToolFailed), 8), "{outcome:?}");
        let found = Finding::Tool { tool: "write".into(), times: 8 };
        assert_eq!(ran.session.turn().unwrap().told().finding(), Some(&found));
        assert_eq!(found.to_string(), "write failed 8 times running");
    }
    let ran = saying(others("write", 12)).ends("write", Outcome::CutShort).run();
    assert_eq!(ran.status, Some(StopReason::Completed));
}

/// What other tools do between does not help it.
#[test]
fn l10_failures_are_counted_by_tool() {
    let failing =
        others("write", 12).into_iter().zip(others("read", 12)).flat_map(|(one, other)| [one, other]);
    let ran = saying(failing).ends("write", Outcome::Error).run();
    assert_eq!((ran.status, ran.requests().len()), (Some(StopReason::ToolFailed), 15));
}

/// The model asked for all of them before it saw one fail.
#[test]
fn l10_failures_of_one_reply_end_no_turn() {
    let made = ["0", "1", "2", "3", "4", "5", "6", "7", "8"].map(|number| ("read", number));
    let ran = saying([calls_with(made)]).ends("read", Outcome::Error).run();
    assert_eq!((ran.status, ran.requests().len()), (Some(StopReason::Completed), 2));
    let ran = saying([calls_with(made), calls(["read"])]).ends("read", Outcome::Error).run();
    assert_eq!((ran.status, ran.requests().len()), (Some(StopReason::ToolFailed), 2));
}
