//! What the log of a session that is made of another one's lines holds.

use petasos_core::entry::{Body, Entry, Open, SessionStart};
use petasos_core::id::{Epoch, Seq, SessionId};
use petasos_core::time::Time;

use crate::error::StoreError;
use crate::line::closed_line;
use crate::log::{Log, Loss};
use crate::store::{After, Holder, check_entries};

/// A log that was made, and what it says.
#[derive(Debug)]
pub(crate) struct Made {
    /// All of it.
    pub(crate) log: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) epoch: Epoch,
    /// The seq of the entry that comes next.
    pub(crate) next: Seq,
}

impl Made {
    /// The log of `session`: its first line, these lines, an `open`, and what comes after it.
    pub(crate) fn new(
        session: &SessionId,
        (start, lines): (SessionStart, &str),
        holder: &Holder,
        at: Time,
        after: After<'_>,
    ) -> Result<Self, StoreError> {
        let refused = |why| StoreError::Refused { session: session.clone(), why };
        let first = Entry { seq: Seq(0), at, body: start.into() };
        let mut log = closed_line(&first).map_err(refused)?;
        log.push_str(lines);
        let Log { mut entries, found, epoch, next, .. } =
            Log::read(session, log.as_bytes()).map_err(refused)?;
        // Numbers may be missing, for they are with a log that was damaged, and whole lines may be of a program that
        // knows more; nothing else may be wrong.
        if let Some(found) = found.iter().find(|found| found.damage.bytes > 0 && found.loss != Loss::Unread) {
            return Err(refused(format!("{} at byte {}", found.damage.why, found.damage.from)));
        }
        if !log.ends_with('\n') {
            return Err(refused("the last line has no newline".to_owned()));
        }
        let epoch = Epoch(epoch.0.saturating_add(1));
        let (by, program) = (holder.text.clone(), holder.program.clone());
        let open: Body = Open { epoch, holder: by, program, damage: Vec::new() }.into();
        entries.push(Entry { seq: next, at, body: open });
        let more = after(&entries);
        let made = entries.len() - 1;
        let next = check_entries(session, next.next(), next.next(), &more)?;
        entries.extend(more);
        for entry in entries.iter().skip(made) {
            log.push_str(&closed_line(entry).map_err(refused)?);
        }
        Ok(Self { log, entries, epoch, next })
    }
}
