//! `petasos sessions export`, `petasos sessions import`: a session in one file, and back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use petasos_runtime::{ExportError, Setup};

use super::Refusal;
use crate::print;

/// Writes a session to a file, which appears whole or not at all, or to stdout.
pub(crate) async fn export(
    setup: &Setup,
    session: Option<&str>,
    output: Option<&Path>,
) -> Result<(), Refusal> {
    let found = setup.find(session).await?;
    let exported = match output {
        None => match setup.export(&found.id, print::Out).await {
            Ok(exported) => exported,
            // A reader that went away wanted no more of it.
            Err(ExportError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(of_export(error)),
        },
        Some(path) => {
            let part = part_of(path);
            // What is said, read and run belongs to its person alone.
            let mut options = OpenOptions::new();
            let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&part);
            let file = opened.map_err(|error| unwritable(path, &error))?;
            let written = setup.export(&found.id, BufWriter::new(file)).await;
            let named = written.and_then(|exported| {
                File::open(&part)?.sync_all()?;
                fs::rename(&part, path)?;
                Ok(exported)
            });
            match named {
                Ok(exported) => exported,
                Err(error) => {
                    // A part of a session is of no use; if it cannot be taken away, its name says what it is.
                    fs::remove_file(&part).ok();
                    return Err(match error {
                        ExportError::Io(error) => unwritable(path, &error),
                        other @ (ExportError::Bad { .. } | ExportError::Store(_)) => of_export(other),
                    });
                }
            }
        }
    };
    for loss in exported.losses() {
        print::talk(&format!("petasos: {loss}"));
    }
    let whole = if exported.losses().is_empty() { "" } else { "; the rest of it is exported" };
    print::talk(&format!("petasos: session {} exported: {}{whole}", exported.session, exported.amount()));
    Ok(())
}

/// Takes a session in from a file or stdin, and prints its new id.
pub(crate) async fn import(setup: &Setup, file: &Path) -> Result<(), Refusal> {
    let imported = if file == Path::new("-") {
        setup.import(BufReader::new(io::stdin())).await
    } else {
        let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
        if opened.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(unreadable(file, &io::Error::from(io::ErrorKind::IsADirectory)));
        }
        setup.import(BufReader::new(opened)).await
    };
    let imported = imported.map_err(|error| match error {
        ExportError::Bad { .. } => {
            let hint = "nothing was imported; export it again where it came from: petasos sessions export ID";
            Refusal::usage(format!("{} is no whole exported session: {error}", name(file)), hint)
        }
        ExportError::Io(error) => unreadable(file, &error),
        ExportError::Store(error) => error.into(),
    })?;
    for loss in imported.losses() {
        print::talk(&format!("petasos: where it was exported {loss}"));
    }
    print::line(imported.session.as_str());
    print::talk(&format!(
        "petasos: session {} imported: {}; it works in {}. Go on with: petasos resume {}",
        imported.session,
        imported.amount(),
        setup.places.workspace.display(),
        imported.session
    ));
    Ok(())
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn name(file: &Path) -> String {
    if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() }
}

fn of_export(error: ExportError) -> Refusal {
    match error {
        ExportError::Store(error) => error.into(),
        ExportError::Io(error) => unwritable(Path::new("stdout"), &error),
        ExportError::Bad { .. } => Refusal::Broken,
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::usage(
        format!("{} cannot be written: {error}", path.display()),
        "nothing was exported; name another file with -o FILE",
    )
}

fn unreadable(file: &Path, error: &io::Error) -> Refusal {
    Refusal::usage(
        format!("{} cannot be read: {error}", name(file)),
        "name a file that an export has written",
    )
}
