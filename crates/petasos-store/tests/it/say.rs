//! The words of these tests: entries, holders, logs and stores.

use std::path::{Path, PathBuf};

use petasos_core::entry::{
    Body, Content, Damage, Entry, Keep, Open, Origin, Said, SessionStart, Speaker, Unknown, When,
};
use petasos_core::id::{Epoch, Seq, SessionId};
use petasos_core::text::{Json, Text};
use petasos_core::time::Time;
use petasos_store::{Contents, Durability, FolderStore, Holder, Opened, Store, Writer, closed_line};

pub const AT: Time = Time(1_764_412_345_678);

pub fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

pub fn start(session: &str) -> SessionStart {
    SessionStart {
        format: 1,
        id: id(session),
        workspace: Text::from("/srv/a"),
        origin: Origin::New,
        depth: 0,
    }
}

pub fn holder(text: &str) -> Holder {
    Holder { text: Text::from(text), program: Text::from("0.1.0") }
}

/// What others are told of a holder in this process.
pub fn told(text: &str) -> String {
    format!("pid {} ({text})", std::process::id())
}

pub fn entry(seq: u64, body: impl Into<Body>) -> Entry {
    Entry { seq: Seq(seq), at: AT, body: body.into() }
}

pub fn first(session: &str) -> Entry {
    entry(0, start(session))
}

pub fn open(seq: u64, epoch: u64, by: &str, damage: Vec<Damage>) -> Entry {
    let Holder { text, program } = holder(by);
    entry(seq, Open { epoch: Epoch(epoch), holder: text, program, damage })
}

pub fn said(seq: u64, text: &str) -> Entry {
    let content = vec![Content::Text(Text::from(text))];
    entry(seq, Said { from: Speaker::Person, content, notes: Vec::new(), when: When::Now, withdraws: None })
}

pub fn unknown(seq: u64, v: u32, kind: &str, body: &str) -> Entry {
    let unknown = Unknown { v, kind: Text::from(kind), body: Json::try_from(body).unwrap() };
    Entry { seq: Seq(seq), at: AT, body: Body::Unknown(unknown) }
}

/// The line that begins so, with its sum.
pub fn with_sum(opened: &str) -> Vec<u8> {
    use sha2::Digest as _;
    let sum = sha2::Sha256::digest(opened.as_bytes());
    let digits: String = sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{opened},\"sum\":\"{digits}\"}}\n").into_bytes()
}

pub fn damage(from: usize, bytes: usize, why: &str) -> Damage {
    Damage { from: from as u64, bytes: bytes as u64, why: Text::from(why) }
}

pub fn lines(entries: &[Entry]) -> Vec<Vec<u8>> {
    entries.iter().map(|entry| closed_line(entry).unwrap().into_bytes()).collect()
}

/// The error of what was to fail.
#[track_caller]
pub fn error<T: std::fmt::Debug>(result: Result<T, petasos_store::StoreError>) -> String {
    result.unwrap_err().to_string()
}

pub fn append(opened: &mut Opened, entries: &[Entry], keep: Keep) {
    append_to(opened.writer.as_mut(), entries, keep);
}

pub fn append_to(writer: &mut dyn Writer, entries: &[Entry], keep: Keep) {
    let last = entries.last().unwrap().seq;
    assert_eq!(writer.append(writer.next(), entries, keep).unwrap(), last);
}

/// A store in a folder of its own, and the files of its one session `s`.
pub struct Folder {
    pub root: tempfile::TempDir,
    pub store: FolderStore,
}

impl Folder {
    /// Nothing in these tests survives a power cut, but for those that cut the power.
    pub fn new() -> Self {
        Self::with(Durability::Process)
    }

    pub fn with(durability: Durability) -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { store: FolderStore::new(root.path().join("home"), durability), root }
    }

    /// A folder whose session `s` has this log.
    pub fn holding(log: &[u8]) -> Self {
        let folder = Self::new();
        std::fs::create_dir_all(folder.session()).unwrap();
        std::fs::write(folder.log(), log).unwrap();
        folder
    }

    pub fn session(&self) -> PathBuf {
        self.root.path().join("home/sessions/s")
    }

    pub fn log(&self) -> PathBuf {
        self.session().join("log.jsonl")
    }

    pub fn log_bytes(&self) -> Vec<u8> {
        std::fs::read(self.log()).unwrap()
    }

    pub fn read(&self) -> Contents {
        self.store.read(&id("s")).unwrap()
    }

    pub fn open(&self, by: &str) -> Opened {
        self.store.open(&id("s"), &holder(by), AT).unwrap()
    }

    /// The names of the files that were set aside, and their bytes.
    pub fn set_aside(&self) -> Vec<(String, Vec<u8>)> {
        let mut found: Vec<_> = std::fs::read_dir(self.session())
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| name(path).starts_with("damaged"))
            .map(|path| (name(&path), std::fs::read(&path).unwrap()))
            .collect();
        found.sort();
        found
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
