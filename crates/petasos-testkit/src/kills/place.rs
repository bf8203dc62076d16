//! A home and a workspace of a session's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use petasos_core::request::Wire;
use tempfile::TempDir;

use super::{Log, Programs};

#[derive(Debug)]
pub(super) struct Place {
    folder: TempDir,
    base_url: String,
}

impl Place {
    pub(super) fn new(base_url: &str, files: &[(String, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder, base_url: base_url.to_owned() };
        fs::create_dir(place.home()).unwrap();
        fs::create_dir(place.work()).unwrap();
        for (name, text) in files {
            fs::write(place.work().join(name), text).unwrap();
        }
        let config = format!("model: {{base_url: \"{base_url}\", name: scripted}}\n");
        fs::write(place.home().join("config.yaml"), config).unwrap();
        place
    }

    pub(super) fn add_setting(&self, line: &str) {
        let config = self.home().join("config.yaml");
        let before = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{before}{line}\n")).unwrap();
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where a process on a bad disk lists its acts.
    pub(super) fn list(&self) -> PathBuf {
        self.folder.path().join("acts")
    }

    /// The file that a command makes when it is under way.
    pub(super) fn up(&self) -> PathBuf {
        self.work().join("up")
    }

    /// What a file of the workspace holds; none if it is not there.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.work().join(name)).ok()
    }

    /// The lines of the counter file.
    pub(super) fn counted(&self) -> Vec<String> {
        self.read("counter.txt").unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// A program in the workspace, with nothing of the tests' own environment.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.work()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("PETASOS_HOME", self.home());
        command.env("PETASOS_NO_PROBE", "1");
        command
    }

    /// The flags that name the model on a wire.
    pub(super) fn model(&self, wire: Wire) -> [String; 6] {
        ["--base-url", &self.base_url, "--model", "scripted", "--api-mode", name(wire)].map(str::to_owned)
    }

    /// The newest log that is one.
    pub(super) fn log(&self) -> Log {
        let Ok(names) = fs::read_dir(self.home().join("sessions")) else { return Log::default() };
        let logs = names.map(|name| name.unwrap().path().join("log.jsonl")).filter(|log| log.is_file());
        logs.max().map_or_else(Log::default, |log| Log::read(&log))
    }

    /// The last request of a session, written for a wire.
    pub(super) fn request(&self, programs: &Programs, wire: Wire, session: &str) -> Vec<u8> {
        let mut command = self.command(&programs.petasos);
        let output = command.args(["dev", "request", "--wire", name(wire), session]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
}

fn name(wire: Wire) -> &'static str {
    match wire {
        Wire::Chat => "chat",
        Wire::Responses => "responses",
        Wire::Messages => "messages",
    }
}
