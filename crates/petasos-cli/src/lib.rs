//! The terminal's side of Petasos: arguments in, events out, an exit code at the end. What a second user
//! interface would need too is in `petasos-runtime`.

mod args;
mod command;
mod exit;
mod print;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use petasos_runtime::config::Environment;
use petasos_runtime::{Disk, NotStarted, OsDisk, RunResult};

pub use petasos_runtime::guardian;

use args::Arguments;
use print::Printer;

/// What the program finds around it; tests put something else in its place.
#[derive(Clone, Debug)]
pub struct World {
    /// Environment variables.
    pub environment: Environment,
    /// The disk that sessions are kept on.
    pub disk: Arc<dyn Disk>,
    /// The program that guards commands, if one does: it begins with [`guardian`].
    pub guardian: Option<PathBuf>,
}

impl World {
    /// That of this process, which is its own guardian: it must begin with [`guardian`].
    pub fn of_process() -> Self {
        // What runs, also if another file was put in its place since it began.
        let running = PathBuf::from("/proc/self/exe");
        let guardian = Some(running).filter(|running| running.exists());
        Self { environment: Environment::of_process(), disk: Arc::new(OsDisk), guardian }
    }
}

/// Keeps the keys in this process's environment and memory from other processes of the same person, the commands that
/// it runs among them. What is lost with it: no debugger can be attached later on, and a crash leaves no core file.
/// Root reads on.
pub fn hide_environment() {
    // A system that does not know it leaves things as they were, and results are masked all the same.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
}

/// Runs the program with these arguments, the first of which is its own name.
pub fn main(arguments: impl IntoIterator<Item = OsString>, world: &World) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return misused(&arguments, &error),
    };
    // One thread drives; what may wait for a disk has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(command::run(parsed, world));
            // A read of the terminal may still wait for a line that nobody will type.
            runtime.shutdown_background();
            if print::is_lost() && code == ExitCode::SUCCESS { ExitCode::FAILURE } else { code }
        }
        Err(error) => {
            print::talk(&format!("petasos: the system gives no event loop: {error}; close some programs"));
            ExitCode::from(exit::INTERNAL)
        }
    }
}

/// What the command line got wrong; help and version are no mistakes.
fn misused(arguments: &[OsString], error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        print::data(error.to_string().trim_end());
        return if print::is_lost() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let mut flags = arguments.iter().take_while(|argument| *argument != "--");
    let wants_json = flags.any(|argument| argument == "--json");
    let text = error.to_string();
    let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let hint = tips
        .next()
        .map_or_else(|| "see petasos --help".to_owned(), |tip| format!("{tip}; see petasos --help"));
    let result = RunResult::not_started(NotStarted::Usage, message, hint);
    match wants_json {
        true => Printer::json().result(&result),
        false => print::talk(text.trim_end()),
    }
    exit::code(&result, None)
}
