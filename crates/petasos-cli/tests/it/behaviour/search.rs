//! `petasos sessions search` and `reindex`.

use serde_json::{Value, json};

use super::find::{folder, keep};
use crate::program::Place;

fn place() -> Place {
    let place = Place::new();
    let other = folder(&place, "other");
    keep(&place, "s1", &place.work(), (1_000, "fix the -> in foo_bar"), Some("Arrows"));
    keep(&place, "s2", &place.work(), (3_000, "数据库的 -> 索引"), None);
    keep(&place, "s3", &other, (2_000, "--json -> elsewhere"), None);
    place
}

#[test]
fn s03_a_search_shows_session_entry_and_what_stands_around() {
    let place = place();
    let found = place.petasos_does(&["sessions", "search", "->"]);
    let told: Vec<&str> = found.stdout.lines().collect();
    assert_eq!((found.code, found.stderr.as_str(), told.len()), (0, "", 4), "{found:?}");
    assert!(told[0].starts_with("s2  ") && told[0].ends_with("  数据库的 -> 索引"), "{told:?}");
    assert_eq!(told[1], "      2  said: 数据库的 -> 索引");
    assert!(told[2].starts_with("s1  ") && told[2].ends_with("  Arrows"), "{told:?}");
    assert_eq!(told[3], "      2  said: fix the -> in foo_bar");
    let ids = |arguments: &[&str]| {
        let found = place.petasos_does(&[&["sessions", "search", "--json"], arguments].concat());
        let lines: Vec<Value> =
            found.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids = lines.iter().map(|line| format!("{}:{}", line["session"].as_str().unwrap(), line["entry"]));
        (found.code, ids.collect::<Vec<_>>(), found.stderr)
    };
    assert_eq!(ids(&["--all", "->"]), (0, vec!["s2:2".into(), "s3:2".into(), "s1:2".into()], String::new()));
    // Flags may stand behind it. Words of one character, of a title, several, and what looks like a flag.
    assert_eq!(ids(&["->", "--all", "--limit", "2"]).1, ["s2:2", "s3:2"]);
    assert_eq!(ids(&["库"]).1, ["s2:2"]);
    assert_eq!(ids(&["arrows"]).1, ["s1:3"]);
    assert_eq!(ids(&["foo_bar fix"]).1, ["s1:2"]);
    assert_eq!(ids(&["--all", "--", "--json"]).1, ["s3:2"]);
    let one = ids(&["--limit", "1", "->"]);
    assert_eq!((one.0, one.1), (0, vec!["s2:2".to_owned()]));
    assert_eq!(one.2, "petasos: these are 1 of more; --limit N shows more of them\n");
    let line = place.petasos_does(&["sessions", "search", "--json", "foo"]).stdout;
    let line: Value = serde_json::from_str(&line).unwrap();
    let work = place.work().canonicalize().unwrap();
    let wanted = json!({
        "v": 1, "session": "s1", "workspace": work.to_str().unwrap(), "title": "Arrows", "entry": 2, "kind": "said",
        "at": 1_000, "before": "fix the -> in ", "found": "foo", "after": "_bar",
    });
    assert_eq!(line, wanted);
    let none = place.petasos_does(&["sessions", "search", "elsewhere"]);
    let told = "nothing found in the sessions of this folder (--all searches those of all folders)\n";
    assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (0, "", told));
    let blank = place.petasos_does(&["sessions", "search", "--json", " "]);
    assert_eq!(
        (blank.code, &blank.result()["error"]["message"]),
        (2, &json!("there is nothing to look for"))
    );
}

#[test]
fn s02_without_an_index_a_search_says_so_and_a_list_is_the_same() {
    let place = place();
    let listed = place.petasos_does(&["sessions", "list", "--all"]);
    let index = place.home().join("index.sqlite");
    assert!(index.exists());
    std::fs::remove_file(&index).unwrap();
    std::fs::create_dir(&index).unwrap();
    let again = place.petasos_does(&["sessions", "list", "--all"]);
    assert_eq!((again.code, &again.stdout, again.stderr.as_str()), (0, &listed.stdout, ""));
    let found = place.petasos_does(&["sessions", "search", "foo_bar"]);
    assert!(found.stdout.ends_with("      2  said: fix the -> in foo_bar\n"), "{found:?}");
    let why = "petasos: the logs of 2 sessions were read, for the index cannot be used: unable to open database file";
    assert!(found.code == 0 && found.stderr.starts_with(why), "{found:?}");
    let refused = place.petasos_does(&["sessions", "reindex"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("index.sqlite cannot be used"), "{refused:?}");
    std::fs::remove_dir(&index).unwrap();
    let made = place.petasos_does(&["sessions", "reindex"]);
    assert!(
        made.code == 0 && made.stdout.starts_with("3 sessions with 0.0 MB of logs are in an index of"),
        "{made:?}"
    );
    assert_eq!(place.petasos_does(&["sessions", "search", "foo_bar"]).stderr, "");
}
