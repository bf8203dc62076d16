//! The binary `petasos`: reads the command line, and leaves with the code of what came of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before all else: it is begun with each command, and must not wait for what it does not need.
    if let Some(code) = petasos_cli::guardian(std::env::args_os()) {
        return code;
    }
    petasos_cli::hide_environment();
    petasos_cli::main(std::env::args_os(), &petasos_cli::World::of_process())
}
