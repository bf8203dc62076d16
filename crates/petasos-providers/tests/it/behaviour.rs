//! Rows of the behaviour page, named after the row.

mod ends;
mod hostile;
mod http;
mod l18;
mod p07_windows;
mod p08;
mod requests;
mod valid;
mod waits;
