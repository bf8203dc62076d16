//! The binary `petasos`: reads the command line, and leaves with the code of what came of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    petasos_cli::hide_environment();
    petasos_cli::main(std::env::args_os(), &petasos_cli::World::of_process())
}
