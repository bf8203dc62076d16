//! Row S02: a full disk, and one that may not be written.

use petasos_core::entry::Keep;
use petasos_store::{Contents, Disk as _, Store, StoreError};
use petasos_testkit::unsynced::Unsynced;

use crate::child;
use crate::say::{AT, Folder, append, error, first, holder, id, open, said, start};

/// A disk that is full at every write of a session's life, one after the other: what was acknowledged is there,
/// nothing else is, and with room again it goes on.
#[test]
fn s02_a_disk_full_at_any_write_keeps_what_was_acknowledged() {
    let mut failed = 0;
    for write in 1..=6 {
        let store = Unsynced::default();
        store.fail_next(write);
        let mut wanted = Vec::new();
        let made = store.create(start("s"), &holder("a"), AT);
        if let Ok(mut opened) = made {
            wanted.extend(opened.entries.clone());
            for seq in 2..6 {
                let keep = if seq % 2 == 0 { Keep::Written } else { Keep::Synced };
                match opened.writer.append(opened.writer.next(), &[said(seq, "x")], keep) {
                    Ok(_) => wanted.push(said(seq, "x")),
                    Err(error) => {
                        assert!(
                            matches!(error, StoreError::Full { .. } | StoreError::Broken { .. }),
                            "{error}"
                        );
                        failed += 1;
                    }
                }
            }
            assert_eq!(
                store.read(&id("s")).unwrap(),
                Contents { entries: wanted.clone(), damage: Vec::new() }
            );
            drop(opened);
            assert_eq!(store.open(&id("s"), &holder("b"), AT).is_err(), write < 6 + 1);
            store.make_room();
            let opened = store.open(&id("s"), &holder("b"), AT).unwrap();
            wanted.push(open(wanted.len() as u64, 2, "b", Vec::new()));
            assert_eq!((opened.entries, opened.damage), (wanted, Vec::new()));
        } else {
            assert_eq!(write, 1);
            assert!(matches!(made, Err(StoreError::Full { .. })), "{made:?}");
            store.make_room();
            store.create(start("s"), &holder("a"), AT).unwrap();
        }
    }
    assert_eq!(failed, 4 + 3 + 2 + 1);
}

#[test]
fn s02_a_blob_on_a_full_disk_has_no_name() {
    let store = Unsynced::default();
    let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
    store.fail_next(1);
    assert!(matches!(store.put_blob(&id("s"), b"whole"), Err(StoreError::Full { .. })));
    store.make_room();
    let name = store.put_blob(&id("s"), b"whole").unwrap();
    assert_eq!(store.read_blob(&id("s"), &name.hash, 0..9).unwrap(), b"whole");
}

/// Each write of a blob in pieces meets a full disk once: the blob is lost, and leaves nothing behind.
#[test]
fn s02_a_blob_in_pieces_on_a_full_disk_leaves_nothing() {
    for write in 1..=3 {
        let store = Unsynced::default();
        let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let mut blob = store.create_blob(&id("s")).unwrap();
        store.fail_next(write);
        let failed = (0..3).map(|_| blob.write(b"piece")).find_map(Result::err).unwrap();
        assert!(matches!(failed, StoreError::Full { .. }), "{failed}");
        store.make_room();
        let told = "session s takes no such entries: a write of this blob failed before; begin it again";
        assert_eq!(error(blob.write(b"piece")), told);
        assert_eq!(error(blob.finish()), told);
        let left = store.disk.names(std::path::Path::new("/petasos/sessions/s/blobs")).unwrap();
        assert_eq!(left, Vec::<String>::new());
    }
}

#[test]
fn a_blob_that_is_dropped_leaves_no_file() {
    let folder = Folder::new();
    let _opened = folder.store.create(start("s"), &holder("a"), AT).unwrap();
    let mut blob = folder.store.create_blob(&id("s")).unwrap();
    blob.write(b"whole").unwrap();
    drop(blob);
    // One whose bytes are kept already is not kept twice.
    folder.store.put_blob(&id("s"), b"whole").unwrap();
    folder.store.put_blob(&id("s"), b"whole").unwrap();
    assert_eq!(std::fs::read_dir(folder.session().join("blobs")).unwrap().count(), 1);
}

#[test]
fn s02_a_damaged_blob_is_told_and_is_written_anew() {
    let folder = Folder::new();
    let _opened = folder.store.create(start("s"), &holder("a"), AT).unwrap();
    let name = folder.store.put_blob(&id("s"), b"whole").unwrap();
    std::fs::write(folder.session().join("blobs").join(name.hash.to_string()), b"whale").unwrap();
    let told = format!("blob {} of session s is damaged: its bytes have another hash", name.hash);
    assert_eq!(error(folder.store.read_blob(&id("s"), &name.hash, 0..9)), told);
    assert_eq!(folder.store.put_blob(&id("s"), b"whole").unwrap(), name);
    assert_eq!(folder.store.read_blob(&id("s"), &name.hash, 0..9).unwrap(), b"whole");
}

#[test]
fn an_unfinished_blob_is_taken_away_by_the_next_opening() {
    let folder = Folder::new();
    drop(folder.store.create(start("s"), &holder("a"), AT).unwrap());
    let name = folder.store.put_blob(&id("s"), b"whole").unwrap();
    let blobs = folder.session().join("blobs");
    std::fs::write(blobs.join("unfinished-1-0"), b"wh").unwrap();
    folder.open("b");
    let names: Vec<_> = std::fs::read_dir(&blobs).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, [std::ffi::OsString::from(name.hash.to_string())]);
}

#[test]
fn s02_a_real_disk_that_is_full_keeps_what_was_acknowledged() {
    child::on_a_small_disk("full");
}

#[test]
fn s02_a_real_disk_that_may_not_be_written_can_be_read() {
    child::on_a_small_disk("read only");
}

/// In the child, on a disk of 64 KiB.
pub fn on_a_full_disk(root: &std::path::Path) {
    let store = petasos_store::FolderStore::new(root, petasos_store::Durability::Power);
    let ballast = root.join("ballast");
    std::fs::write(&ballast, vec![1; 16 << 10]).unwrap();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    let mut wanted = opened.entries.clone();
    let full = loop {
        let entry = said(opened.writer.next().0, &"x".repeat(3000));
        match opened.writer.append(entry.seq, std::slice::from_ref(&entry), Keep::Synced) {
            Ok(_) => wanted.push(entry),
            Err(error) => break error,
        }
        assert!(wanted.len() < 100, "the disk of 64 KiB took 300 KB");
    };
    assert!(matches!(full, StoreError::Full { .. }), "{full}");
    assert!(wanted.len() > 5, "{} entries", wanted.len());
    assert_eq!(store.read(&id("s")).unwrap(), Contents { entries: wanted.clone(), damage: Vec::new() });
    drop(opened);
    std::fs::remove_file(&ballast).unwrap();
    let mut opened = store.open(&id("s"), &holder("b"), AT).unwrap();
    append(&mut opened, &[said(wanted.len() as u64 + 1, "on")], Keep::Synced);
    wanted.push(open(wanted.len() as u64, 2, "b", Vec::new()));
    wanted.push(said(wanted.len() as u64, "on"));
    assert_eq!(store.read(&id("s")).unwrap(), Contents { entries: wanted, damage: Vec::new() });
}

/// In the child, on a disk of its own.
pub fn on_a_read_only_disk(root: &std::path::Path) {
    let store = petasos_store::FolderStore::new(root, petasos_store::Durability::Power);
    drop(store.create(start("s"), &holder("a"), AT).unwrap());
    let mount = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(root).status().unwrap();
    assert!(mount.success());
    let read_only = |error: StoreError| assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    read_only(store.open(&id("s"), &holder("b"), AT).unwrap_err());
    read_only(store.create(start("t"), &holder("b"), AT).unwrap_err());
    read_only(store.put_blob(&id("s"), b"x").unwrap_err());
    let wanted = vec![first("s"), open(1, 1, "a", Vec::new())];
    assert_eq!(store.read(&id("s")).unwrap(), Contents { entries: wanted, damage: Vec::new() });
    assert_eq!(store.list().unwrap().sessions.len(), 1);
}
