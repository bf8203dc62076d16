//! Wires, streams and servers as they are in the wild, and what is made of them.

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

mod behaviour;
mod cases;
mod catalog;
mod classify;
mod contract;
mod deep;
mod fuzz;
mod histories;
mod messages_replies;
mod messages_requests;
mod quirks;
mod remedies;
mod responses_replies;
mod responses_requests;
mod say;
mod server;
mod split;
mod written;
