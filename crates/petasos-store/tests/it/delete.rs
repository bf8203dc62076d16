//! Deleting: whole or not at all, and never what somebody holds.

use petasos_core::entry::Keep;
use petasos_store::{Durability, InMemoryStore, Store};
use petasos_testkit::unsynced::Unsynced;

use crate::say::{AT, Folder, append, error, holder, id, said, start, told};

#[track_caller]
fn every_store(check: impl Fn(&(dyn Store + 'static))) {
    check(&Folder::with(Durability::Power).store);
    check(&InMemoryStore::new());
    check(&Unsynced::default());
}

const GONE: &str = "no session s; the list of sessions shows those there are";

#[test]
fn what_is_deleted_is_gone_with_its_blobs_and_the_others_stay() {
    every_store(|store| {
        drop(store.create(start("t"), &holder("a"), AT).unwrap());
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        store.put_blob(&id("s"), b"kept").unwrap();
        append(&mut opened, &[said(2, "one")], Keep::Synced);
        drop(opened);
        assert!(store.bytes(&id("s")).unwrap() > store.bytes(&id("t")).unwrap());
        store.delete(&id("s"), &holder("b")).unwrap();
        assert_eq!(error(store.read(&id("s"))), GONE);
        assert_eq!(error(store.open(&id("s"), &holder("b"), AT)), GONE);
        assert_eq!(error(store.delete(&id("s"), &holder("b"))), GONE);
        assert_eq!(store.blobs(&id("s")).unwrap(), []);
        let left: Vec<_> = store.list().unwrap().sessions.into_iter().map(|one| one.start.id).collect();
        assert_eq!(left, [id("t")]);
        assert_eq!(store.sweep(&holder("b")).unwrap(), 0);
        drop(store.create(start("s"), &holder("b"), AT).unwrap());
    });
}

#[test]
fn a_session_that_is_held_is_not_deleted_and_an_idle_writer_finds_it_gone() {
    every_store(|store| {
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let held = format!("session s is held by {}; stop that, or wait until its turn is over", told("a"));
        assert_eq!(error(store.delete(&id("s"), &holder("b"))), held);
        append(&mut opened, &[said(2, "still there")], Keep::Synced);
        opened.writer.release();
        store.delete(&id("s"), &holder("b")).unwrap();
        assert_eq!(error(opened.writer.reacquire()), GONE);
        assert_eq!(error(store.put_blob(&id("s"), b"late")), GONE);
        assert!(store.list().unwrap().sessions.is_empty());
    });
}

#[test]
fn deleting_nothing_makes_nothing() {
    let folder = Folder::new();
    assert_eq!(error(folder.store.delete(&id("s"), &holder("b"))), GONE);
    assert!(!folder.root.path().join("home").exists());
}

#[test]
fn a_session_whose_log_cannot_be_read_can_be_deleted() {
    let folder = Folder::holding(b"nothing of a session\n");
    folder.store.delete(&id("s"), &holder("b")).unwrap();
    assert!(!folder.session().exists());
}

#[test]
fn a_deletion_that_ended_in_the_middle_is_gone_on_with() {
    let folder = Folder::new();
    drop(folder.store.create(start("t"), &holder("a"), AT).unwrap());
    drop(folder.store.create(start("s"), &holder("a"), AT).unwrap());
    folder.store.put_blob(&id("s"), b"kept").unwrap();
    let away = folder.root.path().join("home/sessions/s.deleted");
    std::fs::rename(folder.session(), &away).unwrap();
    std::fs::remove_file(away.join("log.jsonl")).unwrap();
    let listing = folder.store.list().unwrap();
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (1, 0));
    assert_eq!(folder.store.sweep(&holder("b")).unwrap(), 1);
    assert!(!away.exists());

    // One who made a session has ended before it was one; one that is just being made stays.
    let other = folder.store.begin(&id("u"), &holder("c")).unwrap();
    std::fs::create_dir_all(folder.session().join("blobs")).unwrap();
    std::fs::write(folder.session().join("blobs/unfinished-1-0"), b"half").unwrap();
    std::fs::write(folder.session().join("lock"), b"pid 1 (gone)\n").unwrap();
    assert_eq!(folder.store.sweep(&holder("b")).unwrap(), 1);
    assert!(!folder.session().exists());
    let lines = String::new();
    let start_of_u = petasos_core::entry::SessionStart { id: id("u"), ..start("u") };
    other.finish(start_of_u, &lines, AT, &mut |_| Vec::new()).unwrap();
}

/// What has lost its log alone may be mended; nobody takes it for a leftover.
#[test]
fn a_session_whose_log_is_away_is_never_swept() {
    let folder = Folder::new();
    drop(folder.store.create(start("s"), &holder("a"), AT).unwrap());
    folder.store.put_blob(&id("s"), b"kept").unwrap();
    std::fs::remove_file(folder.log()).unwrap();
    assert_eq!(folder.store.sweep(&holder("b")).unwrap(), 0);
    assert!(folder.session().join("blobs").read_dir().unwrap().next().is_some());
    std::fs::remove_dir_all(folder.session().join("blobs")).unwrap();
    std::fs::write(folder.session().join("damaged-1.bin"), b"set aside").unwrap();
    assert_eq!(folder.store.sweep(&holder("b")).unwrap(), 0);
    assert!(folder.session().join("damaged-1.bin").exists());
    // One that was being made of another one's lines, and whose maker was killed, is a leftover with its blobs.
    std::fs::remove_file(folder.session().join("damaged-1.bin")).unwrap();
    let mut unfinished = folder.store.begin(&id("u"), &holder("c")).unwrap();
    let mut blob = unfinished.create_blob().unwrap();
    blob.write(b"whole").unwrap();
    blob.finish().unwrap();
    let u = folder.session().with_file_name("u");
    let copy = folder.session().with_file_name("v");
    copied(&u, &copy);
    drop(unfinished);
    assert_eq!((folder.store.sweep(&holder("b")).unwrap(), copy.exists()), (2, false));
}

fn copied(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let there = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &there);
        } else {
            std::fs::copy(entry.path(), there).unwrap();
        }
    }
}

#[test]
fn what_has_gone_on_since_it_was_listed_is_not_deleted() {
    let folder = Folder::new();
    let mut opened = folder.store.create(start("s"), &holder("a"), AT).unwrap();
    append(&mut opened, &[said(2, "one")], Keep::Synced);
    let listed = folder.store.list().unwrap().sessions.remove(0);
    append(&mut opened, &[said(3, "two")], Keep::Synced);
    drop(opened);
    let changed = "something has happened in session s since it was looked at; look again";
    assert_eq!(error(folder.store.delete_as_listed(&listed, &holder("b"))), changed);
    let listed = folder.store.list().unwrap().sessions.remove(0);
    folder.store.delete_as_listed(&listed, &holder("b")).unwrap();
    assert!(!folder.session().exists());
}

#[test]
fn a_power_cut_leaves_a_session_whole_or_gone() {
    for syncs in 1..4 {
        let store = Unsynced::default();
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let blob = store.put_blob(&id("s"), b"kept").unwrap();
        append(&mut opened, &[said(2, "one")], Keep::Synced);
        drop(opened);
        store.fail_sync(syncs);
        let deleted = store.delete(&id("s"), &holder("b"));
        store.power_cut();
        match (deleted, store.read(&id("s"))) {
            (Ok(()), read) => assert_eq!(error(read), GONE),
            (Err(_), Ok(contents)) => {
                assert_eq!((contents.entries.len(), contents.damage.len()), (3, 0));
                assert_eq!(store.read_blob(&id("s"), &blob.hash, 0..u64::MAX).unwrap(), b"kept");
            }
            (Err(error), Err(gone)) => panic!("{error}, and then {gone}"),
        }
        store.sweep(&holder("b")).unwrap();
    }
}
