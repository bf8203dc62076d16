//! An exported session becomes one of a store, under another id. Nothing half-made stays.

use std::io::BufRead;

use petasos_core::entry::{Body, Origin, SessionStart};
use petasos_core::id::{Seq, SessionId};
use petasos_core::text::Text;
use petasos_core::time::Time;

use super::{ExportEnd, ExportError, ExportReader, Exported};
use crate::store::{Holder, LAYOUT, Opened, Store, UnfinishedBlob};

/// Under what a session is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Importing {
    /// Its new id.
    pub id: SessionId,
    /// The folder that it works in from here on.
    pub workspace: Text,
    /// Who opens it.
    pub holder: Holder,
    /// When.
    pub at: Time,
}

/// Takes an exported session in: its lines but the first stand as they were, under the numbers that they had. Answers
/// with the session, opened, and with what its export said of it.
///
/// # Errors
/// [`ExportError`]; nothing of it is kept then.
pub fn import(
    from: impl BufRead,
    store: &dyn Store,
    importing: Importing,
) -> Result<(Opened, ExportEnd), ExportError> {
    let mut reader = ExportReader::new(from);
    let Exported::Line(first) = reader.next_part()? else {
        return Err(reader.bad("it is not the first line of a session"));
    };
    let Some(Body::SessionStart(theirs)) = first.entry.map(|entry| entry.body) else {
        return Err(reader.bad("it is not the first line of a session"));
    };
    let Importing { id, workspace, holder, at } = importing;
    let mut unfinished = store.begin(&id, &holder)?;
    let (mut lines, mut last) = (String::new(), Seq(0));
    let mut blob: Option<Box<dyn UnfinishedBlob>> = None;
    loop {
        match reader.next_part()? {
            Exported::Line(line) => {
                lines.push_str(&line.text);
                lines.push('\n');
                last = line.seq;
            }
            Exported::Piece { bytes, is_last, .. } => {
                let mut open = match blob.take() {
                    Some(open) => open,
                    None => unfinished.create_blob()?,
                };
                open.write(&bytes)?;
                if is_last {
                    open.finish()?;
                } else {
                    blob = Some(open);
                }
            }
            Exported::End(end) => {
                let seq = (last > Seq(0)).then_some(last);
                let origin = Origin::Import { from: Text::from(theirs.id.as_str()), seq };
                let start = SessionStart { format: LAYOUT, id, workspace, origin, depth: 0 };
                let opened = unfinished.finish(start, &lines, at, &mut |_| Vec::new())?;
                return Ok((opened, end));
            }
        }
    }
}
