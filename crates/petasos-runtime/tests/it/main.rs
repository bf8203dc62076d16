//! Sessions that run: what is told when, what is under way, and what ends it.

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

mod around;
mod config;
mod drive;
mod gate;
mod holders;
mod l08;
mod replay;
mod silence;
mod waits_page;
