//! Where things are: the home folder, the workspace, and the environment.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::ConfigError;

/// Environment variables, as the process found them; handed in, so that tests own them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process. One that is not UTF-8 is left out.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        pairs
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// What the `.env` file of the home folder holds; nothing if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or a line in it that is no `NAME=value`.
    pub fn file_of(home: &Path) -> Result<Vec<(String, String)>, ConfigError> {
        let path = home.join(".env");
        let Some(text) = read(&path)? else { return Ok(Vec::new()) };
        let mut pairs = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                // The line itself is not shown: it may be a key.
                let what = format!("line {number} is no NAME=value; write it so, or begin it with #");
                return Err(ConfigError::Bad { path, what });
            };
            let value = value.trim();
            let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
            let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            pairs.push((name.trim().to_owned(), value.to_owned()));
        }
        Ok(pairs)
    }

    /// Adds what the process does not hold.
    pub fn with(mut self, pairs: &[(String, String)]) -> Self {
        for (name, value) in pairs {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// The folders of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The home folder: config, keys, sessions. Made with the first session.
    pub home: PathBuf,
    /// The folder that is worked in; absolute, links resolved.
    pub workspace: PathBuf,
}

impl Places {
    /// The home folder is `PETASOS_HOME`, else `.petasos` in the person's own; the workspace is the folder
    /// given, else the current one.
    ///
    /// # Errors
    /// If neither is to be had, or the workspace is no folder that can be read.
    pub fn find(environment: &Environment, workspace: Option<&Path>) -> Result<Self, ConfigError> {
        let home = match (environment.get("PETASOS_HOME"), environment.get("HOME")) {
            (Some(home), _) => PathBuf::from(home),
            (None, Some(person)) => Path::new(person).join(".petasos"),
            (None, None) => {
                let what = "neither PETASOS_HOME nor HOME is set; set PETASOS_HOME to a folder of yours";
                return Err(ConfigError::Setting(what.to_owned()));
            }
        };
        let home =
            std::path::absolute(&home).map_err(|source| ConfigError::Unreadable { path: home, source })?;
        let named = workspace.unwrap_or(Path::new("."));
        let bad = |what: String| {
            let what =
                format!("the workspace {} {what}; name a folder with --workspace DIR", named.display());
            ConfigError::Setting(what)
        };
        let path = fs::canonicalize(named).map_err(|error| bad(format!("cannot be reached: {error}")))?;
        if !path.is_dir() {
            return Err(bad("is no folder".to_owned()));
        }
        fs::read_dir(&path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        Ok(Self { home, workspace: path })
    }

    /// The config file of the home folder.
    pub fn home_file(&self) -> PathBuf {
        self.home.join("config.yaml")
    }

    /// The config file of the workspace; none if that is the home folder's own.
    pub fn workspace_file(&self) -> Option<PathBuf> {
        let folder = self.workspace.join(".petasos");
        let is_home = fs::canonicalize(&self.home).is_ok_and(|home| home == folder);
        (!is_home && folder != self.home).then(|| folder.join("config.yaml"))
    }
}

/// A config file of more than this is no config file.
const FILE_CAP: u64 = 1 << 20;

/// The text of a file; none if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let bad = |what: &str| ConfigError::Bad { path: path.to_owned(), what: what.to_owned() };
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    // A pipe would be waited for, a device never ends.
    if !about.is_file() {
        return Err(bad("it is no file; put a text file there, or nothing"));
    }
    if about.len() > FILE_CAP {
        return Err(bad("it is larger than 1 MiB; a config file is a few lines"));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map(Some).map_err(|_| bad("it is not UTF-8 text; save it as UTF-8"))
}
