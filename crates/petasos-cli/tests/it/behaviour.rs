//! Rows of behaviour, through the binary.

mod b01_b03;
pub mod find;
mod l01_to_l03;
mod l05_l07;
mod l06_model_failed;
mod l06_signals;
mod l06_stops;
mod l09_l11;
mod l10;
mod l12;
mod l13_l14;
mod l18;
mod p04;
mod p04_to_p06;
mod p07;
mod p07_windows;
mod person;
mod resume;
mod s01_together;
mod s04;
mod s06;
mod search;
mod sessions;
mod t08;
mod transfer;
mod u01;
mod wires;
