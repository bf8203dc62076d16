//! `petasos run`: one job.

use std::process::ExitCode;

use petasos_core::entry::When;
use petasos_runtime::{Op, SessionHandle, Setup};

use super::prompt::prompt;
use super::watch::{Rest, Stops, Watched, watch};
use super::{Refusal, commands, printer, set_up, unattended};
use crate::args::{HowArguments, RunArguments};
use crate::print::Printer;
use crate::{World, exit};

/// Does one job.
pub(crate) async fn run(arguments: RunArguments, world: &World) -> ExitCode {
    let RunArguments { model, how, workspace, prompt: argument } = arguments;
    let mut printer = printer(&how);
    let mut stops = Stops::listen();
    let setup = match set_up(world, workspace.as_deref(), model.flags()) {
        Ok(setup) => setup,
        Err(error) => return Refusal::from(error).tell(&mut printer),
    };
    let prompt = match stops.or(prompt(argument)).await {
        Ok(prompt) => prompt,
        Err(refusal) => return refusal.tell(&mut printer),
    };
    job(&setup, &how, (&mut printer, &mut stops), prompt).await
}

/// Does one job in a new session.
pub(crate) async fn job(
    setup: &Setup,
    how: &HowArguments,
    (printer, stops): (&mut Printer, &mut Stops),
    prompt: String,
) -> ExitCode {
    match begin(setup, how, (printer, stops), prompt).await {
        Ok(code) => code,
        Err(refusal) => refusal.tell(printer),
    }
}

async fn begin(
    setup: &Setup,
    how: &HowArguments,
    (printer, stops): (&mut Printer, &mut Stops),
    prompt: String,
) -> Result<ExitCode, Refusal> {
    let chosen = stops.or(setup.choose()).await?;
    let agent = setup.agent(commands(how.allow_commands))?;
    let terms = setup.terms(&chosen, unattended(how, setup));
    stops.or(setup.check_prices(&terms)).await?;
    let mut session = stops.or(agent.create(terms)).await?;
    if !how.json {
        printer.aside(&format!("petasos: session {}, {chosen}", session.id()));
    }
    session.ask(Op::say(prompt, When::Now)).await?;
    let watched = watch(&mut session, printer, stops).await;
    Ok(leave(watched, session).await)
}

/// The exit code of a run that was watched.
pub(crate) async fn leave(watched: Watched, session: SessionHandle) -> ExitCode {
    let Watched { result, signal, rest } = watched;
    if rest == Rest::Rests {
        session.close().await;
    }
    exit::code(&result, signal)
}
