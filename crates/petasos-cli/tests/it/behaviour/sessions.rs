//! `petasos sessions`: what is kept, as text and as JSON.

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, ended, model};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn s03_sessions_are_listed_by_age_those_of_this_folder_first_of_all() {
    let place = Place::new();
    let empty = place.petasos_does(&["sessions", "list"]);
    let told =
        "no sessions yet for this folder (--all shows those of all folders); petasos run \"…\" begins one\n";
    assert_eq!((empty.code, empty.stdout.as_str(), empty.stderr.as_str()), (0, "", told));
    let empty = place.petasos_does(&["sessions", "list", "--json"]);
    assert_eq!((empty.code, empty.stdout.as_str(), empty.stderr.as_str()), (0, "", ""));

    let server = ModelServer::start("{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\":\"c\"}").with_breaks();
    assert_eq!(place.run(&server, &["the first one"]).code, 0);
    assert_eq!(place.run(&server, &["the second\nin two lines"]).code, 0);
    let other = place.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    assert_eq!(place.run(&server, &["--workspace", other, "elsewhere"]).code, 0);

    let ids = place.sessions();
    let listed = place.petasos_does(&["sessions", "list"]);
    let told: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!((told.len(), listed.code, listed.stderr.as_str()), (2, 0, ""));
    assert!(told[0].starts_with(&ids[0]) && told[0].ends_with("the first one"), "{told:?}");
    assert!(told[1].starts_with(&ids[1]) && told[1].ends_with("the second in two lines"), "{told:?}");
    let all = place.petasos_does(&["sessions", "list", "--json", "--all"]);
    let work = place.work().canonicalize().unwrap();
    let wanted: Vec<Value> = lines(&all.stdout)
        .iter()
        .zip([
            (&ids[0], &*work.to_string_lossy(), "the first one"),
            (&ids[1], &work.to_string_lossy(), "the second\nin two lines"),
            (&ids[2], other, "elsewhere"),
        ])
        .map(|(line, (id, workspace, title))| {
            assert!(line["made"].as_u64().unwrap() <= line["last"].as_u64().unwrap());
            assert!(line["tokens"].as_u64().unwrap() > 0);
            json!({
                "v": 1, "session": id, "workspace": workspace, "title": title, "made": line["made"],
                "last": line["last"], "entries": 8, "damaged": 0, "tokens": line["tokens"], "micro_usd": null,
            })
        })
        .collect();
    assert_eq!(lines(&all.stdout), wanted);
    assert_eq!(wanted.len(), 3);
}

/// What is shown of a session are the events of its entries: those that were told while it ran.
#[test]
fn s03_a_session_is_shown_as_it_was_told() {
    let server = ModelServer::start(
        r#"{"text":"I look","calls":[{"name":"list_files","arguments":{}},{"name":"run_command","arguments":{"command":"echo one >> counter"}}]}
{"text":"done"}"#,
    );
    let place = Place::new();
    let run = place.run_json(&server, &["--allow-commands", "hello"]);
    let id = place.sessions()[0].clone();
    let shown = place.petasos_does(&["sessions", "show", "--json", &id]);
    let from_entries: Vec<Value> =
        run.events().into_iter().filter(|event| event.get("entry").is_some()).collect();
    assert_eq!((shown.code, shown.events(), shown.stderr.as_str()), (0, from_entries, ""));
    // By the beginning of its id, and the newest of this folder without one, as text.
    let by_prefix = place.petasos_does(&["sessions", "show", &id[..20]]);
    let newest = place.petasos_does(&["sessions", "show"]);
    assert_eq!((by_prefix.code, &by_prefix.stdout), (0, &newest.stdout));
    let work = place.work().canonicalize().unwrap();
    let told: Vec<&str> = newest.stdout.lines().collect();
    assert_eq!(told[0], format!("session {id} in {}", work.display()));
    assert_eq!(told[1], "    2  said: hello");
    assert_eq!(told[2], format!("    3  turn begins with scripted at {}", server.base_url()));
    assert!(told[3].starts_with("    5  step 1: some ") && told[3].ends_with(" tokens"));
    assert_eq!(
        told[4..7],
        [
            "    6  reply: I look",
            "       → list_files {} (6.0)",
            "       → run_command {\"command\":\"echo one >> counter\"} (6.1)",
        ]
    );
    assert_eq!(*told.last().unwrap(), "   13  turn ends: completed after 2 steps");
    let unknown = place.petasos_does(&["sessions", "show", "--json", "zzz"]);
    assert_eq!(
        (unknown.code, &unknown.result()["error"]["message"]),
        (2, &json!("no session's id or title begins with \"zzz\""))
    );
    let outside = place.petasos_does(&["sessions", "show", "../../etc"]);
    assert_eq!((outside.code, outside.stdout.as_str()), (2, ""));
    assert!(ended(place.petasos().args(["sessions", "list", "--help"])).stdout.contains("--all"));
    drop(model(&server));
}
