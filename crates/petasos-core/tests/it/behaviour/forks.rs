//! Sessions of another one's lines: a fork goes on from a place, an import takes no yes along.

use petasos_core::approval::{Answer, Scope};
use petasos_core::entry::{Body, Entry, Leaf, LeafReason, Open, Origin, SessionStart, When};
use petasos_core::id::{Epoch, Seq};
use petasos_core::request::Break;
use petasos_core::session::{Session, Terms};
use petasos_core::stop::StopReason;
use petasos_core::time::Time;
use petasos_core::transcript::Item;
use petasos_core::turn::{Effect, Mode, OnAsk};
use petasos_core::usage::Account;
use petasos_testkit::script::{Lost, Script, calls, cut, fails, nothing, text, told};
use petasos_testkit::words::terms;

use crate::behaviour::check;

const FOR_THE_SESSION: Answer = Answer::Yes { scope: Scope::Session };

/// These lines as those of another session: its own first line, theirs up to one, an `open`.
fn lines(log: &[Entry], upto: Seq, origin: Origin) -> Vec<Entry> {
    let start =
        SessionStart { format: 1, id: "other".parse().unwrap(), workspace: "/w".into(), origin, depth: 0 };
    let mut lines = vec![Entry { seq: Seq(0), at: Time(7), body: start.into() }];
    lines.extend(log.iter().skip(1).take_while(|entry| entry.seq <= upto).cloned());
    let open = Open { epoch: Epoch(9), holder: "b".into(), program: "0".into(), damage: Vec::new() };
    lines.push(Entry { seq: upto.next(), at: Time(7), body: open.into() });
    lines
}

/// A fork after an entry, and where it goes on.
fn fork(log: &[Entry], upto: Seq) -> (Vec<Entry>, Option<Seq>) {
    let mut lines = lines(log, upto, Origin::Fork { session: "scripted".parse().unwrap(), seq: upto });
    let mut session = Session::fold(&lines, terms(9));
    let to = session.fork(Time(7), upto).unwrap();
    while let Some(effect) = session.next_effect() {
        let Effect::Append { entries, .. } = effect else { panic!("{effect:?}") };
        lines.extend(entries);
    }
    assert!(Session::fold(&lines, terms(9)).is_told_as(&session));
    (lines, to)
}

/// Logs of many shapes.
fn logs() -> Vec<Vec<Entry>> {
    let job = [
        fails(petasos_core::stop::FailureKind::Network),
        calls(["read", "other_write", "ask_write"]).after_text("let me see"),
        nothing(),
        cut("half "),
        text("done"),
        text("again"),
    ];
    let script = Script::new(terms(9)).replies(job).answers([FOR_THE_SESSION]).say("do it");
    let finished = script.clone().steer("and this").run().script.say("more").run().entries;
    let killed = script.clone().deaf("other_write").events(40).kill(Lost::Nothing).stop_here().entries;
    let stopped = script.deaf("other_write").events(40).follow_up("then this").interrupt().run().entries;
    let parked = Terms { mode: Mode { on_ask: OnAsk::Park, ..Mode::default() }, ..terms(9) };
    let parked =
        Script::new(parked).replies([calls(["other_write", "ask_write", "read"])]).say("do it").run().entries;
    vec![finished, killed, stopped, parked]
}

#[test]
fn a_fork_goes_on_from_the_last_place_among_its_lines() {
    for log in logs() {
        for upto in (1..log.len() as u64).map(Seq) {
            let (forked, to) = fork(&log, upto);
            let session = Session::fold(&forked, terms(9));
            assert!(to.is_none_or(|to| to <= upto));
            let last = forked.last().unwrap();
            assert_eq!(last.body, Body::Leaf(Leaf { to, why: LeafReason::Fork }));
            // Nothing of theirs is changed, and the way to the leaf ends where it says.
            let theirs = log.iter().skip(1).take_while(|entry| entry.seq <= upto);
            assert!(forked.iter().skip(1).zip(theirs).all(|(one, other)| one == other));
            assert_eq!(session.transcript().items().last().map(|(seq, _)| *seq), to);
            // The beginning of what the other one told then, but for what had not entered.
            let before = told(&Session::fold(log.iter().take_while(|entry| entry.seq <= upto), terms(9)));
            let now = told(&session);
            let entered = now.iter().zip(&before).take_while(|(one, other)| one == other).count();
            // What was said while a step was open stands behind that step, which is closed first.
            let more = if to == Some(upto) { 2 } else { 0 };
            assert!(entered + more >= now.len(), "{now:?} of {before:?}");
            assert_eq!(session.account(), Account::default(), "what they cost stays the other's");
            assert!(!session.is_running());
        }
    }
}

#[test]
fn a_fork_after_something_said_ends_with_it() {
    for log in logs() {
        for entry in log.iter().filter(|entry| matches!(&entry.body, Body::Said(_))) {
            let (_, to) = fork(&log, entry.seq);
            assert_eq!(to, Some(entry.seq));
        }
    }
}

/// What was said before it for the next step enters before it, as it does in the other session.
#[test]
fn a_fork_keeps_the_order_of_what_was_said() {
    let script = Script::new(terms(9)).replies([calls(["read"])]).deaf("read").say("do it").events(40);
    let log = script.steer("first").steer("second").stop_here().entries;
    let said = |entry: &&Entry| matches!(&entry.body, Body::Said(said) if said.when == When::NextStep);
    let last = log.iter().rfind(said).unwrap().seq;
    let (forked, to) = fork(&log, last);
    assert_eq!(to, Some(last));
    let session = Session::fold(&forked, terms(9));
    let items = session.transcript().items();
    let said: Vec<String> = items
        .into_iter()
        .filter_map(|(_, item)| match item {
            Item::Said(said) => Some(format!("{:?}", said.content)),
            Item::Step(_) | Item::Note(_) => None,
        })
        .collect();
    let place = |text: &str| said.iter().position(|said| said.contains(text)).unwrap();
    assert!(place("do it") < place("first") && place("first") < place("second"), "{said:?}");
}

#[test]
fn from_every_fork_one_can_go_on() {
    for log in logs() {
        for upto in (1..log.len() as u64).map(Seq) {
            let (forked, _) = fork(&log, upto);
            let had_request = forked.iter().any(|entry| matches!(entry.body, Body::Request(_)));
            let script = Script::with_log(terms(9), forked).replies(vec![text("hello"); 9]);
            let first = script.log().len();
            let ran = script.say("on").run();
            assert_eq!(ran.status, Some(StopReason::Completed), "{upto}");
            let request = ran.entries[first..].iter().find_map(|entry| match &entry.body {
                Body::Request(request) => Some(request),
                _ => None,
            });
            assert_eq!(request.unwrap().breaks.contains(&Break::Leaf), had_request, "{upto}");
        }
    }
}

#[test]
fn a_fork_asks_again_for_what_was_granted_to_the_other_session() {
    let replies = [calls(["ask_write"]), text("one")];
    let log = Script::new(terms(9)).replies(replies).answers([FOR_THE_SESSION]).say("do it").run().entries;
    assert_ne!(*Session::fold(&log, terms(9)).grants(), Default::default());
    let (forked, _) = fork(&log, log.last().unwrap().seq);
    let session = Session::fold(&forked, terms(9));
    assert_eq!(*session.grants(), Default::default());
    let ran = Script::with_log(terms(9), forked).replies([calls(["ask_write"])]).say("again").run();
    assert!(ran.effects.iter().any(|effect| matches!(effect, Effect::Ask { .. })));
}

#[test]
fn no_yes_comes_along_with_an_imported_session() {
    let origin = |seq: Seq| Origin::Import { from: "scripted".into(), seq: Some(seq) };
    // For the session.
    let replies = [calls(["ask_write"]), text("one")];
    let log = Script::new(terms(9)).replies(replies).answers([FOR_THE_SESSION]).say("do it").run().entries;
    let last = log.last().unwrap().seq;
    let imported = lines(&log, last, origin(last));
    let session = Session::fold(&imported, terms(9));
    assert_eq!(*session.grants(), Default::default());
    assert_eq!((told(&session), session.misfits()), (told(&Session::fold(&log, terms(9))), &[][..]));

    // For a call that waits: it goes on waiting.
    let parked = Terms { mode: Mode { on_ask: OnAsk::Park, ..Mode::default() }, ..terms(9) };
    let script = Script::new(parked.clone()).replies([calls(["ask_write"])]).say("do it").run().script;
    let asked = script.log().iter().find_map(|entry| match &entry.body {
        Body::Call(call) => Some((call.call, call.shown)),
        _ => None,
    });
    let (call, shown) = asked.unwrap();
    let answer = Answer::Yes { scope: Scope::Once };
    let log = script.input(petasos_core::turn::Input::Decide { call, answer, shown }).stop_here().entries;
    let last = log.last().unwrap().seq;
    assert!(matches!(log.last().unwrap().body, Body::Decision(_)));
    let runs = |log: Vec<Entry>| {
        let ran = Script::with_log(parked.clone(), log).replies([text("done")]).go_on().run();
        (ran.status, ran.ran())
    };
    assert_eq!(runs(log.clone()), (Some(StopReason::Completed), vec!["ask_write".to_owned()]));
    let imported = lines(&log, last, origin(last));
    assert_eq!(runs(imported), (Some(StopReason::AwaitingApproval), Vec::new()));
}

#[test]
fn what_is_decided_in_an_imported_session_counts_there() {
    let log = Script::new(terms(9)).replies([text("one")]).say("do it").run().entries;
    let last = log.last().unwrap().seq;
    let imported = lines(&log, last, Origin::Import { from: "scripted".into(), seq: Some(last) });
    let replies = [calls(["ask_write"]), calls(["ask_write"]), text("done")];
    let ran =
        Script::with_log(terms(9), imported).replies(replies).answers([FOR_THE_SESSION]).say("more").run();
    check(
        &ran,
        StopReason::Completed,
        &[
            "said: do it",
            "reply: one",
            "said: more",
            "reply: ask_write=ok",
            "reply: ask_write=ok",
            "reply: done",
        ],
    );
}
