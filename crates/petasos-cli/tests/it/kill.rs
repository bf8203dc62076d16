//! Row S01 through the binary: SIGKILL before, within and after every line of the log, then `petasos resume`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos_store::{Durability, FolderStore, Store as _};
use petasos_testkit::model_server::ModelServer;
use serde_json::Value;

use crate::program::{Ended, Place, ended};

/// A request made again gets the same reply.
const SCRIPT: &str = concat!(
    r#"{"calls":[{"name":"read_file","arguments":{"path":"notes.txt"}},"#,
    r#"{"name":"write_file","arguments":{"path":"out.txt","content":"alpha\nbeta\n"}},"#,
    r#"{"name":"run_command","arguments":{"command":"echo ran >> counter.txt"}}],"when":{"results":0}}"#,
    "\n",
    r#"{"text":"All three are done.","when":{"results":3}}"#,
    "\n",
);
const REPLY: &str = "All three are done.";
const WRITTEN: &str = "alpha\nbeta\n";
const COUNTED: &str = "ran\n";

const RUN: [&str; 4] = ["run", "--json", "--allow-commands", "Do all three."];
const RESUME: [&str; 3] = ["resume", "--json", "--allow-commands"];

const SIGKILL: i32 = 9;

/// Runs at once; each has a process and a server.
const AT_ONCE: usize = 4;

/// Cargo builds the examples of a package with its tests, but not with one test target alone.
fn killing_program() -> PathBuf {
    let program =
        Path::new(env!("CARGO_BIN_EXE_petasos")).with_file_name("examples").join("on_a_killing_disk");
    assert!(program.is_file(), "{} is not built: cargo test -p petasos-cli builds it", program.display());
    program
}

/// A workspace with notes, and a home that names the server.
fn place(server: &ModelServer) -> Place {
    let place = Place::new();
    place.write("notes.txt", "first\nsecond\n");
    fs::create_dir(place.home()).unwrap();
    let config = format!("model: {{base_url: \"{}\", name: scripted}}\n", server.base_url());
    fs::write(place.home().join("config.yaml"), config).unwrap();
    place
}

/// Lines of the log of the run that nobody kills.
fn lines_of_the_unkilled_run() -> usize {
    let server = ModelServer::start(SCRIPT);
    let place = place(&server);
    let whole = place.petasos_does(&RUN);
    assert_eq!((whole.code, &whole.result()["reply"]), (0, &Value::from(REPLY)), "{whole:?}");
    assert_eq!(place.read("out.txt").as_deref(), Some(WRITTEN));
    assert_eq!(place.read("counter.txt").as_deref(), Some(COUNTED));
    check_log(&place);
    place.entries().len()
}

#[test]
fn s01_a_kill_before_and_after_every_line_loses_nothing_and_runs_nothing_twice() {
    let lines = lines_of_the_unkilled_run();
    assert_eq!(kill_at_every_line(&["before", "after"], lines).len(), 2 * lines);
}

#[test]
fn s01_a_kill_in_the_middle_of_every_line_loses_nothing_and_runs_nothing_twice() {
    let lines = lines_of_the_unkilled_run();
    assert_eq!(kill_at_every_line(&["within"], lines).len(), lines);
}

/// What became of each point, which is printed as well.
fn kill_at_every_line(sides: &[&str], lines: usize) -> BTreeMap<(usize, String), String> {
    let points: Vec<(usize, &str)> =
        (1..=lines).flat_map(|line| sides.iter().map(move |side| (line, *side))).collect();
    let (next, became) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((line, side)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let told = kill_at(side, *line);
                    became.lock().unwrap().insert((*line, (*side).to_owned()), told);
                }
            });
        }
    });
    let became = became.into_inner().unwrap();
    for ((line, side), told) in &became {
        println!("{side:>6} line {line:>2}: {told}");
    }
    became
}

fn kill_at(side: &str, line: usize) -> String {
    let server = ModelServer::start(SCRIPT);
    let place = place(&server);
    let killed = ended(place.command(&killing_program()).args([side, &line.to_string()]).args(RUN));
    assert_eq!(killed.code, -SIGKILL, "{side} line {line}: {killed:?}");
    let kept = kept(&place);
    check_told(&killed, &kept);
    // Where a line is torn nobody knows what it said: it may have been the start of any call that is open.
    let in_flight = if side == "within" { open(&kept) } else { in_flight(&kept) };
    let has_task = kept.iter().any(|entry| entry["kind"] == "said");
    let is_finished = kept.iter().any(|entry| entry["kind"] == "turn_end");
    let resumed = ended(place.petasos().args(RESUME));
    let what = if !has_task {
        // The task was never told to be kept, so it is given again.
        assert_eq!((resumed.code, server.requests().len()), (2, 0), "{resumed:?}");
        let again = place.petasos_does(&RUN);
        assert_eq!((again.code, &again.result()["reply"]), (0, &Value::from(REPLY)), "{again:?}");
        "no task was kept; it was given again and done"
    } else if is_finished {
        assert_eq!(resumed.code, 2, "{resumed:?}");
        "the turn was over; nothing to resume"
    } else {
        assert_eq!((resumed.code, &resumed.result()["reply"]), (0, &Value::from(REPLY)), "{resumed:?}");
        "resumed and completed"
    };
    let results = check_log(&place);
    let files = check_files(&place, &in_flight, &results);
    // The server judges each request, and that each begins as the one before.
    let requests = server.finish().len();
    let in_flight = if in_flight.is_empty() { String::new() } else { format!(", in flight: {in_flight:?}") };
    format!("{what}; {requests} requests{in_flight}{files}")
}

/// The whole lines of the log, if there is one.
fn kept(place: &Place) -> Vec<Value> {
    let sessions = place.sessions();
    let Some(session) = sessions.first() else { return Vec::new() };
    let Ok(log) = fs::read_to_string(place.log(session)) else { return Vec::new() };
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Everything that was told to be kept is kept.
fn check_told(killed: &Ended, kept: &[Value]) {
    for line in killed.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let event: Value = serde_json::from_str(line).unwrap();
        let Some(seq) = event.get("entry") else { continue };
        let entry = kept.iter().find(|entry| entry["seq"] == *seq);
        assert!(entry.is_some(), "told and not kept: {event}");
    }
}

fn of<'a>(entries: &'a [Value], kind: &'static str) -> impl Iterator<Item = &'a Value> {
    entries.iter().filter(move |entry| entry["kind"] == kind).map(|entry| &entry["body"])
}

/// Each call that the model made, and its tool.
fn calls(entries: &[Value]) -> Vec<(Value, String)> {
    let mut calls = Vec::new();
    for reply in entries.iter().filter(|entry| entry["kind"] == "reply") {
        let blocks = reply["body"]["blocks"].as_array().unwrap().iter();
        for (place, call) in blocks.filter_map(|block| block.get("call")).enumerate() {
            let id = Value::from(format!("{}.{place}", reply["seq"]));
            calls.push((id, call["name"].as_str().unwrap().to_owned()));
        }
    }
    calls
}

/// The tools of the calls that have no result.
fn open(kept: &[Value]) -> Vec<String> {
    let has_result = |call: &Value| of(kept, "tool_result").any(|result| result["call"] == *call);
    calls(kept).into_iter().filter(|(call, _)| !has_result(call)).map(|(_, tool)| tool).collect()
}

/// Those of them that began.
fn in_flight(kept: &[Value]) -> Vec<String> {
    let has_begun = |tool: &String| {
        let mut all = calls(kept).into_iter().filter(|(_, name)| name == tool);
        all.any(|(call, _)| of(kept, "tool_start").any(|start| start["call"] == call))
    };
    open(kept).into_iter().filter(has_begun).collect()
}

/// The log is whole, and each call of a reply has one result. Gives the outcome of each call's tool.
fn check_log(place: &Place) -> BTreeMap<String, Value> {
    let store = FolderStore::new(place.home(), Durability::Power);
    let mut outcomes = BTreeMap::new();
    for session in place.sessions() {
        if !place.log(&session).is_file() {
            continue;
        }
        let contents = store.read(&session.parse().unwrap()).unwrap();
        // Where the kill came before anything that was said was kept, there is nothing to go on with, and nobody opens
        // the session again.
        if !contents.entries.iter().any(|entry| entry.body.kind() == "said") {
            continue;
        }
        // A line that the kill cut is set aside by who opens the log, and is not in the log then.
        assert_eq!(contents.damage, Vec::new(), "{session}");
        let log = fs::read_to_string(place.log(&session)).unwrap();
        let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (call, tool) in calls(&entries) {
            let results: Vec<&Value> =
                of(&entries, "tool_result").filter(|result| result["call"] == call).collect();
            assert_eq!(results.len(), 1, "call {call}: {results:?}");
            outcomes.insert(tool, results[0]["outcome"].clone());
        }
        let ends = of(&entries, "turn_end").count();
        assert!(ends <= 1, "{ends} ends of one turn");
    }
    outcomes
}

/// The files are those of the unkilled run, but for what was in flight: that is there whole or not at all, and
/// what is not known to be there is not told to be.
fn check_files(place: &Place, in_flight: &[String], outcomes: &BTreeMap<String, Value>) -> String {
    let mut told = String::new();
    for (tool, file, wanted) in [("write_file", "out.txt", WRITTEN), ("run_command", "counter.txt", COUNTED)]
    {
        let found = place.read(file);
        if in_flight.iter().any(|one| one == tool) {
            assert!(found.is_none() || found.as_deref() == Some(wanted), "{file}: {found:?}");
            let is_there = if found.is_some() { "is there" } else { "is not there" };
            told.push_str(&format!(", {file} {is_there} and {tool} ended {}", outcomes[tool]));
            let is_done = outcomes[tool] == "ok" || outcomes[tool] == "empty";
            assert!(found.is_some() || !is_done, "{tool} is told to be done, and is not");
        } else {
            assert_eq!(found.as_deref(), Some(wanted), "{file}");
            // A command that says nothing is done, too.
            assert!(outcomes[tool] == "ok" || outcomes[tool] == "empty", "{tool}: {}", outcomes[tool]);
        }
    }
    told
}
