//! Row S01 and case H-08: a process that ended between what a call does and its result; the next one looks.

use std::fs;

use petasos_testkit::model_server::ModelServer;
use serde_json::Value;

use crate::kill::programs;
use crate::program::{Place, bodies, ended, model, of_kind, results};
use crate::running::Running;

const WRITES: &str = r#"{"calls":[{"name":"write_file","arguments":{"path":"plan.txt","content":"all of it\n"}}],"when":{"results":0}}
{"text":"I have looked.","when":{"results":1}}"#;
const EDITS: &str = r#"{"calls":[{"name":"edit_file","arguments":{"path":"plan.txt","edits":[{"old":"before","new":"after"}]}}],"when":{"results":0}}
{"text":"I have looked.","when":{"results":1}}"#;

/// What the process left, and what the next one finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// It ended when the start of the call was on the disk.
    Nothing,
    /// It ended when the file was written and its result was not.
    Written,
    /// The same, and somebody else has written the file since.
    SomebodyElses,
}

/// The number of the act that a process came to last before it ended there, counted from 1.
fn act(place: &Place, server: &ModelServer, wanted: (&str, Option<&str>)) -> u64 {
    let list = place.home().join("acts");
    let mut command = place.command(&programs().on_a_bad_disk);
    let run = ended(command.arg("list").arg(&list).args(["run", "--json"]).args(model(server)).arg("do it"));
    assert_eq!(run.code, 0, "{run:?}");
    let acts = fs::read_to_string(list).unwrap();
    let acts: Vec<&str> = acts.lines().collect();
    let from = acts.iter().position(|act| *act == wanted.0).unwrap();
    let at = wanted.1.map_or(Some(0), |then| acts[from..].iter().position(|act| *act == then)).unwrap();
    (from + at) as u64 + 1
}

fn looked(script: &str, left: Left) -> (Place, Value, String) {
    let before = "this was before\n";
    let fresh = || {
        let place = Place::new();
        fs::create_dir(place.home()).unwrap();
        place.write("plan.txt", before);
        place
    };
    let listing = ModelServer::start(script);
    let (side, wanted) = match left {
        Left::Nothing => ("after", ("line tool_start", Some("sync log.jsonl"))),
        Left::Written | Left::SomebodyElses => ("before", ("line tool_result", None)),
    };
    let at = act(&fresh(), &listing, wanted);
    let (place, server) = (fresh(), ModelServer::start(script));
    let mut command = place.command(&programs().on_a_bad_disk);
    let killed =
        ended(command.args([side, &at.to_string(), "run", "--json"]).args(model(&server)).arg("do it"));
    assert_eq!(killed.code, -9, "{killed:?}");
    if left == Left::SomebodyElses {
        place.write("plan.txt", "somebody else's\n");
    }
    let found = place.read("plan.txt");
    let run = place.petasos_does(&["resume"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I have looked.\n"), "{run:?}");
    assert_eq!(place.read("plan.txt"), found, "who looks changes nothing");
    let entries = place.entries();
    assert_eq!((of_kind(&entries, "tool_start").len(), of_kind(&entries, "tool_result").len()), (1, 1));
    let outcome = of_kind(&entries, "tool_result")[0]["body"]["outcome"].clone();
    let sent = bodies(&server.finish()).pop().unwrap();
    let told = results(&sent)[0].1.to_owned();
    (place, outcome, told)
}

#[test]
fn s01_a_file_that_was_not_written_is_told_so_and_may_be_written_again() {
    for script in [WRITES, EDITS] {
        let (place, outcome, told) = looked(script, Left::Nothing);
        assert_eq!(
            (outcome.as_str(), place.read("plan.txt").as_deref()),
            (Some("never_began"), Some("this was before\n"))
        );
        assert!(
            told.contains("never_began") || told.contains("did not begin") || told.contains("not"),
            "{told}"
        );
    }
}

#[test]
fn s01_a_file_that_was_written_is_told_as_done_and_is_not_written_again() {
    for (script, holds) in [(WRITES, "all of it\n"), (EDITS, "this was after\n")] {
        let (place, outcome, told) = looked(script, Left::Written);
        assert_eq!(
            (outcome.as_str(), place.read("plan.txt").as_deref()),
            (Some("ok"), Some(holds)),
            "{told}"
        );
    }
}

#[test]
fn s01_a_file_that_somebody_else_has_written_since_is_left_and_told_as_unknown() {
    for script in [WRITES, EDITS] {
        let (place, outcome, told) = looked(script, Left::SomebodyElses);
        assert_eq!(
            (outcome.as_str(), place.read("plan.txt").as_deref()),
            (Some("unknown"), Some("somebody else's\n")),
            "{told}"
        );
    }
}

#[test]
fn case_h08_a_command_whose_process_was_killed_does_not_run_again() {
    let script = r#"{"calls":[{"name":"run_command","arguments":{"command":"echo hit >> count.txt; touch up; exec sleep 5"}}],"when":{"results":0}}
{"text":"I shall look first.","when":{"results":1}}"#;
    let server = ModelServer::start(script);
    let place = Place::new();
    let mut command = place.petasos();
    let run = Running::begin(
        command.args(["run", "--json", "--allow-commands"]).args(model(&server)).arg("hit it"),
    );
    let mut run = run.hush();
    run.wait_for("tool_start");
    // The start is on the disk before the command is.
    assert_eq!(of_kind(&place.entries(), "tool_start").len(), 1);
    while !place.work().join("up").exists() {
        std::thread::yield_now();
    }
    run.signal("KILL");
    assert_eq!(run.end().code, -9);
    let resumed = place.petasos_does(&["resume", "--json", "--allow-commands", "-m", "go on"]);
    assert_eq!(
        (resumed.code, &resumed.result()["reply"]),
        (0, &Value::from("I shall look first.")),
        "{resumed:?}"
    );
    assert_eq!(place.read("count.txt").as_deref(), Some("hit\n"));
    let entries = place.entries();
    assert_eq!(of_kind(&entries, "tool_result")[0]["body"]["outcome"], "unknown");
    assert_eq!(results(&bodies(&server.finish())[1]).len(), 1);
}
