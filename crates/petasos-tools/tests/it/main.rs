//! What a model meets when it uses the tools.

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
mod bench;
mod encodings;
mod mangle;
mod say;
mod specs;
mod web;
