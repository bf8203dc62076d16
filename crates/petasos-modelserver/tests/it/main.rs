//! The server through its port, and scripts by their errors.

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

mod check_prefix;
mod check_request;
mod client;
mod demo;
mod faults;
mod kit;
mod messages;
mod page;
mod replies;
mod responses;
mod scripts;
