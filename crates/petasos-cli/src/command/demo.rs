//! `petasos demo`: a small job on real files in a scratch folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_modelserver::{DEMO, DEMO_FILES, DEMO_TASK, Options, Script, Server};
use petasos_runtime::Setup;
use petasos_runtime::config::Flags;

use super::run::job;
use super::watch::Stops;
use super::{Refusal, set_up};
use crate::World;
use crate::args::{DemoArguments, HowArguments};
use crate::print::{self, Printer};

/// Does the job, with a model that is there or else with the script.
pub(crate) async fn demo(arguments: DemoArguments, world: &World) -> ExitCode {
    let mut printer = Printer::job();
    match begin(arguments, world, &mut printer).await {
        Ok(code) => code,
        Err(refusal) => refusal.tell(&mut printer),
    }
}

async fn begin(arguments: DemoArguments, world: &World, printer: &mut Printer) -> Result<ExitCode, Refusal> {
    let folder = scratch()?;
    let setup = set_up(world, Some(&folder), arguments.model.flags())?;
    print::talk(&format!("The demo works in {}:", folder.display()));
    for (name, _) in DEMO_FILES {
        print::talk(&format!("  {name}"));
    }
    print::talk(&format!("It is told: {DEMO_TASK}"));
    let mut stops = Stops::listen();
    let is_named = arguments.model.flags().names_a_model();
    let found = if arguments.scripted {
        None
    } else {
        match stops.or(setup.choose()).await {
            Ok(chosen) => Some(chosen),
            // A model that was asked for and is not there is told; none at all is what the script is for.
            Err(Refusal::Wrong { .. }) if !is_named => None,
            Err(refusal) => return Err(refusal),
        }
    };
    let how = HowArguments::default();
    let code = match found {
        Some(_) => {
            print::talk("The model is a real one, so the result is its own.");
            job(&setup, &how, (printer, &mut stops), DEMO_TASK.to_owned()).await
        }
        None => {
            print::talk(
                "No model is asked: the script that comes with petasos stands in for one. Tools and files are real.",
            );
            scripted(world, &folder, &how, (printer, &mut stops)).await?
        }
    };
    show(&folder);
    Ok(code)
}

async fn scripted(
    world: &World,
    folder: &Path,
    how: &HowArguments,
    (printer, stops): (&mut Printer, &mut Stops),
) -> Result<ExitCode, Refusal> {
    let hint = "report it: the shipped script is broken";
    let script = Script::parse(DEMO).map_err(|error| Refusal::config(error.to_string(), hint))?;
    let server = Server::start(script, Options::default())
        .await
        .map_err(|error| Refusal::config(error.to_string(), "the loopback interface must be up"))?;
    let flags =
        Flags { base_url: Some(server.base_url()), model: Some("scripted".to_owned()), ..Flags::default() };
    let setup: Setup = set_up(world, Some(folder), flags)?;
    let code = job(&setup, how, (printer, stops), DEMO_TASK.to_owned()).await;
    server.stop().await;
    Ok(code)
}

/// What is in the folder now that was not there before.
fn show(folder: &Path) {
    let Ok(names) = fs::read_dir(folder) else { return };
    let mut names: Vec<String> =
        names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names.iter().filter(|name| DEMO_FILES.iter().all(|(known, _)| known != name)) {
        if let Ok(text) = fs::read_to_string(folder.join(name)) {
            print::talk(&format!("{} now holds:", folder.join(name).display()));
            for line in text.lines() {
                print::talk(&format!("  {}", line));
            }
        }
    }
}

/// A new folder with the files of the demo. It is left for whoever wants to look.
fn scratch() -> Result<PathBuf, Refusal> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let folder = std::env::temp_dir().join(format!("petasos-demo-{}-{since}", std::process::id()));
    let refused = |error: std::io::Error| {
        Refusal::config(
            format!("{}: {error}", folder.display()),
            "set TMPDIR to a folder that can be written",
        )
    };
    fs::create_dir(&folder).map_err(refused)?;
    for (name, text) in DEMO_FILES {
        fs::write(folder.join(name), text).map_err(refused)?;
    }
    Ok(folder)
}
