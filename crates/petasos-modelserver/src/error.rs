//! What can go wrong before a server answers.

use std::io;
use std::path::PathBuf;

/// Why a script was not taken or a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ModelServerError {
    /// The script has to be put right by whoever wrote it.
    #[error("line {line}, column {column} of the script: {what}")]
    Script {
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// What stands there, and what would be right.
        what: String,
    },
    /// Another port has to be chosen.
    #[error(
        "port {port} of the loopback cannot be listened on ({source}); choose another, or 0 for any free one"
    )]
    Port {
        /// The port that was wanted; 0 is any.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// Another place for the record has to be chosen.
    #[error("{} cannot be written ({source}); choose another file for the record", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
