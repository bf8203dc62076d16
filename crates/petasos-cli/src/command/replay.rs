//! `petasos replay`: a session from its log, entry by entry and request by request.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use petasos_core::id::Seq;
use petasos_runtime::config::Flags;
use petasos_runtime::{
    CallReplayed, Difference, Differing, LeftOut, LeftOutWhy, PartOf, Place, Present, Replayed,
    RequestReplayed, Setup,
};
use tokio::task::spawn_blocking;

use super::{Refusal, commands, manage, resume, set_up};
use crate::args::{AgainstArguments, HowArguments, ReplayArguments, ResumeArguments};
use crate::print::{Printer, line_of};
use crate::{World, print};

/// Replays a session: 0 if all is the same, 1 if something differs, 2 if there is no such session.
pub(crate) async fn replay(arguments: ReplayArguments, world: &World) -> ExitCode {
    let mut printer = if arguments.json { Printer::json() } else { Printer::job() };
    match found(&arguments, world).await {
        Ok(replayed) => {
            match (arguments.json, arguments.step) {
                (true, _) => print::line(&replayed.line()),
                (false, true) => walk(&replayed),
                (false, false) => tell(&replayed),
            }
            if arguments.live {
                return match live(arguments, &replayed, world).await {
                    Ok(code) => code,
                    Err(refusal) => refusal.tell(&mut printer),
                };
            }
            if replayed.is_same() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(refusal) => refusal.tell(&mut printer),
    }
}

/// Goes on in a fork with a model: from the first request that differs, else from the end.
async fn live(arguments: ReplayArguments, replayed: &Replayed, world: &World) -> Result<ExitCode, Refusal> {
    let setup = Setup::to_look(world.environment.clone(), None, Arc::clone(&world.disk))?;
    let from = replayed.differences.iter().find_map(differs_at);
    let made = setup.fork(&replayed.session, from).await?;
    print::talk(&manage::told(&made, replayed.session.as_str()));
    let ReplayArguments { against, message, model, .. } = arguments;
    let how = HowArguments { json: false, allow_commands: against.allow_commands, park: false };
    let session = Some(made.session.to_string());
    let retry = message.is_none();
    Ok(resume::resume(ResumeArguments { model, how, session, message, retry, ..Default::default() }, world)
        .await)
}

/// The last entry before what differs.
fn differs_at(difference: &Difference) -> Option<Seq> {
    let at = match difference {
        Difference::Part { request, .. } | Difference::Tail { request } => request.entry,
        Difference::Decision { call, .. } => call.reply,
        Difference::Entry { entry, .. } => *entry,
    };
    at.0.checked_sub(1).map(Seq)
}

async fn found(arguments: &ReplayArguments, world: &World) -> Result<Replayed, Refusal> {
    let present = present(arguments.against, world)?;
    if let Some(path) = arguments.session.as_deref().filter(|named| is_path(named)) {
        if arguments.live {
            let hint = format!("take it in first: petasos sessions import {path}");
            return Err(Refusal::usage("a file is gone through, and not gone on with", hint));
        }
        let hint = "name a log.jsonl, a session's folder, or the id of a session";
        return of_file(Path::new(path), present).await.map_err(|why| Refusal::usage(why, hint));
    }
    let setup = Setup::to_look(world.environment.clone(), None, Arc::clone(&world.disk))?;
    let found = setup.find(arguments.session.as_deref()).await?;
    Ok(setup.replay(&found.id, present).await?)
}

/// What is there now, if that is asked for.
pub(super) fn present(against: AgainstArguments, world: &World) -> Result<Option<Present>, Refusal> {
    let AgainstArguments { present, allow_commands } = against;
    if !present {
        return Ok(None);
    }
    Ok(Some(set_up(world, None, Flags::default())?.present(commands(allow_commands))?))
}

/// Ids have no dots and no slashes.
fn is_path(named: &str) -> bool {
    named.contains(['/', '.'])
}

/// Replays what stands in a file.
pub(super) async fn of_file(path: &Path, present: Option<Present>) -> Result<Replayed, String> {
    let file = path.to_owned();
    let replayed = spawn_blocking(move || Replayed::of_file(&file, present.as_ref())).await;
    replayed.map_err(|error| error.to_string())?
}

/// Each request, and the calls of its answer; at a terminal, one after the other.
fn walk(replayed: &Replayed) {
    let waits = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut calls = replayed.calls.iter().peekable();
    let mut requests = replayed.requests.iter().peekable();
    while let Some(request) = requests.next() {
        let RequestReplayed { place: at, parts, bytes, is_same } = request;
        let same = if *is_same { "the same" } else { "differs" };
        print::shown(&format!("{}: {parts} parts, {bytes} bytes, {same}", place(at)));
        let next = requests.peek().map(|next| next.place.entry);
        while let Some(call) = calls.next_if(|call| next.is_none_or(|next| call.call.reply < next)) {
            let CallReplayed { call, tool, verdict, rule } = call;
            print::shown(&format!(
                "  call {call}, {tool}: {} ({rule})",
                format!("{verdict:?}").to_lowercase()
            ));
        }
        if waits && next.is_some() && io::stdin().read_line(&mut String::new()).unwrap_or_default() == 0 {
            break;
        }
    }
    tell(replayed);
}

fn tell(replayed: &Replayed) {
    let Replayed { session, entries, requests, calls, damage, left_out, differences } = replayed;
    let same = requests.iter().filter(|request| request.is_same).count();
    print::shown(&format!(
        "session {session}: {entries} entries made again, {same} of {} requests the same, {} calls judged",
        requests.len(),
        calls.len()
    ));
    damage.iter().for_each(|damage| print::shown(&format!("  damaged: {damage}")));
    left_out.iter().for_each(|left| print::shown(&left_out_line(left)));
    for difference in differences {
        lines(difference).iter().for_each(|line| print::shown(line));
    }
}

pub(super) fn left_out_line(left: &LeftOut) -> String {
    let LeftOut { from, to, why } = left;
    let which = if from == to { format!("entry {from}") } else { format!("entries {from} to {to}") };
    let why = match why {
        LeftOutWhy::UnknownKind => "of a kind that this version of petasos does not know",
        LeftOutWhy::AfterUnknown => "in the same run behind an entry that this version does not know",
        LeftOutWhy::Damaged => "lines of the log before are missing or damaged",
    };
    format!("  passed over: {which}: {why}")
}

/// What differs, for a person.
pub(super) fn lines(difference: &Difference) -> Vec<String> {
    match difference {
        Difference::Decision { call, tool, was, now } => {
            let told = |(verdict, rule): &(_, _)| format!("{verdict:?} ({rule})").to_lowercase();
            vec![format!(
                "  differs: decision about call {call}, {tool}: was {}, now {}",
                told(was),
                told(now)
            )]
        }
        Difference::Part { request, part, of, was, now, bytes } => {
            let mut lines = vec![format!("  differs: {}: part {part}, {}", place(request), part_name(*of))];
            match bytes {
                Some(Differing { at, was, now }) => {
                    lines.push(format!("    from byte {at} of it"));
                    lines.push(format!("    was  …{}", line_of(was, 160)));
                    lines.push(format!("    now  …{}", line_of(now, 160)));
                }
                None => {
                    let told = |hash: &Option<_>| {
                        hash.map_or_else(|| "no such part".to_owned(), |hash| format!("{hash}"))
                    };
                    lines.push(format!("    was  {}", told(was)));
                    lines.push(format!("    now  {}", told(now)));
                }
            }
            lines
        }
        Difference::Tail { request } => {
            vec![format!("  differs: {}: its end behind the last part", place(request))]
        }
        Difference::Entry { entry, kind, was, now, refused } => {
            let why = refused.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let now = now.as_deref().unwrap_or("no entry");
            vec![
                format!("  differs: entry {entry}, {kind}{why}"),
                format!("    was  {}", line_of(was, 400)),
                format!("    now  {}", line_of(now, 400)),
            ]
        }
    }
}

fn place(request: &Place) -> String {
    let Place { entry, turn, step, attempt, purpose: _ } = request;
    format!("request {entry} (turn {turn}, step {step}, try {attempt})")
}

fn part_name(of: Option<PartOf>) -> String {
    match of {
        Some(PartOf::Params) => "the parameters".to_owned(),
        Some(PartOf::Tools) => "the tools".to_owned(),
        Some(PartOf::System) => "the system text".to_owned(),
        Some(PartOf::Message(entry)) => format!("the message of entry {entry}"),
        None => "behind the last that is written now".to_owned(),
    }
}
