//! `petasos sessions fork`, `undo`, `rename`, `delete`, `clean`.

use std::io::BufRead as _;

use petasos_core::id::Seq;
use petasos_core::text::Text;
use petasos_runtime::{Cleaning, ForkMade, Kept, LastSaid, ManageError, Old, Setup, StoreError};
use tokio::task::spawn_blocking;

use super::Refusal;
use crate::args::CleanArguments;
use crate::print;
use crate::print::{is_person_there, line_of, shown};

/// The most characters of a title.
const TITLE: usize = 200;

/// Whether a person is asked before something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Person,
    Nobody,
}

pub(crate) fn asks(yes: bool) -> Asks {
    if yes { Asks::Nobody } else { Asks::Person }
}

impl From<ManageError> for Refusal {
    fn from(error: ManageError) -> Self {
        match error {
            ManageError::Store(error) => error.into(),
            ManageError::Rejected(_) => {
                Self::usage(error.to_string(), "petasos sessions show tells how the session stands")
            }
        }
    }
}

/// Makes a fork, and prints its id.
pub(crate) async fn fork(setup: &Setup, session: Option<&str>, at: Option<u64>) -> Result<(), Refusal> {
    let found = setup.find(session).await?;
    let made = setup.fork(&found.id, at.map(Seq)).await.map_err(|error| {
        if let StoreError::Refused { why, .. } = error {
            let hint = format!("petasos sessions show {} tells the numbers", found.id);
            return Refusal::usage(format!("session {} cannot be forked: {why}", found.id), hint);
        }
        error.into()
    })?;
    for loss in &made.losses {
        print::talk(&format!("petasos: {loss}"));
    }
    print::line(made.session.as_str());
    print::talk(&told(&made, found.id.as_str()));
    Ok(())
}

/// Where a fork goes on, for a person.
pub(crate) fn told(made: &ForkMade, from: &str) -> String {
    let ForkMade { session, upto, place, said, .. } = made;
    let place = match (place, said) {
        (None, _) => "it begins with nothing said".to_owned(),
        (Some(place), Some(said)) => {
            format!("it goes on behind entry {place}, what was said: {}", line_of(said, 60))
        }
        (Some(place), None) => format!("it goes on behind entry {place}, the end of a step"),
    };
    let next = match said {
        Some(_) => format!("petasos resume {session} --retry answers that; -m says something else"),
        None => format!("petasos resume {session} -m \"…\" goes on with it"),
    };
    format!("petasos: session {session} forked from {from} up to entry {upto}; {place}\n  next: {next}")
}

/// Takes words back, and prints them, so that they can be said otherwise.
pub(crate) async fn undo(setup: &Setup, session: Option<&str>) -> Result<(), Refusal> {
    let found = setup.find(session).await?;
    let said = setup.undo(&found.id).await?;
    shown(&said.text);
    for line in taken_back(&said) {
        print::talk(&line);
    }
    let id = &found.id;
    print::talk(&format!("  next: petasos resume {id} -m \"…\" says it otherwise"));
    Ok(())
}

/// What an undo took back and what it did not, a line each.
pub(crate) fn taken_back(said: &LastSaid) -> Vec<String> {
    let what = format!("petasos: taken back: what was said in entry {}, and all that came of it", said.entry);
    let done = said.done().map(|done| format!("petasos: what was done stays done ({done})"));
    [Some(what), done].into_iter().flatten().collect()
}

/// Gives a session a title.
pub(crate) async fn rename(setup: &Setup, session: &str, title: &str) -> Result<(), Refusal> {
    let title = title_of(title)?;
    let found = setup.find(Some(session)).await?;
    setup.rename(&found.id, title.clone()).await?;
    let told = match &title {
        Some(title) => format!("is now {title:?}"),
        None => "has no title any more".to_owned(),
    };
    print::talk(&format!("petasos: session {} {told}", found.id));
    Ok(())
}

/// A title as it is kept: in one line. None is one that is empty.
pub(crate) fn title_of(title: &str) -> Result<Option<Text>, Refusal> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.chars().count() > TITLE {
        return Err(Refusal::usage(
            format!("the title is longer than {TITLE} characters"),
            "take a shorter one; what was said is found by petasos sessions list without a title, too",
        ));
    }
    Ok((!title.is_empty()).then(|| title.into()))
}

/// Deletes a session.
pub(crate) async fn delete(setup: &Setup, session: &str, asks: Asks) -> Result<(), Refusal> {
    let found = setup.find(Some(session)).await?;
    // A title may be any session's.
    if !found.id.as_str().starts_with(session) {
        return Err(Refusal::usage(
            format!("{session:?} is no beginning of a session's id"),
            format!("for {:?}: petasos sessions delete {}", line_of(&found.title, 60), found.id),
        ));
    }
    let question = format!("delete session {} ({})?", found.id, line_of(&found.title, 60));
    if asks == Asks::Person && !is_yes(&question).await? {
        print::talk("petasos: nothing was deleted");
        return Ok(());
    }
    setup.delete(&found.id).await?;
    print::talk(&format!("petasos: session {} is deleted", found.id));
    Ok(())
}

/// Deletes old or large sessions.
pub(crate) async fn clean(setup: &Setup, arguments: CleanArguments) -> Result<(), Refusal> {
    let CleanArguments { older_than, larger_than, total, parked, all, dry_run, yes } = arguments;
    if older_than.is_none() && larger_than.is_none() && total.is_none() {
        let hint = "say it: --older-than 30d, --larger-than 100MB or --total 1GB; --dry-run only shows";
        return Err(Refusal::usage("nothing says which sessions are to go", hint));
    }
    let old = setup.to_clean(Cleaning { older_than, larger_than, total, parked, all }).await?;
    for one in &old {
        let Old { listed, bytes, kept } = one;
        let stays = match kept {
            None => String::new(),
            Some(Kept::Held(by)) => format!("  (stays: held by {by})"),
            Some(Kept::Parked) => "  (stays: it waits for an answer; --parked takes it too)".to_owned(),
        };
        let (id, at, title) = (listed.id(), listed.last_time(), line_of(listed.title(), 60));
        shown(&format!("{id}  {at}  {:>9}  {title}{stays}", readable(*bytes)));
    }
    let go = old.iter().filter(|one| one.kept.is_none());
    let (count, bytes) = (go.clone().count(), go.map(|one| one.bytes).sum::<u64>());
    let amount = format!("{count} of them, {}", readable(bytes));
    if count == 0 || dry_run {
        let told =
            if count == 0 { "nothing to delete".to_owned() } else { format!("to be deleted: {amount}") };
        print::talk(&format!("petasos: {told}"));
        return Ok(());
    }
    if asks(yes) == Asks::Person && !is_yes(&format!("delete {amount}?")).await? {
        print::talk("petasos: nothing was deleted");
        return Ok(());
    }
    let failed = setup.clean(old).await?;
    for (one, error) in &failed {
        print::talk(&format!("petasos: session {} stays: {error}", one.listed.id()));
    }
    print::talk(&format!("petasos: deleted: {} of {amount}", count.saturating_sub(failed.len())));
    Ok(())
}

/// Bytes as a person reads them.
fn readable(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

/// Asks a person; where there is none, nothing goes.
async fn is_yes(question: &str) -> Result<bool, Refusal> {
    if !is_person_there() {
        return Err(Refusal::usage(
            "there is nobody to ask, so nothing was deleted",
            "--yes says it beforehand",
        ));
    }
    print::invitation(&format!("{} [y/N] ", print::plain(question)));
    let line = spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let line = line.await.ok().and_then(Result::ok).unwrap_or_default();
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
