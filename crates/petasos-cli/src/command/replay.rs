//! `petasos replay`: a session from its log, entry by entry and request by request.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use petasos_runtime::{Difference, Differing, LeftOut, LeftOutWhy, PartOf, Place, Replayed, Setup};
use tokio::task::spawn_blocking;

use super::Refusal;
use crate::args::ReplayArguments;
use crate::print::{Printer, line_of};
use crate::{World, print};

/// Replays a session: 0 if all is the same, 1 if something differs, 2 if there is no such session.
pub(crate) async fn replay(arguments: ReplayArguments, world: &World) -> ExitCode {
    let mut printer = if arguments.json { Printer::json() } else { Printer::job() };
    match found(&arguments, world).await {
        Ok(replayed) => {
            if arguments.json {
                print::line(&replayed.line())
            } else {
                tell(&replayed)
            }
            if replayed.is_same() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn found(arguments: &ReplayArguments, world: &World) -> Result<Replayed, Refusal> {
    if let Some(path) = arguments.session.as_deref().filter(|named| is_path(named)) {
        return of_file(path).await;
    }
    let setup = Setup::to_look(world.environment.clone(), None, Arc::clone(&world.disk))?;
    let found = setup.find(arguments.session.as_deref()).await?;
    Ok(setup.replay(&found.id).await?)
}

/// Ids have no dots and no slashes.
fn is_path(named: &str) -> bool {
    named.contains(['/', '.'])
}

/// Replays what stands in a file.
pub(super) async fn of_file(path: &str) -> Result<Replayed, Refusal> {
    let file = Path::new(path).to_owned();
    let hint = "name a log.jsonl, a session's folder, or the id of a session";
    match spawn_blocking(move || Replayed::of_file(&file)).await {
        Ok(replayed) => replayed.map_err(|why| Refusal::usage(why, hint)),
        Err(_) => Err(Refusal::Broken),
    }
}

fn tell(replayed: &Replayed) {
    let Replayed { session, entries, requests, calls, left_out, differences } = replayed;
    let same = requests.iter().filter(|request| request.is_same).count();
    print::shown(&format!(
        "session {session}: {entries} entries made again, {same} of {} requests the same, {calls} calls judged",
        requests.len()
    ));
    left_out.iter().for_each(|left| print::shown(&left_out_line(left)));
    for difference in differences {
        lines(difference).iter().for_each(|line| print::shown(line));
    }
}

fn left_out_line(left: &LeftOut) -> String {
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
