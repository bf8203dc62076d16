//! What was said last, and what was done since: an undo takes back the words, and what was done stays done.

use std::collections::BTreeSet;

use petasos_core::entry::{Body, Entry};
use petasos_core::id::Seq;
use petasos_core::session::Session;
use petasos_core::text::Text;
use petasos_core::tool::Fact;

use super::no_terms;
use crate::event::text_of;

/// What was said last in a session, with what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSaid {
    /// Its entry.
    pub entry: Seq,
    /// What was said.
    pub text: Text,
    /// Files that were written since, each once.
    pub files: Vec<String>,
    /// How many commands ran since.
    pub commands: u64,
}

impl LastSaid {
    pub(super) fn of(entries: &[Entry]) -> Option<Self> {
        let entry = Session::fold(entries, no_terms()).last_said()?;
        let text = text_at(entries, entry)?;
        let (mut files, mut commands) = (BTreeSet::new(), 0);
        let results = entries.iter().filter(|later| later.seq > entry).filter_map(|later| {
            if let Body::ToolResult(result) = &later.body { Some(&result.facts) } else { None }
        });
        for fact in results.flatten() {
            match fact {
                Fact::Wrote { path, .. } => drop(files.insert(path.to_string())),
                Fact::Ran { .. } => commands += 1,
                Fact::NotWritten { .. } | Fact::Child { .. } | Fact::Remembered { .. } => {}
            }
        }
        Some(Self { entry, text, files: files.into_iter().collect(), commands })
    }

    /// That what was done stays done, for a person; none if nothing was.
    pub fn done(&self) -> Option<String> {
        let files = match self.files.as_slice() {
            [] => None,
            files => Some(format!("written since, and as they are now: {}", files.join(", "))),
        };
        let commands = match self.commands {
            0 => None,
            1 => Some("1 command ran since".to_owned()),
            many => Some(format!("{many} commands ran since")),
        };
        let told: Vec<String> = files.into_iter().chain(commands).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// What was said in an entry; none if nothing was.
pub(super) fn text_at(entries: &[Entry], seq: Seq) -> Option<Text> {
    let entry = entries.iter().find(|entry| entry.seq == seq)?;
    if let Body::Said(said) = &entry.body { Some(text_of(&said.content)) } else { None }
}
