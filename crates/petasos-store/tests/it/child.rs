//! Other processes: this test binary, started again to be killed or to stand in the way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use petasos_core::entry::{Entry, Keep};
use petasos_store::{Durability, FolderStore, Store};

use crate::full;
use crate::say::{AT, Folder, error, holder, id, said, start};

/// What the child is to do, and where.
const ROLE: &str = "PETASOS_STORE_TEST_ROLE";
const ROOT: &str = "PETASOS_STORE_TEST_ROOT";

/// Not a test of its own: what a child process does. Without a role it has nothing to do.
#[test]
fn in_a_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let root = std::env::var(ROOT).unwrap();
    let root = Path::new(&root);
    match role.as_str() {
        "write" => write_until_killed(root),
        "hold" => hold_until_killed(root),
        "relative" => make_sessions_below(root),
        "full" => full::on_a_full_disk(root),
        "read only" => full::on_a_read_only_disk(root),
        _ => panic!("no role {role}"),
    }
    println!("\ndone: {role}");
}

fn child(role: &str, root: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child::in_a_child", "--exact", "--nocapture"]);
    command.env(ROLE, role).env(ROOT, root);
    command
}

/// A child that was started and says lines.
struct Talker {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Talker {
    fn start(role: &str, root: &Path) -> Self {
        let mut process = child(role, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The rest of the next line that begins with `word`.
    fn wait_for(&mut self, word: &str) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.strip_prefix(word)?.to_owned()))
    }

    fn kill(&mut self) {
        // SIGKILL.
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Odd entries are synced, even ones written; each is told as soon as it is acknowledged.
fn write_until_killed(root: &Path) {
    let store = FolderStore::new(root, Durability::Power);
    let mut opened = store.open(&id("s"), &holder("child"), AT).unwrap();
    let mut out = std::io::stdout();
    loop {
        let seq = opened.writer.next();
        let keep = if seq.0 % 2 == 1 { Keep::Synced } else { Keep::Written };
        opened.writer.append(seq, &[said(seq.0, &text(seq.0))], keep).unwrap();
        out.write_all(format!("kept {seq}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

/// Texts of different lengths, so that a kill meets the writes at different places.
fn text(seq: u64) -> String {
    format!("{seq} ").repeat(1 + (seq * 7919 % 500) as usize)
}

fn hold_until_killed(root: &Path) {
    let store = FolderStore::new(root, Durability::Power);
    let _opened = store.open(&id("s"), &holder("child"), AT).unwrap();
    println!("\nholds");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// The home is given by a name alone, and further down by a path of which nothing is there.
fn make_sessions_below(root: &Path) {
    std::env::set_current_dir(root).unwrap();
    for home in ["home", "a/b/home"] {
        let store = FolderStore::new(home, Durability::Power);
        drop(store.create(start("s"), &holder("child"), AT).unwrap());
        assert_eq!(store.list().unwrap().sessions.len(), 1);
    }
}

#[test]
fn a_home_is_made_where_it_is_named() {
    let root = tempfile::tempdir().unwrap();
    let output = child("relative", root.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(root.path().join("home/sessions/s/log.jsonl").is_file());
    assert!(root.path().join("a/b/home/sessions/s/log.jsonl").is_file());
}

/// Each round kills a writer after another number of acknowledged entries; the log of all rounds is one session.
#[test]
fn s01_kill_9_loses_nothing_that_was_acknowledged() {
    let folder = Folder::new();
    let root = folder.root.path().join("home");
    drop(folder.store.create(start("s"), &holder("a"), AT).unwrap());
    for round in 0..25 {
        let mut writer = Talker::start("write", &root);
        let mut acknowledged = 0;
        for _ in 0..=round {
            acknowledged = writer.wait_for("kept ").expect("it writes").parse::<u64>().unwrap();
        }
        writer.kill();
        // What was in the pipe when it was killed was acknowledged too.
        while let Some(seq) = writer.wait_for("kept ") {
            acknowledged = seq.parse().unwrap_or(acknowledged);
        }
        // The lock of a dead process is no hindrance.
        let opened = folder.store.open(&id("s"), &holder("a"), AT).unwrap();
        let written: Vec<&Entry> =
            opened.entries.iter().filter(|entry| entry.body.kind() == "said").collect();
        for entry in &written {
            assert_eq!(**entry, said(entry.seq.0, &text(entry.seq.0)));
        }
        let last = written.last().unwrap().seq.0;
        assert!(last >= acknowledged, "{acknowledged} was acknowledged, {last} is the last one there");
        let seqs: Vec<u64> = opened.entries.iter().map(|entry| entry.seq.0).collect();
        assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_second_process_is_refused_and_told_the_first_ones_pid() {
    let folder = Folder::new();
    drop(folder.store.create(start("s"), &holder("a"), AT).unwrap());
    let mut first = Talker::start("hold", &folder.root.path().join("home"));
    first.wait_for("holds").expect("it holds");
    let told = format!(
        "session s is held by pid {} (child); stop that, or wait until its turn is over",
        first.process.id()
    );
    assert_eq!(error(folder.store.open(&id("s"), &holder("b"), AT)), told);
    first.kill();
    folder.store.open(&id("s"), &holder("b"), AT).unwrap();
}

/// A child that is being started has all descriptors of its parent for a moment, that of the lock among them.
#[test]
fn a_session_is_free_as_soon_as_it_is_let_go_also_while_children_are_started() {
    let folder = Folder::new();
    drop(folder.store.create(start("s"), &holder("a"), AT).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        });
        let opened = (0..300).try_for_each(|_| folder.store.open(&id("s"), &holder("a"), AT).map(drop));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        opened.unwrap();
    });
}

/// Runs a role in a mount namespace of its own, on a disk of 64 KiB. Where the system does not let us have one
/// that is left out, and said.
pub fn on_a_small_disk(role: &str) {
    let root = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o size=64k none "$0" || exit 77; exec "$@""#;
    let inner = child(role, root.path());
    let mut outer = Command::new("unshare");
    outer.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount]).arg(root.path());
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.env(ROLE, role).env(ROOT, root.path());
    let output = match outer.output() {
        Ok(output) if output.status.code() == Some(77) || !started(&output) => {
            println!(
                "left out: a disk of 64 KiB ({role}); {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
            return;
        }
        Ok(output) => output,
        Err(error) => {
            println!("left out: a disk of 64 KiB ({role}); unshare: {error}");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(&format!("done: {role}")), "{said}\n{complained}");
}

/// Whether the test binary was reached at all.
fn started(output: &std::process::Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("running 1 test")
}
