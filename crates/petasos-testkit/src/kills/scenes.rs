//! What is said, what a model answers, and what its tools do: a few scenes that hold everything that a turn may meet, and
//! any number made by chance.

use serde_json::{Value, json};

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `petasos run`.
    Run,
    /// `petasos run`, and SIGINT once a command has made the file `up`.
    Stopped,
    /// `petasos chat`, to which all is said at once.
    Chat,
}

/// A scene.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name.
    pub name: String,
    /// What the model answers, as the scripted model server reads it.
    pub script: String,
    /// What is in the workspace.
    pub files: Vec<(String, String)>,
    /// How it begins.
    pub how: How,
    /// Commands ask, and are approved one by one; else they are allowed.
    pub asks: bool,
    /// The task.
    pub first: String,
    /// What is said for the next step while the first turn runs, in a chat; it may be lost with the process.
    pub steers: Vec<String>,
    /// What is said after it, each for a turn of its own.
    pub then: Vec<String>,
    /// What the last turn answers.
    pub reply: String,
}

impl Scene {
    /// What is typed in a chat.
    pub(super) fn lines(&self) -> String {
        let steers = self.steers.iter().map(|steer| format!("/steer {steer}"));
        let lines = std::iter::once(self.first.clone()).chain(steers).chain(self.then.iter().cloned());
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// A reply with calls, for a request that holds so many results.
pub(super) fn calls(results: usize, calls: &[Value]) -> String {
    format!("{}\n", json!({"calls": calls, "when": {"results": results}}))
}

/// A reply that is text alone.
pub(super) fn says(results: usize, text: &str) -> String {
    format!("{}\n", json!({"text": text, "when": {"results": results}}))
}

/// A failure in its place.
pub(super) fn fails(results: usize, fault: &Value) -> String {
    format!(
        "{}\n",
        json!({"text": "This is not heard to its end.", "fault": fault, "when": {"results": results}})
    )
}

pub(super) fn count(token: &str) -> Value {
    json!({"name": "run_command", "arguments": {"command": format!("echo {token} >> counter.txt")}})
}

pub(super) fn write(name: &str) -> Value {
    json!({"name": "write_file", "arguments": {"path": name, "content": format!("all of {name}\n")}})
}

pub(super) fn edit(name: &str) -> Value {
    let edits = json!([{"old": "before", "new": "after"}]);
    json!({"name": "edit_file", "arguments": {"path": name, "edits": edits}})
}

pub(super) fn read(name: &str) -> Value {
    json!({"name": "read_file", "arguments": {"path": name}})
}

pub(super) fn file(name: &str) -> (String, String) {
    (name.to_owned(), "this was before\n".to_owned())
}

/// A command whose output is kept as a blob, for it is too long for the model.
pub(super) fn long(token: &str) -> Value {
    let command = format!("echo {token} >> counter.txt; seq 1 20000");
    json!({"name": "run_command", "arguments": {"command": command}})
}

/// The scenes of the kill list.
pub fn all() -> Vec<Scene> {
    vec![parallel(), asked(), stopped(), steered(), retried()]
}

fn scene(name: &str, how: How, script: String) -> Scene {
    Scene {
        name: name.to_owned(),
        script,
        files: vec![file("notes.txt"), file("plan.txt")],
        how,
        asks: false,
        first: "Do the work.".to_owned(),
        steers: Vec::new(),
        then: Vec::new(),
        reply: "All is done.".to_owned(),
    }
}

/// Calls in parallel, of all kinds; then one with an output that is kept whole.
fn parallel() -> Scene {
    let script = [
        calls(0, &[read("notes.txt"), write("out.txt"), edit("plan.txt"), count("one")]),
        calls(4, &[read("plan.txt"), long("two")]),
        says(6, "All is done."),
    ];
    scene("parallel calls", How::Run, script.concat())
}

/// Calls that ask: the run parks, and each is approved.
fn asked() -> Scene {
    let script = [
        calls(0, &[read("notes.txt"), count("one"), write("out.txt"), count("two")]),
        says(4, "All is done."),
    ];
    Scene { asks: true, ..scene("asked calls", How::Run, script.concat()) }
}

/// A turn that is interrupted while a command runs, goes on, and is followed by another.
fn stopped() -> Scene {
    let waits = json!({"name": "run_command", "arguments": {
        "command": "echo one >> counter.txt; touch up; exec sleep 2"}});
    let script = [
        calls(0, &[read("notes.txt"), waits]),
        calls(2, &[count("two")]),
        says(3, "So far."),
        calls(3, &[count("three")]),
        says(4, "All is done."),
    ];
    let then = vec!["And once more.".to_owned()];
    Scene { then, ..scene("an interrupt and a turn after it", How::Stopped, script.concat()) }
}

/// Somebody speaks while the turn runs, for the next step and for after it.
fn steered() -> Scene {
    let script = [
        calls(0, &[count("one"), read("notes.txt")]),
        calls(2, &[write("out.txt")]),
        says(3, "So far."),
        calls(3, &[count("two")]),
        says(4, "All is done."),
    ];
    let steers = vec!["Mind the notes.".to_owned()];
    let then = vec!["And once more.".to_owned()];
    Scene { steers, then, ..scene("a steer and a turn after it", How::Chat, script.concat()) }
}

/// A server that wants no more for a moment, and a stream that breaks off.
fn retried() -> Scene {
    let script = [
        fails(0, &json!({"status": 429})),
        calls(0, &[count("one")]),
        fails(1, &json!({"cut_after_bytes": 300})),
        says(1, "All is done."),
    ];
    scene("failures that are tried again", How::Run, script.concat())
}
