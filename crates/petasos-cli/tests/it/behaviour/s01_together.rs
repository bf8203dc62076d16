//! Row S01 and case H-03: several processes on one session, and on one home.

use std::fs;
use std::process::Stdio;

use petasos_testkit::model_server::ModelServer;
use serde_json::{Value, json};

use crate::program::{Place, bodies, content, end_of, messages, model, of_kind};
use crate::running::Running;

/// A run that waits for a model that says nothing, and its session.
fn waiting(place: &Place, server: &ModelServer) -> (Running, String) {
    let mut command = place.petasos();
    let command = command.args(["run", "--json"]).args(model(server)).arg("reply ONE");
    let mut running = Running::begin(command).hush();
    let session = running.wait_for("turn_start")["session"].as_str().unwrap().to_owned();
    running.wait_for("step_start");
    (running, session)
}

#[test]
fn case_h03_a_second_writer_is_refused_before_it_asks_a_model_and_the_log_is_one_chain() {
    let server = ModelServer::start("{\"fault\":\"stall\"}\n{\"text\":\"TWO\"}");
    let place = Place::new();
    let (running, session) = waiting(&place, &server);
    let log = fs::read(place.log(&session)).unwrap();
    for other in [&["resume", "--json", &session, "-m", "reply TWO"][..], &["resume", "--json"]] {
        let refused = place.petasos_does(other);
        let error = refused.result()["error"].clone();
        assert_eq!((refused.code, &error["kind"]), (2, &json!("held")), "{refused:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&format!("held by pid {}", running.id())), "{message}");
    }
    assert_eq!(fs::read(place.log(&session)).unwrap(), log, "who was refused wrote nothing");
    assert!(server.requests().len() <= 1);
    running.signal("KILL");
    assert_eq!(running.end().code, -9);
    // The lock ended with its process.
    let server = ModelServer::start("{\"text\":\"TWO\"}");
    let base = server.base_url();
    let second = ["resume", "--json", "-m", "reply TWO", "--base-url", &base, "--model", "scripted"];
    let then = place.petasos_does(&second);
    assert_eq!((then.code, &then.result()["reply"]), (0, &json!("TWO")), "{then:?}");
    let seqs: Vec<u64> = place.entries().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>());
}

#[test]
fn s01_who_looks_on_sees_what_is_there_and_what_comes_and_has_no_lock() {
    let server = ModelServer::start("{\"fault\":\"stall\"}");
    let place = Place::new();
    let (worker, session) = waiting(&place, &server);
    let log = fs::read(place.log(&session)).unwrap();
    let mut command = place.petasos();
    let mut looks = Running::begin(command.args(["resume", &session, "--read-only", "--json"])).hush();
    assert_eq!(looks.wait_for("said")["text"], "reply ONE");
    looks.wait_for("step_start");
    assert_eq!(fs::read(place.log(&session)).unwrap(), log, "who looks on writes nothing");
    // Who works is not in its way, and it is not in theirs.
    worker.signal("INT");
    let worked = worker.end();
    let looked = looks.end();
    assert_eq!((worked.code, looked.code), (130, 130), "{looked:?}");
    assert_eq!(looked.result(), worked.result());
    let entries = place.entries();
    assert_eq!(of_kind(&entries, "open").len(), 1);
    let kept = |run: &crate::program::Ended| -> Vec<Value> {
        run.events().into_iter().filter(|event| event.get("entry").is_some()).collect()
    };
    assert_eq!(kept(&looked), kept(&worked));
}

#[test]
fn s01_a_session_at_rest_is_shown_read_only_and_looking_ends() {
    let server = ModelServer::start("{\"text\":\"ONE\"}");
    let place = Place::new();
    assert_eq!(place.run(&server, &["reply ONE"]).code, 0);
    let log = fs::read(place.log(&place.sessions()[0])).unwrap();
    let looked = place.petasos_does(&["resume", "--read-only"]);
    assert_eq!(looked.code, 0, "{looked:?}");
    for told in ["said: reply ONE", "reply: ONE", "turn ends: completed"] {
        assert!(looked.stdout.contains(told), "{looked:?}");
    }
    assert!(looked.stderr.contains("read only; Ctrl-C ends it"), "{looked:?}");
    let looked = place.petasos_does(&["resume", "--read-only", "--json"]);
    assert_eq!((looked.code, &looked.result()["reply"]), (0, &json!("ONE")));
    assert_eq!(fs::read(place.log(&place.sessions()[0])).unwrap(), log);
    let both = place.petasos_does(&["resume", "--json", "--read-only", "-m", "more"]);
    assert_eq!((both.code, &both.result()["error"]["kind"]), (2, &json!("usage")));
}

/// The turn of a process that was killed is open: more is waited for, until somebody looks away.
#[test]
fn s01_looking_at_a_turn_whose_process_was_killed_ends_with_ctrl_c_and_tells_how_to_go_on() {
    let server = ModelServer::start("{\"fault\":\"stall\"}");
    let place = Place::new();
    let (worker, session) = waiting(&place, &server);
    worker.signal("KILL");
    worker.end();
    let mut command = place.petasos();
    let mut looks = Running::begin(command.args(["resume", "--read-only", "--json"])).hush();
    looks.wait_for("step_start");
    looks.signal("INT");
    let looked = looks.end();
    assert_eq!((looked.code, &looked.result()["status"]), (130, &json!("interrupted")), "{looked:?}");
    assert_eq!(looked.result()["error"]["hint"], format!("go on: petasos resume {session}"));
}

#[test]
fn s01_many_processes_work_on_one_home_and_every_session_is_whole() {
    const AT_ONCE: usize = 8;
    let reply = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo ran >> counter.txt"}}],"when":{"results":0}}
{"text":"done","when":{"results":1}}"#;
    let server = ModelServer::start(reply).with_breaks();
    let place = Place::new();
    let begin = |number: usize| {
        let mut command = place.petasos();
        let command = command.args(["run", "--json", "--allow-commands"]).args(model(&server));
        command.arg(format!("job {number}")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..AT_ONCE).map(begin).collect();
    for run in runs.into_iter().map(end_of) {
        assert_eq!((run.code, &run.result()["reply"]), (0, &json!("done")), "{run:?}");
    }
    assert_eq!(place.read("counter.txt"), Some("ran\n".repeat(AT_ONCE)));
    let listed = place.petasos_does(&["sessions", "list", "--json"]);
    let listed: Vec<Value> = listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut titles: Vec<&str> = listed.iter().map(|one| one["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    assert_eq!(titles, (0..AT_ONCE).map(|number| format!("job {number}")).collect::<Vec<_>>());
    assert!(listed.iter().all(|one| one["damaged"] == 0), "{listed:?}");
}

/// A chat that waits for a line holds nothing: somebody else goes on with its session, and what they said is in the next
/// request of the chat.
#[test]
fn s01_an_idle_chat_is_left_to_another_process_and_goes_on_behind_what_that_one_said() {
    let server = ModelServer::start("{\"text\":\"first\"}\n{\"text\":\"second\"}\n{\"text\":\"third\"}");
    let place = Place::new();
    let mut command = place.petasos();
    let mut chat = Running::begin(command.arg("chat").args(model(&server)));
    chat.say("one");
    assert_eq!(chat.line().as_deref(), Some("first"));
    // The answer is told before the turn is over, and the session is let go then.
    let other = loop {
        let other = place.petasos_does(&["resume", "--json", "-m", "two"]);
        if other.result()["error"]["kind"] != "held" {
            break other;
        }
    };
    assert_eq!((other.code, &other.result()["reply"]), (0, &json!("second")), "{other:?}");
    // What that one left of a line is cut off, set aside, and told.
    let log = place.log(&place.sessions()[0]);
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, [&whole[..], b"{\"v\":1,\"seq\""].concat()).unwrap();
    chat.say("three");
    assert_eq!(chat.line().as_deref(), Some("third"));
    let ended = chat.end();
    assert_eq!(
        (ended.code, ended.stderr.contains("is damaged: a torn line at the end")),
        (0, true),
        "{ended:?}"
    );
    let last = bodies(&server.finish()).pop().unwrap();
    let said: Vec<&str> = messages(&last).iter().skip(1).map(content).collect();
    assert_eq!(said, ["one", "first", "two", "second", "three"]);
    let entries = place.entries();
    let epochs: Vec<&Value> = of_kind(&entries, "open").iter().map(|open| &open["body"]["epoch"]).collect();
    assert_eq!(epochs, [1, 2, 3]);
    let said = of_kind(&entries, "said");
    let said: Vec<&Value> = said.iter().map(|said| &said["body"]["content"][0]["text"]).collect();
    assert_eq!(said, ["one", "two", "three"]);
}
