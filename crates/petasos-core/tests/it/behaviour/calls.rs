//! Calls and their results (L02, L14), what may not run, and answers that fit nothing.

use std::sync::Arc;

use petasos_core::approval::{Proposal, Verdict};
use petasos_core::entry::Call;
use petasos_core::error::Handled;
use petasos_core::id::{CallId, RequestId, Seq};
use petasos_core::session::{Session, Terms};
use petasos_core::stop::StopReason;
use petasos_core::text::Json;
use petasos_core::tool::Outcome;
use petasos_core::transcript::Item;
use petasos_core::turn::{Delta, Effect, Input, Mode};
use petasos_testkit::script::{Order, Script, calls, text};
use petasos_testkit::words::{ends, failure, output, terms};

use crate::behaviour::check;

#[test]
fn l02_three_calls_that_end_in_reverse_have_their_results_in_call_order() {
    let replies = [calls(["read", "other_write", "keyed"]), text("done")];
    let script = Script::new(terms(9)).replies(replies).ending(Order::Reversed);
    let ran = script.say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: read=ok other_write=ok keyed=ok", "reply: done"],
    );
    assert_eq!(ran.results(), ["6.2 ok", "6.1 ok", "6.0 ok"]);
    assert_eq!(ran.sent[1].told, ["said: do it", "reply: read=ok other_write=ok keyed=ok"]);
}

#[test]
fn l02_the_reply_is_in_the_log_before_its_tools_run() {
    let ran = Script::new(terms(9)).replies([calls(["write"]), text("done")]).say("do it").run();
    let kinds = ran.kinds();
    let expected = [
        "session",
        "open",
        "said",
        "turn_start",
        "head",
        "request",
        "reply",
        "call",
        "tool_start",
        "tool_result",
        "request",
        "reply",
        "turn_end",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn l02_a_doubled_or_missing_wire_id_runs_all_the_same() {
    for ids in [[Some("x"), Some("x")], [None, None], [Some(""), Some("")], [Some("x"), None]] {
        let replies = [calls(["read", "keyed"]).wire_ids(ids), text("done")];
        let ran = Script::new(terms(9)).replies(replies).say("do it").run();
        check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok keyed=ok", "reply: done"]);
        assert_eq!(ran.results(), ["6.0 ok", "6.1 ok"]);
    }
}

/// Everything that answers a call or a request.
fn answers_about(call: CallId, request: RequestId) -> Vec<Input> {
    let script = Script::new(terms(1)).replies([calls(["read"])]).say("x");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)));
    let allowed = script.effects().iter().find_map(|effect| match effect {
        Effect::RunTool(approved) => Some(approved.clone()),
        _ => None,
    });
    let prepared = petasos_core::approval::Prepared {
        verdict: Verdict::Allow(allowed.unwrap()),
        rule: "r".into(),
        policy: petasos_testkit::words::digest(5),
    };
    let shown = petasos_testkit::words::digest(100);
    vec![
        Input::Delta { request, delta: Delta::Text("late".into()) },
        Input::ReplyEnded { request, end: ends(petasos_core::entry::FinishReason::Stop) },
        Input::RequestFailed {
            request,
            failure: failure(petasos_core::stop::FailureKind::Network),
            jitter: petasos_core::time::Permille(0),
        },
        Input::Prepared { call, prepared },
        Input::Probed { call, outcome: Outcome::Ok },
        Input::ToolEnded { call, output: output(Outcome::Ok, "late") },
        Input::Decide { call, answer: petasos_core::approval::Answer::NoAndStop, shown },
    ]
}

/// Says every answer about a call and a request at every point of a run: none may change anything.
fn check_changes_nothing(call: CallId, request: RequestId, unless: impl Fn(&Script, &Input) -> bool) {
    let replies = [calls(["read", "write"]), calls(["keyed"]), text("done")];
    let mut script = Script::new(terms(9)).replies(replies).say("do it");
    loop {
        for input in answers_about(call, request) {
            if unless(&script, &input) {
                continue;
            }
            let mut after = script.session().clone();
            let handled = after.handle(script.now(), input.clone());
            assert_ne!(handled, Ok(Handled::Taken), "{input:?}");
            assert_eq!(after, *script.session(), "{input:?}");
        }
        if script.step().is_none() {
            break;
        }
    }
    assert_eq!(script.run().status, Some(StopReason::Completed));
}

#[test]
fn l02_an_answer_for_an_unknown_call_or_request_changes_nothing() {
    let call = CallId { reply: Seq(99), place: 0 };
    check_changes_nothing(call, RequestId(Seq(99)), |_, _| false);
}

#[test]
fn l02_an_answer_for_something_that_is_neither_call_nor_request_changes_nothing() {
    check_changes_nothing(CallId { reply: Seq(2), place: 0 }, RequestId(Seq(3)), |_, _| false);
    check_changes_nothing(CallId { reply: Seq(6), place: 9 }, RequestId(Seq(3)), |_, _| false);
}

#[test]
fn l02_an_answer_for_a_finished_or_older_call_or_request_changes_nothing() {
    let call = CallId { reply: Seq(6), place: 0 };
    let request = RequestId(Seq(5));
    let is_open = |script: &Script, input: &Input| {
        let told = script.session().turn().unwrap().told();
        match input {
            Input::Delta { .. } | Input::ReplyEnded { .. } | Input::RequestFailed { .. } => {
                told.step.request.as_ref().is_some_and(|open| open.id == request)
            }
            _ => told.step.call(call).is_some_and(|open| open.result.is_none()),
        }
    };
    check_changes_nothing(call, request, is_open);
}

#[test]
fn what_may_not_run_has_a_result_that_says_so_and_the_turn_goes_on() {
    let replies = [calls(["deny_write", "invalid", "read"]), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: deny_write=denied invalid=invalid read=ok", "reply: done"],
    );
    assert_eq!(ran.ran(), ["read"]);
}

#[test]
fn a_hardline_call_ends_the_turn_and_nothing_after_it_runs() {
    let replies = [calls(["hard_write", "other_write"])];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(&ran, StopReason::Denied, &["said: do it", "reply: hard_write=denied other_write=never_began"]);
    assert_eq!(ran.ran(), [""; 0]);
    assert!(!ran.session.can_continue());
}

#[test]
fn a_hardline_call_stops_what_runs_beside_it() {
    let replies = [calls(["other_write", "hard_write"])];
    let script = Script::new(terms(9)).replies(replies).say("do it");
    // The first call is on its way before the second is judged.
    let ran = script.run();
    check(&ran, StopReason::Denied, &["said: do it", "reply: other_write=never_began hard_write=denied"]);
}

#[test]
fn how_a_tool_ends_is_told_as_it_is() {
    for (outcome, told) in [
        (Outcome::Error, "error"),
        (Outcome::Empty, "empty"),
        (Outcome::TimedOut, "timed_out"),
        (Outcome::CutShort, "cut_short"),
        (Outcome::Unknown, "unknown"),
        // A tool that began cannot say that it did not.
        (Outcome::NeverBegan, "error"),
        (Outcome::Denied, "error"),
        (Outcome::Invalid, "error"),
    ] {
        let script = Script::new(terms(9)).replies([calls(["write"]), text("done")]).ends("write", outcome);
        let ran = script.say("do it").run();
        check(&ran, StopReason::Completed, &["said: do it", &format!("reply: write={told}"), "reply: done"]);
    }
}

/// How many calls run at the most at the same time.
fn most_at_once(terms: Terms, tools: [&str; 3]) -> usize {
    let ran = Script::new(terms).replies([calls(tools), text("done")]).say("do it").run();
    assert_eq!(ran.status, Some(StopReason::Completed));
    let (mut began, mut most) = (0, 0);
    let mut script = Script::new(ran.script.terms_now()).replies([calls(tools), text("done")]).say("do it");
    let mut ended = 0;
    while let Some(input) = script.step() {
        ended += usize::from(matches!(input, Input::ToolEnded { .. }));
        let runs = script.effects().iter().filter(|effect| matches!(effect, Effect::RunTool(_))).count();
        began = began.max(runs);
        most = most.max(began - ended);
    }
    most
}

#[test]
fn l14_calls_run_at_once_where_none_is_in_anothers_way() {
    assert_eq!(most_at_once(terms(9), ["read", "other_write", "keyed"]), 3);
    assert_eq!(most_at_once(terms(9), ["read", "read", "write"]), 2);
    assert_eq!(most_at_once(terms(9), ["write", "write", "write"]), 1);
    assert_eq!(most_at_once(terms(9), ["read", "alone", "keyed"]), 1);
}

#[test]
fn l14_a_serial_turn_runs_one_call_after_the_other() {
    let serial = Terms { mode: Mode { serial: true, ..Mode::default() }, ..terms(9) };
    assert_eq!(most_at_once(serial, ["read", "other_write", "keyed"]), 1);
}

#[test]
fn i10_a_call_waits_for_an_earlier_one_in_its_way_and_not_for_a_later_one() {
    let replies = [calls(["read", "write", "keyed"]), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    assert_eq!(ran.ran(), ["read", "keyed", "write"]);
}

#[test]
fn writing_calls_that_start_together_cost_one_sync() {
    let replies = [calls(["alone", "other_write", "keyed"]), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    let starts = |effect: &&Effect| {
        matches!(effect, Effect::Append { entries, .. }
        if entries.iter().any(|entry| entry.body.kind() == "tool_start"))
    };
    assert_eq!(ran.effects.iter().filter(starts).count(), 2);
}

/// The prepared answers that are out, taken out of their order.
fn prepare_in_order(script: &mut Script, places: &[u16]) {
    for &place in places {
        let call = CallId { reply: Seq(6), place };
        let input =
            script.take_due(|input| matches!(input, Input::Prepared { call: about, .. } if *about == call));
        script.feed(input.unwrap()).unwrap();
    }
}

#[test]
fn i10_a_call_that_is_not_prepared_yet_is_in_the_way_of_all_after_it() {
    let script = Script::new(terms(9)).replies([calls(["read", "keyed", "other_write"]), text("done")]);
    let mut script = script.say("do it").until_it_wants(|effect| matches!(effect, Effect::Prepare(_)));
    prepare_in_order(&mut script, &[2, 1]);
    assert!(!script.effects().iter().any(|effect| matches!(effect, Effect::RunTool(_))));
    assert!(script.last(|body| matches!(body, petasos_core::entry::Body::ToolStart(_))).is_none());
    prepare_in_order(&mut script, &[0]);
    let ran = script.run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: read=ok keyed=ok other_write=ok", "reply: done"],
    );
}

#[test]
fn a_hardline_call_that_is_judged_late_stops_what_runs() {
    let script = Script::new(terms(9)).replies([calls(["read", "other_write", "hard_write"])]).say("do it");
    let mut script = script.until_it_wants(|effect| matches!(effect, Effect::Prepare(_)));
    prepare_in_order(&mut script, &[0, 1]);
    let late = script.take_due(|input| matches!(input, Input::Prepared { .. })).unwrap();
    let script = script.until(|script| {
        script.effects().iter().filter(|effect| matches!(effect, Effect::RunTool(_))).count() == 2
    });
    let ran = script.input(late).run();
    let line = "reply: read=cut_short other_write=cut_short hard_write=denied";
    check(&ran, StopReason::Denied, &["said: do it", line]);
}

/// A step tells what its calls ran as, also when it is folded from its log; a name alone leaves the arguments.
#[test]
fn p09_a_step_tells_what_a_changed_call_ran_as() {
    let repair = |mut proposal: Proposal| {
        if &*proposal.tool == "keyed" {
            proposal.changed_by = vec!["repair: comment".into()];
            proposal.arguments = Json::try_from("{\"a\":1.50}").unwrap();
        }
        if &*proposal.tool == "free_alone" {
            proposal.changed_by = vec!["repair: name".into()];
            proposal.tool = "read".into();
        }
        proposal
    };
    let replies = [calls(["read", "keyed", "free_alone", "write"]), text("done")];
    let ran = Script::new(terms(9)).replies(replies).preparing(repair).say("do it").run();
    let folded = Session::fold(&ran.entries, terms(9));
    for session in [&ran.session, &folded] {
        let items = session.transcript().items();
        let changed = items.into_iter().find_map(|(_, item)| match item {
            Item::Step(step) if !step.results.is_empty() => Some(&step.changed),
            _ => None,
        });
        let told = |call: &Option<Arc<Call>>| {
            call.as_ref().map(|call| {
                (call.tool.to_string(), call.arguments.as_ref().map(|json| json.as_str().to_owned()))
            })
        };
        let told: Vec<_> = changed.unwrap().iter().map(told).collect();
        let wanted = [
            None,
            Some(("keyed".to_owned(), Some("{\"a\":1.50}".to_owned()))),
            Some(("read".to_owned(), None)),
            None,
        ];
        assert_eq!(told, wanted);
    }
}
