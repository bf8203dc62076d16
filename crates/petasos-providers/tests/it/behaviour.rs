//! Rows of the behaviour page, named after the row.

mod ends;
mod http;
mod requests;
mod valid;
mod waits;
