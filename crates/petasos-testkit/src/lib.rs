//! What tests speak in: words for what is said and answered, worlds around a session that say only
//! what a real one could, and the invariants they watch.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    let_underscore_drop
)]

pub mod check_request;
pub mod findings;
pub mod format_page;
pub mod kills;
pub mod model;
pub mod model_server;
pub mod page_server;
pub mod random;
pub mod row;
pub mod script;
pub mod transcripts;
pub mod unsynced;
pub mod walk;
pub mod walks;
pub mod words;
pub mod world;
