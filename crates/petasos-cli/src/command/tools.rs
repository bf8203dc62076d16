//! `petasos tools`: which tools a model gets here, what each touches, and whether they are described well.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use petasos_runtime::config::Flags;
use petasos_runtime::{Finding, ToolState, ToolTold, lint_built_in, lint_written};

use super::{Refusal, set_up};
use crate::World;
use crate::args::ToolsCommand;
use crate::print::{self, Printer};

/// Something was found.
const FOUND: u8 = 1;
/// Larger files hold no tools that a model could be given.
const LARGEST: u64 = 16 << 20;

pub(crate) fn tools(what: ToolsCommand, world: &World) -> ExitCode {
    let done = match what {
        ToolsCommand::List { json, workspace } => list(json, workspace.as_deref(), world),
        ToolsCommand::Show { name, workspace } => show(&name, workspace.as_deref(), world),
        ToolsCommand::Lint { file } => lint(file, world),
    };
    done.unwrap_or_else(|refusal| refusal.tell(&mut Printer::job()))
}

fn all(workspace: Option<&Path>, world: &World) -> Result<Vec<ToolTold>, Refusal> {
    Ok(set_up(world, workspace, Flags::default())?.tools()?)
}

fn list(json: bool, workspace: Option<&Path>, world: &World) -> Result<ExitCode, Refusal> {
    let tools = all(workspace, world)?;
    let width = tools.iter().map(|tool| tool.name.chars().count()).max().unwrap_or(0);
    for tool in &tools {
        let name = &*tool.name;
        if json {
            print::data(&tool.line());
        } else if tool.state == ToolState::On {
            print::data(&format!("{name:width$}  on   {}", tool.touches()));
        } else {
            print::data(&format!("{name:width$}  off  {}", tool.state.why_not()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str, workspace: Option<&Path>, world: &World) -> Result<ExitCode, Refusal> {
    let tools = all(workspace, world)?;
    let Some(tool) = tools.iter().find(|tool| &*tool.name == name) else {
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let hint = format!("name one of {}", names.join(", "));
        return Err(Refusal::usage(format!("there is no tool {name:?}"), hint));
    };
    let on = match tool.state {
        ToolState::On => "on".to_owned(),
        ToolState::Disabled | ToolState::NoCommand => format!("off: {}", tool.state.why_not()),
    };
    print::data(&format!("{name} ({on})"));
    print::data(&tool.description);
    print::data("");
    print::data(&format!("arguments  {}", tool.parameters.as_str()));
    print::data(&format!("example    {}", tool.example));
    print::data(&format!("which      {}", tool.touches()));
    Ok(ExitCode::SUCCESS)
}

fn lint(file: Option<PathBuf>, world: &World) -> Result<ExitCode, Refusal> {
    let (count, findings) = match file {
        Some(file) => {
            let shown = file.display();
            let hint = "give a JSON file with a tool or a list of tools, or none to judge those of petasos";
            let text = read(&file).map_err(|error| Refusal::usage(format!("{shown}: {error}"), hint))?;
            lint_written(&text).map_err(|error| Refusal::usage(format!("{shown}: {error}"), hint))?
        }
        None => {
            let tools = all(None, world)?;
            (tools.len(), lint_built_in(&tools))
        }
    };
    findings.iter().map(Finding::to_string).for_each(|finding| print::data(&print::plain(&finding)));
    let tools = if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") };
    if findings.is_empty() {
        print::talk(&format!("petasos: {tools}, nothing found"));
        return Ok(ExitCode::SUCCESS);
    }
    print::talk(&format!("petasos: {tools}, {} found", findings.len()));
    Ok(ExitCode::from(FOUND))
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it has more than {LARGEST} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("it is not UTF-8: byte {} begins no character", error.utf8_error().valid_up_to())
    })
}
