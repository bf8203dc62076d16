//! The program as its users meet it: arguments in, exit codes, lines and files out.

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

mod bad_input;
mod behaviour;
mod events_page;
mod kill;
mod program;
mod running;
