//! Sessions that are made of another one's lines: whole or not at all.

use petasos_core::entry::{Entry, Keep, Origin, SessionStart};
use petasos_core::id::Seq;
use petasos_store::{Durability, InMemoryStore, Store};
use petasos_testkit::unsynced::Unsynced;

use crate::say::{AT, Folder, append, entry, error, holder, id, lines, open, said, start};

#[track_caller]
fn every_store(check: impl Fn(&(dyn Store + 'static))) {
    check(&Folder::with(Durability::Power).store);
    check(&Folder::with(Durability::Process).store);
    check(&InMemoryStore::new());
    check(&Unsynced::default());
}

/// A session `s` with a blob.
fn source(store: &dyn Store) -> petasos_core::tool::BlobName {
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    let blob = store.put_blob(&id("s"), b"kept").unwrap();
    append(&mut opened, &[said(2, "one"), said(3, "two")], Keep::Synced);
    blob
}

fn forked(seq: u64) -> SessionStart {
    SessionStart { id: id("t"), origin: Origin::Fork { session: id("s"), seq: Seq(seq) }, ..start("t") }
}

fn lines_of(store: &dyn Store, upto: u64) -> String {
    let lines = store.lines(&id("s")).unwrap();
    lines.iter().filter(|(seq, _)| (1..=upto).contains(&seq.0)).map(|(_, line)| format!("{line}\n")).collect()
}

#[test]
fn a_session_is_made_of_lines_of_another_and_goes_on_with_what_is_added() {
    every_store(|store| {
        let blob = source(store);
        let lines = lines_of(store, 2);
        let mut unfinished = store.begin(&id("t"), &holder("b")).unwrap();
        assert_eq!(unfinished.take_blob(&id("s"), &blob.hash).unwrap(), blob);
        assert_eq!(unfinished.take_blob(&id("s"), &blob.hash).unwrap(), blob, "again changes nothing");
        let mut seen = Vec::new();
        let after = &mut |entries: &[Entry]| {
            seen = entries.to_vec();
            vec![said(4, "added")]
        };
        let opened = unfinished.finish(forked(2), &lines, AT, after).unwrap();
        let mut wanted = vec![
            entry(0, forked(2)),
            open(1, 1, "a", Vec::new()),
            said(2, "one"),
            open(3, 2, "b", Vec::new()),
        ];
        assert_eq!(seen, wanted);
        wanted.push(said(4, "added"));
        assert_eq!((&opened.entries, opened.writer.next()), (&wanted, Seq(5)));
        let read = store.read(&id("t")).unwrap();
        assert_eq!((read.entries, read.damage), (wanted, Vec::new()));
        assert_eq!(store.read_blob(&id("t"), &blob.hash, 0..u64::MAX).unwrap(), b"kept");
        let held = error(store.open(&id("t"), &holder("c"), AT));
        assert!(held.starts_with("session t is held by pid "), "{held}");
        drop(opened);
        let mut opened = store.open(&id("t"), &holder("c"), AT).unwrap();
        append(&mut opened, &[said(6, "on")], Keep::Synced);
        // The other one stands as it did, and without it the blob is still there.
        assert_eq!(store.read(&id("s")).unwrap().entries.len(), 4);
        store.delete(&id("s"), &holder("d")).unwrap();
        assert_eq!(store.read_blob(&id("t"), &blob.hash, 0..u64::MAX).unwrap(), b"kept");
    });
}

#[test]
fn a_session_that_was_not_finished_leaves_nothing() {
    every_store(|store| {
        let blob = source(store);
        let mut unfinished = store.begin(&id("t"), &holder("b")).unwrap();
        unfinished.take_blob(&id("s"), &blob.hash).unwrap();
        let mut other = unfinished.create_blob().unwrap();
        other.write(b"half").unwrap();
        let not_found = "no session t; the list of sessions shows those there are";
        assert_eq!(error(store.read(&id("t"))), not_found);
        drop(other);
        drop(unfinished);
        assert_eq!(error(store.open(&id("t"), &holder("b"), AT)), not_found);
        assert_eq!(store.sweep(&holder("b")).unwrap(), 0, "there is nothing to sweep");
        // So the id is free.
        store.create(start("t"), &holder("b"), AT).unwrap();
    });
}

#[test]
fn what_makes_no_log_makes_no_session() {
    every_store(|store| {
        source(store);
        let whole = lines_of(store, 3);
        let check = |start: SessionStart, lines: &str, more: Vec<Entry>, wanted: &str| {
            let unfinished = store.begin(&id("t"), &holder("b")).unwrap();
            let refused = error(unfinished.finish(start, lines, AT, &mut |_| more.clone()));
            assert_eq!(refused, format!("session t takes no such entries: {wanted}"));
            assert!(store.read(&id("t")).is_err());
        };
        check(start("u"), &whole, Vec::new(), "its first line is that of session u");
        let layout = SessionStart { format: 2, ..forked(2) };
        check(layout, &whole, Vec::new(), "it has layout 2, this program knows 1");
        check(forked(2), &whole[..whole.len() - 1], Vec::new(), "the last line has no newline");
        check(forked(2), &whole, vec![said(9, "gap")], "entry 9 stands where 5 belongs");
        let twice = format!("{whole}{whole}");
        let unfinished = store.begin(&id("t"), &holder("b")).unwrap();
        let refused = error(unfinished.finish(forked(3), &twice, AT, &mut |_| Vec::new()));
        assert!(refused.contains("entry 1 stands here again"), "{refused}");
        let torn = whole.replace("one", "eno");
        let unfinished = store.begin(&id("t"), &holder("b")).unwrap();
        let refused = error(unfinished.finish(forked(3), &torn, AT, &mut |_| Vec::new()));
        assert!(refused.contains("no line with a right sum"), "{refused}");
    });
}

#[test]
fn an_id_that_is_taken_is_not_begun_again() {
    every_store(|store| {
        source(store);
        let told = "session s exists already; open it, or take another id";
        assert_eq!(error(store.begin(&id("s"), &holder("b"))), told);
        assert_eq!(store.read(&id("s")).unwrap().entries.len(), 4);
    });
}

#[test]
fn a_session_that_was_made_survives_a_power_cut_and_one_that_was_not_is_none() {
    let store = Unsynced::default();
    let blob = source(&store);
    let all = lines_of(&store, 3);
    // Cut after every sync on the way.
    for syncs in 0.. {
        let before = store.disk.syncs().len();
        let mut unfinished = store.begin(&id("t"), &holder("b")).unwrap();
        unfinished.take_blob(&id("s"), &blob.hash).unwrap();
        if syncs > 0 {
            store.fail_sync(syncs);
        }
        let made = unfinished.finish(forked(3), &all, AT, &mut |_| Vec::new());
        let is_made = made.is_ok();
        drop(made);
        store.power_cut();
        store.fail_sync(0);
        if is_made {
            assert_eq!(store.read(&id("t")).unwrap().entries.len(), 5);
            assert_eq!(store.read_blob(&id("t"), &blob.hash, 0..u64::MAX).unwrap(), b"kept");
            if syncs > 0 {
                break;
            }
        } else if let Ok(contents) = store.read(&id("t")) {
            // It was whole, and only its name was not known to last.
            assert_eq!((contents.entries.len(), contents.damage.len()), (5, 0));
        }
        if store.read(&id("t")).is_ok() {
            store.delete(&id("t"), &holder("b")).unwrap();
        }
        store.sweep(&holder("b")).unwrap();
        assert!(store.disk.syncs().len() > before);
    }
}

#[test]
fn lines_are_those_of_the_log() {
    every_store(|store| {
        source(store);
        let contents = store.read(&id("s")).unwrap();
        let read = store.lines(&id("s")).unwrap();
        let wanted = String::from_utf8(lines(&contents.entries).concat()).unwrap();
        let told: String = read.iter().map(|(_, line)| format!("{line}\n")).collect();
        assert_eq!((told, read.damage.len(), read.missing()), (wanted, 0, Vec::new()));
    });
}
