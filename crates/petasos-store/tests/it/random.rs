//! Random entries, random damage: what is read is what was written, or less, and never anything else.

use petasos_core::entry::{Entry, Keep};
use petasos_store::{Contents, Durability, Store};
use petasos_testkit::unsynced::Unsynced;
use proptest::prelude::*;

use crate::say::{AT, Folder, append, first, holder, id, lines, open, said, start, unknown};

fn an_entry() -> impl Strategy<Value = Entry> {
    // Not newlines alone: `\PC` leaves control characters out, and logs do not.
    let text = proptest::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter);
    let number = (any::<i64>(), 1_u32..4, "[a-z]{1,8}_").prop_map(|(number, v, kind)| {
        unknown(0, v, &kind, &format!(r#"{{"n": {number}, "v":[1.50, null]}}"#))
    });
    prop_oneof![3 => text.prop_map(|text| said(0, &text)), 1 => number]
}

/// Entries 2, 3, … of a session.
fn some_entries() -> impl Strategy<Value = Vec<Entry>> {
    proptest::collection::vec(an_entry(), 1..12).prop_map(|mut entries| {
        for (entry, seq) in entries.iter_mut().zip(2..) {
            entry.seq = petasos_core::id::Seq(seq);
        }
        entries
    })
}

fn whole(entries: &[Entry]) -> Vec<Entry> {
    [&[first("s"), open(1, 1, "a", Vec::new())], entries].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_appended_is_read(entries in some_entries(), split in 0_usize..12) {
        let folder = Folder::new();
        let mut opened = folder.store.create(start("s"), &holder("a"), AT).unwrap();
        let (one, other) = entries.split_at(split.min(entries.len() - 1));
        if !one.is_empty() {
            append(&mut opened, one, Keep::Written);
        }
        append(&mut opened, other, Keep::Synced);
        prop_assert_eq!(folder.read(), Contents { entries: whole(&entries), damage: vec![] });
        prop_assert_eq!(folder.log_bytes(), lines(&whole(&entries)).concat());
    }

    #[test]
    fn s02_a_log_cut_anywhere_is_a_beginning_of_what_was_written(entries in some_entries(), cut in any::<prop::sample::Index>()) {
        let all = whole(&entries);
        let log = lines(&all).concat();
        let folder = Folder::holding(&log[..cut.index(log.len() + 1)]);
        if let Ok(read) = folder.store.read(&id("s")) {
            prop_assert_eq!(&read.entries[..], &all[..read.entries.len()]);
            let opened = folder.open("b");
            prop_assert_eq!(&opened.entries[..read.entries.len()], &read.entries[..]);
        }
    }

    #[test]
    fn s02_random_damage_never_makes_an_entry(
        entries in some_entries(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1_usize..40), 1..6),
    ) {
        let all = whole(&entries);
        let mut log = lines(&all).concat();
        for (at, byte, length) in hits {
            let from = at.index(log.len());
            let to = (from + length).min(log.len());
            // Bytes overwritten, taken out or put in.
            match length % 3 {
                0 => log[from..to].fill(byte),
                1 => drop(log.drain(from..to)),
                _ => log.insert(from, byte),
            }
            if log.is_empty() {
                log.push(byte);
            }
        }
        let folder = Folder::holding(&log);
        if let Ok(read) = folder.store.read(&id("s")) {
            prop_assert!(read.entries.iter().all(|entry| all.contains(entry)), "{:?}", read.entries);
            prop_assert!(read.entries.is_sorted_by(|one, other| one.seq < other.seq));
            let mut opened = folder.open("b");
            let next = opened.writer.next().0;
            append(&mut opened, &[said(next, "on")], Keep::Written);
            let after = folder.read();
            prop_assert_eq!(&after.entries[..read.entries.len()], &read.entries[..]);
            prop_assert_eq!(after.entries.last(), Some(&said(next, "on")));
        }
    }

    #[test]
    fn s01_a_power_cut_keeps_what_was_synced_and_a_beginning_of_the_rest(
        entries in some_entries(),
        keeps in proptest::collection::vec(any::<bool>(), 12),
        kept in 0_usize..400,
    ) {
        let store = Unsynced::new(Durability::Power);
        let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
        let mut synced = 2;
        for (entry, keep) in entries.iter().zip(keeps) {
            let keep = if keep { Keep::Synced } else { Keep::Written };
            append(&mut opened, std::slice::from_ref(entry), keep);
            if keep == Keep::Synced {
                synced = entry.seq.0 as usize + 1;
            }
        }
        store.power_cut_keeping(kept);
        let all = whole(&entries);
        let read = store.read(&id("s")).unwrap().entries;
        prop_assert!(read.len() >= synced);
        prop_assert_eq!(&read[..], &all[..read.len()]);
    }
}
