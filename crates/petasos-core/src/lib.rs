//! What decides: a session folds its log and holds at most one turn; the turn decides, step by step.
//!
//! Both are driven alike: [`Session::handle`] takes what happened, [`Session::next_effect`] gives
//! what to do, until there is nothing more. Nothing here does anything: no I/O, no async, no clock,
//! no randomness, no environment. Time and chance come in with inputs.
//!
//! The loop itself is in [`turn`]; its module doc is the transition table.

pub mod approval;
pub mod bounded;
pub mod budget;
pub mod claims;
pub mod entry;
pub mod error;
pub mod guard;
pub mod id;
pub mod learnt;
mod note;
pub mod request;
pub mod session;
pub mod stop;
pub mod text;
pub mod time;
pub mod tool;
pub mod transcript;
pub mod turn;
pub mod usage;

pub use session::Session;
