//! Rows S01: what was acknowledged survives a power cut, at every moment of the store's work.

use petasos_core::entry::{Entry, Keep};
use petasos_core::id::Seq;
use petasos_store::{Contents, Durability, Store, StoreError};
use petasos_testkit::unsynced::Unsynced;
use sha2::Digest as _;

use crate::say::{AT, append, damage, error, first, holder, id, lines, open, said, start};

fn read(store: &dyn Store) -> Vec<Entry> {
    store.read(&id("s")).unwrap().entries
}

#[test]
fn s01_what_is_synced_survives_a_power_cut_and_what_is_written_may_not() {
    let store = Unsynced::default();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    append(&mut opened, &[said(2, "written")], Keep::Written);
    append(&mut opened, &[said(3, "synced")], Keep::Synced);
    append(&mut opened, &[said(4, "lost")], Keep::Written);
    assert_eq!(read(&store).len(), 5);
    store.power_cut();
    let wanted = [first("s"), open(1, 1, "a", Vec::new()), said(2, "written"), said(3, "synced")];
    assert_eq!(read(&store), wanted);
    // The lock went with the process; its number is free again.
    let mut opened = store.open(&id("s"), &holder("b"), AT).unwrap();
    append(&mut opened, &[said(5, "on")], Keep::Synced);
    store.power_cut();
    let wanted = [&wanted[..], &[open(4, 2, "b", Vec::new()), said(5, "on")]].concat();
    assert_eq!(store.read(&id("s")).unwrap(), Contents { entries: wanted, damage: Vec::new() });
}

#[test]
fn s01_a_session_survives_a_power_cut_as_soon_as_it_is_made() {
    let store = Unsynced::default();
    store.create(start("s"), &holder("a"), AT).unwrap();
    store.power_cut();
    assert_eq!(read(&store), [first("s"), open(1, 1, "a", Vec::new())]);
    store.open(&id("s"), &holder("b"), AT).unwrap();
    store.power_cut();
    assert_eq!(read(&store).last(), Some(&open(2, 2, "b", Vec::new())));
}

#[test]
fn s01_no_entries_synced_keep_those_before() {
    let store = Unsynced::default();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    append(&mut opened, &[said(2, "x")], Keep::Written);
    opened.writer.append(Seq(3), &[], Keep::Synced).unwrap();
    store.power_cut();
    assert_eq!(read(&store).last(), Some(&said(2, "x")));
}

#[test]
fn s01_a_blob_survives_a_power_cut_as_soon_as_it_has_a_name() {
    let store = Unsynced::default();
    let opened = store.create(start("s"), &holder("a"), AT).unwrap();
    let name = store.put_blob(&id("s"), b"whole").unwrap();
    store.power_cut();
    assert_eq!(store.read_blob(&id("s"), &name.hash, 0..9).unwrap(), b"whole");
    drop(opened);
}

/// The power goes at each point of a blob in pieces: it is whole and has its name, or is not there.
#[test]
fn s01_a_blob_in_pieces_is_whole_or_not_there_after_a_power_cut() {
    for cut_after in 0..=3 {
        let store = Unsynced::default();
        let opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let mut blob = store.create_blob(&id("s")).unwrap();
        for _ in 0..cut_after.min(2) {
            blob.write(b"half").unwrap();
        }
        let finished = (cut_after == 3).then(|| blob.finish().unwrap());
        store.power_cut_keeping(3);
        drop(opened);
        let digits = petasos_core::id::Digest(sha2::Sha256::digest(b"halfhalf").into()).to_string();
        assert_eq!(store.find_blob(&id("s"), &digits).ok(), finished, "cut after {cut_after}");
        if let Some(name) = finished {
            assert_eq!(store.read_blob(&id("s"), &name.hash, 0..9).unwrap(), b"halfhalf");
        }
    }
}

#[test]
fn with_durability_process_synced_means_written() {
    let store = Unsynced::new(Durability::Process);
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    append(&mut opened, &[said(2, "x")], Keep::Synced);
    store.put_blob(&id("s"), b"x").unwrap();
    assert_eq!(store.disk.syncs(), Vec::<std::path::PathBuf>::new());
    assert_eq!(read(&store).len(), 3);
    store.power_cut();
    assert_eq!(error(store.read(&id("s"))), "no session s; the list of sessions shows those there are");
}

#[test]
fn s01_a_synced_append_is_one_sync_and_a_written_one_none() {
    let store = Unsynced::default();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    let before = store.disk.syncs().len();
    append(&mut opened, &[said(2, "x")], Keep::Written);
    assert_eq!(store.disk.syncs().len(), before);
    append(&mut opened, &[said(3, "x"), said(4, "x")], Keep::Synced);
    assert_eq!(store.disk.syncs()[before..], [std::path::PathBuf::from("/petasos/sessions/s/log.jsonl")]);
}

/// A power cut while a line is on its way to the disk, with each number of its bytes there.
#[test]
fn s01_a_line_torn_by_a_power_cut_costs_that_line_only() {
    let line = petasos_store::closed_line(&said(3, "torn")).unwrap();
    for bytes in 0..=line.len() {
        let store = Unsynced::default();
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        append(&mut opened, &[said(2, "synced")], Keep::Synced);
        append(&mut opened, &[said(3, "torn")], Keep::Written);
        store.power_cut_keeping(bytes);
        let mut wanted = vec![first("s"), open(1, 1, "a", Vec::new()), said(2, "synced")];
        // All of the line but its newline is the line.
        if bytes + 1 >= line.len() {
            wanted.push(said(3, "torn"));
        }
        let opened = store.open(&id("s"), &holder("b"), AT).unwrap();
        assert_eq!(opened.entries[..wanted.len()], wanted, "{bytes} bytes there");
        assert_eq!(opened.damage.len(), usize::from(bytes > 0 && bytes < line.len()), "{bytes} bytes there");
        store.power_cut();
        assert_eq!(read(&store), opened.entries, "{bytes} bytes there");
    }
}

/// The power goes at each write of an opening that repairs a torn log: what was torn is in the log still, or
/// in the file that it was set aside in, and the next opening names it.
#[test]
fn s02_an_opening_that_is_cut_short_loses_nothing_of_what_was_damaged() {
    for writes in 1..=3 {
        let store = Unsynced::default();
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        append(&mut opened, &[said(2, "torn")], Keep::Written);
        store.power_cut_keeping(40);
        store.fail_next(writes);
        let opened = store.open(&id("s"), &holder("b"), AT);
        assert_eq!(opened.is_err(), writes < 3, "write {writes}");
        drop(opened);
        store.power_cut();
        store.make_room();
        let opened = store.open(&id("s"), &holder("c"), AT).unwrap();
        let named: Vec<u64> = opened
            .entries
            .iter()
            .filter_map(|entry| match &entry.body {
                petasos_core::entry::Body::Open(open) => Some(&open.damage),
                _ => None,
            })
            .flatten()
            .map(|damage| damage.bytes)
            .collect();
        assert_eq!(named, [40], "write {writes}");
        drop(opened);
        let again = store.open(&id("s"), &holder("d"), AT).unwrap();
        assert_eq!(again.damage, [], "write {writes}");
    }
}

/// A sync that failed is not tried again: the next append is refused, and after opening again only what is on
/// the disk counts, also of what was written before.
#[test]
fn s02_a_failed_sync_ends_the_writer() {
    let store = Unsynced::default();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    append(&mut opened, &[said(2, "synced")], Keep::Synced);
    append(&mut opened, &[said(3, "written")], Keep::Written);
    store.fail_sync(1);
    let failed = opened.writer.append(Seq(4), &[said(4, "y")], Keep::Synced);
    assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
    let told = "session s takes no more entries after a failed append (/petasos/sessions/s/log.jsonl: the disk did not \
                take it); open it again";
    assert_eq!(error(opened.writer.append(Seq(4), &[said(4, "y")], Keep::Synced)), told);
    opened.writer.release();
    assert_eq!(error(opened.writer.reacquire()), told);
    drop(opened);
    let before = [first("s"), open(1, 1, "a", Vec::new()), said(2, "synced")];
    let from = lines(&before).concat().len();
    let lost = damage(from, lines(&[said(3, "written")]).concat().len(), "zeros where a line should be");
    let wanted = [&before[..], &[open(3, 2, "b", vec![lost.clone()])]].concat();
    let opened = store.open(&id("s"), &holder("b"), AT).unwrap();
    assert_eq!((&opened.entries, &opened.damage), (&wanted, &vec![lost]));
    store.power_cut();
    assert_eq!(store.read(&id("s")).unwrap(), Contents { entries: wanted, damage: Vec::new() });
}

/// Each sync of making a session fails once, as if the maker had ended there: if there is a session then, one
/// that opens it need not fear for what it adds.
#[test]
fn s01_what_a_maker_left_unsynced_is_synced_by_who_comes_next() {
    let mut made_anew = 0;
    for sync in 1.. {
        let store = Unsynced::default();
        store.fail_sync(sync);
        if store.create(start("s"), &holder("a"), AT).is_ok() {
            assert!(sync > 4, "making a session is {sync} syncs");
            break;
        }
        let mut opened = match store.open(&id("s"), &holder("b"), AT) {
            Ok(opened) => opened,
            Err(StoreError::NotFound { .. }) => {
                made_anew += 1;
                store.create(start("s"), &holder("b"), AT).unwrap()
            }
            Err(error) => panic!("{error}"),
        };
        let next = opened.writer.next();
        append(&mut opened, &[said(next.0, "on")], Keep::Synced);
        store.power_cut();
        assert_eq!(read(&store).last(), Some(&said(next.0, "on")), "sync {sync}");
    }
    assert!(made_anew > 0);
}

#[test]
fn s01_a_blob_is_kept_by_a_second_try() {
    for sync in 1..=3 {
        let store = Unsynced::default();
        let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
        store.fail_sync(sync);
        assert!(store.put_blob(&id("s"), b"whole").is_err(), "sync {sync}");
        let name = store.put_blob(&id("s"), b"whole").unwrap();
        store.power_cut();
        assert_eq!(store.read_blob(&id("s"), &name.hash, 0..9).unwrap(), b"whole", "sync {sync}");
    }
}
