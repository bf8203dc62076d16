//! The index as SQLite has it: its tables, and how a session stands in them.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use petasos_core::entry::Entry;
use petasos_core::id::{Seq, SessionId};
use petasos_core::time::Time;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, TransactionBehavior, params};

use super::known::Known;
use crate::line::closed_line;
use crate::listed::Listed;

/// Version of the tables. An index of another one is made anew.
const VERSION: i64 = 1;
/// How long another process that writes the index is waited for. It writes some megabytes at a time.
const WAIT: Duration = Duration::from_millis(250);

/// `session` is what a list shows and how far its log was read; `text` how far the words of its entries are in `words`,
/// where an entry has the number of its session times 2^32 and its seq; `place` is where its line stands.
const TABLES: &str = "
CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, round INTEGER NOT NULL,
    first_line TEXT NOT NULL, title TEXT, first TEXT, last INTEGER NOT NULL, entries INTEGER NOT NULL,
    damaged INTEGER NOT NULL, tokens INTEGER NOT NULL, micro_usd INTEGER,
    length INTEGER NOT NULL, end INTEGER NOT NULL, next INTEGER NOT NULL, ending BLOB NOT NULL,
    text INTEGER NOT NULL DEFAULT 0, text_next INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE place (entry INTEGER PRIMARY KEY, start INTEGER NOT NULL, length INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
";

/// A session in the index.
#[derive(Clone, Debug)]
pub(super) struct Indexed {
    /// Its number there.
    pub(super) number: i64,
    /// How often its row was written: who writes it has read the one before.
    pub(super) round: i64,
    /// What is known of it.
    pub(super) known: Known,
    /// Bytes of its log whose words are in the index.
    pub(super) text: u64,
}

/// Opens the index, and makes it if there is none, or one that cannot be used.
///
/// # Errors
/// What SQLite says: it is locked, or may not be written.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    match open_existing(path) {
        Err(error) if is_damaged(&error) => {
            empty(path)?;
            open_existing(path)
        }
        opened => opened,
    }
}

fn open_existing(path: &Path) -> rusqlite::Result<Connection> {
    let mut index = connect(path)?;
    index.pragma_update(None, "journal_mode", "wal")?;
    // It can be made anew, so a commit waits for no disk; what a power cut leaves is whole all the same.
    index.pragma_update(None, "synchronous", "normal")?;
    index.pragma_update(None, "cache_size", -16_000)?;
    if version(&index)? == VERSION {
        return Ok(index);
    }
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    if found == 0 || found == VERSION {
        return Ok(index);
    }
    drop(index);
    empty(path)?;
    open_existing(path)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // What is said belongs to its person alone. If it cannot be made, SQLite says why.
    drop(OpenOptions::new().append(true).create(true).mode(0o600).open(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let index = Connection::open_with_flags(path, flags)?;
    index.busy_timeout(WAIT)?;
    Ok(index)
}

fn version(index: &Connection) -> rusqlite::Result<i64> {
    index.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the file an empty database, whatever is in it. SQLite does that itself, so that no other process is left with
/// a file that is gone.
pub(super) fn empty(path: &Path) -> rusqlite::Result<()> {
    let index = connect(path)?;
    index.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    index.execute_batch("VACUUM")?;
    index.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    Ok(())
}

/// True if what SQLite says is that the file is no index, or one that was damaged.
pub(super) fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, DatabaseCorrupt, NotADatabase, Unknown};
    match error.sqlite_error_code() {
        Some(code) => matches!(code, ConstraintViolation | DatabaseCorrupt | NotADatabase | Unknown),
        // A value that does not fit its column.
        None => true,
    }
}

/// All sessions of the index, by id.
pub(super) fn sessions(index: &Connection) -> rusqlite::Result<Vec<(SessionId, Indexed)>> {
    let mut rows = index.prepare(
        "SELECT number, round, first_line, title, first, last, entries, damaged, tokens, micro_usd, length, end, next,
         ending, text FROM session ORDER BY id",
    )?;
    let found = rows.query_map([], indexed)?;
    found.filter_map(Result::transpose).collect()
}

/// None for a row that makes no sense: its log is read anew.
fn indexed(row: &Row<'_>) -> rusqlite::Result<Option<(SessionId, Indexed)>> {
    let Some(mut listed) = Entry::read(&row.get::<_, String>(2)?).ok().as_ref().and_then(Listed::begin)
    else {
        return Ok(None);
    };
    let text = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.map(Into::into));
    let number = |column| Ok::<_, rusqlite::Error>(number(row.get(column)?));
    (listed.title, listed.first) = (text(3)?, text(4)?);
    (listed.last, listed.entries, listed.damaged) = (Time(number(5)?), number(6)?, number(7)?);
    (listed.tokens, listed.micro_usd) = (number(8)?, row.get::<_, Option<i64>>(9)?.map(self::number));
    let (length, end, next) = (number(10)?, number(11)?, Seq(number(12)?));
    let id = listed.start.id.clone();
    let known = Known { listed, length, end, next, ending: row.get(13)? };
    let text = number(14)?;
    Ok(Some((id, Indexed { number: row.get(0)?, round: row.get(1)?, known, text })))
}

/// Writes what is known of a session, unless somebody else has written it since it was read. Of one that is not what
/// it was the words are taken out.
pub(super) fn write(index: &Connection, known: &Known, before: Before) -> rusqlite::Result<()> {
    let listed = &known.listed;
    let start = Entry { seq: Seq(0), at: listed.made, body: listed.start.clone().into() };
    let id = listed.start.id.as_str();
    // What was read as a line makes one; without it the row is read as none.
    let first_line = closed_line(&start).unwrap_or_default();
    let row = params![
        id,
        before.round().saturating_add(1),
        first_line.trim_end(),
        listed.title.as_deref(),
        listed.first.as_deref(),
        integer(listed.last.0),
        integer(listed.entries),
        integer(listed.damaged),
        integer(listed.tokens),
        listed.micro_usd.map(integer),
        integer(known.length),
        integer(known.end),
        integer(known.next.0),
        known.ending,
        before.round(),
    ];
    let written = index.execute(
        "INSERT INTO session (id, round, first_line, title, first, last, entries, damaged, tokens, micro_usd, length, end,
         next, ending) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 WHERE ?15 IS NOT NULL
         ON CONFLICT (id) DO UPDATE SET round = ?2, first_line = ?3, title = ?4, first = ?5, last = ?6, entries = ?7,
         damaged = ?8, tokens = ?9, micro_usd = ?10, length = ?11, end = ?12, next = ?13, ending = ?14
         WHERE round = ?15",
        row,
    )?;
    if written == 1 && matches!(before, Before::Another { .. }) {
        take_words_out(index, id)?;
    }
    Ok(())
}

/// What was known of a session before.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    /// Nothing.
    Nothing,
    /// What is known has grown out of it.
    Less { round: i64 },
    /// Something else.
    Another { round: i64 },
}

impl Before {
    fn round(self) -> i64 {
        match self {
            Self::Nothing => 0,
            Self::Less { round } | Self::Another { round } => round,
        }
    }
}

/// Takes a session out.
pub(super) fn forget(index: &Connection, id: &SessionId) -> rusqlite::Result<()> {
    take_words_out(index, id.as_str())?;
    index.execute("DELETE FROM session WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

/// Takes the words of a session out, so that they are read anew.
pub(super) fn take_words_out(index: &Connection, id: &str) -> rusqlite::Result<()> {
    let found = index.query_row("SELECT number FROM session WHERE id = ?1", [id], |row| row.get(0));
    let Some(number) = found.optional()? else { return Ok(()) };
    let range = [first_of(number), first_of(number.saturating_add(1)).saturating_sub(1)];
    // One by one: that is how words without their text are taken out.
    index.execute(
        "DELETE FROM words WHERE rowid IN (SELECT entry FROM place WHERE entry BETWEEN ?1 AND ?2)",
        range,
    )?;
    index.execute("DELETE FROM place WHERE entry BETWEEN ?1 AND ?2", range)?;
    index.execute("UPDATE session SET text = 0, text_next = 0 WHERE number = ?1", [number])?;
    Ok(())
}

/// The number of the first entry of a session.
pub(super) fn first_of(session: i64) -> i64 {
    session.saturating_mul(1 << 32)
}

pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn number(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or_default()
}
