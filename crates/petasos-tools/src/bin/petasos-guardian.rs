//! A guardian alone, for the tests of this crate; `petasos` is its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    petasos_tools::guardian(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
