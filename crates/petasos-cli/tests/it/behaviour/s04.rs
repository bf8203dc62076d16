//! Row S04: a session is gone through again from its log alone.

use std::fs;

use petasos_testkit::model_server::ModelServer;
use serde_json::Value;

use crate::program::Place;

const SCRIPT: &str = r#"{"text":"I look.","reasoning":"hm","calls":[{"name":"read_file","arguments":{"path":"a.txt"}},{"name":"write_file","arguments":{"path":"b.txt","content":"two"}},{"name":"run_command","arguments":{"command":"echo x >> ran.txt"}}]}
{"fault":{"status":503,"body":"busy"}}
{"calls":[{"name":"read_file","arguments":{"path":"none.txt"}}]}
{"text":"done"}"#;

const PAGE: &str = include_str!("../../../../../docs/format/replay.md");

/// The names in the first column of a table of the page.
fn named(title: &str) -> Vec<String> {
    let section = PAGE.split(&format!("### {title}\n")).nth(1).unwrap().split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

fn names(object: &Value) -> Vec<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

/// The one line of a replay, which is as its page says.
fn report(stdout: &str) -> Value {
    let mut lines = stdout.lines();
    let report: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(lines.next(), None);
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(names(&report)), sorted(named("replay")));
    for left_out in report["left_out"].as_array().unwrap() {
        assert_eq!(sorted(names(left_out)), sorted(named("LeftOut")));
    }
    for difference in report["differences"].as_array().unwrap() {
        let what = difference["what"].as_str().unwrap();
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{what}` |"))).unwrap();
        for name in names(difference).iter().filter(|name| *name != "what") {
            assert!(row.contains(&format!("`{name}`")), "{name} is missing in {row}");
        }
    }
    report
}

/// A file of each wire's session: nothing of it is run again, and nobody is asked.
#[test]
fn s04_a_session_is_replayed_on_each_wire_and_nothing_is_run_or_asked() {
    for wire in ["chat", "responses", "messages"] {
        let place = Place::new();
        place.write("a.txt", "one");
        let server = ModelServer::start(SCRIPT).with_breaks();
        let ran = place.run(&server, &["--allow-commands", "--api-mode", wire, "do it"]);
        assert_eq!((ran.code, place.read("ran.txt").as_deref()), (0, Some("x\n")), "{}", ran.stderr);
        let asked = server.requests().len();
        fs::remove_file(place.work().join("b.txt")).unwrap();
        let before = fs::read(place.log(&place.sessions()[0])).unwrap();

        let replayed = place.petasos_does(&["replay", "--json"]);
        let report = report(&replayed.stdout);
        assert_eq!((replayed.code, &report["differences"]), (0, &serde_json::json!([])), "{wire}: {report}");
        // All but `session` and `open`; the request that failed is one of four.
        let entries = place.entries().len() - 2;
        let told = (&report["entries"], &report["requests"], &report["calls"], &report["same"]);
        assert_eq!(told, (&entries.into(), &4.into(), &4.into(), &true.into()));

        assert_eq!(server.requests().len(), asked);
        assert_eq!((place.read("ran.txt").as_deref(), place.read("b.txt")), (Some("x\n"), None));
        assert_eq!(fs::read(place.log(&place.sessions()[0])).unwrap(), before);
    }
}

#[test]
fn s04_a_log_is_replayed_from_a_file_too_and_what_is_no_log_is_told() {
    let place = Place::new();
    let server = ModelServer::start("{\"text\":\"hello\"}").with_breaks();
    assert_eq!(place.run(&server, &["hi"]).code, 0);
    let id = &place.sessions()[0];
    let log = fs::read_to_string(place.log(id)).unwrap();
    place.write("kept.jsonl", &log);
    fs::remove_dir_all(place.home()).unwrap();
    let replayed = place.petasos_does(&["replay", "kept.jsonl"]);
    let told = format!("session {id}: 6 entries made again, 1 of 1 requests the same, 0 calls judged\n");
    assert_eq!((replayed.code, replayed.stdout, replayed.stderr), (0, told, String::new()));

    place.write("no.jsonl", "{}\n");
    for wrong in ["no.jsonl", "./none.jsonl", "zzz"] {
        let ended = place.petasos_does(&["replay", wrong]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{wrong}");
        assert!(ended.stderr.contains(wrong.trim_start_matches("./")), "{}", ended.stderr);
    }
}

/// A log in which what the model saw is not what was sent: as by a program that writes requests otherwise.
#[test]
fn s04_what_differs_is_named_by_step_request_and_part() {
    let place = Place::new();
    let server = ModelServer::start("{\"text\":\"hello\"}\n{\"text\":\"again\"}").with_breaks();
    assert_eq!(place.run(&server, &["hi"]).code, 0);
    let id = &place.sessions()[0];
    assert_eq!(place.petasos_does(&["resume", id, "-m", "and now"]).code, 0);
    let log = fs::read_to_string(place.log(id)).unwrap();
    let changed: String = log
        .lines()
        .map(|line| {
            let mut entry = petasos_core::entry::Entry::read(line).unwrap();
            if let petasos_core::entry::Body::Reply(reply) = &mut entry.body
                && entry.seq.0 < 9
            {
                reply.blocks = vec![petasos_core::entry::Block::Text("hallo".into())];
            }
            petasos_store::closed_line(&entry).unwrap()
        })
        .collect();
    place.write("changed.jsonl", &changed);
    let told = report(&place.petasos_does(&["replay", "--json", "changed.jsonl"]).stdout);
    assert_eq!((&told["same"], &told["differences"][0]["what"]), (&false.into(), &"part".into()));
    let replayed = place.petasos_does(&["replay", "changed.jsonl"]);
    let lines: Vec<&str> = replayed.stdout.lines().collect();
    assert_eq!(replayed.code, 1, "{}", replayed.stderr);
    assert!(lines[0].contains("1 of 2 requests the same"), "{lines:?}");
    let request =
        place.entries().iter().filter(|entry| entry["kind"] == "request").nth(1).unwrap()["seq"].clone();
    let reply = place.entries().iter().find(|entry| entry["kind"] == "reply").unwrap()["seq"].clone();
    let wanted = format!("  differs: request {request} (turn ");
    assert!(lines[1].starts_with(&wanted), "{lines:?}");
    assert!(
        lines[1].ends_with(&format!("step 1, try 1): part 4, the message of entry {reply}")),
        "{lines:?}"
    );
}

/// With `record: parts` the words that were sent are known whatever the program writes now.
#[test]
fn s04_parts_that_were_kept_show_the_words_that_were_sent() {
    let place = Place::new();
    place.settings("record: parts\n");
    let server = ModelServer::start("{\"text\":\"hello\"}\n{\"text\":\"again\"}").with_breaks();
    assert_eq!(place.run(&server, &["hi"]).code, 0);
    let id = &place.sessions()[0];
    assert_eq!(place.petasos_does(&["resume", id, "-m", "and now"]).code, 0);
    let folder = place.home().join("sessions").join(id);
    let requests = place.entries();
    let hashes = requests.iter().filter(|entry| entry["kind"] == "request").flat_map(|entry| {
        entry["body"]["parts"].as_array().unwrap().iter().map(|hash| hash.as_str().unwrap().to_owned())
    });
    let sent: Vec<u8> = hashes.flat_map(|hash| fs::read(folder.join("blobs").join(hash)).unwrap()).collect();
    // What was kept is what was sent, up to the end that is no part.
    assert!(server.requests().last().unwrap().body.starts_with(&sent));

    let log = fs::read_to_string(place.log(id)).unwrap();
    let changed: String = log
        .lines()
        .map(|line| {
            let mut entry = petasos_core::entry::Entry::read(line).unwrap();
            if let petasos_core::entry::Body::Reply(reply) = &mut entry.body {
                reply.blocks = vec![petasos_core::entry::Block::Text("hallo".into())];
            }
            petasos_store::closed_line(&entry).unwrap()
        })
        .collect();
    fs::write(place.log(id), changed).unwrap();
    let told = report(&place.petasos_does(&["replay", "--json", id]).stdout);
    let found = &told["differences"][0];
    assert!(found["was_text"].as_str().unwrap().contains("hello"), "{found}");
    assert!(found["now_text"].as_str().unwrap().contains("hallo"), "{found}");
    let folder = format!("{}/", folder.display());
    assert_eq!(report(&place.petasos_does(&["replay", "--json", &folder]).stdout), told);
}

#[test]
fn s04_recorded_sessions_are_tests_of_the_program_and_of_its_settings() {
    let place = Place::new();
    place.write("a.txt", "one");
    let server = ModelServer::start(SCRIPT).with_breaks();
    assert_eq!(place.run(&server, &["--allow-commands", "do it"]).code, 0);
    let id = &place.sessions()[0];
    let log = fs::read_to_string(place.log(id)).unwrap();
    place.write("kept.jsonl", &log);
    assert_eq!(place.petasos_does(&["sessions", "export", id, "-o", "whole.jsonl"]).code, 0);
    let whole = place.read("whole.jsonl").unwrap();
    let cut = whole.trim_end().rsplit_once('\n').unwrap().0;
    place.write("cut.jsonl", &format!("{cut}\n{{\"end\""));

    let tested = place.petasos_does(&["test", "kept.jsonl", "whole.jsonl"]);
    let told = "same  kept.jsonl\nsame  whole.jsonl\n2 the same, 0 differ, 0 cannot be read\n";
    assert_eq!((tested.code, tested.stdout.as_str(), tested.stderr.as_str()), (0, told, ""));
    let tested = place.petasos_does(&["test", "--json", "--present", "kept.jsonl"]);
    assert_eq!((tested.code, report(&tested.stdout)["same"].clone()), (0, true.into()), "{}", tested.stderr);

    // Another set of tools: what was recorded still holds, and what is there now is not what was tested.
    place.settings("tools: {disabled: [calculate]}\n");
    assert_eq!(place.petasos_does(&["test", "kept.jsonl"]).code, 0);
    let tested = place.petasos_does(&["test", "--present", "kept.jsonl"]);
    let lines: Vec<&str> = tested.stdout.lines().collect();
    assert_eq!(
        (tested.code, lines[0], *lines.last().unwrap()),
        (1, "differs  kept.jsonl", "0 the same, 1 differ, 0 cannot be read")
    );
    assert!(lines[1].ends_with("part 1, the tools") && lines[3].contains("calculate"), "{lines:?}");

    let tested = place.petasos_does(&["test", "cut.jsonl", "none.jsonl", "kept.jsonl"]);
    let told = "damaged  cut.jsonl\n  a torn line at the end\nsame  kept.jsonl\n1 the same, 0 differ, 2 cannot be read\n";
    assert_eq!((tested.code, tested.stdout.as_str()), (2, told), "{}", tested.stderr);
    assert!(tested.stderr.contains("none.jsonl"), "{}", tested.stderr);

    // Of a damaged one nobody knows whether it is the same, whichever line it is, and whatever the tail of a crash.
    for (damaged, line) in log.lines().enumerate().skip(1) {
        let sum = line.rsplit_once("\"sum\":\"").unwrap().1;
        let other = if sum.starts_with('0') { sum.replacen('0', "1", 1) } else { format!("0{}", &sum[1..]) };
        place.write("damaged.jsonl", &log.replace(sum, &other));
        let tested = place.petasos_does(&["test", "damaged.jsonl"]);
        assert_eq!((tested.code, tested.stdout.starts_with("damaged  ")), (2, true), "{damaged}: {tested:?}");
    }
    place.write("torn.jsonl", &format!("{log}{{\"v"));
    let replayed = place.petasos_does(&["replay", "torn.jsonl"]);
    assert_eq!((replayed.code, replayed.stdout.contains("  damaged: ")), (0, true), "{replayed:?}");

    let walked = place.petasos_does(&["replay", "--step", "kept.jsonl"]);
    let lines: Vec<&str> = walked.stdout.lines().collect();
    assert!(lines[0].starts_with("request ") && lines[0].ends_with("bytes, the same"), "{lines:?}");
    assert!(lines[1].contains("read_file: allow (default)"), "{lines:?}");
    assert_eq!(walked.code, 0);
}

#[test]
fn s04_live_goes_on_in_a_fork_with_a_model() {
    let place = Place::new();
    let server = ModelServer::start(r#"{"text":"the old answer"}"#);
    assert_eq!(place.run(&server, &["what is it?"]).code, 0);
    let id = place.sessions()[0].clone();
    let log = fs::read(place.log(&id)).unwrap();
    let server = ModelServer::start("{\"text\":\"a new answer\"}\n{\"text\":\"another\"}").with_breaks();
    let (url, model) = (server.base_url(), ["--model", "other"]);
    let live = ["replay", &id, "--live", "--base-url", &url, model[0], model[1]];
    let anew = place.petasos_does(&live);
    assert_eq!(anew.code, 0, "{anew:?}");
    let told: Vec<&str> = anew.stdout.lines().collect();
    assert!(told[0].contains("1 of 1 requests the same"), "{told:?}");
    assert_eq!(told[1..], ["a new answer"]);
    assert!(anew.stderr.contains(&format!("forked from {id}")), "{anew:?}");
    let said = place.petasos_does(&[&live[..], &["-m", "and now?"]].concat());
    assert_eq!((said.code, said.stdout.lines().last()), (0, Some("another")), "{said:?}");
    assert_eq!(fs::read(place.log(&id)).unwrap(), log, "the session stays as it is");
    let requests = server.finish();
    let bodies: Vec<String> =
        requests.iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    assert!(bodies[0].contains("what is it?") && !bodies[0].contains("the old answer"), "{}", bodies[0]);
    assert!(bodies[1].contains("the old answer") && bodies[1].contains("and now?"), "{}", bodies[1]);

    place.write("kept.jsonl", std::str::from_utf8(&log).unwrap());
    let file = place.petasos_does(&["replay", "kept.jsonl", "--live"]);
    assert_eq!(file.code, 2, "{file:?}");
    assert!(file.stderr.contains("petasos sessions import kept.jsonl"), "{file:?}");
}

/// What was decided before an import counts for nothing there but for who goes through it again.
#[test]
fn s04_an_imported_session_is_replayed_as_it_came_about() {
    let place = Place::new();
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo a"}},{"name":"run_command","arguments":{"command":"echo b"}}]}
{"text":"done"}"#;
    let server = ModelServer::start(script).with_breaks();
    assert_eq!(place.run(&server, &["--park", "do both"]).code, 15);
    let id = place.sessions()[0].clone();
    let reply = place.entries().iter().find(|entry| entry["kind"] == "reply").unwrap()["seq"].clone();
    assert_eq!(place.petasos_does(&["resume", &id, "--park", &format!("--approve={reply}.1")]).code, 15);
    assert_eq!(place.petasos_does(&["resume", &id, &format!("--approve={reply}.0")]).code, 0);
    assert_eq!(place.petasos_does(&["sessions", "export", &id, "-o", "whole.jsonl"]).code, 0);
    let imported = place.petasos_does(&["sessions", "import", "whole.jsonl"]);
    for replayed in [&*id, "whole.jsonl", imported.stdout.trim()] {
        let replayed = place.petasos_does(&["replay", replayed]);
        assert_eq!(replayed.code, 0, "{replayed:?}");
    }
}

/// A call that ran because its rule allowed it then, and that would be asked about now.
#[test]
fn s04_a_decision_that_differs_is_told_before_the_parts() {
    let place = Place::new();
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"true"}}]}
{"text":"done"}"#;
    let server = ModelServer::start(script).with_breaks();
    assert_eq!(place.run(&server, &["--allow-commands", "do it"]).code, 0);
    let log = fs::read_to_string(place.log(&place.sessions()[0])).unwrap();
    // As by a program whose rules had another hash.
    let changed: String = log
        .lines()
        .map(|line| {
            let mut entry = petasos_core::entry::Entry::read(line).unwrap();
            if let petasos_core::entry::Body::Call(call) = &mut entry.body {
                call.policy = petasos_core::id::Digest([7; 32]);
            }
            petasos_store::closed_line(&entry).unwrap()
        })
        .collect();
    place.write("older.jsonl", &changed);
    place.settings("tools: {disabled: [calculate]}\n");
    assert_eq!(place.petasos_does(&["replay", "./older.jsonl"]).code, 0);
    let replayed = place.petasos_does(&["replay", "--present", "--json", "older.jsonl"]);
    let found = report(&replayed.stdout);
    let whats: Vec<&Value> =
        found["differences"].as_array().unwrap().iter().map(|one| &one["what"]).collect();
    assert_eq!((replayed.code, whats), (1, vec![&"decision".into(), &"part".into()]));
    let told = (&found["differences"][0]["was"], &found["differences"][0]["now"]);
    let wanted = (
        serde_json::json!({"verdict": "allow", "rule": "commands are allowed"}),
        serde_json::json!({"verdict": "ask", "rule": "commands ask"}),
    );
    assert_eq!(told, (&wanted.0, &wanted.1));
    let replayed = place.petasos_does(&["replay", "--present", "--allow-commands", "older.jsonl"]);
    assert!(!replayed.stdout.contains("decision"), "{}", replayed.stdout);
}
