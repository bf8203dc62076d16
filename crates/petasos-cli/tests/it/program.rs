//! Runs the program in a home and a workspace of its own.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use petasos_modelserver::Recorded;
use petasos_testkit::model_server::ModelServer;
use serde_json::Value;
use tempfile::TempDir;

use crate::events_page::{event, exit_codes};

/// A home folder and a workspace.
pub struct Place {
    folder: TempDir,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Puts a file into the workspace.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.work().join(name), text).unwrap();
    }

    /// Makes the file of settings in the home folder.
    pub fn settings(&self, text: &str) {
        fs::create_dir_all(self.home()).unwrap();
        fs::write(self.home().join("config.yaml"), text).unwrap();
    }

    /// A folder that takes long to search: 40 files of 1 MB, and what is looked for at the end of the last.
    pub fn hay(&self) {
        let hay = "a straw like any other\n".repeat(45_000);
        fs::create_dir(self.work().join("hay")).unwrap();
        for place in 0..40 {
            let last = if place == 39 { "the last needle\n" } else { "" };
            self.write(&format!("hay/{place:02}.txt"), &format!("{hay}{last}"));
        }
    }

    /// What a file of the workspace holds; none if it is not there.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.work().join(name)).ok()
    }

    /// The program, in the workspace, with nothing of the tests' own environment and nothing on stdin.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.work()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("PETASOS_HOME", self.home());
        command.env("PETASOS_NO_PROBE", "1");
        command
    }

    pub fn petasos(&self) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_petasos")))
    }

    /// `petasos run` against a server.
    pub fn run(&self, server: &ModelServer, arguments: &[&str]) -> Ended {
        ended(self.petasos().arg("run").args(model(server)).args(arguments))
    }

    /// `petasos run --json` against a server.
    pub fn run_json(&self, server: &ModelServer, arguments: &[&str]) -> Ended {
        ended(self.petasos().args(["run", "--json"]).args(model(server)).args(arguments))
    }

    /// Any command.
    pub fn petasos_does(&self, arguments: &[&str]) -> Ended {
        ended(self.petasos().args(arguments))
    }

    /// Any command, with this on stdin.
    pub fn with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Ended {
        let mut command = self.petasos();
        let command =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // It may end without reading all of it.
        drop(pipe.write_all(stdin));
        drop(pipe);
        of(child.wait_with_output().unwrap())
    }

    /// The ids of the sessions that are kept, by age.
    pub fn sessions(&self) -> Vec<String> {
        let Ok(names) = fs::read_dir(self.home().join("sessions")) else { return Vec::new() };
        let mut ids: Vec<String> =
            names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        ids.sort();
        ids
    }

    /// The log of a session.
    pub fn log(&self, session: &str) -> PathBuf {
        self.home().join("sessions").join(session).join("log.jsonl")
    }

    /// The lines of the log of the only session.
    pub fn entries(&self) -> Vec<Value> {
        let sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        let log = fs::read_to_string(self.log(&sessions[0])).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The arguments that name a server.
pub fn model(server: &ModelServer) -> [String; 4] {
    ["--base-url".into(), server.base_url(), "--model".into(), "scripted".into()]
}

/// What requests to the model hold, in order.
pub fn bodies(requests: &[Recorded]) -> Vec<Value> {
    let chats = requests.iter().filter(|request| request.path.ends_with("/chat/completions"));
    chats.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

/// The messages of a request.
pub fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().unwrap()
}

/// The ids of the calls and the texts of the results in a request, in order.
pub fn results(body: &Value) -> Vec<(&str, &str)> {
    let tools = messages(body).iter().filter(|message| message["role"] == "tool");
    tools.map(|message| (message["tool_call_id"].as_str().unwrap(), content(message))).collect()
}

/// The text of a message, whatever its form.
pub fn content(message: &Value) -> &str {
    message["content"].as_str().or_else(|| message["content"][0]["text"].as_str()).unwrap_or_default()
}

/// The entries of a kind in a log.
pub fn of_kind<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["kind"] == kind).collect()
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ended {
    of(command.output().unwrap())
}

/// What is left of a process that was begun with its outputs piped.
pub fn end_of(child: Child) -> Ended {
    of(child.wait_with_output().unwrap())
}

fn of(output: Output) -> Ended {
    use std::os::unix::process::ExitStatusExt as _;
    let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Ended {
    /// Every line of stdout as an event that is on the page.
    pub fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(event).collect()
    }

    /// The last line: the result, whose status goes with the exit code.
    pub fn result(&self) -> Value {
        let last = self.events().pop().unwrap();
        assert_eq!(last["type"], "result", "{}", self.stdout);
        let codes = exit_codes(last["status"].as_str().unwrap());
        assert!(codes.contains(&self.code), "{} and not {codes:?}: {last}", self.code);
        last
    }

    /// The types of the events, in order.
    pub fn types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}
