//! Which session is meant: by id, by title, or the one in which something happened last.

use std::path::Path;
use std::time::{Duration, SystemTime};

use petasos_core::entry::{
    Body, Content, Entry, Keep, Lifetime, Origin, Said, SessionStart, Setting, SettingSource, Speaker, When,
};
use petasos_core::id::Seq;
use petasos_core::time::Time;
use petasos_store::{Durability, FolderStore, Holder, LAYOUT, Store as _};
use petasos_testkit::model_server::ModelServer;
use serde_json::json;

use crate::program::{Place, ended, model};

/// Keeps a session in which this was said at that time, and which has that title.
pub fn keep(place: &Place, id: &str, workspace: &Path, (at, text): (u64, &str), title: Option<&str>) {
    let start = SessionStart {
        format: LAYOUT,
        id: id.parse().unwrap(),
        workspace: workspace.canonicalize().unwrap().to_str().unwrap().into(),
        origin: Origin::New,
        depth: 0,
    };
    let holder = Holder { text: "a test".into(), program: "0".into() };
    let store = FolderStore::new(place.home(), Durability::Process);
    let mut opened = store.create(start, &holder, Time(1)).unwrap();
    let said = Said {
        from: Speaker::Person,
        content: vec![Content::Text(text.into())],
        notes: Vec::new(),
        when: When::Now,
        withdraws: None,
    };
    let setting = Setting {
        key: "title".into(),
        value: title.map(Into::into),
        by: SettingSource::Person,
        lifetime: Lifetime::Session,
    };
    let bodies = [Body::from(said), Body::from(setting)];
    let entries: Vec<Entry> =
        bodies.into_iter().zip(2..).map(|(body, seq)| Entry { seq: Seq(seq), at: Time(at), body }).collect();
    opened.writer.append(Seq(2), &entries, Keep::Written).unwrap();
}

pub fn folder(place: &Place, name: &str) -> std::path::PathBuf {
    let folder = place.home().parent().unwrap().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Input of the case: sessions A (in this folder), B (in another one, newest), C (in this one, older; its file was
/// touched by a backup).
#[test]
fn case_h05_what_happened_last_in_this_folder_goes_on_and_nothing_instead_of_what_is_named() {
    // What waits in each of them has a turn of its own.
    let server = ModelServer::start(&"{\"text\":\"a\"}\n".repeat(6)).with_breaks();
    let place = Place::new();
    let other = folder(&place, "b");
    keep(&place, "aaa", &place.work(), (3_000, "in A"), None);
    keep(&place, "bbb", &other, (4_000, "in B"), None);
    keep(&place, "ccc", &place.work(), (2_000, "in C"), None);
    let touched = std::fs::File::options().append(true).open(place.log("ccc")).unwrap();
    touched.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
    let session = |arguments: &[&str]| {
        let run = ended(place.petasos().args(["resume", "--json"]).args(model(&server)).args(arguments));
        (run.code, run.result()["session"].clone())
    };
    assert_eq!(session(&["-m", "go on"]), (0, json!("aaa")));
    assert_eq!(session(&["ccc", "-m", "go on"]), (0, json!("ccc")));
    // B works where it worked.
    let in_b = ended(place.petasos().args(["resume", "--json", "bbb", "-m", "go on"]).args(model(&server)));
    assert_eq!((in_b.code, &in_b.result()["session"]), (0, &json!("bbb")));
    let listed = place.petasos_does(&["sessions", "list", "--all", "--json"]);
    let folder = listed.stdout.lines().find(|line| line.contains("\"session\":\"bbb\"")).unwrap();
    assert!(folder.contains(other.canonicalize().unwrap().to_str().unwrap()), "{folder}");
    for unknown in ["zzz", "aaaa", "a title that none has"] {
        let run = place.petasos_does(&["resume", "--json", unknown, "-m", "go on"]);
        let message = format!("no session's id or title begins with {unknown:?}");
        assert_eq!((run.code, &run.result()["error"]["message"]), (2, &json!(message)));
    }
    drop(server.finish());
}

/// Case H-09: other logs, however large, are nothing to who names a session as it is called.
#[test]
fn s03_a_session_that_is_named_whole_is_found_without_a_look_at_others() {
    let place = Place::new();
    keep(&place, "s1", &place.work(), (1_000, "here"), None);
    keep(&place, "s2", &place.work(), (2_000, "there"), None);
    let shown = place.petasos_does(&["sessions", "show", "s1"]);
    assert_eq!((shown.code, shown.stdout.contains("session s1 in")), (0, true), "{shown:?}");
    let index = place.home().join("index.sqlite");
    assert!(!index.exists(), "all of them were looked at");
    place.petasos_does(&["sessions", "show", "he"]);
    assert!(index.exists(), "a title is looked for in all of them");
}

#[test]
fn s03_a_session_is_resumed_by_its_title() {
    let place = Place::new();
    let other = folder(&place, "other");
    keep(&place, "s1", &place.work(), (1_000, "Fix the\nparser"), None);
    keep(&place, "s2", &place.work(), (2_000, "something else"), Some("Fix the parser of dates"));
    keep(&place, "s3", &other, (3_000, "修复 数据库"), None);
    keep(&place, "s4", &other, (4_000, "x"), Some("Fix the parser"));
    keep(&place, "s5", &place.work(), (5_000, "y"), Some("Write docs"));
    keep(&place, "s6", &place.work(), (6_000, "z"), Some("Write tests"));
    let shown = |title: &str| {
        let run = place.petasos_does(&["sessions", "show", title]);
        let id = run.stdout.split_whitespace().nth(1).unwrap_or_default().to_owned();
        (run.code, id)
    };
    // What was said first is a title; blanks and the size of letters do not count; the exact one comes first, and of
    // those in several folders the one of this folder.
    assert_eq!(shown("fix the parser"), (0, "s1".to_owned()));
    assert_eq!(shown("Fix  the parser of"), (0, "s2".to_owned()));
    assert_eq!(shown("修复"), (0, "s3".to_owned()));
    let several = place.petasos_does(&["resume", "write", "-m", "go on"]);
    assert_eq!((several.code, several.stdout.as_str()), (2, ""));
    for row in ["  s5  ", "  Write docs\n", "  s6  ", "  Write tests\n"] {
        assert!(several.stderr.contains(row), "{}", several.stderr);
    }
    let none = place.petasos_does(&["resume", "", "-m", "go on"]);
    assert_eq!(none.code, 2);
}
