//! Tools: what a model can do to the world, and how far each call may reach.
//!
//! [`Tool`] is the seam, [`Registry`] the ordered set of tools that a session has. Files are reached through
//! open descriptors below the workspace only. What goes wrong for the model is a result it can read.

mod registry;
mod tool;

pub use registry::Registry;
pub use tool::{BlobTrouble, BlobWriter, Blobs, Context, Stop, Tool, ToolSpec};
