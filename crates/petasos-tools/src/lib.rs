//! Tools: what a model can do to the world, and how far each call may reach.
//!
//! [`Tool`] is the seam, [`Registry`] the ordered set of tools that a session has, [`builtin`] gives those that
//! come with the program. Files are reached through open descriptors below a [`Workspace`] only. What goes wrong
//! for the model is a result it can read.

mod arguments;
mod builtin;
mod calculate;
mod clean;
mod condense;
mod current_time;
mod edit;
mod edit_file;
mod encoding;
mod exec;
mod fetch;
mod fetch_url;
mod file_name;
mod fit;
mod found;
mod job;
mod jobs;
mod kept;
mod kind;
mod lint;
mod list_files;
mod mask;
mod names;
mod near;
mod nearest;
mod node;
mod output;
mod page;
mod pattern;
mod read_file;
mod registry;
mod repair;
mod rules;
mod run_command;
mod run_tests;
mod schema;
mod search_files;
mod searching;
mod seen;
mod session;
mod signs;
mod tool;
mod typed;
mod visible;
mod walk;
mod workspace;
mod write_file;

pub use builtin::{Options, builtin};
pub use condense::{CondenseRule, PathError};
pub use encoding::{Bom, Decoded, Decoder, Encoding, Later, NoForm, Order, Reading};
pub use exec::guardian::guardian;
pub use fetch::address::{Special, special};
pub use fetch::{FetchOptions, Resolve, SystemResolver};
pub use lint::{Fault, Finding, NoSpecs, lint, lint_all, specs};
pub use mask::{Hiding, Mask, Origin, is_secret, placeholder_in};
pub use registry::{Registry, trouble};
pub use session::SessionState;
pub use tool::{BlobTrouble, BlobWriter, Blobs, Context, Stop, Tool, ToolSpec};
pub use workspace::{Workspace, WorkspaceError};
