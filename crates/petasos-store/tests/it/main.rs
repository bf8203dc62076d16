//! One battery of tests for every store, and what only a disk can show.

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

mod battery;
mod child;
mod damage;
mod delete;
mod export;
mod format;
mod full;
mod index;
mod made;
mod power;
mod random;
mod say;
