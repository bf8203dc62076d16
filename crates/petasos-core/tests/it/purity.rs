//! The machine is pure: its state can be kept, compared and sent, the same inputs at the same times lead
//! to the same, and what is refused leaves no trace.

use std::hash::Hash;

use petasos_core::Session;
use petasos_core::approval::{Approved, Asked, Grants, Prepared};
use petasos_core::budget::{Ledger, Limits};
use petasos_core::entry::{Entry, When};
use petasos_core::error::{Handled, Rejected};
use petasos_core::id::Seq;
use petasos_core::session::Terms;
use petasos_core::time::{Span, Time};
use petasos_core::transcript::Transcript;
use petasos_core::turn::{Effect, Input, OpenStep, PartialReply, Phase, Slots, Tally, Told, Turn};
use petasos_core::usage::Account;
use petasos_testkit::random::{Story, run};
use petasos_testkit::words::{head, measured, say, terms};

#[test]
fn state_can_be_kept_compared_and_sent() {
    fn is_state<T: Clone + Eq + Hash + Send + Sync + 'static>() {}
    fn is_plain<T: Clone + Eq + Send + Sync + 'static>() {}
    is_state::<Session>();
    is_state::<Terms>();
    is_state::<Turn>();
    is_state::<Told>();
    is_state::<OpenStep>();
    is_state::<Phase>();
    is_state::<Slots>();
    is_state::<PartialReply>();
    is_state::<Tally>();
    is_state::<Transcript>();
    is_state::<Account>();
    is_state::<Limits>();
    is_state::<Ledger>();
    is_state::<Grants>();
    is_state::<Approved>();
    is_state::<Asked>();
    is_state::<Prepared>();
    is_state::<Entry>();
    is_state::<Input>();
    is_state::<Effect>();
    is_plain::<Rejected>();
    is_plain::<Handled>();
}

#[test]
fn the_same_inputs_at_the_same_times_lead_to_the_same() {
    for seed in 0..60 {
        let (one, other) = (run(seed, Story::Untold), run(seed, Story::Untold));
        assert_eq!(one.log, other.log, "seed {seed}");
        assert_eq!(one.session, other.session, "seed {seed}");
    }
}

fn effects(session: &mut Session) -> Vec<Effect> {
    std::iter::from_fn(|| session.next_effect()).collect()
}

#[test]
fn two_sessions_beside_each_other_stay_equal() {
    let mut one = Session::fold([], terms(3));
    let mut other = one.clone();
    let mut now = Time(1);
    let mut asked = Vec::new();
    let mut next = Some(Input::Say(say("do it", When::Now)));
    while let Some(input) = next {
        now = now.after(Span(10));
        assert_eq!(one.handle(now, input.clone()), other.handle(now, input));
        let (mine, theirs) = (effects(&mut one), effects(&mut other));
        assert_eq!(mine, theirs);
        assert_eq!(one, other);
        asked.extend(mine);
        next = (!asked.is_empty()).then(|| asked.remove(0)).map(|effect| match effect {
            Effect::Append { entries, .. } => Input::Appended { upto: entries.last().unwrap().seq },
            Effect::BuildHead => Input::HeadBuilt(head()),
            Effect::Measure(draft) => Input::Measured(measured(&draft)),
            _ => Input::Interrupt,
        });
    }
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let mut session = Session::fold([], terms(3));
    let wrong = [
        Input::Interrupt,
        Input::Park,
        Input::GoTo(Seq(7)),
        Input::Undo,
        Input::Retry,
        Input::Appended { upto: Seq(0) },
        Input::Continue { add: Limits::default() },
        Input::Say(say(" ", When::Now)),
    ];
    for input in wrong {
        let before = session.clone();
        assert!(session.handle(Time(99), input.clone()).is_err(), "{input:?}");
        assert_eq!(before, session, "{input:?}");
        assert_eq!(session.next_effect(), None);
    }
}
