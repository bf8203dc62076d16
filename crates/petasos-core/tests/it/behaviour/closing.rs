//! The end of a budget (L07): one closing call, its text is the reply, and raised limits go on.

use petasos_core::budget::Limits;
use petasos_core::entry::FinishReason;
use petasos_core::request::{Purpose, ToolChoice};
use petasos_core::session::Terms;
use petasos_core::stop::{FailureKind, Limit, StopReason};
use petasos_core::turn::{Effect, Phase};
use petasos_testkit::script::{Ran, Saying, Script, calls, cut, fails, nothing, refusal, text};
use petasos_testkit::words::terms;

use crate::behaviour::check;

const STEPS: StopReason = StopReason::BudgetExhausted(Limit::Steps);
const ONE_MORE: Limits = Limits { steps: Some(1), tokens: None, micro_usd: None, time: None };

fn closes_with(closing: Saying) -> Ran {
    Script::new(terms(1)).replies([calls(["write"]), closing]).say("do it").run()
}

#[test]
fn l07_the_text_of_the_closing_call_is_the_reply_and_tools_are_forbidden_in_it() {
    let ran = closes_with(text("half of it"));
    let told = ["said: do it", "reply: write=ok", "note: Closing(Steps)", "reply: half of it"];
    check(&ran, STEPS, &told);
    assert_eq!(ran.reply, "half of it");
    let sent: Vec<_> =
        ran.requests().iter().map(|request| (request.purpose, request.params.tool_choice)).collect();
    assert_eq!(sent, [(Purpose::Step, ToolChoice::Auto), (Purpose::Closing, ToolChoice::Forbidden)]);
    // Tools and system stay in the request.
    let [step, closing] = ran.requests()[..] else { panic!() };
    assert_eq!((step.head, &step.breaks), (closing.head, &closing.breaks));
    assert_eq!(ran.sent.last().unwrap().told, told[..3]);
}

#[test]
fn l07_no_message_of_pressure_comes_before() {
    let ran = Script::new(terms(3)).replies([calls(["read"]), calls(["read"]), text("done")]).say("x").run();
    check(&ran, StopReason::Completed, &["said: x", "reply: read=ok", "reply: read=ok", "reply: done"]);
}

/// The closing call gives nothing: the reply is a summary by rule, the status stays.
#[track_caller]
fn check_summary(closing: Saying) {
    let ran = closes_with(closing);
    let summary = "Stopped: the step budget is used up after 1 steps.\n- write: 1 calls, 0 without success";
    assert_eq!((ran.status, ran.reply.as_str()), (Some(STEPS), summary));
}

#[test]
fn l07_a_closing_call_that_yields_nothing_leaves_a_summary_by_rule() {
    check_summary(nothing());
    check_summary(text(" \n"));
    check_summary(nothing().after_reasoning("hm"));
    check_summary(nothing().finish(FinishReason::Length));
    check_summary(nothing().finish(FinishReason::Other("".into())));
    for kind in [FailureKind::Network, FailureKind::Auth, FailureKind::RateLimit, FailureKind::Overflow] {
        check_summary(fails(kind));
    }
}

#[test]
fn l07_calls_of_a_closing_reply_do_not_run() {
    let ran = closes_with(calls(["write", "read"]).after_text("half of it"));
    let last = "reply: half of it write=never_began read=never_began";
    check(&ran, STEPS, &["said: do it", "reply: write=ok", "note: Closing(Steps)", last]);
    assert_eq!((ran.reply.as_str(), ran.ran()), ("half of it", vec!["write".to_owned()]));
}

#[test]
fn l07_a_closing_text_that_was_cut_is_not_continued() {
    let ran = closes_with(cut("half of"));
    check(&ran, STEPS, &["said: do it", "reply: write=ok", "note: Closing(Steps)", "reply: half of"]);
    assert_eq!(ran.reply, "half of");
}

#[test]
fn l07_a_closing_call_that_the_ledger_refuses_is_not_made() {
    // 20,000 tokens are held for each request; nothing is left to set aside.
    let limits = Limits { tokens: Some(10_000), ..Limits::default() };
    let ran = Script::new(Terms { limits, ..terms(9) }).say("do it").run();
    check(&ran, StopReason::BudgetExhausted(Limit::Tokens), &["said: do it", "note: Closing(Tokens)"]);
    assert_eq!(ran.reply, "Stopped: the token budget is used up after 0 steps.");
    assert!(!ran.effects.iter().any(|effect| matches!(effect, Effect::CallModel { .. })));
}

#[test]
fn l07_tokens_and_money_end_a_turn_with_what_was_set_aside_for_closing() {
    let check_limit = |limits: Limits, limit| {
        let replies = [calls(["read"]), calls(["read"]), text("half of it")];
        let ran = Script::new(Terms { limits, ..terms(9) }).replies(replies).say("do it").run();
        let status = StopReason::BudgetExhausted(limit);
        let note = format!("note: Closing({limit:?})");
        check(&ran, status, &["said: do it", "reply: read=ok", "reply: read=ok", &note, "reply: half of it"]);
    };
    // A request holds 20,000 tokens and 2,000 millionths of a dollar; a reply uses half of both.
    check_limit(Limits { tokens: Some(50_000), ..Limits::default() }, Limit::Tokens);
    check_limit(Limits { micro_usd: Some(5_000), ..Limits::default() }, Limit::Money);
}

#[test]
fn l07_raised_limits_go_on_where_the_turn_stopped() {
    for closing in [text("half of it"), nothing(), fails(FailureKind::Network)] {
        let ran = closes_with(closing).script.replies([text("done")]).go_on_with(ONE_MORE).run();
        assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "done"));
        assert_eq!(ran.session.account().steps, 2);
    }
}

#[test]
fn l07_a_turn_that_goes_on_without_more_stops_at_once_with_the_same_status() {
    let ran = closes_with(text("half of it")).script.go_on().run();
    assert_eq!((ran.ends(), ran.reply.as_str()), (vec![STEPS, STEPS], "half of it"));
}

#[test]
fn l07_the_second_end_of_a_budget_has_a_closing_call_of_its_own() {
    let script = closes_with(text("half of it")).script;
    let ran = script.replies([calls(["read"]), text("more of it")]).go_on_with(ONE_MORE).run();
    assert_eq!((ran.ends(), ran.reply.as_str()), (vec![STEPS, STEPS], "more of it"));
}

#[test]
fn no_request_ends_with_the_models_own_words() {
    let script = closes_with(text("half of it")).script;
    let ran = script.replies([cut("do"), text("ne")]).go_on_with(Limits { steps: Some(3), ..ONE_MORE }).run();
    for sent in &ran.sent {
        let last = sent.told.last().unwrap();
        assert!(!last.starts_with("reply: ") || last.contains('='), "{:#?}", sent.told);
    }
}

#[test]
fn l07_a_closing_call_that_the_model_refuses_stays_a_budget_that_is_used_up() {
    let ran = closes_with(refusal("I will not"));
    assert_eq!((ran.status, ran.reply.as_str()), (Some(STEPS), "I will not"));
}

#[test]
fn l07_limits_that_are_raised_during_the_closing_call_go_on_after_it() {
    for events in 0..6 {
        let script = Script::new(terms(1)).replies([calls(["write"]), text("half of it"), text("done")]);
        let is_closing = |script: &Script| match script.session().turn().unwrap().phase() {
            Phase::Measuring(draft) => draft.purpose == Purpose::Closing,
            _ => false,
        };
        let script = script.say("do it").until(is_closing).events(events);
        if !script.session().is_running()
            || matches!(script.session().turn().unwrap().phase(), Phase::Ending { .. })
        {
            continue;
        }
        let ran = script.go_on_with(ONE_MORE).run();
        assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "done"), "event {events}");
    }
}
