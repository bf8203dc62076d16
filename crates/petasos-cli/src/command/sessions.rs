//! `petasos sessions`: what is kept.

use std::process::ExitCode;
use std::sync::Arc;

use petasos_runtime::{Event, Listed, Reach, Setup, Words};

use super::manage::asks;
use super::search::{reindex, search};
use super::{Refusal, manage, transfer};
use crate::args::SessionsCommand;
use crate::print::{Printer, line_of};
use crate::{World, print};

/// Lists or shows sessions.
pub(crate) async fn sessions(what: SessionsCommand, world: &World) -> ExitCode {
    let json = matches!(
        &what,
        SessionsCommand::List { json: true, .. }
            | SessionsCommand::Show { json: true, .. }
            | SessionsCommand::Search { json: true, .. }
    );
    let mut printer = if json { Printer::json() } else { Printer::job() };
    match look(what, world).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn look(what: SessionsCommand, world: &World) -> Result<(), Refusal> {
    let workspace =
        if let SessionsCommand::Import { workspace, .. } = &what { workspace.as_deref() } else { None };
    let setup = Setup::to_look(world.environment.clone(), workspace, Arc::clone(&world.disk))?;
    match what {
        SessionsCommand::List { json, all } => list(&setup, json, all).await,
        SessionsCommand::Show { session, json } => show(&setup, session.as_deref(), json).await,
        SessionsCommand::Export { session, output } => {
            transfer::export(&setup, session.as_deref(), output.as_deref()).await
        }
        SessionsCommand::Import { file, .. } => transfer::import(&setup, &file).await,
        SessionsCommand::Search { query, json, all, limit } => {
            let reach = if all { Reach::All } else { Reach::Here };
            search(&setup, &query, reach, (json, limit)).await
        }
        SessionsCommand::Reindex => reindex(&setup).await,
        SessionsCommand::Fork { session, at } => manage::fork(&setup, session.as_deref(), at).await,
        SessionsCommand::Undo { session } => manage::undo(&setup, session.as_deref()).await,
        SessionsCommand::Rename { session, title } => manage::rename(&setup, &session, &title).await,
        SessionsCommand::Delete { session, yes } => manage::delete(&setup, &session, asks(yes)).await,
        SessionsCommand::Clean(arguments) => manage::clean(&setup, arguments).await,
    }
}

async fn list(setup: &Setup, json: bool, all: bool) -> Result<(), Refusal> {
    let listing = setup.sessions().await?;
    let here = |listed: &&Listed| all || listed.is_in(&setup.places.workspace);
    let mut count = 0;
    for listed in listing.sessions.iter().filter(here) {
        count += 1;
        match json {
            true => print::line(&listed.line()),
            false => print::shown(&row(listed, all)),
        }
    }
    for (session, error) in &listing.unreadable {
        print::talk(&format!("petasos: session {session}: {error}"));
    }
    if count == 0 && !json {
        let other = if all { "" } else { " for this folder (--all shows those of all folders)" };
        print::talk(&format!("no sessions yet{other}; petasos run \"…\" begins one"));
    }
    Ok(())
}

fn row(listed: &Listed, all: bool) -> String {
    let title = line_of(listed.title(), 60);
    let folder = if all { format!("  {}", line_of(listed.workspace(), 40)) } else { String::new() };
    let damage = if listed.damaged() > 0 { "  (damaged)" } else { "" };
    format!(
        "{}  {}  {:>5} entries  {:>8} tokens{folder}  {title}{damage}",
        listed.id(),
        listed.last_time(),
        listed.entries(),
        listed.tokens()
    )
}

async fn show(setup: &Setup, session: Option<&str>, json: bool) -> Result<(), Refusal> {
    let found = setup.find(session).await?;
    let shown = setup.show(&found.id).await?;
    if json {
        for event in &shown.events {
            Printer::json().event(event);
        }
    } else {
        print::shown(&format!("session {} in {}", found.id, found.workspace.display()));
        let mut words = shown.words.iter().peekable();
        for place in 0..=shown.events.len() {
            while let Some(Words { entry, text, .. }) = words.next_if(|words| words.before <= place) {
                print::shown(&format!("{entry:>5}  {text}"));
            }
            if let Some(line) = shown.events.get(place).and_then(line) {
                print::shown(&line);
            }
        }
    }
    for damage in &shown.damage {
        print::talk(&format!("petasos: the log is damaged: {damage}"));
    }
    Ok(())
}

/// What is shown of an event to a person who looks at what happened.
pub(super) fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Said { entry, text, .. } => format!("{entry:>5}  said: {}", text),
        Event::TurnStart { entry, model, provider, continues, .. } => {
            let what = if *continues { "turn goes on" } else { "turn begins" };
            format!("{entry:>5}  {what} with {} at {}", model, provider)
        }
        Event::StepStart { entry, step, attempt, tokens, .. } => {
            let again = if *attempt > 1 { format!(", try {attempt}") } else { String::new() };
            format!("{entry:>5}  step {step}{again}: some {tokens} tokens")
        }
        Event::Reply { entry, text, calls, .. } => {
            let calls = calls.iter().map(|call| {
                format!(
                    "\n       → {} {} ({})",
                    line_of(&call.name, 40),
                    line_of(&call.arguments, 160),
                    call.call
                )
            });
            format!("{entry:>5}  reply: {}{}", text, calls.collect::<String>())
        }
        Event::ToolResult { entry, call, tool, outcome, text, .. } => {
            format!("{entry:>5}  {} ({call}) {outcome:?}: {}", line_of(tool, 64), line_of(text, 160))
        }
        Event::Asking { entry, call, tool, arguments, .. } => {
            format!("{entry:>5}  call {call} asks: {} {}", line_of(tool, 64), line_of(arguments, 160))
        }
        Event::Note { entry, text, .. } => format!("{entry:>5}  note: {}", line_of(text, 160)),
        Event::TurnEnd { entry, status, steps, .. } => {
            let entry = entry.map_or_else(|| "-".to_owned(), |entry| entry.to_string());
            format!("{entry:>5}  turn ends: {status} after {steps} steps")
        }
        Event::Delta { .. }
        | Event::ToolStart { .. }
        | Event::Retrying { .. }
        | Event::Waiting { .. }
        | Event::Result(_) => {
            return None;
        }
    })
}
