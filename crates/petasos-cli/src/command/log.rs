//! `petasos log`: a session, a line a step.

use std::process::ExitCode;
use std::sync::Arc;

use petasos_runtime::{Setup, StepLine, StepTold, ToolOfStep, TurnTold, UsageOfRun};

use super::Refusal;
use super::watch::Stops;
use crate::args::LogArguments;
use crate::print::{Printer, line_of};
use crate::{World, print};

/// Tells the steps of a session.
pub(crate) async fn log(arguments: LogArguments, world: &World) -> ExitCode {
    let mut printer = if arguments.json { Printer::json() } else { Printer::job() };
    match tell(&arguments, world).await {
        // Whoever follows ends it by a signal, and that is no failure.
        Ok(()) | Err(Refusal::Stopped(_)) => ExitCode::SUCCESS,
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn tell(arguments: &LogArguments, world: &World) -> Result<(), Refusal> {
    let mut stops = Stops::listen();
    let setup = Setup::to_look(world.environment.clone(), None, Arc::clone(&world.disk))?;
    let found = setup.find(arguments.session.as_deref()).await?;
    let mut log = setup.step_log(&found.id);
    loop {
        for line in stops.or(log.look()).await? {
            if arguments.json { print::line(&line.line()) } else { print::shown(&text(&line)) }
        }
        if !arguments.follow || (arguments.until_end && log.is_at_rest()) {
            return Ok(());
        }
    }
}

fn text(line: &StepLine) -> String {
    match line {
        StepLine::Step(step) => step_text(step),
        StepLine::Turn(turn) => {
            let TurnTold { entry, at: _, turn, status, steps, usage, worked } = turn;
            let used = used(usage);
            format!(
                "{entry:>5}  turn {turn} ends: {status} after {steps} steps | {used} | {}",
                seconds(worked.0)
            )
        }
    }
}

fn step_text(told: &StepTold) -> String {
    let StepTold { entry, turn, step, attempt, tools, usage, asked, worked, finish, failure, .. } = told;
    let again = if *attempt > 1 { format!(" try {attempt}") } else { String::new() };
    let calls: Vec<String> = tools.iter().map(tool_text).collect();
    let calls = if calls.is_empty() { "no calls".to_owned() } else { calls.join(", ") };
    let used = usage.as_ref().map_or_else(|| "tokens not told".to_owned(), used);
    let asked = asked.map(|asked| format!("model {}", seconds(asked.0))).unwrap_or_default();
    let worked = if tools.is_empty() { String::new() } else { format!(" tools {}", seconds(worked.0)) };
    let end = match (finish, failure) {
        (Some(finish), _) => line_of(finish, 40),
        (None, Some(kind)) => format!("failed: {kind:?}").to_lowercase(),
        (None, None) => "no answer".to_owned(),
    };
    format!("{entry:>5}  turn {turn} step {step}{again}: {calls} | {used} | {asked}{worked} | {end}")
}

fn tool_text(told: &ToolOfStep) -> String {
    let ToolOfStep { tool, arguments, outcome, .. } = told;
    let digest: String = arguments.to_string().chars().take(8).collect();
    let outcome = outcome.map_or_else(|| "waits".to_owned(), |outcome| format!("{outcome:?}").to_lowercase());
    format!("{}#{digest} {outcome}", line_of(tool, 40))
}

fn used(usage: &UsageOfRun) -> String {
    let UsageOfRun { input, output, cached, micro_usd, .. } = usage;
    let cost = micro_usd
        .map(|micro| format!(" ${}.{:06}", micro / 1_000_000, micro % 1_000_000))
        .unwrap_or_default();
    format!("{input} in, {output} out, {cached} cached{cost}")
}

fn seconds(millis: u64) -> String {
    format!("{}.{} s", millis / 1_000, millis % 1_000 / 100)
}
