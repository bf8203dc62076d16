//! `petasos sessions search` and `reindex`: what stands in the sessions, and the index that finds it.

use petasos_runtime::{BadQuery, Query, Reach, Rebuilt, SearchedEntry, Setup};

use super::Refusal;
use crate::print;
use crate::print::line_of;

impl From<BadQuery> for Refusal {
    fn from(error: BadQuery) -> Self {
        Self::usage(error.to_string(), "give words or signs, such as: petasos sessions search \"->\"")
    }
}

/// Searches the sessions.
pub(super) async fn search(
    setup: &Setup,
    typed: &str,
    reach: Reach,
    (json, limit): (bool, u32),
) -> Result<(), Refusal> {
    let query = Query::read(typed)?;
    let searched = setup.search(query, reach, usize::try_from(limit).unwrap_or(usize::MAX)).await?;
    let mut session = None;
    for found in &searched.entries {
        if json {
            print::line(&found.line());
            continue;
        }
        let listed = &found.session;
        if session != Some(listed.id()) {
            let title = line_of(listed.title(), 60);
            let folder = match reach {
                Reach::All => format!("  {}", line_of(listed.workspace(), 40)),
                Reach::Here => String::new(),
            };
            print::shown(&format!("{}  {}{folder}  {title}", listed.id(), listed.last_time()));
            session = Some(listed.id());
        }
        print::shown(&row(found));
    }
    for (session, error) in &searched.unreadable {
        print::talk(&format!("petasos: session {session}: {error}"));
    }
    match (&searched.no_index, searched.logs_read) {
        (Some(why), read) if read > 0 => {
            print::talk(&format!(
                "petasos: the logs of {read} sessions were read, for the index cannot be used: {why}"
            ));
        }
        (None, read) if read > 0 => print::talk(&format!(
            "petasos: the logs of {read} sessions were read, for they are not in the index yet; petasos sessions reindex \
             puts all of them there"
        )),
        (Some(_) | None, _) => {}
    }
    if searched.is_more {
        print::talk(&format!("petasos: these are {limit} of more; --limit N shows more of them"));
    }
    if searched.entries.is_empty() && !json {
        let other = match reach {
            Reach::Here => " in the sessions of this folder (--all searches those of all folders)",
            Reach::All => "",
        };
        print::talk(&format!("nothing found{other}"));
    }
    Ok(())
}

fn row(found: &SearchedEntry) -> String {
    let snippet = &found.snippet;
    let kind = match &*found.kind {
        "setting" => "title",
        "tool_result" => "result",
        kind => kind,
    };
    format!("{:>7}  {kind}: {}{}{}", found.entry, snippet.before, snippet.found, snippet.after)
}

/// Makes the index anew.
pub(super) async fn reindex(setup: &Setup) -> Result<(), Refusal> {
    let Rebuilt { sessions, logs, bytes } = setup.reindex().await?;
    let mb = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000);
    print::shown(&format!("{sessions} sessions with {} of logs are in an index of {}", mb(logs), mb(bytes)));
    Ok(())
}
