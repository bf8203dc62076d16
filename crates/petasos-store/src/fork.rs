//! A session goes off another one: its lines up to one, as they are.

use petasos_core::entry::{Body, Entry, Origin, SessionStart};
use petasos_core::id::{Digest, Seq, SessionId};
use petasos_core::text::Text;

use crate::error::StoreError;
use crate::export::{Importing, Named};
use crate::lines::Lines;
use crate::store::{After, LAYOUT, Opened, Store};

/// A session that went off another one.
#[derive(Debug)]
pub struct Forked {
    /// It, opened.
    pub opened: Opened,
    /// The last line that came along.
    pub upto: Seq,
    /// Blobs that its lines name and that are lost or damaged in the other session.
    pub lost_blobs: Vec<Digest>,
    /// What is wrong with the log of the other session, for a person.
    pub damage: Vec<String>,
}

/// Up to where lines come along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upto {
    /// All there are.
    Last,
    /// Those up to this one.
    Entry(Seq),
}

/// Makes a session of the lines of another one up to an entry, with the blobs that they name. `after` makes what
/// core adds, from all entries with the `open` of this one. The other session is not changed and needs not be held.
///
/// # Errors
/// `Refused` if there is no such entry, or what the store says; nothing of it is kept then.
pub fn fork(
    store: &dyn Store,
    session: &SessionId,
    upto: Upto,
    new: Importing,
    after: After<'_>,
) -> Result<Forked, StoreError> {
    let lines = store.lines(session)?;
    let end = lines.iter().last().map_or(Seq(0), |(seq, _)| seq);
    let upto = match upto {
        Upto::Last => end,
        Upto::Entry(seq) if seq <= end => seq,
        Upto::Entry(seq) => {
            let why = format!("there is no entry {seq}; the last one is {end}");
            return Err(StoreError::Refused { session: session.clone(), why });
        }
    };
    let (mut taken, mut named) = (String::new(), Named::default());
    let origin = origin_of_fork(session, first(&lines).as_ref(), upto);
    for (_, line) in lines.iter().filter(|(seq, _)| *seq > Seq(0) && *seq <= upto) {
        named.see(Entry::read(line).ok().as_ref());
        taken.push_str(line);
        taken.push('\n');
    }
    let Importing { id, workspace, holder, at } = new;
    let mut unfinished = store.begin(&id, &holder)?;
    let mut lost_blobs = Vec::new();
    for hash in named.with_those_of(store, session)? {
        match unfinished.take_blob(session, &hash) {
            Ok(_) => {}
            Err(StoreError::NoBlob { .. } | StoreError::DamagedBlob { .. }) => lost_blobs.push(hash),
            Err(error) => return Err(error),
        }
    }
    let start = SessionStart { format: LAYOUT, id, workspace, origin, depth: 0 };
    let opened = unfinished.finish(start, &taken, at, after)?;
    let damage = lines.damage.iter().map(|damage| damage.why.to_string()).collect();
    Ok(Forked { opened, upto, lost_blobs, damage })
}

fn first(lines: &Lines) -> Option<Entry> {
    lines.iter().next().and_then(|(_, line)| Entry::read(line).ok())
}

/// Of an imported session a fork is one too: what came with the file is no more to be believed in it.
fn origin_of_fork(session: &SessionId, first: Option<&Entry>, upto: Seq) -> Origin {
    let start =
        first.and_then(|first| if let Body::SessionStart(start) = &first.body { Some(start) } else { None });
    match start.map(|start| &start.origin) {
        Some(Origin::Import { seq: Some(seq), .. }) => {
            Origin::Import { from: Text::from(session.as_str()), seq: Some(upto.min(*seq)) }
        }
        Some(Origin::New | Origin::Fork { .. } | Origin::Import { seq: None, .. } | Origin::Child { .. })
        | None => Origin::Fork { session: session.clone(), seq: upto },
    }
}
