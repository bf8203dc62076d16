//! Settings, and where each comes from: flag > environment > workspace file > home file > default.
//!
//! The workspace is not trusted: its file may name a model, lower a limit and switch tools off, nothing else.
//! `docs/format/config.md` is the page on the names.

mod amount;
mod names;
mod paths;
mod raw;
mod resolve;

pub use names::{NAMES, Name, Workspace as WorkspaceMay};
pub use paths::{Environment, Places};
pub use resolve::{Flags, ModelNamed, ModelSettings, Record, Settings};

use std::path::PathBuf;

/// Why there are no settings. Nothing was begun.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{}: {source}; make it readable, or move it away", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Bad {
        /// Which.
        path: PathBuf,
        /// What and where, and what next.
        what: String,
    },
    /// A setting cannot be kept, wherever it comes from.
    #[error("{0}")]
    Setting(String),
}
