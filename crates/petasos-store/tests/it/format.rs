//! Row S07: what version 1 of the format wrote is read for ever, and the page says what is written.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use petasos_core::entry::{Body, Entry, Follows, Keep};
use petasos_store::{Store, closed_line};
use petasos_testkit::format_page::{FormatPage, Kind};

use crate::say::{AT, Folder, append, holder, lines, said};

/// A log of version 1 with every kind, every field and every value that version 1 had, an unknown kind and a
/// newer version. Lines are added to it, none is changed.
const SAMPLE: &str = include_str!("../samples/v1.jsonl");

/// First lines of version 1 of further sessions: where those come from.
const FIRST_LINES: &str = include_str!("../samples/v1_first_lines.jsonl");

fn page() -> FormatPage {
    FormatPage::parse(include_str!("../../../../docs/format/session.md"))
}

fn entries(lines: &str) -> Vec<Entry> {
    lines.lines().map(|line| Entry::read(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Every entry of version 1 that this program knows.
fn known() -> Vec<Entry> {
    let is_known = |entry: &Entry| !matches!(entry.body, Body::Unknown(_));
    entries(SAMPLE).into_iter().chain(entries(FIRST_LINES)).filter(is_known).collect()
}

/// A log is read whole, opened and gone on with, and what was in it stands.
#[track_caller]
fn check_loads(log: &str) {
    let wanted = entries(log);
    let Body::SessionStart(start) = &wanted[0].body else { panic!("no first line") };
    let folder = Folder::new();
    let session = folder.root.path().join("home/sessions").join(start.id.as_str());
    std::fs::create_dir_all(&session).unwrap();
    std::fs::write(session.join("log.jsonl"), log).unwrap();
    let read = folder.store.read(&start.id).unwrap();
    assert_eq!((&read.entries, &read.damage), (&wanted, &Vec::new()));
    let mut opened = folder.store.open(&start.id, &holder("b"), AT).unwrap();
    let next = opened.writer.next().0;
    append(&mut opened, &[said(next, "on")], Keep::Synced);
    let after = std::fs::read_to_string(session.join("log.jsonl")).unwrap();
    assert_eq!(after.lines().count(), wanted.len() + 2);
    assert!(after.starts_with(log));
}

#[test]
fn s07_a_log_of_version_1_loads_whole() {
    check_loads(SAMPLE);
    for first_line in FIRST_LINES.split_inclusive('\n') {
        check_loads(first_line);
    }
}

/// Also tells if what is written for an entry changes. `UPDATE_EXPECT=1` writes sums for lines that were added.
#[test]
fn s07_entries_of_version_1_are_written_again_byte_for_byte() {
    let again = |log: &str| entries(log).iter().map(|entry| closed_line(entry).unwrap()).collect::<String>();
    expect_file!["../samples/v1.jsonl"].assert_eq(&again(SAMPLE));
    expect_file!["../samples/v1_first_lines.jsonl"].assert_eq(&again(FIRST_LINES));
}

#[test]
fn s07_unknown_kinds_and_newer_versions_are_kept_as_they_stand() {
    let unknown: Vec<(String, u32, String)> = entries(SAMPLE)
        .into_iter()
        .filter_map(|entry| match entry.body {
            Body::Unknown(unknown) => {
                Some((unknown.kind.to_string(), unknown.v, unknown.body.as_str().to_owned()))
            }
            _ => None,
        })
        .collect();
    let wanted = [
        ("weather", 1, r#"{"degrees": 1.50,"wind":{"b":1,"a":12345678901234567890123},"t":"\u0041\/"}"#),
        ("said", 2, r#"["a newer said", 1e400]"#),
    ];
    assert_eq!(unknown, wanted.map(|(kind, v, body)| (kind.to_owned(), v, body.to_owned())));
}

#[test]
fn the_page_has_every_kind_with_its_keep_and_what_it_follows() {
    let mut seen: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    for entry in known() {
        let keep = match entry.body.keep() {
            Keep::Synced => "S",
            Keep::Written => "W",
        };
        let follows = match entry.body.follows() {
            Follows::Path => "P",
            Follows::Always => "A",
        };
        let row =
            seen.entry(entry.body.kind().to_owned()).or_insert_with(|| (keep.to_owned(), BTreeSet::new()));
        row.1.insert(follows.to_owned());
    }
    let row = |kind: Kind| (kind.keep, kind.follows.split(" or ").map(str::to_owned).collect());
    let told: BTreeMap<_, _> = page().kinds.into_iter().map(|(name, kind)| (name, row(kind))).collect();
    assert_eq!(told, seen);
    let kinds: BTreeSet<&str> = Body::KINDS.iter().copied().collect();
    assert_eq!(told.keys().map(String::as_str).collect::<BTreeSet<_>>(), kinds);
}

#[test]
fn the_page_has_every_field_and_value_that_is_written_and_no_other() {
    let page = page();
    let mut seen = BTreeSet::new();
    for entry in &known() {
        let line = String::from_utf8(lines(std::slice::from_ref(entry)).concat()).unwrap();
        seen.extend(page.walk(&line).unwrap_or_else(|complaint| panic!("{complaint}: {line}")));
    }
    let unseen: Vec<_> = page.names().difference(&seen).cloned().collect();
    assert_eq!(unseen, Vec::<String>::new(), "on the page, and in no line of the sample");
}

#[test]
fn a_line_that_is_not_on_the_page_is_complained_of() {
    let page = page();
    let check = |body: &str, wanted: Option<&str>| {
        let line = format!(r#"{{"v":1,"seq":2,"at":1,{body}}}"#);
        assert_eq!(page.complaint(&line).as_deref(), wanted);
    };
    let note = r#""kind":"note","body":{"source":"nudge","text":"x"}"#;
    check(note, None);
    check(&note.replace("note", "weather"), Some("kind weather is not on the page"));
    check(&note.replace("\"text\"", "\"words\""), Some("`note` has words, which is not on the page"));
    check(&note.replace(",\"text\":\"x\"", ""), Some("`note`.text is left out"));
    check(&note.replace("\"x\"", "1"), Some("`note`.text: 1 is no text"));
    check(&note.replace("nudge", "poke"), Some("NoteSource has the value poke, which is not on the page"));
    let closing = note.replace("\"nudge\"", r#"{"closing":"steps"}"#);
    check(&closing, None);
    check(
        &note.replace("nudge", "closing"),
        Some("NoteSource.closing comes with something else than the page says"),
    );
}
