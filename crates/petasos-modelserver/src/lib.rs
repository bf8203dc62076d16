//! A scripted model server: it says what a script says, fails as a script fails, and keeps every request.
//!
//! `docs/format/model-server.md` is the page on its two formats. A [`Script`] is a list of replies; a [`Server`]
//! gives them on a port of this machine's loopback and nowhere else, and tells what it was asked.

mod body;
mod choice;
mod demo;
mod error;
mod record;
mod script;
mod server;
mod service;
mod socket;
mod wire;

pub use demo::{DEMO, DEMO_FILES, DEMO_TASK};
pub use error::ModelServerError;
pub use record::{Answered, Recorded};
pub use script::{Arguments, Call, Fault, FaultBody, Finish, Reply, Script, Usage, UsageChoice, WireId};
pub use server::{Options, Server};
