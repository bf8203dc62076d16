//! What holds for every store.

use std::sync::{Arc, Barrier};

use petasos_core::entry::{Entry, Keep, Lifetime, Setting, SettingSource};
use petasos_core::id::Seq;
use petasos_core::text::Text;
use petasos_core::time::Time;
use petasos_core::tool::BlobName;
use petasos_store::{Contents, Durability, InMemoryStore, Listed, Store};
use petasos_testkit::unsynced::Unsynced;

use crate::say::{AT, Folder, append, entry, error, first, holder, id, open, said, start, told, unknown};

/// Checks a promise on every store there is.
#[track_caller]
fn every_store(check: impl Fn(&(dyn Store + 'static))) {
    println!("on a folder");
    check(&Folder::with(Durability::Power).store);
    println!("on a folder, durability process");
    check(&Folder::with(Durability::Process).store);
    println!("in memory");
    check(&InMemoryStore::new());
    println!("on a disk that drops what was not synced");
    check(&Unsynced::default());
}

fn contents(entries: Vec<Entry>) -> Contents {
    Contents { entries, damage: Vec::new() }
}

#[test]
fn a_new_session_has_its_first_line_and_is_open() {
    every_store(|store| {
        let opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let wanted = vec![first("s"), open(1, 1, "a", Vec::new())];
        assert_eq!(opened.entries, wanted);
        assert_eq!(opened.damage, []);
        assert_eq!((opened.writer.session().clone(), opened.writer.next()), (id("s"), Seq(2)));
        assert_eq!(store.read(&id("s")).unwrap(), contents(wanted));
    });
}

#[test]
fn what_was_appended_is_read_as_it_was() {
    every_store(|store| {
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let entries = [
            said(2, "\u{0}\u{1}\n\r\t\"\\ 你好 \u{1f600} \u{2028} \u{feff}"),
            said(3, &"x".repeat(100_000)),
            unknown(4, 1, "weather", r#"{"degrees": 1.50, "b":1e400,"a":12345678901234567890123}"#),
            unknown(5, 2, "said", r#"["of a newer version",{"v":1,"seq":0}]"#),
            said(6, ",\"sum\":\"0123456789abcdef\"}"),
        ];
        append(&mut opened, &entries[..2], Keep::Written);
        append(&mut opened, &entries[2..4], Keep::Synced);
        append(&mut opened, &entries[4..], Keep::Written);
        let mut wanted = opened.entries.clone();
        wanted.extend(entries);
        assert_eq!(store.read(&id("s")).unwrap(), contents(wanted.clone()));
        drop(opened);
        let opened = store.open(&id("s"), &holder("b"), AT).unwrap();
        wanted.push(open(7, 2, "b", Vec::new()));
        assert_eq!((&opened.entries, &opened.damage), (&wanted, &Vec::new()));
        assert_eq!(store.read(&id("s")).unwrap(), contents(wanted));
    });
}

#[test]
fn no_entries_are_a_way_to_sync_those_before() {
    every_store(|store| {
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        append(&mut opened, &[said(2, "x")], Keep::Written);
        assert_eq!(opened.writer.append(Seq(3), &[], Keep::Synced).unwrap(), Seq(2));
        assert_eq!(opened.writer.next(), Seq(3));
    });
}

#[test]
fn a_session_is_made_once() {
    every_store(|store| {
        let opened = store.create(start("s"), &holder("a"), AT).unwrap();
        drop(opened);
        let told = "session s exists already; open it, or take another id";
        assert_eq!(error(store.create(start("s"), &holder("a"), AT)), told);
        let layout = petasos_core::entry::SessionStart { format: 2, ..start("t") };
        let told = "session t takes no such entries: it has layout 2, this program knows 1";
        assert_eq!(error(store.create(layout, &holder("a"), AT)), told);
    });
}

#[test]
fn a_session_that_is_not_there_is_not_found() {
    every_store(|store| {
        let told = "no session s; the list of sessions shows those there are";
        assert_eq!(error(store.open(&id("s"), &holder("a"), AT)), told);
        assert_eq!(error(store.read(&id("s"))), told);
        assert_eq!(error(store.put_blob(&id("s"), b"x")), told);
        let listing = store.list().unwrap();
        assert_eq!((listing.sessions, listing.unreadable.len()), (Vec::new(), 0));
    });
}

#[test]
fn a_session_is_held_by_one_writer_and_the_others_are_told_by_whom() {
    every_store(|store| {
        let held =
            |by| format!("session s is held by {}; stop that, or wait until its turn is over", told(by));
        let opened = store.create(start("s"), &holder("a"), AT).unwrap();
        assert_eq!(error(store.open(&id("s"), &holder("b"), AT)), held("a"));
        drop(opened);
        let opened = store.open(&id("s"), &holder("b"), AT).unwrap();
        assert_eq!(error(store.open(&id("s"), &holder("c"), AT)), held("b"));
        // Reading needs no lock, and other sessions are free.
        assert_eq!(store.read(&id("s")).unwrap(), contents(opened.entries.clone()));
        store.create(start("t"), &holder("c"), AT).unwrap();
    });
}

#[test]
fn of_two_that_open_at_the_same_time_one_gets_the_session() {
    let folder = Folder::new();
    check_race(folder.store.clone(), folder.store.clone());
    let memory = InMemoryStore::new();
    check_race(memory.clone(), memory);
    let unsynced = Unsynced::default();
    check_race(unsynced.clone(), unsynced);
}

fn check_race(one: impl Store + 'static, other: impl Store + 'static) {
    drop(one.create(start("s"), &holder("a"), AT).unwrap());
    let barrier = Arc::new(Barrier::new(2));
    let racer = |store: Box<dyn Store>| {
        let barrier = Arc::clone(&barrier);
        move || {
            barrier.wait();
            let opened = store.open(&id("s"), &holder("b"), AT);
            // Both have tried before one lets go.
            barrier.wait();
            opened.map(|opened| opened.entries.len()).ok()
        }
    };
    let (one, other) = (racer(Box::new(one)), racer(Box::new(other)));
    let (one, other) = std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(one), scope.spawn(other));
        (one.join().unwrap(), other.join().unwrap())
    });
    let mut got = [one, other];
    got.sort();
    assert_eq!(got, [None, Some(3)]);
}

#[test]
fn opening_fences_the_writer_before() {
    every_store(|store| {
        let stale = "session s was changed by another holder; open it again and read what is new";
        let mut before = store.create(start("s"), &holder("a"), AT).unwrap();
        append(&mut before, &[said(2, "a")], Keep::Synced);
        before.writer.release();
        let mut after = store.open(&id("s"), &holder("b"), AT).unwrap();
        assert_eq!(after.entries.last().unwrap(), &open(3, 2, "b", Vec::new()));
        assert_eq!(error(before.writer.append(Seq(3), &[said(3, "late")], Keep::Synced)), stale);
        assert_eq!(
            error(before.writer.reacquire()),
            format!("session s is held by {}; stop that, or wait until its turn is over", told("b"))
        );
        append(&mut after, &[said(4, "b")], Keep::Written);
        after.writer.release();
        assert_eq!(error(before.writer.reacquire()), stale);
        assert_eq!(error(before.writer.append(Seq(3), &[said(3, "late")], Keep::Synced)), stale);
        let wanted = vec![
            first("s"),
            open(1, 1, "a", Vec::new()),
            said(2, "a"),
            open(3, 2, "b", Vec::new()),
            said(4, "b"),
        ];
        assert_eq!(store.read(&id("s")).unwrap(), contents(wanted));
    });
}

#[test]
fn a_released_session_is_taken_back_if_nobody_wrote_meanwhile() {
    every_store(|store| {
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        opened.writer.reacquire().unwrap();
        opened.writer.release();
        opened.writer.release();
        let told = "session s was released; acquire it again before appending";
        assert_eq!(error(opened.writer.append(Seq(2), &[said(2, "x")], Keep::Written)), told);
        opened.writer.reacquire().unwrap();
        append(&mut opened, &[said(2, "x")], Keep::Written);
        assert!(error(store.open(&id("s"), &holder("b"), AT)).contains("is held by"));
    });
}

#[test]
fn entries_that_do_not_go_on_where_the_log_ends_are_refused() {
    every_store(|store| {
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let mut check = |expected, entries: &[Entry], why: &str| {
            let told = format!("session s takes no such entries: {why}");
            assert_eq!(error(opened.writer.append(Seq(expected), entries, Keep::Synced)), told);
        };
        check(1, &[said(1, "x")], "the next entry is 2, not 1");
        check(3, &[said(3, "x")], "the next entry is 2, not 3");
        check(2, &[said(3, "x")], "entry 3 stands where 2 belongs");
        check(2, &[said(2, "x"), said(2, "y")], "entry 2 stands where 3 belongs");
        check(2, &[said(2, "x"), said(4, "y")], "entry 4 stands where 3 belongs");
        check(2, &[open(2, 9, "x", Vec::new())], "entry 2 is of kind open, which the store makes");
        let another = entry(2, start("s"));
        check(2, &[another], "entry 2 is of kind session, which the store makes");
        let two_lines = [said(2, "x"), unknown(3, 1, "weather", "{\n}")];
        check(2, &two_lines, "entry 3 holds a raw newline, so it makes no line");
        // Nothing of a refused append is kept, and the writer goes on.
        append(&mut opened, &[said(2, "z")], Keep::Synced);
        let wanted = vec![first("s"), open(1, 1, "a", Vec::new()), said(2, "z")];
        assert_eq!(store.read(&id("s")).unwrap(), contents(wanted));
    });
}

#[test]
fn a_list_shows_what_the_logs_say() {
    every_store(|store| {
        let title = |seq, value: Option<&str>| {
            entry(
                seq,
                Setting {
                    key: Text::from("title"),
                    value: value.map(Text::from),
                    by: SettingSource::Person,
                    lifetime: Lifetime::Session,
                },
            )
        };
        let mut opened = store.create(start("s2"), &holder("a"), AT).unwrap();
        let late = Entry { at: Time(AT.0 + 5), ..title(2, Some("One")) };
        append(&mut opened, &[late, title(3, Some("Two"))], Keep::Written);
        let mut opened = store.create(start("s1"), &holder("a"), AT).unwrap();
        let long = "北".repeat(300);
        append(&mut opened, &[title(2, Some("One")), title(3, None)], Keep::Written);
        append(&mut opened, &[said(4, &long), said(5, "more")], Keep::Written);
        let listing = store.list().unwrap();
        let s2 = Listed {
            start: start("s2"),
            title: Some("Two".into()),
            first: None,
            made: AT,
            last: Time(AT.0 + 5),
            entries: 4,
            damaged: 0,
            tokens: 0,
            micro_usd: Some(0),
        };
        let first = Some("北".repeat(200).into());
        let s1 = Listed { start: start("s1"), title: None, first, last: AT, entries: 6, ..s2.clone() };
        let wanted = [s1, s2];
        assert_eq!(listing.sessions, wanted);
        assert_eq!(listing.unreadable.len(), 0);
    });
}

#[test]
fn a_blob_is_kept_once_and_read_in_parts() {
    every_store(|store| {
        let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let name = store.put_blob(&id("s"), b"hello").unwrap();
        // sha256sum of "hello".
        let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".parse().unwrap();
        assert_eq!(name, BlobName { hash, bytes: 5 });
        assert_eq!(store.put_blob(&id("s"), b"hello").unwrap(), name);
        let read = |range| store.read_blob(&id("s"), &hash, range).unwrap();
        assert_eq!(read(0..u64::MAX), b"hello");
        assert_eq!(read(0..5), b"hello");
        assert_eq!(read(1..3), b"el");
        assert_eq!(read(4..9), b"o");
        assert_eq!(read(7..9), b"");
        assert_eq!(store.put_blob(&id("s"), b"").unwrap().bytes, 0);
        let _opened = store.create(start("t"), &holder("a"), AT).unwrap();
        let told = format!("session t has no blob {hash}");
        assert_eq!(error(store.read_blob(&id("t"), &hash, 0..1)), told);
        assert_eq!(
            error(store.read_blob(&id("none"), &hash, 0..1)),
            told.replacen("session t", "session none", 1)
        );
    });
}

#[test]
fn a_blob_in_pieces_is_the_same_as_in_one() {
    every_store(|store| {
        let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let mut blob = store.create_blob(&id("s")).unwrap();
        blob.write(b"hel").unwrap();
        blob.write(b"").unwrap();
        blob.write(b"lo").unwrap();
        let name = blob.finish().unwrap();
        assert_eq!(store.put_blob(&id("s"), b"hello").unwrap(), name);
        assert_eq!(store.read_blob(&id("s"), &name.hash, 0..9).unwrap(), b"hello");
        let told = "no session none; the list of sessions shows those there are";
        assert_eq!(error(store.create_blob(&id("none"))), told);
    });
}

#[test]
fn a_blob_that_is_not_finished_is_not_there() {
    every_store(|store| {
        let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let mut blob = store.create_blob(&id("s")).unwrap();
        blob.write(b"hello").unwrap();
        assert!(store.find_blob(&id("s"), "2cf24dba").is_err());
        drop(blob);
        assert!(store.find_blob(&id("s"), "2cf24dba").is_err());
    });
}

#[test]
fn a_blob_is_found_by_the_beginning_of_its_name() {
    every_store(|store| {
        let _opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let name = store.put_blob(&id("s"), b"hello").unwrap();
        store.put_blob(&id("s"), b"other").unwrap();
        let whole = name.hash.to_string();
        for digits in ["2cf24dba", "2CF24DBA5", &whole] {
            assert_eq!(store.find_blob(&id("s"), digits).unwrap(), name);
        }
        for digits in ["2cf24db", "2cf24dbb", "", "../../..", "2cf24dbä", &format!("{whole}0")] {
            let told = format!(
                "session s has not one blob {digits:?}; give its first 8 hexadecimal digits, or more of them"
            );
            assert_eq!(error(store.find_blob(&id("s"), digits)), told);
        }
        assert!(store.find_blob(&id("none"), "2cf24dba").is_err());
    });
}
