//! Row S03: a session in one file, and back; a file is believed in nothing.

use std::io::BufReader;

use petasos_core::bounded::{Bounded, Cap};
use petasos_core::entry::{
    Body, Content, Entry, Keep, Origin, Said, SessionStart, Speaker, ToolResult, When,
};
use petasos_core::id::{CallId, Seq};
use petasos_core::text::Text;
use petasos_core::time::Span;
use petasos_core::tool::{BlobName, Outcome};
use petasos_store::{
    Durability, ExportEnd, ExportReader, Exported, Importing, InMemoryStore, Store, StoreError, export,
    import, read_export,
};
use petasos_testkit::unsynced::Unsynced;

use crate::say::{AT, Folder, append, entry, error, holder, id, lines, open, said, start, unknown, with_sum};

fn result(seq: u64, blob: &BlobName) -> Entry {
    let text = Bounded::new("see the blob", Cap::RESULT, "");
    entry(
        seq,
        ToolResult {
            call: CallId { reply: Seq(1), place: 0 },
            outcome: Outcome::Ok,
            text,
            bytes: blob.bytes,
            blob: Some(blob.clone()),
            facts: Vec::new(),
            took: Span(1),
        },
    )
}

fn pasted(seq: u64, blob: &BlobName) -> Entry {
    let content = vec![Content::Blob { hash: blob.hash, bytes: blob.bytes, media: Text::from("text/plain") }];
    let (notes, when) = (Vec::new(), When::Now);
    entry(seq, Said { from: Speaker::Person, content, notes, when, withdraws: None })
}

/// A session `s` with two blobs, the first of several pieces, and the lines of its log.
fn with_blobs(store: &dyn Store) -> Vec<Entry> {
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    let big: Vec<u8> = (0..500_000_u32).map(|n| (n % 251) as u8).collect();
    let big = store.put_blob(&id("s"), &big).unwrap();
    let empty = store.put_blob(&id("s"), b"").unwrap();
    store.put_blob(&id("s"), b"named by nobody").unwrap();
    append(&mut opened, &[said(2, "first"), result(3, &big), pasted(4, &empty)], Keep::Synced);
    store.read(&id("s")).unwrap().entries
}

fn exported(store: &dyn Store) -> (Vec<u8>, ExportEnd) {
    let mut file = Vec::new();
    let end = export(store, &id("s"), &mut file).unwrap();
    (file, end)
}

fn importing(session: &str) -> Importing {
    Importing { id: id(session), workspace: Text::from("/srv/b"), holder: holder("b"), at: AT }
}

fn imported_start(session: &str, last: u64) -> SessionStart {
    let origin = Origin::Import { from: Text::from("s"), seq: Some(Seq(last)) };
    SessionStart { id: id(session), workspace: Text::from("/srv/b"), origin, ..start("s") }
}

#[track_caller]
fn every_store(check: impl Fn(&(dyn Store + 'static))) {
    check(&Folder::with(Durability::Process).store);
    check(&InMemoryStore::new());
    check(&Unsynced::default());
}

#[test]
fn s03_what_is_exported_is_imported_byte_for_byte_under_a_new_id() {
    every_store(|store| {
        let theirs = with_blobs(store);
        let (file, end) = exported(store);
        assert_eq!(end, ExportEnd { entries: 5, blobs: 2, ..ExportEnd::default() });
        let log = lines(&theirs).concat();
        assert_eq!(&file[..log.len()], log, "the lines stand as they are");

        let (opened, told) = import(&*file, store, importing("t")).unwrap();
        assert_eq!(told, end);
        let mut wanted = vec![entry(0, imported_start("t", 4))];
        wanted.extend(theirs[1..].iter().cloned());
        wanted.push(open(5, 2, "b", Vec::new()));
        assert_eq!((&opened.entries, opened.writer.next()), (&wanted, Seq(6)));
        assert_eq!(store.read(&id("t")).unwrap().entries, wanted);
        assert_eq!(store.read(&id("t")).unwrap().damage, []);
        let named = |entry: &Entry| match &entry.body {
            Body::ToolResult(result) => result.blob.clone(),
            _ => None,
        };
        let blob = wanted.iter().find_map(named).unwrap();
        let bytes = |session: &str| store.read_blob(&id(session), &blob.hash, 0..u64::MAX).unwrap();
        assert_eq!((bytes("t"), bytes("t").len()), (bytes("s"), 500_000));
        assert_eq!(store.blobs(&id("t")).unwrap().len(), 2, "what no line names stays behind");
        // It goes on like any other.
        drop(opened);
        let mut opened = store.open(&id("t"), &holder("c"), AT).unwrap();
        append(&mut opened, &[said(7, "on")], Keep::Synced);
    });
}

#[test]
fn s03_a_file_is_read_without_a_home_folder() {
    let store = InMemoryStore::new();
    let theirs = with_blobs(&store);
    let (file, end) = exported(&store);
    // Read through a buffer smaller than a line.
    let read = read_export(BufReader::with_capacity(7, &*file)).unwrap();
    assert_eq!((read.start, read.entries, read.end), (start("s"), theirs, end));

    let mut reader = ExportReader::new(&*file);
    let mut pieces = Vec::new();
    loop {
        match reader.next_part().unwrap() {
            Exported::Line(_) => {}
            Exported::Piece { bytes, is_last, .. } => pieces.push((bytes.len(), is_last)),
            Exported::End(_) => break,
        }
    }
    pieces.sort();
    assert_eq!(pieces, [(0, true), (106_784, true), (196_608, false), (196_608, false)]);
}

#[test]
fn s03_lines_that_this_program_does_not_know_come_along_and_so_do_all_blobs_then() {
    let store = InMemoryStore::new();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    store.put_blob(&id("s"), b"named by a line of a newer program").unwrap();
    append(&mut opened, &[unknown(2, 2, "said", r#"{"b":1.50, "a":[1e400]}"#)], Keep::Synced);
    let (file, end) = exported(&store);
    assert_eq!((end.entries, end.blobs), (3, 1));
    import(&*file, &store, importing("t")).unwrap();
    let bytes = |session: &str| {
        let lines = store.lines(&id(session)).unwrap();
        lines.iter().map(|(_, line)| line.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(bytes("t")[1..3], bytes("s")[1..3]);
    assert_eq!(store.blobs(&id("t")).unwrap(), store.blobs(&id("s")).unwrap());
}

/// A line of a kind that is known, with what only a newer program knows in it.
#[test]
fn s03_a_whole_line_that_cannot_be_read_comes_along() {
    let alien = with_sum(r#"{"v":1,"seq":2,"at":1,"kind":"said","body":{"from":"alien"}"#);
    let folder = Folder::holding(&[&lines(&[entry(0, start("s"))]).concat()[..], &alien].concat());
    folder.open("a");
    let (file, end) = exported(&folder.store);
    let (opened, told) = import(&*file, &folder.store, importing("t")).unwrap();
    assert_eq!(
        (told, opened.entries.iter().map(|entry| entry.seq.0).collect::<Vec<_>>()),
        (end, vec![0, 3, 4])
    );
    let log = std::fs::read(folder.session().with_file_name("t").join("log.jsonl")).unwrap();
    assert!(log.windows(alien.len()).any(|line| line == alien));
}

/// An `open` names damage by places in its own log. They are not those of the copy: what is damaged there later is told
/// and set aside.
#[test]
fn s03_damage_that_another_log_names_hides_none_of_the_copy() {
    let folder = Folder::new();
    with_blobs(&folder.store);
    let torn = vec![b'x'; 100_000];
    std::fs::write(folder.log(), [folder.log_bytes(), torn].concat()).unwrap();
    let opened = folder.open("b");
    assert_eq!(opened.damage.len(), 1);
    drop(opened);
    let (file, _) = exported(&folder.store);
    drop(import(&*file, &folder.store, importing("t")).unwrap());
    let copy = folder.session().with_file_name("t");
    let log = std::fs::read(copy.join("log.jsonl")).unwrap();
    std::fs::write(copy.join("log.jsonl"), [&log[..], b"torn"].concat()).unwrap();
    let opened = folder.store.open(&id("t"), &holder("c"), AT).unwrap();
    let Body::Open(open) = &opened.entries.last().unwrap().body else { panic!("{:?}", opened.entries) };
    assert_eq!(open.damage.len(), 1, "{open:?}");
    let aside: Vec<_> = std::fs::read_dir(&copy).unwrap().map(|name| name.unwrap().file_name()).collect();
    assert!(aside.iter().any(|name| name.to_string_lossy().starts_with("damaged-")), "{aside:?}");
}

#[test]
fn s03_of_a_damaged_session_the_rest_is_exported_and_the_hole_is_named() {
    let folder = Folder::new();
    with_blobs(&folder.store);
    let big = folder.store.blobs(&id("s")).unwrap().into_iter().max_by_key(|blob| blob.bytes).unwrap();
    std::fs::write(folder.session().join("blobs").join(big.hash.to_string()), b"other bytes").unwrap();
    let log = String::from_utf8(folder.log_bytes()).unwrap();
    std::fs::write(folder.log(), log.replace("first", "frist")).unwrap();

    let (file, end) = exported(&folder.store);
    let told: Vec<_> = end.damage.iter().map(|damage| damage.why.to_string()).collect();
    assert_eq!(told, ["no line with a right sum; entry 2 is missing"]);
    assert_eq!((end.entries, end.blobs), (4, 1));
    assert_eq!((end.missing.clone(), end.lost_blobs.clone()), (vec![(Seq(2), Seq(2))], vec![big.hash]));

    let (opened, told) = import(&*file, &folder.store, importing("t")).unwrap();
    assert_eq!(told, end);
    let seqs: Vec<u64> = opened.entries.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(seqs, [0, 1, 3, 4, 5]);
    let found: Vec<_> =
        folder.store.read(&id("t")).unwrap().damage.iter().map(|one| one.why.to_string()).collect();
    assert_eq!(found, ["entry 2 is missing"], "the copy says that it has a hole");
}

#[test]
fn s03_a_session_that_cannot_be_read_is_not_exported() {
    let folder = Folder::holding(b"nothing of a session\n");
    let mut file = Vec::new();
    let refused = export(&folder.store, &id("s"), &mut file).unwrap_err().to_string();
    assert!(refused.starts_with("session s cannot be used: "), "{refused}");
    assert_eq!(file, b"");
}

/// Whatever is wrong with a file, nothing of it is kept and nothing else is touched.
#[track_caller]
fn check_refused(file: &[u8], wanted: &str) {
    let folder = Folder::new();
    let held = folder.store.create(start("old"), &holder("a"), AT).unwrap();
    let refused = import(file, &folder.store, importing("t")).unwrap_err().to_string();
    assert_eq!(refused, wanted);
    assert_eq!(
        error(folder.store.read(&id("t"))),
        error(Err::<(), _>(StoreError::NotFound { session: id("t") }))
    );
    let left: Vec<_> = std::fs::read_dir(folder.root.path().join("home/sessions"))
        .unwrap()
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["old"]);
    assert_eq!(read_export(file).unwrap_err().to_string(), wanted);
    drop(held);
}

#[test]
fn s03_a_file_that_is_not_whole_or_not_right_is_refused_and_nothing_of_it_stays() {
    let store = InMemoryStore::new();
    with_blobs(&store);
    let (file, _) = exported(&store);
    let whole = String::from_utf8(file).unwrap();
    let parts: Vec<&str> = whole.split_inclusive('\n').collect();
    let check = |change: &dyn Fn(&mut Vec<String>), wanted: &str| {
        let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        change(&mut parts);
        check_refused(parts.concat().as_bytes(), wanted);
    };
    // Lines 1 to 5 are the log, 6 to 9 the blobs (which of them first goes by their names), 10 the end.
    assert_eq!(parts.len(), 10);
    check(&|parts| parts.clear(), "line 1 of the file: the file ends here, without its last line: it is cut");
    check(&|parts| parts[0] = "hello\n".to_owned(), "line 1 of the file: it is no line of a session's log");
    check(&|parts| drop(parts.remove(0)), "line 1 of the file: it is not the first line of a session");
    let foreign = String::from_utf8(lines(&[entry(2, start("u"))]).concat()).unwrap();
    check(&|parts| parts[2] = foreign.clone(), "line 3 of the file: it is the first line of another session");
    let layout =
        String::from_utf8(lines(&[entry(0, SessionStart { format: 9, ..start("s") })]).concat()).unwrap();
    check(&|parts| parts[0] = layout.clone(), "line 1 of the file: it has layout 9, this program knows 1");
    check(&|parts| parts[2] = parts[2].replace("first", "frist"), "line 3 of the file: it has no right sum");
    let far = String::from_utf8(lines(&[said(u64::MAX, "far")]).concat()).unwrap();
    check(
        &|parts| parts[4] = far.clone(),
        "line 5 of the file: no session has an entry 18446744073709551615",
    );
    check(&|parts| parts.swap(2, 3), "line 4 of the file: entry 2 stands behind entry 3");
    check(&|parts| parts.insert(3, parts[2].clone()), "line 4 of the file: entry 2 stands behind entry 2");
    check(
        &|parts| {
            parts.remove(2);
            parts[8] = parts[8].replace("\"entries\":5", "\"entries\":4");
        },
        "line 9 of the file: entries are missing that it does not name",
    );
    for cut in 1..10 {
        let told =
            format!("line {} of the file: the file ends here, without its last line: it is cut", cut + 1);
        check(&|parts| parts.truncate(cut), &told);
    }
    check(&|parts| assert!(parts[9].pop().is_some()), "line 10 of the file: it is cut");
    check(&|parts| parts.push("\n".to_owned()), "line 11 of the file: something stands behind the end");
    check(&|parts| parts.push(parts[9].clone()), "line 11 of the file: something stands behind the end");
}

#[test]
fn s03_blobs_of_a_file_are_whole_and_those_that_are_named() {
    let store = InMemoryStore::new();
    with_blobs(&store);
    let (file, _) = exported(&store);
    let whole = String::from_utf8(file).unwrap();
    let log: String = whole.split_inclusive('\n').take(5).collect();
    let blobs: Vec<&str> = whole.split_inclusive('\n').filter(|line| line.starts_with("{\"blob\"")).collect();
    let (small, big): (Vec<&str>, Vec<&str>) = blobs.iter().partition(|line| line.contains("\"bytes\":0,"));
    let (small, big) = (small[0], [big[0], big[1], big[2]]);
    let hash = |line: &str| line.split('"').nth(5).unwrap().to_owned();
    let end = |blobs: usize| format!("{{\"end\":{{\"entries\":5,\"blobs\":{blobs}}}}}\n");
    let check = |blobs: &[&str], count: usize, wanted: &str| {
        check_refused(format!("{log}{}{}", blobs.concat(), end(count)).as_bytes(), wanted);
    };
    let missing =
        format!("line 7 of the file: blob {} is named by the log and not in the file", hash(big[0]));
    check(&[small], 1, &missing);
    check(&[small], 2, "line 7 of the file: it counts 5 entries and 2 blobs, and 5 and 1 stand before it");
    check(&[small, big[0], big[1]], 2, "line 9 of the file: the blob before it is not whole");
    let next = format!("of the file: it is not the next piece of blob {}", hash(big[0]));
    check(&[small, big[0], big[2]], 2, &format!("line 8 {next}"));
    check(&[small, big[0], small], 2, &format!("line 8 {next}"));
    check(&[small, small], 2, &format!("line 7 of the file: blob {} comes twice", hash(small)));
    // "AAEC" are the bytes 0, 1, 2, with which the large one begins.
    let other = big[0].replacen("AAEC", "AAED", 1);
    let told = format!("line 9 of the file: the bytes of blob {} have another hash", hash(big[0]));
    check(&[small, &other, big[1], big[2]], 2, &told);
    let unread = big[0].replacen("AAEC", "A_EC", 1);
    check(&[small, &unread], 2, "line 7 of the file: its bytes are no base64");
    let size = |line: &str| line.replace("\"bytes\":500000", "\"bytes\":500001");
    let told = "line 9 of the file: the blob before it is not whole";
    check(&[small, &size(big[0]), &size(big[1])], 2, told);
    let less = big[0].replace("\"bytes\":500000", "\"bytes\":3");
    let told = format!("line 7 of the file: blob {} has more than its 3 bytes", hash(big[0]));
    check(&[small, &less], 2, &told);
    let named_by_none = small.replace("\"bytes\":0", "\"bytes\":3").replace("\"\"", "\"AAEC\"").replace(
        &hash(small),
        // The SHA-256 of the bytes 0, 1, 2.
        "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc",
    );
    let told = "line 7 of the file: no line of the log names blob ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc";
    check(&[small, &named_by_none], 2, told);
    check_refused(
        format!("{small}{log}{}", end(1)).as_bytes(),
        "line 1 of the file: a blob stands before the log",
    );
    let behind = format!(
        "{log}{small}{}",
        lines(&[said(9, "late")]).concat().iter().map(|b| char::from(*b)).collect::<String>()
    );
    check_refused(behind.as_bytes(), "line 7 of the file: a line of the log stands behind a blob");
}

#[test]
fn s03_recorded_parts_of_requests_come_along() {
    let store = InMemoryStore::new();
    let mut opened = store.create(start("s"), &holder("a"), AT).unwrap();
    let part = store.put_blob(&id("s"), b"the bytes of a part").unwrap();
    let mut sample = include_str!("../samples/v1.jsonl").lines().map(|line| Entry::read(line).unwrap());
    let mut request = sample.find(|entry| matches!(entry.body, Body::Request(_))).unwrap();
    request.seq = Seq(2);
    let Body::Request(body) = &mut request.body else { panic!("no request") };
    // Of the second nothing was recorded.
    body.parts = vec![part.hash, petasos_testkit::words::digest(7)];
    append(&mut opened, &[request], Keep::Synced);
    let (file, end) = exported(&store);
    assert_eq!((end.entries, end.blobs, end.lost_blobs.len()), (3, 1, 0));
    import(&*file, &store, importing("t")).unwrap();
    assert_eq!(store.blobs(&id("t")).unwrap(), [part]);
}
