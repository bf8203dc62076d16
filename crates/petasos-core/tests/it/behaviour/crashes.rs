//! A process that ends at any moment (S01 as far as core goes).

use petasos_core::approval::{Answer, Proposal, Scope};
use petasos_core::claims::Rerun;
use petasos_core::entry::Body;
use petasos_core::session::Session;
use petasos_core::stop::StopReason;
use petasos_core::text::Json;
use petasos_core::tool::Outcome;
use petasos_core::turn::{Effect, Input};
use petasos_testkit::script::{Lost, Script, calls, text, told};
use petasos_testkit::words::terms;

use crate::behaviour::check;

/// Killed while this call runs.
fn killed_in(tool: &'static str) -> Script {
    let script = Script::new(terms(9)).replies([calls([tool]), text("done")]).say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)));
    script.kill(Lost::Unsynced)
}

#[test]
fn s01_a_call_that_may_not_run_twice_has_an_unknown_outcome() {
    let ran = killed_in("write").go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: write=unknown", "reply: done"]);
    assert_eq!(ran.ran(), ["write"]);
}

#[test]
fn s01_a_call_with_a_key_runs_again_under_the_same_key() {
    let ran = killed_in("keyed").go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: keyed=ok", "reply: done"]);
    let keys: Vec<Rerun> = ran
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::RunTool(approved) => Some(approved.proposal().claims.rerun.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, vec![Rerun::Keyed("key 6.0".into()); 2]);
    let starts = ran.kinds().iter().filter(|kind| **kind == "tool_start").count();
    assert_eq!(starts, 1);
}

#[test]
fn s01_a_call_that_changes_nothing_runs_again() {
    let script = Script::new(terms(9)).replies([calls(["read"]), text("done")]).say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_))).kill(Lost::Nothing);
    let ran = script.go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: read=ok", "reply: done"]);
    assert_eq!(ran.ran(), ["read", "read"]);
}

fn with_probe(proposal: Proposal) -> Proposal {
    let mut proposal = proposal;
    proposal.claims.probe = Some(Json::try_from("{}").unwrap());
    proposal
}

#[test]
fn s01_a_call_with_a_probe_is_looked_after_and_not_run_again() {
    for (seen, told) in
        [(Outcome::Ok, "ok"), (Outcome::NeverBegan, "never_began"), (Outcome::Unknown, "unknown")]
    {
        let script = Script::new(terms(9)).preparing(with_probe).probes_see(seen);
        let script = script.replies([calls(["write"]), text("done")]).say("do it");
        let script = script.until_it_wants(|effect| matches!(effect, Effect::RunTool(_)));
        let ran = script.kill(Lost::Nothing).go_on().run();
        check(&ran, StopReason::Completed, &["said: do it", &format!("reply: write={told}"), "reply: done"]);
        assert_eq!(ran.ran(), ["write"]);
    }
}

fn no_longer_keyed(proposal: Proposal) -> Proposal {
    let mut proposal = proposal;
    proposal.claims.rerun = Rerun::Never;
    proposal
}

fn other_key(proposal: Proposal) -> Proposal {
    let mut proposal = proposal;
    proposal.claims.rerun = Rerun::Keyed("another".into());
    proposal
}

#[test]
fn s01_a_call_that_began_under_a_key_does_not_run_again_without_just_that_key() {
    for prepare in [no_longer_keyed as fn(Proposal) -> Proposal, other_key] {
        let ran = killed_in("keyed").preparing(prepare).go_on().run();
        check(&ran, StopReason::Completed, &["said: do it", "reply: keyed=unknown", "reply: done"]);
        assert_eq!(ran.ran(), ["keyed"]);
    }
}

#[test]
fn i3_a_call_that_had_begun_beside_one_that_ends_the_turn_is_unknown_after_a_crash() {
    let replies = [calls(["other_write", "ask_write"])];
    let mut script = Script::new(terms(9)).replies(replies).deaf("other_write").say("do it");
    while script.step().is_some() {}
    let ask = script.effects().iter().find_map(|effect| match effect {
        Effect::Ask { call, shown } => Some((*call, *shown)),
        _ => None,
    });
    let (call, shown) = ask.unwrap();
    let script = script.input(Input::Decide { call, answer: Answer::NoAndStop, shown });
    let ran = script.kill(Lost::Nothing).go_on().run();
    check(&ran, StopReason::Denied, &["said: do it", "reply: other_write=unknown ask_write=denied"]);
}

fn job() -> Script {
    let yes = Answer::Yes { scope: Scope::Once };
    let replies = [calls(["read", "other_write", "ask_write", "keyed"]), calls(["write"]), text("done")];
    Script::new(terms(9)).replies(replies).answers(vec![yes; 3]).say("do it")
}

/// A kill or power cut at any event; the turn goes on and ends as it would have, but for what is
/// unknown, and no `Never` call runs twice.
#[test]
fn s01_a_turn_that_is_killed_at_any_event_ends_as_the_unkilled_one() {
    for lost in [Lost::Nothing, Lost::Unsynced] {
        for events in 0..80 {
            let script = job().events(events);
            if !script.session().is_running() {
                break;
            }
            check_killed(script, lost, events);
        }
    }
}

fn check_killed(script: Script, lost: Lost, events: usize) {
    let said = script.safe().iter().any(|entry| matches!(entry.body, Body::Said(_)));
    let script = script.kill(lost);
    if lost == Lost::Unsynced && !said {
        return assert!(!script.session().can_continue());
    }
    // What the model has not answered on the log, it answers again.
    let replies = script.log().iter().filter(|entry| matches!(entry.body, Body::Reply(_))).count();
    let all = [calls(["read", "other_write", "ask_write", "keyed"]), calls(["write"]), text("done")];
    let yes = Answer::Yes { scope: Scope::Once };
    let script = script.with_no_replies().replies(all.into_iter().skip(replies)).answers(vec![yes; 3]);
    let ran = if script.session().can_continue() { script.go_on().run() } else { script.stop_here() };
    let lines: Vec<String> = ran.told.iter().map(|line| line.replace("unknown", "ok")).collect();
    let expected = [
        "said: do it",
        "reply: read=ok other_write=ok ask_write=ok keyed=ok",
        "reply: write=ok",
        "reply: done",
    ];
    let ended = ran.session.turn().and_then(|turn| turn.told().ended);
    assert_eq!(
        (ended, &lines[..]),
        (Some(StopReason::Completed), &expected.map(str::to_owned)[..]),
        "{lost:?} at event {events}"
    );
    let starts = |place: u16, reply: &str| {
        ran.effects
            .iter()
            .filter(|effect| {
                matches!(effect, Effect::RunTool(approved)
        if approved.proposal().call.place == place && approved.proposal().tool.contains(reply))
            })
            .count()
    };
    assert!(starts(1, "other_write") <= 1 && starts(2, "ask_write") <= 1, "{lost:?} at event {events}");
}

/// Whatever prefix of a log there is, the session that it tells is valid and goes on (I7).
#[test]
fn i7_a_turn_goes_on_from_any_prefix_of_its_log() {
    let whole = job().run().entries;
    for length in 2..whole.len() {
        let log = whole[..length].to_vec();
        let replies = log.iter().filter(|entry| matches!(entry.body, Body::Reply(_))).count();
        told(&Session::fold(&log, terms(9)));
        let script = Script::with_log(terms(9), log);
        if !script.session().can_continue() {
            continue;
        }
        let all = [calls(["read", "other_write", "ask_write", "keyed"]), calls(["write"]), text("done")];
        let yes = Answer::Yes { scope: Scope::Once };
        let script = script.replies(all.into_iter().skip(replies)).answers(vec![yes; 3]);
        let ran = script.go_on().run();
        assert_eq!(
            (ran.status, ran.reply.as_str()),
            (Some(StopReason::Completed), "done"),
            "first {length} entries"
        );
    }
}

#[test]
fn a_request_that_was_lost_is_counted_and_made_again() {
    let script = Script::new(terms(9)).replies([text("lost"), text("done")]).say("do it");
    let script = script.until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    let ran = script.kill(Lost::Nothing).go_on().run();
    check(&ran, StopReason::Completed, &["said: do it", "reply: done"]);
    // 20,000 were held for the lost one, 10,000 were used by the other.
    assert_eq!((ran.session.account().tokens, ran.session.account().steps), (30_000, 1));
    let attempts: Vec<u32> = ran.requests().iter().map(|request| request.attempt).collect();
    assert_eq!(attempts, [1, 2]);
}

/// As above, for a turn that is told to stop by what it does: the outcome of each call is the same.
#[test]
fn i7_a_denied_turn_ends_alike_from_any_prefix_of_its_log() {
    for tool in ["hard_write", "ask_write"] {
        let replies = [calls([tool, "other_write"])];
        let script = Script::new(terms(9)).replies(replies.clone()).answers([Answer::NoAndStop]);
        let ran = script.say("do it").run();
        assert_eq!(ran.status, Some(StopReason::Denied));
        for length in 2..ran.entries.len() {
            let script = Script::with_log(terms(9), ran.entries[..length].to_vec());
            if !script.session().can_continue() {
                continue;
            }
            let is_there = script.last(|body| matches!(body, Body::Reply(_))).is_some();
            let script = script.replies(replies.clone().into_iter().skip(usize::from(is_there)));
            let again = script.answers([Answer::NoAndStop]).go_on().run();
            assert_eq!(again.status, Some(StopReason::Denied), "first {length} entries");
            // A start that is on the log, and nobody knows whether it was acted on.
            let told: Vec<String> =
                again.told.iter().map(|line| line.replace("unknown", "never_began")).collect();
            assert_eq!(told, ran.told, "first {length} entries");
        }
    }
}
