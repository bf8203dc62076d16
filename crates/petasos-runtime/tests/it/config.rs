//! Settings: where each comes from, what a workspace may do to them, and which model they choose.

mod layers;
mod models;
mod page;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use petasos_runtime::config::{ConfigError, Environment, Flags};
use petasos_runtime::{OsDisk, Setup};
use tempfile::TempDir;

/// A home and a workspace, and what files, variables and flags say.
pub struct Layers {
    folder: TempDir,
    variables: Vec<(String, String)>,
    flags: Flags,
}

impl Layers {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home")).unwrap();
        fs::create_dir_all(folder.path().join("work/.petasos")).unwrap();
        Self { folder, variables: Vec::new(), flags: Flags::default() }.variable("PETASOS_NO_PROBE", "1")
    }

    fn write(self, name: &str, text: &str) -> Self {
        fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    pub fn home(self, text: &str) -> Self {
        self.write("home/config.yaml", text)
    }

    pub fn env_file(self, text: &str) -> Self {
        self.write("home/.env", text)
    }

    pub fn workspace(self, text: &str) -> Self {
        self.write("work/.petasos/config.yaml", text)
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn setup(&self) -> Result<Setup, ConfigError> {
        let home = self.folder.path().join("home");
        let place = ("PETASOS_HOME".to_owned(), home.to_str().unwrap().to_owned());
        let environment: Environment = self.variables.iter().cloned().chain([place]).collect();
        let work = self.folder.path().join("work");
        Setup::read(environment, Some(&work), self.flags.clone(), Arc::new(OsDisk))
    }

    /// What is said where there are no settings.
    #[track_caller]
    pub fn refusal(&self) -> String {
        self.setup().expect_err("it is refused").to_string()
    }
}
