//! When a turn ends, and why (L01, L05, L06).

use petasos_core::approval::Answer;
use petasos_core::budget::Limits;
use petasos_core::session::Terms;
use petasos_core::stop::{FailureKind, Limit, StopReason};
use petasos_core::time::Span;
use petasos_core::turn::{Mode, OnAsk};
use petasos_testkit::script::{Script, calls, cut, fails, nothing, refusal, text};
use petasos_testkit::words::terms;

use crate::behaviour::check;

#[test]
fn l01_a_reply_that_says_it_is_done_and_calls_a_tool_goes_on() {
    let replies = [calls(["read"]).after_text("完成"), text("three files")];
    let ran = Script::new(terms(9)).replies(replies).say("count").run();
    check(&ran, StopReason::Completed, &["said: count", "reply: 完成 read=ok", "reply: three files"]);
    assert_eq!(ran.reply, "three files");
}

#[test]
fn l01_a_reply_that_says_it_goes_on_and_calls_nothing_stops() {
    let ran = Script::new(terms(9)).replies([text("now I will read the file")]).say("count").run();
    check(&ran, StopReason::Completed, &["said: count", "reply: now I will read the file"]);
    assert_eq!(ran.reply, "now I will read the file");
}

#[test]
fn l05_three_calls_in_a_reply_cost_one_step() {
    let replies = [calls(["read", "other_write", "keyed"]), text("done")];
    let ran = Script::new(terms(2)).replies(replies).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: read=ok other_write=ok keyed=ok", "reply: done"],
    );
    assert_eq!(ran.session.account().steps, 2);
}

#[test]
fn l05_a_limit_of_two_steps_ends_a_longer_job() {
    let replies = [calls(["read"]), calls(["write"]), text("half of it")];
    let ran = Script::new(terms(2)).replies(replies).say("do it").run();
    check(
        &ran,
        StopReason::BudgetExhausted(Limit::Steps),
        &["said: do it", "reply: read=ok", "reply: write=ok", "note: Closing(Steps)", "reply: half of it"],
    );
    assert_eq!((ran.reply.as_str(), ran.session.account().steps), ("half of it", 2));
}

#[test]
fn l05_retries_fallbacks_and_the_closing_call_are_no_steps_and_their_tokens_count() {
    let fallback = vec![petasos_testkit::words::target("second")];
    let replies = [
        fails(FailureKind::Network).without_usage(),
        fails(FailureKind::Billing).without_usage(),
        calls(["read"]),
        text("closing"),
    ];
    let ran = Script::new(Terms { fallback, ..terms(1) }).replies(replies).say("do it").run();
    assert_eq!(ran.status, Some(StopReason::BudgetExhausted(Limit::Steps)));
    let account = ran.session.account();
    // Two requests of which nobody said what they used count as held: 20,000 each. Two replies used 10,000 each.
    assert_eq!((account.steps, account.tokens, account.usage.total()), (1, 60_000, 20_000));
    assert_eq!(account.micro_usd, Some(6_000));
}

#[test]
fn l05_ninety_steps_are_the_default() {
    assert_eq!(Limits::DEFAULT_STEPS, 90);
}

/// Every reason that a turn can stop for by now.
#[test]
fn l06_each_stop_reason_has_its_story() {
    let new = || Script::new(terms(3));
    let on_ask = |on_ask| Terms { mode: Mode { on_ask, ..Mode::default() }, ..terms(3) };
    let in_time = Limits { time: Some(Span::seconds(5)), ..Limits::default() };
    let status = |script: Script, expected: StopReason| {
        assert_eq!(script.run().status, Some(expected));
    };
    status(new().replies([text("hi")]).say("x"), StopReason::Completed);
    status(Script::new(terms(0)).replies([text("no")]).say("x"), StopReason::BudgetExhausted(Limit::Steps));
    status(new().requests_of(1_000_000).say("x"), StopReason::ContextExhausted);
    status(new().requests_of(999_745).say("x"), StopReason::ContextExhausted);
    let slow = Script::new(Terms { limits: in_time, ..terms(3) });
    status(slow.replies([calls(["write"])]).deaf("write").say("x"), StopReason::TimedOut);
    let parked = Script::new(on_ask(OnAsk::Park));
    status(parked.clone().replies([calls(["ask_write"])]).say("x"), StopReason::AwaitingApproval);
    status(parked.replies([calls(["question"])]).say("x"), StopReason::AwaitingAnswer);
    status(new().replies([calls(["hard_write"])]).say("x"), StopReason::Denied);
    let stopping = new().answers([Answer::NoAndStop]);
    status(stopping.replies([calls(["ask_write"])]).say("x"), StopReason::Denied);
    status(new().replies([refusal("I will not")]).say("x"), StopReason::Refused);
    status(new().replies(vec![cut("a"); 5]).terms(terms(9)).say("x"), StopReason::Truncated);
    status(new().disk_fails_after(0).say("x"), StopReason::NotSaved);
    status(new().replies([nothing(), nothing()]).say("x"), StopReason::ModelFailed(FailureKind::Empty));
    status(new().replies([fails(FailureKind::Auth)]).say("x"), StopReason::ModelFailed(FailureKind::Auth));
    status(new().say("x").interrupt(), StopReason::Interrupted);
}

#[test]
fn a_turn_whose_time_is_used_up_stops_what_runs_and_can_go_on() {
    let limits = Limits { time: Some(Span::seconds(5)), ..Limits::default() };
    let limited = Terms { limits: limits.clone(), ..terms(3) };
    let script = Script::new(limited).replies([calls(["write"]), text("done")]).deaf("write");
    let ran = script.say("do it").run();
    check(&ran, StopReason::TimedOut, &["said: do it", "reply: write=unknown"]);
    // Five seconds of work, and the grace of two.
    assert_eq!(ran.session.account().worked, Span::seconds(7));

    let ran = ran.script.go_on_with(limits).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: write=unknown", "reply: done"]);
}

#[test]
fn time_at_rest_is_no_time_at_work() {
    let limits = Limits { time: Some(Span::seconds(5)), ..Limits::default() };
    let limited = Terms { limits, ..terms(3) };
    let script = Script::new(limited).replies([calls(["write"]), text("done")]);
    let script = script.say("do it").events(3).interrupt().run().script;
    let ran = script.wait(Span::seconds(3600)).go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: write=ok", "reply: done"]);
}

#[test]
fn a_raised_time_limit_counts_while_the_turn_runs() {
    let limits = Limits { time: Some(Span::seconds(5)), ..Limits::default() };
    let script = Script::new(Terms { limits: limits.clone(), ..terms(3) });
    let script = script.replies([calls(["write"])]).deaf("write").say("do it");
    let ran = script.until_it_wants(|effect| matches!(effect, petasos_core::turn::Effect::RunTool(_)));
    let ran = ran.go_on_with(limits).run();
    check(&ran, StopReason::TimedOut, &["said: do it", "reply: write=unknown"]);
    assert_eq!(ran.session.account().worked, Span::seconds(12));
}

#[test]
fn a_turn_that_follows_another_has_a_timer_of_its_own() {
    let limits = Limits { time: Some(Span::seconds(5)), ..Limits::default() };
    let script = Script::new(Terms { limits, ..terms(3) }).replies([text("done"), text("that too")]);
    let script = script.say("do it").follow_up("then that");
    let is_finish =
        |effect: &petasos_core::turn::Effect| matches!(effect, petasos_core::turn::Effect::Finish(_));
    let ran = script.run();
    let first_end = ran.effects.iter().position(is_finish).unwrap();
    let timers = ran.effects[first_end..]
        .iter()
        .filter(|effect| matches!(effect, petasos_core::turn::Effect::WakeAt(_)));
    assert_eq!(timers.count(), 1);
}
