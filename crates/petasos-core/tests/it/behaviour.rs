//! Rows of `behaviour.md` as far as core goes, and what follows from them: each test is a sentence.

mod anywhere;
mod asking;
mod calls;
mod closing;
mod crashes;
mod damage;
mod ends;
mod forks;
mod interrupt;
mod l10_guards;
mod l10_repeats;
mod replies;
mod retries;
mod said;
mod saving;
mod snapshots;
mod undo;

use petasos_core::stop::StopReason;
use petasos_core::turn::Effect;
use petasos_testkit::script::Ran;

/// How the last run ended, and the whole transcript.
#[track_caller]
fn check(ran: &Ran, status: StopReason, told: &[&str]) {
    let told = told.iter().map(|&line| line.to_owned()).collect();
    assert_eq!((ran.status, ran.told.clone()), (Some(status), told));
}

/// True for an effect that begins something.
fn begins_work(effect: &Effect) -> bool {
    match effect {
        Effect::Measure(_)
        | Effect::Reserve(_)
        | Effect::CallModel { .. }
        | Effect::Prepare(_)
        | Effect::Ask { .. }
        | Effect::Probe(_)
        | Effect::RunTool(_)
        | Effect::BuildHead => true,
        Effect::Append { .. }
        | Effect::Settle { .. }
        | Effect::CancelModel(_)
        | Effect::Unask(_)
        | Effect::StopTool(_)
        | Effect::WakeAt(_)
        | Effect::Tell(_)
        | Effect::Finish(_) => false,
    }
}
