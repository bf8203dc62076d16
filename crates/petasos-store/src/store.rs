//! The seam behind which sessions are kept.

use std::fmt;
use std::ops::Range;

use petasos_core::entry::{Body, Damage, Entry, Keep, SessionStart};
use petasos_core::id::{Digest, Seq, SessionId};
use petasos_core::text::Text;
use petasos_core::time::Time;
use petasos_core::tool::BlobName;

use crate::error::StoreError;
use crate::lines::Lines;
use crate::listed::Listed;

/// Version of a session's layout that this program makes and knows (`format` of the first line).
pub const LAYOUT: u32 = 1;

/// A place where sessions are kept.
///
/// Called from threads that may wait: every method may take as long as a disk does. Methods may be called
/// at the same time from several threads and processes. What a method has answered with `Ok` is kept as
/// its doc says; after an `Err` nothing of it counts.
pub trait Store: fmt::Debug + Send + Sync {
    /// Makes a session and opens it. Its log has two entries then, `session` and `open`, both synced.
    ///
    /// # Errors
    /// `Exists`, `Held` by one that makes the same session just now, `Refused` if `start.format` is not
    /// [`LAYOUT`], or what the disk says. A session that was half made is no session.
    fn create(&self, start: SessionStart, holder: &Holder, at: Time) -> Result<Opened, StoreError>;

    /// Opens a session for writing, and fences whoever held it before: an `open` entry with the next epoch
    /// is appended, synced. What cannot be read is set aside, and a damaged end is cut off the log, so that
    /// appending goes on with a whole line; the `open` entry names what was not named by one before.
    ///
    /// # Errors
    /// `Held`, `NotFound`, `Unusable`, or what the disk says.
    fn open(&self, session: &SessionId, holder: &Holder, at: Time) -> Result<Opened, StoreError>;

    /// Begins a session that is made of another one's lines (a fork, an import). It is held from here on, and no
    /// session before it is finished.
    ///
    /// # Errors
    /// `Exists`, `Held` by one that makes the same session just now, or what the disk says.
    fn begin(&self, session: &SessionId, holder: &Holder) -> Result<Box<dyn UnfinishedSession>, StoreError>;

    /// Deletes a session with all that is kept of it. Its name goes first, so a crash in the middle leaves no half
    /// of it; an idle writer of it finds it gone.
    ///
    /// # Errors
    /// `Held`, `NotFound`, or what the disk says; the session stands then as it did.
    fn delete(&self, session: &SessionId, holder: &Holder) -> Result<(), StoreError>;

    /// Who holds a session now; none if nobody does.
    ///
    /// # Errors
    /// `NotFound`, or what the disk says.
    fn held_by(&self, session: &SessionId, holder: &Holder) -> Result<Option<String>, StoreError>;

    /// Takes away what processes that ended have left of sessions that they were deleting or making, and answers
    /// of how many.
    ///
    /// # Errors
    /// What the disk says.
    fn sweep(&self, holder: &Holder) -> Result<u64, StoreError>;

    /// How many bytes a session takes: its log, its blobs, what was set aside. A blob that it shares with another
    /// session counts for both.
    ///
    /// # Errors
    /// What the disk says.
    fn bytes(&self, session: &SessionId) -> Result<u64, StoreError>;

    /// The lines of a session's log, byte for byte. Changes nothing and needs no lock, as [`Store::read`].
    ///
    /// # Errors
    /// As for [`Store::read`].
    fn lines(&self, session: &SessionId) -> Result<Lines, StoreError>;

    /// Reads a session and changes nothing. Needs no lock; while somebody writes, the last line may be
    /// found torn.
    ///
    /// # Errors
    /// `NotFound`, `Unusable`, or what the disk says.
    fn read(&self, session: &SessionId) -> Result<Contents, StoreError>;

    /// All sessions, by id, which is by age. Reads every log.
    ///
    /// # Errors
    /// What the disk says of the folder of sessions. What is wrong with one session is told in its place.
    fn list(&self) -> Result<Listing, StoreError>;

    /// Begins a blob whose bytes come in pieces. Called by who holds the session.
    ///
    /// # Errors
    /// `NotFound` if there is no such session, or what the disk says.
    fn create_blob(&self, session: &SessionId) -> Result<Box<dyn UnfinishedBlob>, StoreError>;

    /// Keeps bytes beside the log, synced, under the name that is their hash; an entry may name them as
    /// soon as this answers. Called by who holds the session. Keeping the same bytes again changes nothing.
    ///
    /// # Errors
    /// `NotFound` if there is no such session, or what the disk says.
    fn put_blob(&self, session: &SessionId, bytes: &[u8]) -> Result<BlobName, StoreError> {
        let mut blob = self.create_blob(session)?;
        blob.write(bytes)?;
        blob.finish()
    }

    /// All blobs of a session, by name.
    ///
    /// # Errors
    /// What the disk says.
    fn blobs(&self, session: &SessionId) -> Result<Vec<BlobName>, StoreError>;

    /// Finds the one blob whose name begins with these hexadecimal digits, 8 at least.
    ///
    /// # Errors
    /// `NotOneBlob` if there is none or more than one, or what the disk says.
    fn find_blob(&self, session: &SessionId, digits: &str) -> Result<BlobName, StoreError>;

    /// Reads the bytes of a blob that lie in `range`; those beyond its end are left out. When that is all
    /// of them, their hash is checked.
    ///
    /// # Errors
    /// `NoBlob`, `DamagedBlob`, or what the disk says.
    fn read_blob(&self, session: &SessionId, hash: &Digest, range: Range<u64>)
    -> Result<Vec<u8>, StoreError>;
}

/// A blob that is being written. It has no name before it is finished; dropping it leaves nothing.
pub trait UnfinishedBlob: fmt::Debug + Send {
    /// Adds bytes.
    ///
    /// # Errors
    /// What the disk says; the blob is lost then, and whatever is asked of it later is `Refused`.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Keeps it, synced, under the name that is the hash of its bytes; an entry may name it as soon as this
    /// answers. If those bytes are kept already, nothing changes.
    ///
    /// # Errors
    /// `Refused` if a write failed before, or what the disk says.
    fn finish(self: Box<Self>) -> Result<BlobName, StoreError>;
}

/// A session that is being made of another one's lines. No session before it is finished; dropping it leaves
/// nothing.
pub trait UnfinishedSession: fmt::Debug + Send {
    /// Begins a blob of it.
    ///
    /// # Errors
    /// What the disk says.
    fn create_blob(&mut self) -> Result<Box<dyn UnfinishedBlob>, StoreError>;

    /// Takes a blob of another session over, without a second copy of its bytes where the disk can do that.
    ///
    /// # Errors
    /// `NoBlob`, `DamagedBlob`, or what the disk says. The others that were taken over stay.
    fn take_blob(&mut self, from: &SessionId, hash: &Digest) -> Result<BlobName, StoreError>;

    /// Makes it a session, whole or not at all. Its log is `start`, then `lines` as they are, then an `open`, then
    /// what `after` makes of all those; all of it is synced.
    ///
    /// `lines` are whole lines, each with its newline, of rising seq.
    ///
    /// # Errors
    /// `Refused` if `start` or the lines make no log of this session, or what the disk says.
    fn finish(
        self: Box<Self>,
        start: SessionStart,
        lines: &str,
        at: Time,
        after: After<'_>,
    ) -> Result<Opened, StoreError>;
}

/// Makes the entries that follow those there are, numbered without gaps.
pub type After<'a> = &'a mut dyn FnMut(&[Entry]) -> Vec<Entry>;

/// The one that may append to a session.
///
/// Holds the session until it is released or dropped. Dropping never writes: what was appended is kept as
/// it was asked for.
pub trait Writer: fmt::Debug + Send {
    /// Whose log this is.
    fn session(&self) -> &SessionId;

    /// The seq of the entry that comes next.
    fn next(&self) -> Seq;

    /// Appends entries in their order, and answers with the seq of the last entry in the log.
    ///
    /// `expected` is the seq of the first of them: that of [`Writer::next`]. They are numbered without gaps.
    /// With [`Keep::Written`] they are handed to the system (they survive `kill -9`), with [`Keep::Synced`]
    /// they and all before them are on the disk when this answers (they survive a power cut). No entries,
    /// synced, is a way to sync those before.
    ///
    /// # Errors
    /// `Stale`, `Released`, `Refused`: nothing was written. What the disk says: the entries are taken back
    /// as far as the disk lets us, and from then on every append is `Broken`.
    fn append(&mut self, expected: Seq, entries: &[Entry], keep: Keep) -> Result<Seq, StoreError>;

    /// Lets others open the session, while no turn runs. Releasing twice changes nothing.
    fn release(&mut self);

    /// Takes the session back after [`Writer::release`]. Does nothing if it is held.
    ///
    /// # Errors
    /// `Held` by another now. `Stale` if another one held it meanwhile: open the session and fold it anew.
    /// `NotFound`, `Broken`, or what the disk says.
    fn reacquire(&mut self) -> Result<(), StoreError>;
}

/// Who opens a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Who it is, for a person: process id and host. Stands in the `open` entry, and after the process id
    /// in the lock file.
    pub text: Text,
    /// Version of the program.
    pub program: Text,
}

impl Holder {
    /// How others are told who holds a session.
    pub(crate) fn told(&self) -> String {
        format!("pid {} ({})", std::process::id(), self.text)
    }
}

/// An opened session: what is in it, and the one that may append to it.
#[derive(Debug)]
pub struct Opened {
    /// Appends.
    pub writer: Box<dyn Writer>,
    /// All entries that could be read, by seq; the last one is the `open` of this opening.
    pub entries: Vec<Entry>,
    /// All that was found wrong, also what an earlier `open` entry names already.
    pub damage: Vec<Damage>,
}

/// What is in a session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// All entries that could be read, by seq.
    pub entries: Vec<Entry>,
    /// All that was found wrong.
    pub damage: Vec<Damage>,
}

impl Contents {
    /// What a list shows of it; none if it does not begin with a session's first line.
    pub fn listed(&self) -> Option<Listed> {
        Listed::of(self)
    }
}

/// All sessions of a store.
#[derive(Debug)]
pub struct Listing {
    /// Those that can be read, by id.
    pub sessions: Vec<Listed>,
    /// Those that cannot, and why, by id.
    pub unreadable: Vec<(SessionId, StoreError)>,
}

/// Checks what every store checks of entries to append: that they go on where the log ends, without gaps,
/// and are not of the kinds that the store makes itself.
pub(crate) fn check_entries(
    session: &SessionId,
    next: Seq,
    expected: Seq,
    entries: &[Entry],
) -> Result<Seq, StoreError> {
    let refused = |why| Err(StoreError::Refused { session: session.clone(), why });
    if expected != next {
        return refused(format!("the next entry is {next}, not {expected}"));
    }
    let mut after = next;
    for entry in entries {
        if entry.seq != after {
            return refused(format!("entry {} stands where {after} belongs", entry.seq));
        }
        if matches!(entry.body, Body::SessionStart(_) | Body::Open(_)) {
            return refused(format!(
                "entry {} is of kind {}, which the store makes",
                entry.seq,
                entry.body.kind()
            ));
        }
        after = after.next();
    }
    Ok(after)
}

/// Checks that a first line is one this program can go on with.
pub(crate) fn check_layout(start: &SessionStart) -> Result<(), String> {
    if start.format == LAYOUT {
        return Ok(());
    }
    Err(format!("it has layout {}, this program knows {LAYOUT}", start.format))
}

/// Chooses the blob whose name begins with these digits.
pub(crate) fn only_blob(
    session: &SessionId,
    digits: &str,
    names: impl IntoIterator<Item = Digest>,
) -> Result<Digest, StoreError> {
    let is_asked = digits.len() >= 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wanted = digits.to_ascii_lowercase();
    let fits = |name: &Digest| is_asked && name.to_string().starts_with(&wanted);
    let found: Vec<Digest> = names.into_iter().filter(fits).take(2).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        _ => Err(StoreError::NotOneBlob { session: session.clone(), digits: digits.to_owned() }),
    }
}
