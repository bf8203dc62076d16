//! Rows S02: whatever happens to the bytes of a log is found and said, costs as little as it can, and is never
//! taken for something else.

use petasos_core::entry::{Damage, Entry, Keep};
use petasos_core::id::Seq;
use petasos_store::{Contents, Durability, FolderStore, Store};

use crate::say::{
    AT, Folder, append, damage, error, first, holder, id, lines, open, said, unknown, with_sum,
};

const BAD_SUM: &str = "no line with a right sum";

fn entries() -> Vec<Entry> {
    vec![
        first("s"),
        open(1, 1, "a", Vec::new()),
        said(2, "你好"),
        unknown(3, 2, "weather", r#"{"v":1,"degrees":1.50}"#),
        said(4, "four"),
        said(5, "last"),
    ]
}

/// Where each line begins, and where the log ends.
fn places(lines: &[Vec<u8>]) -> Vec<usize> {
    let mut places = vec![0];
    places.extend(lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    places
}

/// Entries without those at some places.
fn without(lost: &[usize]) -> Vec<Entry> {
    entries()
        .into_iter()
        .enumerate()
        .filter(|(place, _)| !lost.contains(place))
        .map(|(_, entry)| entry)
        .collect()
}

/// What opening a log must do, beyond what reading it gives.
struct Opens<'a> {
    /// What is read of it.
    reads: Contents,
    /// What is set aside.
    aside: &'a [u8],
    /// The seq of the entry that comes next.
    next: u64,
}

/// Reads a damaged log, opens it and goes on with it: the rest is there, each damage is named in one `open`
/// entry, and its bytes are set aside.
#[track_caller]
fn check(log: &[u8], wanted: &Opens<'_>) {
    let Opens { reads: Contents { entries, damage }, aside, next } = wanted;
    let folder = Folder::holding(log);
    assert_eq!(folder.read(), wanted.reads);
    assert_eq!(folder.log_bytes(), log, "reading changes nothing");
    let epoch = entries.iter().filter(|entry| entry.body.kind() == "open").count() as u64 + 1;
    let mut opened = folder.open("b");
    let opens = open(*next, epoch, "b", damage.clone());
    let after = [&entries[..], &[opens]].concat();
    assert_eq!((&opened.entries, &opened.damage), (&after, damage));
    append(&mut opened, &[said(next + 1, "on")], Keep::Synced);
    let after = [&after[..], &[said(next + 1, "on")]].concat();
    let set_aside = folder.set_aside();
    let file = (format!("damaged-{epoch}.bin"), aside.to_vec());
    assert_eq!(set_aside, if aside.is_empty() { vec![] } else { vec![file] });
    drop(opened);
    // The damage that stays in the log is told again, and named and set aside no more.
    let again = folder.open("c");
    let opens = open(next + 2, epoch + 1, "c", Vec::new());
    assert_eq!(again.entries, [&after[..], &[opens]].concat());
    assert!(again.damage.iter().all(|one| damage.contains(one)), "{:?}", again.damage);
    assert_eq!(folder.set_aside(), set_aside);
}

/// A log that is not one of this session: it is not given out, not opened, and not changed.
#[track_caller]
fn check_unusable(log: &[u8], why: &str) {
    let folder = Folder::holding(log);
    let told = format!("session s cannot be used: {why}; its log is left as it is");
    assert_eq!(error(folder.store.read(&id("s"))), told);
    assert_eq!(error(folder.store.open(&id("s"), &holder("b"), AT)), told);
    let listing = folder.store.list().unwrap();
    assert_eq!(listing.sessions, []);
    let unreadable: Vec<_> =
        listing.unreadable.iter().map(|(id, error)| (id.as_str(), error.to_string())).collect();
    assert_eq!(unreadable, [("s", told)]);
    assert_eq!(folder.log_bytes(), log);
    assert_eq!(folder.set_aside(), []);
}

#[test]
fn s02_a_log_cut_at_any_byte_keeps_its_whole_lines() {
    let lines = lines(&entries());
    let places = places(&lines);
    let log = lines.concat();
    for cut in places[1]..log.len() {
        let bytes = &log[..cut];
        let whole = places.iter().filter(|place| **place <= cut).count() - 1;
        let torn = cut - places[whole];
        // All but the newline: nothing is lost.
        let complete = torn + 1 == lines[whole].len();
        let read = whole + usize::from(complete);
        let damage = match torn {
            0 => vec![],
            _ if complete => vec![damage(cut, 0, "the last whole line has no newline; it is put back")],
            _ => vec![damage(places[whole], torn, "a torn line at the end")],
        };
        let aside = if complete { &[] } else { &bytes[places[whole]..] };
        let reads = Contents { entries: entries()[..read].to_vec(), damage };
        check(bytes, &Opens { reads, aside, next: read as u64 });
    }
}

#[test]
fn s02_a_log_cut_inside_its_first_line_is_no_session() {
    let lines = lines(&entries());
    check_unusable(&[], "its log is empty");
    for cut in 1..lines[0].len() - 1 {
        check_unusable(&lines[0][..cut], "its first line is damaged: a torn line at the end");
    }
}

/// Each byte of the log, once with its lowest bit and once with all bits flipped: each field of a line, its sum
/// and its newline among them.
#[test]
fn s02_a_flipped_byte_costs_its_line_only() {
    let lines = lines(&entries());
    let places = places(&lines);
    let log = lines.concat();
    for (at, mask) in (0..log.len()).flat_map(|at| [(at, 0x01), (at, 0xff)]) {
        let mut bytes = log.clone();
        bytes[at] ^= mask;
        let line = places.iter().filter(|place| **place <= at).count() - 1;
        let (begins, ends) = (places[line], places[line + 1]);
        let is_last = line + 1 == lines.len();
        if at + 1 == ends {
            // The newline. The last line keeps what is left of it; between lines only that byte is damaged.
            let why = if is_last { "a torn line at the end" } else { BAD_SUM };
            let mut found = vec![damage(at, 1, why)];
            if is_last {
                found.insert(0, damage(at, 0, "the last whole line has no newline; it is put back"));
            }
            let reads = Contents { entries: entries(), damage: found };
            check_flipped(&bytes, &Opens { reads, aside: &bytes[at..ends], next: 6 }, at);
        } else if line == 0 {
            check_unusable(&bytes, &format!("its first line is damaged: {BAD_SUM}"));
        } else {
            let why =
                if is_last { BAD_SUM.to_owned() } else { format!("{BAD_SUM}; entry {line} is missing") };
            let mut found = vec![damage(begins, ends - begins, &why)];
            // The byte became a newline, so the last line is a line and a rest: the same bytes.
            found.truncate(1);
            let next = if is_last { 5 } else { 6 };
            let reads = Contents { entries: without(&[line]), damage: found };
            check_flipped(&bytes, &Opens { reads, aside: &bytes[begins..ends], next }, at);
        }
    }
}

/// As [`check`]; the epoch of a lost `open` entry is used again.
#[track_caller]
fn check_flipped(log: &[u8], wanted: &Opens<'_>, at: usize) {
    println!("byte {at}");
    check(log, wanted);
}

#[test]
fn s02_zeros_at_the_end_are_cut_off() {
    let lines = lines(&entries());
    let log = lines.concat();
    let zeros = vec![0; 5000];
    let reads = Contents {
        entries: entries(),
        damage: vec![damage(log.len(), 5000, "zeros where a line should be")],
    };
    check(&[&log[..], &zeros].concat(), &Opens { reads, aside: &zeros, next: 6 });
}

/// A system that has the new length of a file on the disk and not its bytes.
#[test]
fn s02_a_tail_that_became_zeros_is_cut_off() {
    let lines = lines(&entries());
    let places = places(&lines);
    let log = lines.concat();
    for zeros in 2..lines[5].len() + lines[4].len() {
        let mut bytes = log.clone();
        let from = log.len() - zeros;
        bytes[from..].fill(0);
        let line = places.iter().filter(|place| **place <= from).count() - 1;
        let why =
            if from == places[line] { "zeros where a line should be" } else { "a torn line at the end" };
        let mut found = vec![damage(places[line], log.len() - places[line], why)];
        let mut read = line;
        let mut aside = &bytes[places[line]..];
        if from + 1 == places[line + 1] {
            // Line 4 lost its newline only.
            read += 1;
            found = vec![
                damage(from, 0, "the last whole line has no newline; it is put back"),
                damage(from, zeros, "zeros where a line should be"),
            ];
            aside = &bytes[from..];
        }
        let reads = Contents { entries: entries()[..read].to_vec(), damage: found };
        check(&bytes, &Opens { reads, aside, next: read as u64 });
    }
}

#[test]
fn s02_zeros_between_lines_stay_and_are_named_once() {
    let lines = lines(&entries());
    let places = places(&lines);
    let mut bytes = lines.concat();
    bytes[places[2]..places[4]].fill(0);
    // Up to line 4 there is no newline: the zeros and that line stand in one segment.
    let why = "zeros where a line should be; entries 2 to 3 are missing";
    let reads =
        Contents { entries: without(&[2, 3]), damage: vec![damage(places[2], places[4] - places[2], why)] };
    check(&bytes, &Opens { reads, aside: &vec![0; places[4] - places[2]], next: 6 });
}

#[test]
fn s02_a_doubled_line_counts_once() {
    let lines = lines(&entries());
    let places = places(&lines);
    for line in 0..lines.len() {
        let log = [lines[..=line].concat(), lines[line..].concat()].concat();
        let why = format!("entry {line} stands here again; the first one counts");
        let found = vec![damage(places[line + 1], lines[line].len(), &why)];
        check(&log, &Opens { reads: Contents { entries: entries(), damage: found }, aside: &[], next: 6 });
    }
}

#[test]
fn s02_of_two_entries_with_one_seq_the_first_counts() {
    let mut two = entries();
    two.insert(4, said(3, "another"));
    let lines = lines(&two);
    let found = vec![damage(places(&lines)[4], lines[4].len(), "another entry 3; the first one counts")];
    check(
        &lines.concat(),
        &Opens { reads: Contents { entries: entries(), damage: found }, aside: &[], next: 6 },
    );
}

#[test]
fn s02_a_line_out_of_order_is_read_in_its_place() {
    let mut mixed = entries();
    mixed.swap(3, 4);
    let lines = lines(&mixed);
    let found = vec![damage(places(&lines)[4], 0, "entry 3 stands after entry 4; it is read in its place")];
    check(
        &lines.concat(),
        &Opens { reads: Contents { entries: entries(), damage: found }, aside: &[], next: 6 },
    );
}

#[test]
fn s02_missing_lines_are_said() {
    let left = without(&[2, 4]);
    let lines = lines(&left);
    let places = places(&lines);
    let found = vec![damage(places[2], 0, "entry 2 is missing"), damage(places[3], 0, "entry 4 is missing")];
    check(&lines.concat(), &Opens { reads: Contents { entries: left, damage: found }, aside: &[], next: 6 });
    let left = without(&[2, 3, 4]);
    let lines = crate::say::lines(&left);
    let found = vec![damage(self::places(&lines)[2], 0, "entries 2 to 4 are missing")];
    check(&lines.concat(), &Opens { reads: Contents { entries: left, damage: found }, aside: &[], next: 6 });
}

/// A log that was glued to this one: its lines have right sums, and seqs that go on.
#[test]
fn s02_another_sessions_lines_are_never_read_as_ours() {
    let ours = lines(&entries()).concat();
    let other = vec![
        first("t"),
        open(1, 1, "t", Vec::new()),
        said(2, "t"),
        said(3, "t"),
        said(4, "t"),
        said(5, "t"),
        said(6, "secret"),
    ];
    let theirs = lines(&other).concat();
    let why = "the first line of another log, and what follows it";
    let reads = Contents { entries: entries(), damage: vec![damage(ours.len(), theirs.len(), why)] };
    check(&[&ours[..], &theirs].concat(), &Opens { reads, aside: &theirs, next: 6 });
    let first_line = lines(&[crate::say::entry(6, crate::say::start("t"))]).concat();
    let reads = Contents { entries: entries(), damage: vec![damage(ours.len(), first_line.len(), why)] };
    check(&[&ours[..], &first_line].concat(), &Opens { reads, aside: &first_line, next: 6 });
    check_unusable(&theirs, "its first line is that of session t");
    check_unusable(&lines(&entries()[1..]).concat(), "its first line is entry 1");
    check_unusable(&lines(&[said(0, "x")]).concat(), "its first line is a said");
    let newer = unknown(0, 2, "session", r#"{"id":"s"}"#);
    check_unusable(
        &lines(&[newer]).concat(),
        "its first line is a session of version 2, which this program does not know",
    );
    let petasos_core::entry::Body::SessionStart(start) = first("s").body else { panic!("a first line") };
    let newer = petasos_core::entry::SessionStart { format: 2, ..start };
    check_unusable(&lines(&[crate::say::entry(0, newer)]).concat(), "it has layout 2, this program knows 1");
}

/// A body may hold what looks like a line. When the line around it is damaged, what is inside is no entry.
#[test]
fn s02_a_line_inside_a_damaged_line_is_not_read() {
    let inner = String::from_utf8(lines(&[said(3, "never said")]).concat()).unwrap();
    let mut log = entries();
    log[3] = unknown(3, 2, "weather", &format!("[{}, 1]", inner.trim_end()));
    let lines = lines(&log);
    let places = places(&lines);
    for at in places[3]..places[4] - 1 {
        let mut bytes = lines.concat();
        bytes[at] ^= 0x01;
        let reads = Folder::holding(&bytes).read();
        assert_eq!(reads.entries, without(&[3]), "byte {at}");
    }
    for cut in places[3] + 1..places[4] - 1 {
        let reads = Folder::holding(&lines.concat()[..cut]).read();
        assert_eq!(reads.entries, entries()[..3], "cut at {cut}");
    }
}

/// What was cut off is gone from the log, so damage that comes to the same place later is news.
#[test]
fn s02_damage_where_damage_was_cut_off_is_named_again() {
    let log = lines(&entries()).concat();
    let folder = Folder::holding(&[&log[..], &[0; 5000]].concat());
    let mut opened = folder.open("b");
    let from = folder.log_bytes().len();
    append(&mut opened, &[said(7, "seven"), said(8, "eight")], Keep::Synced);
    drop(opened);
    let mut bytes = folder.log_bytes();
    bytes[from] ^= 0x01;
    std::fs::write(folder.log(), &bytes).unwrap();
    let length = lines(&[said(7, "seven")]).concat().len();
    let found = vec![damage(from, length, "no line with a right sum; entry 7 is missing")];
    let opened = folder.open("c");
    assert_eq!(opened.entries.last(), Some(&open(9, 3, "c", found)));
    let aside = |epoch: u64, bytes: &[u8]| (format!("damaged-{epoch}.bin"), bytes.to_vec());
    assert_eq!(folder.set_aside(), [aside(2, &[0; 5000]), aside(3, &bytes[from..from + length])]);
}

/// A newer program of the same version may write a field in a way that this one cannot read. Such a line is
/// whole: it is told, and never cut off, also at the end.
#[test]
fn s02_a_whole_line_that_cannot_be_read_stays() {
    let text = r#"{"v":1,"seq":6,"at":1,"kind":"said","body":{"from":"alien"}"#;
    let line = with_sum(text);
    let log = lines(&entries()).concat();
    let folder = Folder::holding(&[&log[..], &line].concat());
    let why = "entry 6, a whole said, cannot be read by this program: unknown variant `alien`, expected one of \
               `person`, `job`, `parent`, `program` at line 1 column 15";
    let found: Vec<Damage> = vec![damage(log.len(), line.len(), why)];
    assert_eq!(folder.read(), Contents { entries: entries(), damage: found.clone() });
    let opened = folder.open("b");
    assert_eq!(opened.entries.last(), Some(&open(7, 2, "b", found.clone())));
    assert_eq!((opened.writer.next(), &opened.damage), (Seq(8), &found));
    assert_eq!(folder.log_bytes()[..log.len() + line.len()], [&log[..], &line].concat());
    assert_eq!(folder.set_aside(), []);
    drop(opened);
    assert_eq!(folder.open("c").entries.last(), Some(&open(8, 3, "c", Vec::new())));
}

#[test]
fn s02_many_damaged_places_are_named_in_one_short_line() {
    let mut all = entries();
    all.extend((6..406).map(|seq| said(seq, "x")));
    let mut lines = lines(&all);
    for line in lines.iter_mut().skip(6).step_by(2) {
        line[20] ^= 0x01;
    }
    let log = lines.concat();
    let folder = Folder::holding(&log);
    let opened = folder.open("b");
    assert_eq!(opened.damage.len(), 200);
    let petasos_core::entry::Body::Open(open) = &opened.entries.last().unwrap().body else {
        panic!("an open")
    };
    assert_eq!(open.damage.len(), 64);
    assert_eq!(&*open.damage[63].why, "137 more places from here on");
    drop(opened);
    let again = folder.open("c");
    assert_eq!(again.damage.len(), 200);
    assert_eq!(again.entries.last(), Some(&crate::say::open(407, 3, "c", Vec::new())));
    assert_eq!(folder.set_aside().len(), 1);
}

#[test]
fn s02_any_bytes_are_read_without_a_panic_and_in_bounded_time() {
    let line = lines(&[said(2, "x")]).concat();
    let start = lines(&entries()).concat();
    for bytes in [
        vec![0xff; 100_000],
        vec![b'\n'; 100_000],
        b"{\"v\":".repeat(50_000),
        b",\"sum\":\"0123456789abcdef\"}".repeat(20_000),
        line[..line.len() - 1].repeat(2_000),
    ] {
        let folder = Folder::holding(&[&start[..], &bytes].concat());
        let opened = folder.open("b");
        assert_eq!(opened.entries[..6], entries());
    }
}

/// A line of every kind and variant: each name of a field and the first byte of each value, at any depth.
#[test]
fn s02_a_flipped_byte_in_any_field_of_any_kind_is_found() {
    let sample = include_bytes!("../samples/v1.jsonl");
    let lines: Vec<&[u8]> = sample.split_inclusive(|byte| *byte == b'\n').collect();
    let root = tempfile::tempdir().unwrap();
    let store = FolderStore::new(root.path(), Durability::Process);
    let id: petasos_core::id::SessionId = "01jdpz3k7m8q".parse().unwrap();
    let folder = root.path().join("sessions").join(id.as_str());
    std::fs::create_dir_all(&folder).unwrap();
    let begins = lines[..2].concat();
    let read = |log: &[u8]| {
        std::fs::write(folder.join("log.jsonl"), log).unwrap();
        store.read(&id).unwrap()
    };
    let wanted = read(&begins).entries;
    let (mut kinds, mut flips) = (std::collections::BTreeSet::new(), 0);
    for line in &lines[2..] {
        let log = [&begins[..], line].concat();
        let whole = read(&log);
        assert_eq!(whole.entries.len(), 3, "{}", String::from_utf8_lossy(line));
        kinds.insert(whole.entries[2].body.kind().to_owned());
        let begins_one = |at: &usize| b"\":".contains(&line[at - 1]) && !b",:}]".contains(&line[*at]);
        for at in (1..line.len() - 1).filter(begins_one) {
            let mut flipped = log.clone();
            flipped[begins.len() + at] ^= 0x01;
            let found = read(&flipped);
            assert_eq!(found.entries, wanted, "byte {at} of {}", String::from_utf8_lossy(line));
            assert!(!found.damage.is_empty());
            flips += 1;
        }
    }
    println!("{flips} flips in {} lines of {kinds:?}", lines.len() - 2);
    // All but `session` and `open`, which each of these logs begins with.
    assert_eq!(kinds.len(), 17, "{kinds:?}");
}
