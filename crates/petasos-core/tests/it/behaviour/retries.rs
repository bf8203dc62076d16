//! Requests that fail: tries, waits, fallbacks (P04 as far as core goes).

use petasos_core::budget::Limits;
use petasos_core::entry::{Body, Next};
use petasos_core::learnt::{Adapt, Learnt, Parameter};
use petasos_core::request::Break;
use petasos_core::session::Terms;
use petasos_core::stop::{FailureKind, Limit, StopReason};
use petasos_core::time::{Permille, Span, Time};
use petasos_core::turn::{Effect, Input, Passing};
use petasos_testkit::script::{Lost, Ran, Saying, Script, calls, fails, text};
use petasos_testkit::words::{target, terms};

use crate::behaviour::check;

const NETWORK: StopReason = StopReason::ModelFailed(FailureKind::Network);

fn network() -> Saying {
    fails(FailureKind::Network)
}

fn with_fallback(models: &[&str]) -> Terms {
    Terms { fallback: models.iter().map(|model| target(model)).collect(), ..terms(9) }
}

/// Whom each request went to, and which try it was.
fn tries(ran: &Ran) -> Vec<String> {
    let tried =
        |request: &&petasos_core::entry::Request| format!("{} {}", request.target.model, request.attempt);
    ran.requests().iter().map(tried).collect()
}

/// How long after the failure each next try came.
fn waits(ran: &Ran) -> Vec<Span> {
    let wait = |entry: &petasos_core::entry::Entry| match &entry.body {
        Body::RequestEnd(end) => match end.next {
            Next::AgainAt(at) => Some(at.since(entry.at)),
            Next::Adapt | Next::Fallback | Next::GiveUp => None,
        },
        _ => None,
    };
    ran.entries.iter().filter_map(wait).collect()
}

#[test]
fn a_request_that_fails_is_made_again_and_the_waits_grow() {
    let ran = Script::new(terms(1)).replies([network(), network(), text("done")]).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    assert_eq!(tries(&ran), ["first 1", "first 2", "first 3"]);
    assert_eq!(waits(&ran), [Span::seconds(1), Span::seconds(2)]);
    assert_eq!(ran.script.now(), Time(3000));
}

#[test]
fn three_tries_are_all() {
    let ran = Script::new(terms(9)).replies([network(), network(), network()]).say("do it").run();
    check(&ran, NETWORK, &["said: do it"]);
    assert_eq!(tries(&ran), ["first 1", "first 2", "first 3"]);
}

#[test]
fn who_goes_on_after_the_model_failed_tries_again_from_the_start() {
    let script = Script::new(terms(9)).replies(vec![network(); 3]).say("do it").run().script;
    let ran = script.replies([network(), network(), text("done")]).go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
}

#[test]
fn chance_stretches_a_wait_by_up_to_its_own_length() {
    let replies = [network().with_chance(Permille(500)), network().with_chance(Permille(5000)), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    assert_eq!(waits(&ran), [Span(1500), Span(3998)]);
}

#[test]
fn what_a_provider_asks_to_wait_is_the_least() {
    let asked = |span| fails(FailureKind::RateLimit).asking_to_wait(span);
    let replies = [asked(Span::seconds(30)), asked(Span(10)), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    assert_eq!(waits(&ran), [Span::seconds(30), Span::seconds(2)]);
}

/// A provider tells all who asked the same moment, and eight processes that come back in it meet the limit again.
#[test]
fn what_a_provider_asks_to_wait_is_stretched_by_chance_as_far_as_a_wait_may_last() {
    let wait = |asked, chance, terms: Terms| {
        let asked = fails(FailureKind::RateLimit).asking_to_wait(asked).with_chance(Permille(chance));
        waits(&Script::new(terms).replies([asked, text("done")]).say("do it").run())
    };
    for (asked, chance, waited) in [
        (4_000, 0, 4_000),
        (4_000, 500, 6_000),
        (40_000, 500, 45_000),
        (595_000, 800, 600_000),
        (600_000, 9, 600_000),
    ] {
        assert_eq!(wait(Span(asked), chance, terms(9)), [Span(waited)], "{asked} {chance}");
    }
    assert_eq!(wait(Span(28_000), 999, with_fallback(&["second"])), [Span(30_000)]);
}

/// A date that has passed asks for no wait, and is a try all the same.
#[test]
fn case_d07_a_moment_that_has_passed_is_no_wait() {
    let now = || fails(FailureKind::RateLimit).asking_to_wait(Span(0)).with_chance(Permille(500));
    let ran = Script::new(terms(9)).replies([now(), now(), text("done")]).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    assert_eq!(waits(&ran), [Span(0), Span(0)]);
    let ran = Script::new(terms(9)).replies((0..9).map(|_| now())).say("do it").run();
    assert_eq!(
        (ran.status, ran.requests().len()),
        (Some(StopReason::ModelFailed(FailureKind::RateLimit)), 3)
    );
}

#[test]
fn who_asks_to_wait_too_long_loses_the_request_to_the_next_target() {
    let replies = [fails(FailureKind::RateLimit).asking_to_wait(Span::seconds(3600)), text("done")];
    let ran = Script::new(with_fallback(&["second"])).replies(replies).say("do it").run();
    assert_eq!(tries(&ran), ["first 1", "second 2"]);
}

#[test]
fn money_and_keys_are_not_tried_again() {
    for kind in [FailureKind::Billing, FailureKind::Auth] {
        let ran = Script::new(terms(9)).replies([fails(kind)]).say("do it").run();
        check(&ran, StopReason::ModelFailed(kind), &["said: do it"]);

        let ran =
            Script::new(with_fallback(&["second"])).replies([fails(kind), text("done")]).say("do it").run();
        check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
        assert_eq!(tries(&ran), ["first 1", "second 2"]);
    }
}

#[test]
fn each_target_of_the_chain_has_its_tries_and_after_the_last_the_model_failed() {
    let ran = Script::new(with_fallback(&["second", "third"])).replies(vec![network(); 9]).say("do it").run();
    check(&ran, NETWORK, &["said: do it"]);
    let expected = [
        "first 1", "first 2", "first 3", "second 4", "second 5", "second 6", "third 7", "third 8", "third 9",
    ];
    assert_eq!(tries(&ran), expected);
    let told: Vec<&Passing> = ran
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Tell(passing) => Some(passing),
            _ => None,
        })
        .collect();
    assert_eq!(told.iter().filter(|passing| matches!(passing, Passing::FellBack { .. })).count(), 2);
}

#[test]
fn a_turn_stays_with_its_fallback_and_the_next_turn_begins_with_the_primary() {
    let replies = [fails(FailureKind::Billing), calls(["read"]), text("done"), text("again")];
    let script = Script::new(with_fallback(&["second"])).replies(replies);
    let ran = script.say("do it").run().script.say("more").run();
    assert_eq!(tries(&ran), ["first 1", "second 2", "second 1", "first 1"]);
    let breaks: Vec<usize> = ran.requests().iter().map(|request| request.breaks.len()).collect();
    assert_eq!(breaks, [0, 1, 0, 1]);
}

#[test]
fn a_reply_resets_the_tries() {
    let replies = [network(), network(), calls(["read"]), network(), network(), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);
    assert_eq!(tries(&ran), ["first 1", "first 2", "first 3", "first 1", "first 2", "first 3"]);
}

#[test]
fn a_stream_that_fails_leaves_none_of_its_text() {
    let ran = Script::new(terms(9))
        .replies([text("hal").then_fails(FailureKind::BadStream), text("whole")])
        .say("do it")
        .run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: whole"]);
    assert_eq!(ran.reply, "whole");
}

#[test]
fn tries_are_counted_over_crashes() {
    use petasos_testkit::script::Lost;
    let mut script = Script::new(terms(9)).replies(vec![network(); 9]).say("do it");
    for _ in 0..2 {
        script = script.until_it_wants(|effect| matches!(effect, Effect::Tell(_)));
        script = script.kill(Lost::Nothing).go_on();
    }
    let ran = script.run();
    assert_eq!((ran.status, ran.requests().len()), (Some(NETWORK), 3));
}

/// What the log says follows each failure.
fn nexts(ran: &Ran) -> Vec<Next> {
    let next = |entry: &petasos_core::entry::Entry| match &entry.body {
        Body::RequestEnd(end) => Some(end.next),
        _ => None,
    };
    ran.entries.iter().filter_map(next).collect()
}

fn refuses(adapt: Adapt) -> Saying {
    fails(FailureKind::BadRequest).teaching(adapt)
}

fn learnt(script: &Script, model: &str) -> Learnt {
    script.session().learnt(&target(model))
}

#[test]
fn p04_what_a_failure_teaches_is_kept_and_the_request_is_made_again_at_once() {
    let replies = [refuses(Adapt::MaxOutput(4096)), calls(["read"]), text("done"), text("again")];
    let ran = Script::new(with_fallback(&["second"])).replies(replies).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);
    assert_eq!(tries(&ran), ["first 1", "first 2", "first 1"]);
    assert_eq!((nexts(&ran), ran.script.now()), (vec![Next::Adapt], Time(0)));
    let kept = Learnt { max_output: Some(4096), ..Learnt::default() };
    assert_eq!(learnt(&ran.script, "first"), kept);
    assert_eq!(learnt(&ran.script, "second"), Learnt::default(), "of another target nothing is known");
    // The next turn, and the process after this one, know it too.
    use petasos_testkit::script::Lost;
    let script = ran.script.kill(Lost::Nothing);
    assert_eq!(learnt(&script, "first"), kept);
    assert_eq!(tries(&script.say("more").run()), ["first 1", "first 2", "first 1", "first 1"]);
}

#[test]
fn p04_the_same_lesson_twice_is_a_failure() {
    let lesson = || refuses(Adapt::Without(Parameter::Temperature));
    let ran = Script::new(terms(9)).replies([lesson(), lesson()]).say("do it").run();
    check(&ran, StopReason::ModelFailed(FailureKind::BadRequest), &["said: do it"]);
    assert_eq!(nexts(&ran), [Next::Adapt, Next::GiveUp]);
}

#[test]
fn p04_a_server_that_refuses_whatever_it_gets_comes_to_an_end() {
    let replies = (1..9).map(|cap| refuses(Adapt::MaxOutput(9000 - cap)));
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(&ran, StopReason::ModelFailed(FailureKind::BadRequest), &["said: do it"]);
    assert_eq!(nexts(&ran), [[Next::Adapt; 4].as_slice(), &[Next::GiveUp]].concat());
}

#[test]
fn p04_numbers_that_were_learnt_only_get_smaller() {
    let replies = [refuses(Adapt::MaxOutput(512)), refuses(Adapt::MaxOutput(4096))];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    assert_eq!(nexts(&ran), [Next::Adapt, Next::GiveUp]);
    assert_eq!(learnt(&ran.script, "first").max_output, Some(512));
}

#[test]
fn p04_a_window_is_learnt_but_a_request_that_does_not_fit_is_not_made_again() {
    let too_long = fails(FailureKind::Overflow).teaching(Adapt::Window(8192));
    let ran = Script::new(terms(9)).replies([too_long]).say("do it").run();
    check(&ran, StopReason::ModelFailed(FailureKind::Overflow), &["said: do it"]);
    assert_eq!((nexts(&ran), learnt(&ran.script, "first").window), (vec![Next::GiveUp], Some(8192)));
}

/// The server counted the request that it refused, so what it has room for is no estimate; the one after it is another
/// request. Who is killed before the second one was asked for knows it too.
#[test]
fn p04_the_room_that_a_server_counted_is_that_of_the_very_next_request() {
    use petasos_testkit::script::Lost;
    let room = Adapt::Room { window: 8192, room: 1024 };
    let is_second = |effect: &Effect| matches!(effect, Effect::Measure(draft) if draft.attempt == 2);
    let (first, second, next) = ((1, 1, None), (1, 2, Some(1024)), (2, 1, None));
    for (lost, drafts) in
        [(None, vec![first, second, next]), (Some(Lost::Nothing), vec![first, second, second, next])]
    {
        let script =
            Script::new(terms(9)).replies([refuses(room), calls(["read"]), text("done")]).say("do it");
        let script = script.until_it_wants(is_second);
        let ran = match lost {
            Some(lost) => script.kill(lost).go_on().run(),
            None => script.run(),
        };
        check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);
        let measured = ran.script.effects().iter().filter_map(|effect| match effect {
            Effect::Measure(draft) => Some((draft.step, draft.attempt, draft.learnt.room)),
            _ => None,
        });
        assert_eq!(measured.collect::<Vec<_>>(), drafts);
        let kept = Learnt { window: Some(8192), ..Learnt::default() };
        assert_eq!(learnt(&ran.script, "first"), kept, "the next one is worked out anew");
        assert_eq!(learnt(&ran.script.kill(Lost::Nothing), "first"), kept);
    }
}

/// A server may tell the same room again and again, each time for another request, but not without end for one.
#[test]
fn p04_room_is_told_anew_for_each_request_and_not_without_end() {
    let refused = || refuses(Adapt::Room { window: 8192, room: 1024 });
    let replies = [refused(), calls(["read"]), refused(), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);
    let ran = Script::new(terms(9)).replies((0..9).map(|_| refused())).say("do it").run();
    assert_eq!(nexts(&ran), [[Next::Adapt; 4].as_slice(), &[Next::GiveUp]].concat());
}

/// What the server counted counts before what is estimated.
#[test]
fn p04_a_request_that_its_server_has_room_for_is_sent_whatever_is_estimated() {
    let replies = [refuses(Adapt::Room { window: 1_000_000, room: 1024 }), text("done")];
    let asked = Script::new(terms(9)).replies(replies).say("do it");
    let asked = asked.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    let ran = asked.requests_of(999_900).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
}

/// The answer counts; the setting stands right before it, and the process after this one knows it.
#[test]
fn p07_a_window_that_a_reply_shows_is_kept_for_the_session() {
    let asked = Script::new(terms(9)).replies([text("done")]).say("do it");
    let mut asked = asked.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    let mut end = asked.take_due(|input| matches!(input, Input::ReplyEnded { .. })).unwrap();
    if let Input::ReplyEnded { end, .. } = &mut end {
        end.window = Some(4_096);
    }
    while asked.step().is_some() {}
    let ran = asked.input(end).run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    let at = |kind| ran.entries.iter().position(|entry| entry.body.kind() == kind).unwrap();
    assert_eq!(at("setting") + 1, at("reply"));
    let script = ran.script.kill(petasos_testkit::script::Lost::Nothing);
    assert_eq!(learnt(&script, "first").window_seen, Some(4_096));
}

/// Without a cap a reply could use more than is held for it, so where that is limited the refusal is told with why.
#[test]
fn p04_a_server_that_takes_no_output_cap_is_no_server_for_a_limit() {
    let lesson = || refuses(Adapt::Without(Parameter::MaxOutput));
    let ran = Script::new(terms(9)).replies([lesson(), text("done")]).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    let limits = [
        Limits { tokens: Some(900_000), ..Limits::default() },
        Limits { micro_usd: Some(900_000), ..Limits::default() },
    ];
    for limits in limits {
        let limited = Terms { limits, ..terms(9) };
        let ran = Script::new(limited).replies([lesson(), text("done")]).say("do it").run();
        check(&ran, StopReason::ModelFailed(FailureKind::BadRequest), &["said: do it"]);
        assert_eq!((nexts(&ran), learnt(&ran.script, "first")), (vec![Next::GiveUp], Learnt::default()));
        let told = format!("{:?}", ran.entries);
        assert!(told.contains("a limit of tokens or money holds only with an output cap"), "{told}");
    }
}

#[test]
fn p04_a_closing_call_is_made_again_the_way_it_is_taken() {
    let replies = [calls(["write"]), refuses(Adapt::Without(Parameter::ToolChoice)), text("half of it")];
    let ran = Script::new(terms(1)).replies(replies).say("do it").run();
    let told = ["said: do it", "reply: write=ok", "note: Closing(Steps)", "reply: half of it"];
    check(&ran, StopReason::BudgetExhausted(Limit::Steps), &told);
}

#[test]
fn p04_sealed_reasoning_that_is_not_taken_back_is_a_named_break() {
    let refused = refuses(Adapt::Without(Parameter::ReasoningBack));
    let ran = Script::new(terms(9)).replies([calls(["read"]), refused, text("done")]).say("do it").run();
    let breaks: Vec<_> = ran.requests().iter().map(|request| request.breaks.clone()).collect();
    assert_eq!(breaks, [vec![], vec![], vec![Break::Reasoning]]);
}

#[test]
fn p04_who_has_a_fallback_does_not_wait_long() {
    let asked = |span| fails(FailureKind::RateLimit).asking_to_wait(span);
    let replies = || [asked(Span::seconds(30)), asked(Span::seconds(31)), text("done")];
    let ran = Script::new(with_fallback(&["second"])).replies(replies()).say("do it").run();
    assert_eq!(tries(&ran), ["first 1", "first 2", "second 3"]);
    let ran = Script::new(terms(9)).replies(replies()).say("do it").run();
    assert_eq!(waits(&ran), [Span::seconds(30), Span::seconds(31)], "who has none waits");
}

#[test]
fn p04_a_target_that_is_out_of_order_is_passed_over_where_another_is_left() {
    let out = || fails(FailureKind::RateLimit).out_of_order();
    let ran = Script::new(with_fallback(&["second"])).replies([out(), text("done")]).say("do it").run();
    assert_eq!(tries(&ran), ["first 1", "second 2"]);
    let ran = Script::new(terms(9)).replies([out(), text("done")]).say("do it").run();
    assert_eq!(tries(&ran), ["first 1", "first 2"]);
}

/// The process ended while it waited, and the next one has a clock that was set back by a year: the wait is as long as it
/// was, from there on.
#[test]
fn s02_a_clock_that_was_set_back_makes_no_wait_longer() {
    let year = Span::seconds(365 * 24 * 3600);
    let script = Script::new(terms(9)).replies([fails(FailureKind::Network), text("done")]).wait(year);
    let script = script.say("do it").until_it_wants(|effect| matches!(effect, Effect::WakeAt(_)));
    let ran = script.clock_goes_back(year).kill(Lost::Nothing).go_on().run();
    assert_eq!(ran.ends(), [StopReason::Completed]);
    let wakes = ran.effects.iter().filter_map(|effect| match effect {
        Effect::WakeAt(at) => Some(*at),
        _ => None,
    });
    let wait = Span::seconds(1);
    assert_eq!(wakes.collect::<Vec<_>>(), [Time(0).after(year).after(wait), Time(0).after(wait)]);
    let Some(Body::TurnEnd(end)) = ran.entries.last().map(|entry| &entry.body) else { panic!("an end") };
    assert_eq!(end.worked, wait);
}
