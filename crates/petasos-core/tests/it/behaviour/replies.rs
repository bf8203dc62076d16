//! Replies that are no answer yet: cut at their length, empty, odd (L10, L11).

use petasos_core::entry::{Block, Body, FinishReason};
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::time::Span;
use petasos_core::turn::{Delta, Effect, Input};
use petasos_testkit::script::{Script, calls, cut, nothing, text};
use petasos_testkit::words::terms;

use crate::behaviour::check;

#[test]
fn l11_a_reply_cut_at_its_length_is_continued_and_the_answer_is_all_of_it() {
    let ran = Script::new(terms(9)).replies([cut("one, "), cut("two, "), text("three")]).say("count").run();
    let note = "note: Continue";
    check(
        &ran,
        StopReason::Completed,
        &["said: count", "reply: one, ", note, "reply: two, ", note, "reply: three"],
    );
    assert_eq!(ran.reply, "one, two, three");
}

#[test]
fn l11_a_reply_is_continued_four_times_then_it_is_truncated_and_can_go_on() {
    let ran = Script::new(terms(9)).replies(vec![cut("la "); 5]).say("sing").run();
    assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Truncated), "la la la la la "));
    assert_eq!(ran.told.iter().filter(|line| *line == "note: Continue").count(), 4);

    let ran = ran.script.replies([text("end")]).go_on().run();
    assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "la la la la la end"));
}

#[test]
fn l11_continuations_are_counted_in_a_row() {
    let mut replies = vec![cut("la "); 4];
    replies.push(calls(["read"]));
    replies.extend(vec![cut("la "); 4]);
    replies.push(text("end"));
    let ran = Script::new(terms(20)).replies(replies).say("sing").run();
    assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "la la la la end"));
}

#[test]
fn l11_a_cut_call_never_runs_and_the_whole_ones_of_its_reply_do() {
    let half = calls(["write"]).with_half_a_call("other_write").finish(FinishReason::Length);
    let ran = Script::new(terms(9)).replies([half, text("done")]).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: write=ok other_write=never_began", "reply: done"],
    );
    assert_eq!(ran.ran(), ["write"]);
}

#[test]
fn l11_replies_that_are_cut_in_their_calls_are_bounded_too() {
    let half = || nothing().with_half_a_call("write").finish(FinishReason::Length);
    let ran = Script::new(terms(20)).replies(vec![half(); 9]).say("do it").run();
    assert_eq!(ran.status, Some(StopReason::Truncated));
    assert_eq!(ran.requests().len(), 5);
    assert!(ran.session.can_continue());
}

#[test]
fn l11_an_unknown_finish_reason_is_an_end_if_there_is_text_or_a_whole_call() {
    let odd = FinishReason::Other("eos_token".into());
    let ran = Script::new(terms(9)).replies([text("done").finish(odd.clone())]).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);

    let replies = [calls(["read"]).finish(odd.clone()), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);

    let replies =
        [nothing().with_half_a_call("read").finish(odd.clone()), nothing().finish(odd), text("done")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    let attempts: Vec<u32> = ran.requests().iter().map(|request| request.attempt).collect();
    assert_eq!((attempts, ran.session.account().steps), (vec![1, 2, 3], 1));
}

#[test]
fn l10_an_empty_reply_is_nudged_once_and_then_the_model_failed() {
    let ran = Script::new(terms(9)).replies([nothing(), text("here")]).say("do it").run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: ", "note: Nudge", "reply: here"]);

    let ran = Script::new(terms(9)).replies([nothing(), nothing()]).say("do it").run();
    let status = StopReason::ModelFailed(FailureKind::Empty);
    check(&ran, status, &["said: do it", "reply: ", "note: Nudge", "reply: "]);

    let ran = ran.script.replies([text("here")]).go_on().run();
    assert_eq!((ran.status, ran.reply.as_str()), (Some(StopReason::Completed), "here"));
}

#[test]
fn l10_reasoning_alone_is_an_empty_reply() {
    let replies = [nothing().after_reasoning("hm"), text(" \n "), text("here")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    assert_eq!(ran.status, Some(StopReason::ModelFailed(FailureKind::Empty)));
}

#[test]
fn l10_a_reply_that_says_something_gives_the_next_empty_one_its_nudge_back() {
    let replies = [nothing(), calls(["read"]), nothing(), text("here")];
    let ran = Script::new(terms(9)).replies(replies).say("do it").run();
    check(
        &ran,
        StopReason::Completed,
        &["said: do it", "reply: ", "note: Nudge", "reply: read=ok", "reply: ", "note: Nudge", "reply: here"],
    );
}

#[test]
fn the_blocks_of_a_reply_stand_in_the_order_they_came() {
    let mut reply = text("b").after_reasoning("a");
    reply = reply.after_text("0").finish(FinishReason::Stop);
    let ran = Script::new(terms(9)).replies([reply]).say("x").run();
    let blocks = ran.entries.iter().find_map(|entry| match &entry.body {
        Body::Reply(reply) => Some(reply.blocks.clone()),
        _ => None,
    });
    let expected = vec![Block::Text("0".into()), Block::Reasoning("a".into()), Block::Text("b".into())];
    assert_eq!(blocks, Some(expected));
}

#[test]
fn text_that_comes_is_kept_at_most_once_a_second() {
    let slow = text("c").after_text("b").after_text("a").after_text("0");
    let ran = Script::new(terms(9)).pace(Span(600)).replies([slow]).say("x").run();
    let partials: Vec<(u64, String)> = ran
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Partial(partial) => Some((partial.from, partial.text.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(partials, [(0, "0a".to_owned()), (2, "bc".to_owned())]);
    assert_eq!(ran.reply, "0abc");
}

/// An endless reply ends at its cap, whatever it is made of (I9).
#[track_caller]
fn check_ends(delta: &Delta) {
    let mut script = Script::new(terms(9)).replies([nothing()]).say("x");
    script = script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    let request = script.session().turn().unwrap().told().step.request.as_ref().unwrap().id;
    let is_off = |effect: &Effect| matches!(effect, Effect::CancelModel(_));
    for _ in 0..200_000 {
        script.feed(Input::Delta { request, delta: delta.clone() }).unwrap();
        if script.effects().iter().any(is_off) {
            return;
        }
    }
    panic!("200,000 pieces, and no end");
}

#[test]
fn i9_an_endless_reply_ends_at_its_cap() {
    check_ends(&Delta::Text("la".repeat(1000).into()));
    check_ends(&Delta::Reasoning("la".repeat(1000).into()));
    check_ends(&Delta::Raw("la".repeat(1000).into()));
}

#[test]
fn a_reply_that_was_refused_runs_none_of_its_calls() {
    let reply = calls(["write"]).after_text("no").finish(FinishReason::Refused);
    let ran = Script::new(terms(9)).replies([reply]).say("do it").run();
    check(&ran, StopReason::Refused, &["said: do it", "reply: no write=never_began"]);
}

#[test]
fn i9_an_endless_reply_of_calls_ends_at_its_cap() {
    let form = petasos_core::entry::CallForm::Native;
    check_ends(&Delta::Call { wire_id: None, name: "read".into(), form });
    check_ends(&Delta::Call { wire_id: Some("x".into()), name: "".into(), form });
}
