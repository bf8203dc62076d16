//! `petasos resume --read-only`: what is in a session, and what comes while another process works in it.

use std::process::ExitCode;
use std::sync::Arc;

use petasos_core::stop::StopReason;
use petasos_runtime::{Following, RunResult, Setup};

use super::Refusal;
use super::sessions::line;
use super::watch::Stops;
use crate::args::HowArguments;
use crate::exit::Signal;
use crate::print::{Printer, line_of};
use crate::{World, exit, print};

/// Looks on until the turn is over. The result, and so the exit code, is that of the turn.
pub(crate) async fn look_on(
    session: Option<&str>,
    (how, world): (&HowArguments, &World),
    printer: &mut Printer,
) -> ExitCode {
    match see(session, (how, world), printer).await {
        Ok((result, signal)) => {
            // A person has read the answer among the rest.
            if how.json || result.error.is_some() {
                printer.result(&result);
            }
            exit::code(&result, signal)
        }
        Err(refusal) => refusal.tell(printer),
    }
}

async fn see(
    session: Option<&str>,
    (how, world): (&HowArguments, &World),
    printer: &mut Printer,
) -> Result<(RunResult, Option<Signal>), Refusal> {
    let mut stops = Stops::listen();
    let setup = Setup::to_look(world.environment.clone(), None, Arc::clone(&world.disk))?;
    let found = setup.find(session).await?;
    if !how.json {
        let title = line_of(&found.title, 60);
        print::talk(&format!("petasos: session {}, {title:?}, read only; Ctrl-C ends it", found.id));
    }
    let mut following = setup.follow(&found.id);
    let ended_by = follow(&mut following, &mut stops, (how, printer)).await?;
    for damage in following.damage() {
        print::talk(&format!("petasos: the log is damaged: {damage}"));
    }
    let looked_away = || RunResult::without_turn(StopReason::Interrupted, Some(found.id.clone()));
    let result = following.result().filter(|_| ended_by.is_none()).cloned().unwrap_or_else(looked_away);
    Ok((result, ended_by))
}

async fn follow(
    following: &mut Following,
    stops: &mut Stops,
    (how, printer): (&HowArguments, &mut Printer),
) -> Result<Option<Signal>, Refusal> {
    loop {
        let event = tokio::select! {
            event = following.next() => event?,
            signal = stops.next() => return Ok(Some(signal)),
        };
        let Some(event) = event else { return Ok(None) };
        if how.json {
            printer.event(&event);
        } else if let Some(text) = line(&event) {
            print::shown(&text);
        }
    }
}
