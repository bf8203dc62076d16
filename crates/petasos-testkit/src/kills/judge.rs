//! What must hold after a process was ended, and at the end.

use std::collections::{BTreeMap, BTreeSet};

use petasos_core::request::Wire;
use petasos_modelserver::Recorded;
use petasos_store::{Durability, FolderStore, Store as _};
use serde_json::Value;

use super::log::text;
use super::place::Place;
use super::scenes::{How, Scene};
use super::{Log, Report};
use crate::check_request::check_request;

/// What is kept on the disk before anything that depends on it, so that it is told only when a power cut leaves it.
const SYNCED: [&str; 5] = ["said", "turn_start", "step_start", "tool_start", "turn_end"];

/// Everything that was told to be kept is kept.
pub(super) fn judge_told(stdout: &str, log: &Log, power_went: bool, context: &dyn Fn() -> String) {
    for line in stdout.split_inclusive('\n').filter(|line| line.starts_with('{') && line.ends_with('\n')) {
        let event: Value = serde_json::from_str(line).unwrap();
        let Some(seq) = event.get("entry").filter(|seq| !seq.is_null()) else { continue };
        if power_went && !SYNCED.contains(&text(&event["type"])) {
            continue;
        }
        let is_kept = log.entries.iter().any(|entry| entry["seq"] == *seq);
        assert!(is_kept, "lost: told and not kept, {event}, {}", context());
    }
}

/// The log is whole, each call has one result and each request one end, what ran ran once, and the files are what the
/// results say.
pub(super) fn judge(log: &Log, place: &Place, scene: &Scene, report: &Report) {
    let session = log.session();
    let store = FolderStore::new(place.home(), Durability::Power);
    let contents = store.read(&session.parse().unwrap()).unwrap();
    // A line that was cut is set aside by who opens the log, and is not in the log then.
    assert_eq!(contents.damage, Vec::new(), "{session}");
    assert_eq!(contents.entries.len(), log.entries.len());
    judge_blobs(log, &store);
    for (request, _) in log.of("request") {
        let ends = log.of("reply").chain(log.of("request_end"));
        let count = ends.filter(|(_, end)| end["request"] == request).count();
        assert_eq!(count, 1, "request {request} has {count} ends");
    }
    let mut tokens = BTreeSet::new();
    let mut told = BTreeMap::new();
    for (call, tool, arguments) in log.calls() {
        let outcomes = log.outcomes(&call);
        assert_eq!(outcomes.len(), 1, "call {call} has the results {outcomes:?}");
        let outcome = outcomes[0];
        told.insert(call.clone(), outcome.to_owned());
        let is_done = outcome == "ok" || outcome == "empty";
        let may_end_otherwise = report.in_flight.contains(&call) || scene.how == How::Stopped;
        assert!(is_done || may_end_otherwise, "{tool} {call} was not in flight, and ended {outcome}");
        match tool.as_str() {
            "run_command" => {
                let token = token(text(&arguments["command"]));
                assert!(tokens.insert(token.clone()), "{token} was called twice");
                let count = report.counted.iter().filter(|line| **line == token).count();
                judge_count(&token, count, outcome);
            }
            "write_file" => {
                let wanted = Some(text(&arguments["content"]).to_owned());
                judge_file(place, &arguments, (&None, &wanted), outcome);
            }
            "edit_file" => {
                let name = text(&arguments["path"]);
                let before = scene.files.iter().find(|(file, _)| file == name).unwrap().1.clone();
                let (old, new) = (&arguments["edits"][0]["old"], &arguments["edits"][0]["new"]);
                let wanted = Some(before.replacen(text(old), text(new), 1));
                judge_file(place, &arguments, (&Some(before), &wanted), outcome);
            }
            _ => {}
        }
    }
    let lines: BTreeSet<&String> = report.counted.iter().collect();
    assert_eq!(lines.len(), report.counted.len(), "doubled: {:?}", report.counted);
    assert!(lines.iter().all(|line| tokens.contains(*line)), "{lines:?} of {tokens:?}");
    let last = log.of("turn_end").next_back().unwrap().1;
    assert_eq!(last["reason"], "completed", "{told:?}");
    assert_eq!(log.last_text(), scene.reply, "{told:?}");
}

fn judge_count(token: &str, count: usize, outcome: &str) {
    assert!(count <= 1, "doubled: {token}");
    match outcome {
        "ok" | "empty" => assert_eq!(count, 1, "lost: {token} is told to be done, and is not"),
        "never_began" | "denied" | "invalid" => assert_eq!(count, 0, "{token} is told not to have begun"),
        _ => {}
    }
}

fn judge_file(
    place: &Place,
    arguments: &Value,
    (before, wanted): (&Option<String>, &Option<String>),
    outcome: &str,
) {
    let name = text(&arguments["path"]);
    let found = place.read(name);
    let fits = match outcome {
        "ok" | "empty" => found == *wanted,
        "never_began" | "denied" | "invalid" => found == *before,
        _ => found == *before || found == *wanted,
    };
    assert!(fits, "{name} is told {outcome} and holds {found:?}");
}

/// Every blob that an entry names is there, whole.
fn judge_blobs(log: &Log, store: &FolderStore) {
    for (_, result) in log.of("tool_result") {
        let Some(hash) = result["blob"]["hash"].as_str() else { continue };
        let id = log.session().parse().unwrap();
        let blob = store.find_blob(&id, hash).unwrap();
        store.read_blob(&id, &blob.hash, 0..u64::MAX).unwrap();
    }
}

/// What was said is in the log once, and the model heard it.
pub(super) fn judge_words(scene: &Scene, log: &Log, requests: &[Recorded]) {
    let last = requests.iter().rev().find(|request| !request.path.ends_with("/models")).unwrap();
    let last = String::from_utf8_lossy(&last.body).into_owned();
    let words = std::iter::once(&scene.first).chain(&scene.then);
    for word in words {
        assert_eq!(log.said().filter(|(_, _, text)| text == word).count(), 1, "{word:?} in the log");
    }
    for (seq, _, word) in log.said() {
        assert_eq!(last.matches(word).count(), 1, "what was said at {seq}, {word:?}, in {last}");
    }
}

/// A request is one that its wire takes.
pub(super) fn judge_request(wire: Wire, body: &[u8]) {
    let complaints = check_request(wire, body);
    assert!(complaints.is_empty(), "{wire:?}: {complaints:#?}");
}

/// The line that a command adds to the counter file.
fn token(command: &str) -> String {
    let rest = command.split("echo ").nth(1).unwrap_or_default();
    rest.split_whitespace().next().unwrap_or_default().to_owned()
}
