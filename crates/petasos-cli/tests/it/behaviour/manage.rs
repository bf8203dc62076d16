//! Row S03: sessions are forked, undone, retried, renamed, deleted and cleaned.

use std::fs;
use std::path::Path;

use petasos_core::entry::{Body, Content, Entry, Keep, Origin, Said, SessionStart, Speaker, When};
use petasos_core::id::Seq;
use petasos_core::time::Time;
use petasos_store::{Durability, FolderStore, Holder, Store};
use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Ended, Place, bodies, ended, messages, model};
use crate::running::Running;

const JOB: &str = r#"{"text":"I write","calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"a"}},{"name":"list_files","arguments":{}}]}
{"text":"Written."}"#;

/// A place with a session in which a file was written.
fn written(wire: &str) -> (Place, String) {
    let (place, server) = (Place::new(), ModelServer::start(JOB));
    let run = place.run(&server, &["--api-mode", wire, "write a file"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Written.\n"), "{run:?}");
    let session = place.sessions().remove(0);
    (place, session)
}

fn entries(place: &Place, session: &str) -> Vec<Value> {
    let log = fs::read_to_string(place.log(session)).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn resume(place: &Place, server: &ModelServer, arguments: &[&str]) -> Ended {
    ended(place.petasos().arg("resume").args(model(server)).args(arguments))
}

/// All files and folders below one, with what the files hold; but for the index, which is made from them.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with("index.sqlite") {
                continue;
            }
            let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            found.push((path.display().to_string(), bytes));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn s03_a_session_is_forked_at_any_entry_and_goes_on_on_every_wire() {
    for wire in ["chat", "responses", "messages"] {
        let (place, session) = written(wire);
        let before = fs::read(place.log(&session)).unwrap();
        let theirs = entries(&place, &session);
        for at in 0..theirs.len() {
            let forked = place.petasos_does(&["sessions", "fork", &session, "--at", &at.to_string()]);
            assert_eq!(forked.code, 0, "{forked:?}");
            let fork = forked.stdout.trim_end();
            assert!(forked.stderr.contains(&format!("forked from {session} up to entry {at}")), "{forked:?}");
            let ours = entries(&place, fork);
            assert_eq!(ours[0]["body"]["origin"], json!({"fork": {"session": session, "seq": at}}));
            assert_eq!(ours[1..=at], theirs[1..=at], "the lines stand as they are");
            assert_eq!(ours.last().unwrap()["body"]["why"], "fork");
            // A server of these tests takes no request that a real one would not take.
            let server = ModelServer::start(r#"{"text":"On."}"#);
            let resumed = resume(&place, &server, &["--api-mode", wire, fork, "-m", "go on"]);
            assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "On.\n"), "{wire} at {at}: {resumed:?}");
        }
        assert_eq!(fs::read(place.log(&session)).unwrap(), before, "the other one stays as it is");
    }
}

#[test]
fn s03_a_fork_says_where_it_goes_on() {
    let (place, session) = written("chat");
    let theirs = entries(&place, &session);
    let at = |kind: &str| theirs.iter().position(|entry| entry["kind"] == kind).unwrap();
    let (said, reply, result) = (at("said"), at("reply"), at("tool_result"));
    let forked = |at: usize| place.petasos_does(&["sessions", "fork", &session, "--at", &at.to_string()]);
    assert!(forked(1).stderr.contains("it begins with nothing said"));
    let behind_said = format!("it goes on behind entry {said}, what was said: write a file");
    for at in [said, said + 1, reply, result] {
        let told = forked(at).stderr;
        assert!(told.contains(&behind_said) && told.contains("--retry answers that"), "{at}: {told}");
    }
    let last = place.petasos_does(&["sessions", "fork", &session]);
    let last_reply = theirs.iter().rposition(|entry| entry["kind"] == "reply").unwrap();
    assert!(last.stderr.contains(&format!("behind entry {last_reply}, the end of a step")), "{last:?}");
    let beyond = forked(999);
    assert_eq!((beyond.code, beyond.stdout.as_str()), (2, ""));
    let told = format!("there is no entry 999; the last one is {}", theirs.len() - 1);
    assert!(beyond.stderr.contains(&told), "{beyond:?}");
    // What a fork ends with is answered by a retry.
    let fork = forked(said).stdout.trim_end().to_owned();
    let server = ModelServer::start(r#"{"text":"Anew."}"#);
    let resumed = resume(&place, &server, &[&fork, "--retry"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "Anew.\n"), "{resumed:?}");
}

#[test]
fn s03_undo_takes_back_words_and_says_what_stays_done() {
    let (place, session) = written("chat");
    let undone = place.petasos_does(&["sessions", "undo"]);
    assert_eq!((undone.code, undone.stdout.as_str()), (0, "write a file\n"), "{undone:?}");
    for told in ["taken back: what was said in entry 2", "what was done stays done", "as they are now: a.txt"]
    {
        assert!(undone.stderr.contains(told), "{told}: {}", undone.stderr);
    }
    assert_eq!(place.read("a.txt").as_deref(), Some("a"));
    assert_eq!(entries(&place, &session).last().unwrap()["body"], json!({"to": null, "why": "undo"}));
    let again = place.petasos_does(&["sessions", "undo"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("nothing has been said yet"), "{again:?}");
    let server = ModelServer::start(r#"{"text":"Hello."}"#);
    let resumed = resume(&place, &server, &[&session, "-m", "say hello"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "Hello.\n"), "{resumed:?}");
    let body = bodies(&server.finish()).remove(0);
    let said: Vec<&Value> = messages(&body).iter().filter(|message| message["role"] == "user").collect();
    assert_eq!((said.len(), &said[0]["content"]), (1, &json!("say hello")));
    let requests: Vec<Value> =
        entries(&place, &session).into_iter().filter(|entry| entry["kind"] == "request").collect();
    // Another server of these tests is another target.
    assert_eq!(requests.last().unwrap()["body"]["breaks"], json!(["target", "leaf"]));
}

#[test]
fn s03_what_was_said_last_is_answered_anew() {
    let (place, session) = written("chat");
    let server = ModelServer::start(r#"{"text":"Another answer."}"#);
    let retried = resume(&place, &server, &["--retry"]);
    assert_eq!((retried.code, retried.stdout.as_str()), (0, "Another answer.\n"), "{retried:?}");
    let log = entries(&place, &session);
    let starts: Vec<&Value> = log.iter().filter(|entry| entry["kind"] == "turn_start").collect();
    assert_eq!(starts.last().unwrap()["body"]["cause"], "retry");
    let leaf = log.iter().find(|entry| entry["kind"] == "leaf").unwrap();
    assert_eq!(leaf["body"], json!({"to": 2, "why": "retry"}));
    let body = bodies(&server.finish()).remove(0);
    assert!(messages(&body).iter().all(|message| message["role"] != "tool"), "{body}");
}

#[test]
fn s03_a_session_has_a_title_until_it_is_taken_back() {
    let (place, session) = written("chat");
    let titles = || {
        let listed = place.petasos_does(&["sessions", "list", "--json"]).stdout;
        let line: Value = serde_json::from_str(listed.trim_end()).unwrap();
        line["title"].as_str().unwrap().to_owned()
    };
    let renamed = place.petasos_does(&["sessions", "rename", &session[..20], "  The first\n file "]);
    assert_eq!((renamed.code, titles().as_str()), (0, "The first file"), "{renamed:?}");
    // By its title, too.
    let renamed = place.petasos_does(&["sessions", "rename", "the first", "文件"]);
    assert_eq!((renamed.code, titles().as_str()), (0, "文件"));
    let long = place.petasos_does(&["sessions", "rename", &session, &"x".repeat(201)]);
    assert_eq!((long.code, titles().as_str()), (2, "文件"));
    let shown = place.petasos_does(&["sessions", "show", &session]).stdout;
    assert!(shown.contains("title: 文件"), "{shown}");
    let taken_back = place.petasos_does(&["sessions", "rename", &session, ""]);
    assert_eq!((taken_back.code, titles().as_str()), (0, "write a file"), "{taken_back:?}");
}

#[test]
fn s03_a_session_is_deleted_only_by_its_id_and_with_a_yes() {
    let (place, session) = written("chat");
    let unasked = place.petasos_does(&["sessions", "delete", &session]);
    assert_eq!(unasked.code, 2);
    assert!(
        unasked.stderr.contains("there is nobody to ask") && unasked.stderr.contains("--yes"),
        "{unasked:?}"
    );
    let titled = place.petasos_does(&["sessions", "delete", "write a", "--yes"]);
    assert_eq!(titled.code, 2);
    assert!(titled.stderr.contains(&format!("petasos sessions delete {session}")), "{titled:?}");
    assert_eq!(place.sessions(), std::slice::from_ref(&session));
    let deleted = place.petasos_does(&["sessions", "delete", &session, "--yes"]);
    assert_eq!((deleted.code, deleted.stdout.as_str()), (0, ""), "{deleted:?}");
    assert_eq!(place.sessions(), Vec::<String>::new());
    assert_eq!(place.petasos_does(&["sessions", "delete", &session, "--yes"]).code, 2);
}

#[test]
fn s03_a_session_that_is_held_is_not_deleted_undone_or_renamed() {
    let (place, server) = (Place::new(), ModelServer::start(r#"{"fault":"stall"}"#));
    let mut command = place.petasos();
    command.args(["run", "--json"]).args(model(&server)).arg("wait");
    let mut running = Running::begin(&mut command).hush();
    running.wait_for("step_start");
    let session = place.sessions().remove(0);
    for command in [
        &["sessions", "delete", &session, "--yes"][..],
        &["sessions", "undo", &session],
        &["sessions", "rename", &session, "x"],
    ] {
        let refused = place.petasos_does(command);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("is held by pid "), "{refused:?}");
    }
    let cleaned = place.petasos_does(&["sessions", "clean", "--larger-than", "1B", "--yes"]);
    assert_eq!(cleaned.code, 0);
    assert!(cleaned.stdout.contains("(stays: held by pid "), "{cleaned:?}");
    // Forking only reads.
    assert_eq!(place.petasos_does(&["sessions", "fork", &session]).code, 0);
    running.signal("INT");
    assert_eq!(running.end().code, 130);
    assert_eq!(place.petasos_does(&["sessions", "delete", &session, "--yes"]).code, 0);
}

/// A session of another day, in which this was said; parked if that is said.
fn old(place: &Place, id: &str, at: u64, said: &str) {
    let store = FolderStore::new(place.home(), Durability::Process);
    let workspace = place.work().canonicalize().unwrap().to_string_lossy().as_ref().into();
    let start = SessionStart { format: 1, id: id.parse().unwrap(), workspace, origin: Origin::New, depth: 0 };
    let holder = Holder { text: "test".into(), program: "0".into() };
    let mut opened = store.create(start, &holder, Time(at)).unwrap();
    let (from, content) = (Speaker::Person, vec![Content::Text(said.into())]);
    let body: Body = Said { from, content, notes: Vec::new(), when: When::Now, withdraws: None }.into();
    opened.writer.append(Seq(2), &[Entry { seq: Seq(2), at: Time(at), body }], Keep::Synced).unwrap();
}

#[test]
fn s03_old_and_large_sessions_are_cleaned_and_what_waits_stays() {
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"ls"}}]}"#;
    let (place, server) = (Place::new(), ModelServer::start(script));
    assert_eq!(place.run(&server, &["--park", "wait for me"]).code, 15);
    let parked = place.sessions().remove(0);
    old(&place, "a", 1_000, "of long ago");
    old(&place, "b", 2_000, &"x".repeat(20_000));
    let ids = |place: &Place| place.sessions();
    let all = ids(&place);
    assert_eq!(all.len(), 3);

    let bare = place.petasos_does(&["sessions", "clean"]);
    assert_eq!(bare.code, 2);
    assert!(bare.stderr.contains("--older-than 30d"), "{bare:?}");
    let dry = place.petasos_does(&["sessions", "clean", "--older-than", "30d", "--dry-run"]);
    let told: Vec<&str> = dry.stdout.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!((dry.code, told), (0, vec!["a", "b"]), "{dry:?}");
    assert!(dry.stderr.contains("to be deleted: 2 of them, 20."), "{dry:?}");
    assert_eq!(ids(&place), all);
    let unasked = place.petasos_does(&["sessions", "clean", "--older-than", "30d"]);
    assert_eq!((unasked.code, ids(&place)), (2, all.clone()));

    let large = place.petasos_does(&["sessions", "clean", "--larger-than", "10KB", "--yes"]);
    assert_eq!((large.code, ids(&place)), (0, vec![parked.clone(), "a".to_owned()]), "{large:?}");
    // The oldest ones go first; the one that waits is left, and says so.
    let total = place.petasos_does(&["sessions", "clean", "--total", "1B", "--yes"]);
    assert!(total.stdout.contains("(stays: it waits for an answer; --parked takes it too)"), "{total:?}");
    assert_eq!((total.code, ids(&place)), (0, vec![parked.clone()]));
    let waiting = place.petasos_does(&["sessions", "clean", "--total", "1B", "--parked", "--yes"]);
    assert_eq!((waiting.code, ids(&place)), (0, Vec::new()), "{waiting:?}");
    for bad in [["--older-than", "soon"], ["--older-than", "0d"], ["--total", "-1"], ["--larger-than", "1"]] {
        assert_eq!(place.petasos_does(&["sessions", "clean", bad[0], bad[1]]).code, 2, "{bad:?}");
    }
}

#[test]
fn s03_a_chat_takes_back_retries_forks_and_gives_titles() {
    let script = "{\"text\":\"One.\"}\n{\"text\":\"Another.\"}\n{\"text\":\"Third.\"}";
    let (place, server) = (Place::new(), ModelServer::start(script).with_breaks());
    let mut command = place.petasos();
    command.arg("chat").args(model(&server));
    let mut chat = Running::begin(&mut command);
    chat.say("/undo");
    chat.wait_for_talk("nothing has been said yet");
    chat.say("first");
    assert_eq!(chat.line().as_deref(), Some("One."));
    chat.say("/retry");
    assert_eq!(chat.line().as_deref(), Some("Another."));
    chat.say("/fork");
    chat.wait_for_talk("the end of a step");
    chat.say("/title A talk");
    chat.say("/undo");
    assert_eq!(chat.line().as_deref(), Some("first"));
    chat.wait_for_talk("taken back: what was said in entry 2");
    chat.say("second");
    assert_eq!(chat.line().as_deref(), Some("Third."));
    let ended = chat.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(place.sessions().len(), 2);
    let listed = place.petasos_does(&["sessions", "list", "--json"]).stdout;
    assert!(listed.contains("\"title\":\"A talk\""), "{listed}");
    let body = bodies(&server.finish()).pop().unwrap();
    let said: Vec<&Value> = messages(&body).iter().filter(|message| message["role"] == "user").collect();
    assert_eq!((said.len(), &said[0]["content"]), (1, &json!("second")));
}

#[test]
fn case_h07_an_id_that_is_none_is_refused_by_every_command_and_nothing_is_made() {
    let input = r#"["../../../var/tmp/pwn", "/etc/x", "a/b", "..", "", "a\u0000b", "C:\\x", "con", "x\nSet-Cookie: a"]"#;
    let ids: Vec<String> = serde_json::from_str(input).unwrap();
    let (place, session) = written("chat");
    let before = (tree(&place.home()), tree(&place.work()));
    for id in &ids {
        let commands: [&[&str]; 10] = [
            &["sessions", "show", id],
            &["sessions", "export", id],
            &["sessions", "export", id, "-o", "out.jsonl"],
            &["sessions", "fork", id],
            &["sessions", "undo", id],
            &["sessions", "rename", id, "x"],
            &["sessions", "delete", id, "--yes"],
            &["resume", id],
            &["resume", id, "--retry"],
            &["dev", "request", id],
        ];
        for command in commands {
            if id.contains('\0') {
                // The system hands no such text to a program.
                assert!(place.petasos().args(command).output().is_err());
                continue;
            }
            let refused = place.petasos_does(command);
            assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{command:?}: {refused:?}");
            assert!(refused.stderr.contains("no session's id or title begins with"), "{refused:?}");
        }
    }
    assert_eq!((tree(&place.home()), tree(&place.work())), before);
    // Nor does a file say where its session goes.
    let exported = place.petasos_does(&["sessions", "export", &session]).stdout;
    for id in &ids {
        let own = format!("\"id\":{}", serde_json::to_string(&session).unwrap());
        let other = format!("\"id\":{}", serde_json::to_string(id).unwrap());
        let file = exported.replacen(&own, &other, 1);
        let refused = place.with_stdin(&["sessions", "import", "-"], file.as_bytes());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{id}: {refused:?}");
    }
    assert_eq!((tree(&place.home()), tree(&place.work())), before);
}

#[test]
fn s03_what_is_shown_says_where_a_session_comes_from_and_where_it_went() {
    let (place, session) = written("chat");
    let fork = place.petasos_does(&["sessions", "fork", &session, "--at", "5"]).stdout.trim_end().to_owned();
    let shown = place.petasos_does(&["sessions", "show", &fork]).stdout;
    assert!(shown.contains(&format!("    0  forked from session {session}, up to entry 5")), "{shown}");
    assert!(shown.contains("  the fork goes on behind entry 2"), "{shown}");
    place.petasos_does(&["sessions", "undo", &session]);
    let shown = place.petasos_does(&["sessions", "show", &session]).stdout;
    assert!(shown.ends_with("  undo: goes on before all that was said\n"), "{shown}");
}

#[test]
fn s04_sessions_that_were_forked_undone_and_retried_are_replayed() {
    let (place, session) = written("chat");
    let server =
        ModelServer::start("{\"text\":\"One.\"}\n{\"text\":\"Two.\"}\n{\"text\":\"Three.\"}").with_breaks();
    // In the middle of a step, so that the fork closes it.
    let forked = place.petasos_does(&["sessions", "fork", &session, "--at", "7"]);
    let fork = forked.stdout.trim_end().to_owned();
    assert_eq!(resume(&place, &server, &[&fork, "-m", "go on"]).code, 0);
    assert_eq!(resume(&place, &server, &[&session, "--retry"]).code, 0);
    assert_eq!(place.petasos_does(&["sessions", "undo", &session]).code, 0);
    assert_eq!(resume(&place, &server, &[&session, "-m", "something else"]).code, 0);
    for id in [&session, &fork] {
        let replayed = place.petasos_does(&["replay", id]);
        assert_eq!(replayed.code, 0, "{replayed:?}");
    }
}
