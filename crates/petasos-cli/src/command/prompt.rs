//! What a person wants done, from the command line and from stdin.

use std::io::{self, IsTerminal as _, Read as _};
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::Refusal;
use crate::print;

/// The most that may be said at once. More belongs into a file that the agent reads by itself.
const PROMPT_CAP: u64 = 1 << 20;

/// How long stdin may be silent before a person is told that it is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The prompt: the argument, then what comes on stdin if that is no terminal.
pub(crate) async fn prompt(argument: Option<String>) -> Result<String, Refusal> {
    let piped = if io::stdin().is_terminal() { None } else { Some(read_stdin(argument.is_some()).await?) };
    let argument = argument.unwrap_or_default();
    let piped = piped.unwrap_or_default();
    let prompt = match (argument.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => {
            let hint = "say it: petasos run \"Read notes.txt and …\", or pipe it in";
            return Err(Refusal::usage("there is no prompt", hint));
        }
        (true, false) => piped,
        (false, true) => argument,
        (false, false) => format!("{argument}\n\n{piped}"),
    };
    if prompt.len() as u64 > PROMPT_CAP {
        return Err(too_large());
    }
    Ok(prompt)
}

fn too_large() -> Refusal {
    Refusal::usage(
        "the prompt is larger than 1 MiB",
        "put it into a file of the workspace and name the file in the prompt; the agent reads it in pages",
    )
}

async fn read_stdin(has_argument: bool) -> Result<String, Refusal> {
    let reading = spawn_blocking(|| {
        let mut bytes = Vec::new();
        io::stdin().lock().take(PROMPT_CAP + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    tokio::pin!(reading);
    let read = tokio::select! {
        read = &mut reading => read,
        () = tokio::time::sleep(PATIENCE) => {
            let end = if has_argument { "; run with </dev/null if there is nothing on it" } else { "" };
            print::talk(&format!("petasos: reading stdin until it ends{end}"));
            reading.await
        }
    };
    let unreadable = |error: String| {
        Refusal::usage(
            format!("stdin cannot be read: {error}"),
            "run with </dev/null, or give the prompt as an argument",
        )
    };
    let bytes = read.map_err(|error| unreadable(error.to_string()))?;
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > PROMPT_CAP {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Refusal::usage(
            format!("stdin is not UTF-8 text: byte {place} begins no character"),
            "convert it, for example with iconv -t UTF-8, or put the file into the workspace",
        )
    })
}
