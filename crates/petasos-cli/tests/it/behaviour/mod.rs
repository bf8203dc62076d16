//! Rows of behaviour, through the binary.

mod l01_to_l03;
