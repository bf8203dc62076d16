//! The index: what it says is what the logs say, whatever becomes of it.

mod queries;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use petasos_core::entry::{Entry, Keep, Lifetime, Setting, SettingSource};
use petasos_core::id::Seq;
use petasos_core::time::Time;
use petasos_store::{
    Disk, DiskFile, DiskLock, Durability, FolderStore, Hits, Index, Listed, LockError, Opened, Opening,
    OsDisk, Query, Search, Store, Within,
};
use rusqlite::Connection;

use crate::say::{AT, append, entry, holder, id, said, start};

/// The disk of the system, and how many bytes of logs were read.
#[derive(Clone, Debug, Default)]
struct Counting {
    read: Arc<Mutex<u64>>,
}

impl Counting {
    fn taken(&self) -> u64 {
        std::mem::take(&mut self.read.lock().unwrap())
    }
}

impl Disk for Counting {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        OsDisk.make_folder(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        OsDisk.names(folder)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        OsDisk.sync_folder(path)
    }

    fn read(&self, path: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
        let bytes = OsDisk.read(path, range)?;
        *self.read.lock().unwrap() += bytes.len() as u64;
        Ok(bytes)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        OsDisk.length(path)
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        OsDisk.open(path, how)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove_folder(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.link(from, to)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError> {
        OsDisk.lock(path, holder)
    }
}

/// A home folder with an index.
struct Home {
    folder: tempfile::TempDir,
    disk: Counting,
    store: FolderStore,
    index: Index,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = Counting::default();
        let store = FolderStore::on(Arc::new(disk.clone()), folder.path().join("home"), Durability::Process);
        let index = Index::of(&store);
        Self { folder, disk, store, index }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("home/index.sqlite")
    }

    fn log(&self, session: &str) -> PathBuf {
        self.folder.path().join("home/sessions").join(session).join("log.jsonl")
    }

    fn create(&self, session: &str) -> Opened {
        self.store.create(start(session), &holder("a"), AT).unwrap()
    }

    /// Keeps a session in which these things were said one after the other.
    fn keep(&self, session: &str, texts: &[&str]) {
        let mut opened = self.create(session);
        let entries: Vec<Entry> = texts.iter().zip(2..).map(|(text, seq)| said(seq, text)).collect();
        append(&mut opened, &entries, Keep::Written);
    }

    /// What the index lists is what the logs say.
    #[track_caller]
    fn check_list(&self) -> Vec<Listed> {
        let (told, read) = (self.index.list().unwrap(), self.store.list().unwrap());
        assert_eq!(told.sessions, read.sessions);
        let unreadable = |listing: Vec<(petasos_core::id::SessionId, petasos_store::StoreError)>| {
            listing.into_iter().map(|(id, error)| (id, error.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(unreadable(told.unreadable), unreadable(read.unreadable));
        told.sessions
    }

    fn search(&self, text: &str) -> Hits {
        let query = Query::read(text).unwrap();
        self.index.search(&Search { query: &query, within: Within::All, limit: 1_000 }).unwrap()
    }

    /// The entries that hold it, as `session:seq`, and how many logs were read for that.
    fn found(&self, text: &str) -> (Vec<String>, u64) {
        let Hits { hits, logs_read, .. } = self.search(text);
        (hits.iter().map(|hit| format!("{}:{}", hit.session.start.id, hit.seq)).collect(), logs_read)
    }
}

fn title(seq: u64, text: &str) -> Entry {
    let by = SettingSource::Person;
    let value = Some(text.into());
    entry(seq, Setting { key: "title".into(), value, by, lifetime: Lifetime::Session })
}

/// Input of the case, in small: a large session, and many small ones. What counts is what is read, not how long it takes
/// on a machine.
#[test]
fn case_h09_a_list_reads_nothing_of_logs_that_it_knows() {
    let home = Home::new();
    let large = "y".repeat(3_000_000);
    home.keep("large", &[&large, "more", &large]);
    for number in 0..50 {
        home.keep(&format!("s{number:02}"), &["small"]);
    }
    let first = home.index.list().unwrap().sessions;
    assert_eq!((first.len(), home.disk.taken() > 6_000_000), (51, true));
    assert_eq!(home.index.list().unwrap().sessions, first);
    assert_eq!(home.disk.taken(), 0);
    // Of what has grown, what is new is read, and the place where it begins.
    let mut opened = home.store.open(&id("large"), &holder("b"), AT).unwrap();
    append(&mut opened, &[title(6, "a title")], Keep::Written);
    home.disk.taken();
    let listed = home.index.list().unwrap().sessions;
    assert!(home.disk.taken() < 1_000);
    let grown: Vec<_> = listed.iter().filter(|listed| !first.contains(listed)).collect();
    assert_eq!(grown.len(), 1);
    assert_eq!((grown[0].title.as_deref(), grown[0].entries), (Some("a title"), 7));
    home.check_list();
}

#[test]
fn a_list_tells_what_the_logs_say_whatever_happens_to_them() {
    let home = Home::new();
    assert_eq!(home.check_list(), []);
    assert!(!home.file().exists());
    home.keep("s1", &["one"]);
    home.keep("s2", &["two"]);
    home.check_list();
    // Openings are no happening; an entry is.
    let mut opened = home.store.open(&id("s1"), &holder("b"), Time(AT.0 + 50)).unwrap();
    assert_eq!(home.check_list()[0].last, AT);
    append(&mut opened, &[Entry { at: Time(AT.0 + 60), ..title(4, "late") }], Keep::Written);
    assert_eq!(home.check_list()[0].last, Time(AT.0 + 60));
    drop(opened);
    // Torn, and repaired by the next opening.
    let whole = std::fs::read(home.log("s1")).unwrap();
    std::fs::write(home.log("s1"), [&whole[..], b"{\"v\":1,\"seq\":5"].concat()).unwrap();
    assert_eq!(home.check_list()[0].damaged, 1);
    drop(home.store.open(&id("s1"), &holder("b"), AT).unwrap());
    assert_eq!(home.check_list()[0].damaged, 0);
    // Damaged between good lines; it grows on.
    let mut bytes = std::fs::read(home.log("s1")).unwrap();
    let place = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
    bytes[place] ^= 1;
    bytes.extend_from_slice(b"\0\0\0");
    std::fs::write(home.log("s1"), &bytes).unwrap();
    home.check_list();
    let mut opened = home.store.open(&id("s1"), &holder("b"), AT).unwrap();
    home.check_list();
    let next = opened.writer.next();
    append(&mut opened, &[said(next.0, "more")], Keep::Written);
    home.check_list();
    drop(opened);
    // The last line without its newline.
    bytes = std::fs::read(home.log("s1")).unwrap();
    bytes.pop();
    std::fs::write(home.log("s1"), &bytes).unwrap();
    home.check_list();
    drop(home.store.open(&id("s1"), &holder("b"), AT).unwrap());
    home.check_list();
    // Another log in its place, a first line that is damaged, and none at all.
    let other = Home::new();
    other.keep(
        "s1",
        &["from elsewhere", "and more of it, so that it is longer than what was there before", "3"],
    );
    std::fs::copy(other.log("s1"), home.log("s1")).unwrap();
    assert_eq!(home.check_list()[0].first.as_deref(), Some("from elsewhere"));
    std::fs::write(home.log("s2"), b"nothing like a log").unwrap();
    assert_eq!(home.check_list().len(), 1);
    std::fs::remove_dir_all(home.log("s1").parent().unwrap()).unwrap();
    assert_eq!(home.check_list(), []);
    assert_eq!(home.found("elsewhere"), (vec![], 0));
}

#[test]
fn a_search_finds_in_all_sessions_what_is_new_and_nothing_that_is_gone() {
    let home = Home::new();
    home.keep("s1", &["alpha", "beta alpha", "gamma"]);
    home.keep("s2", &["alpha"]);
    let found = |text: &str| home.found(text);
    assert_eq!(found("alpha"), (vec!["s2:2".into(), "s1:3".into(), "s1:2".into()], 0));
    let mut opened = home.store.open(&id("s1"), &holder("b"), AT).unwrap();
    append(&mut opened, &[Entry { at: Time(AT.0 + 1), ..said(6, "alpha again") }], Keep::Written);
    // That in which something happened last comes first.
    assert_eq!(found("alpha"), (vec!["s1:6".into(), "s1:3".into(), "s1:2".into(), "s2:2".into()], 0));
    drop(opened);
    // A log that is another now.
    let other = Home::new();
    other.keep("s1", &["delta", "epsilon"]);
    std::fs::copy(other.log("s1"), home.log("s1")).unwrap();
    assert_eq!(found("alpha"), (vec!["s2:2".into()], 0));
    assert_eq!(found("epsilon"), (vec!["s1:3".into()], 0));
    // A damaged line is not found, the others are.
    let mut bytes = std::fs::read(home.log("s1")).unwrap();
    let place = bytes.windows(5).position(|window| window == b"delta").unwrap();
    bytes[place] = b'D';
    bytes.extend_from_slice(b"torn");
    std::fs::write(home.log("s1"), &bytes).unwrap();
    assert_eq!(found("delta"), (vec![], 0));
    assert_eq!(found("epsilon"), (vec!["s1:3".into()], 0));
    std::fs::remove_dir_all(home.log("s2").parent().unwrap()).unwrap();
    assert_eq!(found("alpha"), (vec![], 0));
    let query = Query::read("epsilon").unwrap();
    let elsewhere = Search { query: &query, within: Within::Folder(Path::new("/srv/b")), limit: 10 };
    assert!(home.index.search(&elsewhere).unwrap().hits.is_empty());
    let none = Search { within: Within::All, limit: 0, ..elsewhere };
    let hits = home.index.search(&none).unwrap();
    assert_eq!((hits.hits.len(), hits.is_more), (0, true));
}

/// Whatever stands where the index is to be.
#[track_caller]
fn check_made_anew(spoil: impl FnOnce(&Path)) {
    let home = Home::new();
    home.keep("s1", &["alpha", "beta"]);
    assert_eq!(home.found("beta"), (vec!["s1:3".into()], 0));
    spoil(&home.file());
    home.check_list();
    assert_eq!(home.found("beta"), (vec!["s1:3".into()], 0));
    home.disk.taken();
    home.check_list();
    assert_eq!(home.index.rebuild().unwrap().sessions, 1);
    assert_eq!(home.found("beta"), (vec!["s1:3".into()], 0));
}

#[test]
fn s02_an_index_that_is_missing_damaged_or_of_another_version_is_made_anew() {
    check_made_anew(|file| std::fs::remove_file(file).unwrap());
    check_made_anew(|file| std::fs::write(file, b"").unwrap());
    check_made_anew(|file| std::fs::write(file, "this is no database at all. ".repeat(1_000)).unwrap());
    check_made_anew(|file| {
        let length = std::fs::metadata(file).unwrap().len();
        std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
    });
    check_made_anew(|file| {
        let mut bytes = std::fs::read(file).unwrap();
        bytes[4_000..].fill(0x5a);
        std::fs::write(file, bytes).unwrap();
    });
    check_made_anew(|file| {
        let other = Connection::open(file).unwrap();
        other.execute_batch("DROP TABLE place; PRAGMA user_version = 77").unwrap();
    });
    check_made_anew(|file| {
        let other = Connection::open(file).unwrap();
        other.execute_batch("DROP TABLE place").unwrap();
    });
}

#[test]
fn s02_without_an_index_the_logs_answer() {
    let home = Home::new();
    home.keep("s1", &["alpha", "beta"]);
    home.keep("s2", &["alpha"]);
    std::fs::create_dir(home.file()).unwrap();
    home.check_list();
    assert_eq!(home.found("alpha"), (vec!["s2:2".into(), "s1:2".into()], 2));
    let why = home.search("alpha").no_index.unwrap();
    assert!(why.contains("unable to open database file"), "{why}");
    let refused = home.index.rebuild().unwrap_err().to_string();
    assert!(refused.contains("index.sqlite") && refused.contains("the logs are read instead"), "{refused}");
}

/// Input of the case: another process has `BEGIN IMMEDIATE` while a turn is saved. It never lets go here, which is worse
/// than any number of seconds.
#[test]
fn case_h04_an_index_that_is_locked_is_in_nobodys_way() {
    for how in ["BEGIN IMMEDIATE", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"] {
        let home = Home::new();
        home.keep("s1", &["alpha"]);
        assert_eq!(home.found("alpha"), (vec!["s1:2".into()], 0));
        let other = Connection::open(home.file()).unwrap();
        other.execute_batch(how).unwrap();
        let mut opened = home.store.open(&id("s1"), &holder("b"), AT).unwrap();
        append(&mut opened, &[said(4, "alpha is saved")], Keep::Synced);
        home.check_list();
        // What the index lacks is read from the log.
        assert_eq!(home.found("alpha"), (vec!["s1:4".into(), "s1:2".into()], 1), "{how}");
        drop(other);
        assert_eq!(home.found("alpha"), (vec!["s1:4".into(), "s1:2".into()], 0), "{how}");
        home.check_list();
    }
}

/// A search puts 16 MB into the index; who looks for something does not wait until all of it is there.
#[test]
fn a_search_takes_in_so_much_and_reads_the_rest_from_the_logs() {
    let home = Home::new();
    home.keep("s1", &["alpha"]);
    let mut opened = home.create("s2");
    let body = format!("\"{}\"", "x".repeat(4 << 20));
    let mut entries: Vec<Entry> = (2..7).map(|seq| crate::say::unknown(seq, 1, "later", &body)).collect();
    entries.push(said(7, "alpha"));
    append(&mut opened, &entries, Keep::Written);
    let wanted = vec!["s2:7".to_owned(), "s1:2".to_owned()];
    assert_eq!(home.found("alpha"), (wanted.clone(), 2));
    assert_eq!(home.found("alpha"), (wanted, 0));
}

/// Nobody who looks for something waits for as much as that; who makes the index anew does.
#[test]
fn a_large_log_with_something_odd_in_it_is_read_and_not_taken_in() {
    let home = Home::new();
    let mut opened = home.create("s");
    let body = format!("\"{}\"", "x".repeat(4 << 20));
    let mut entries: Vec<Entry> = (2..7).map(|seq| crate::say::unknown(seq, 1, "later", &body)).collect();
    entries.push(said(7, "alpha"));
    append(&mut opened, &entries, Keep::Written);
    let mut log = std::fs::read(home.log("s")).unwrap();
    log[9 << 20] = b'y';
    std::fs::write(home.log("s"), log).unwrap();
    for _ in 0..2 {
        assert_eq!(home.found("alpha"), (vec!["s:7".to_owned()], 1));
    }
    home.index.rebuild().unwrap();
    assert_eq!(home.found("alpha"), (vec!["s:7".to_owned()], 0));
}

#[test]
fn many_that_look_at_the_same_time_put_nothing_into_the_index_twice() {
    let home = Home::new();
    for number in 0..8 {
        home.keep(&format!("s{number}"), &["alpha", "beta"]);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(home.found("beta").0.len(), 8));
        }
    });
    assert_eq!(home.found("beta").1, 0);
    let index = Connection::open(home.file()).unwrap();
    let count = |table: &str| -> i64 {
        index.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("session"), count("place"), count("words")), (8, 16, 16));
}

#[test]
fn the_index_belongs_to_its_person_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.keep("s1", &["alpha"]);
    home.check_list();
    assert_eq!(std::fs::metadata(home.file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Seq(2), home.search("alpha").hits[0].seq);
}
