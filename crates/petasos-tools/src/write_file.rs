//! `write_file`: gives a file its whole content, at once or not at all.

use std::sync::Arc;

use petasos_core::claims::{Access, Claims, Place, Rerun};
use petasos_core::id::Digest;
use petasos_core::text::{Json, Text};
use petasos_core::tool::{Fact, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::output::{Problem, Told, blocking};
use crate::seen::{Content, Seen, Since};
use crate::tool::Context;
use crate::typed::TypedTool;
use crate::workspace::{Location, Replaced, There, Workspace};

/// What a file begins with that names its encoding; the model never sees it.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// `write_file`.
#[derive(Debug)]
pub(crate) struct WriteFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path in the workspace; folders on the way are made.
    path: String,
    /// The whole new text.
    content: String,
}

/// What tells after a crash whether a file was written.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Probe {
    path: String,
    /// Of the content it was to have.
    sha256: Digest,
    /// Of the content it had; none if it was not there.
    before: Option<Digest>,
}

impl TypedTool for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Write a whole text file of the workspace: a new one, or one that is replaced. \
        All of it is written or nothing. To change a part of a file use edit_file.";
    type Arguments = Arguments;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        let location = self.workspace.find(&arguments.path)?;
        let (content, _) = as_before(&self.workspace.old(&location).beginning, &arguments.content);
        Ok(writes(&self.workspace, &location, Some(&content)))
    }

    fn places(&self, arguments: &Arguments) -> Result<Vec<Place>, Problem> {
        Ok(vec![self.workspace.find(&arguments.path)?.place(Access::Write)])
    }

    async fn work(&self, arguments: Arguments, context: &Context) -> Result<Told, Problem> {
        let (workspace, stop) = (Arc::clone(&self.workspace), context.stop.clone());
        let session = Arc::clone(&context.session);
        blocking(move || {
            let location = workspace.find(&arguments.path)?;
            if stop.is_raised() {
                return Ok(stopped(&location));
            }
            Ok(match write(&workspace, &session.seen, &location, &arguments.content) {
                Ok(told) => told,
                Err(problem) => not_written(&location, problem),
            })
        })
        .await
    }

    async fn probe(&self, probe: &Json) -> Outcome {
        seen(Arc::clone(&self.workspace), probe.clone()).await
    }
}

fn write(workspace: &Workspace, known: &Seen, location: &Location, content: &str) -> Result<Told, Problem> {
    let old = workspace.old(location);
    let since = match old.there {
        There::Nothing => known.gone(location),
        There::File(stamp) => known.since(location, &Content { stamp: Some(stamp), hash: old.hash }),
    };
    // What is gone cannot be lost any more.
    if since == Since::Changed && old.there != There::Nothing {
        let cause =
            format!("{} was changed by a command or another program after you read it", location.shown());
        let hint = "nothing was written; read it again with read_file, then write it with both changes, or change \
                    a part of it with edit_file";
        return Err(Problem::new("changed since it was read", cause, hint));
    }
    let (content, kept) = as_before(&old.beginning, content);
    let (replaced, lasting) = workspace.replace(location, &content, old.there)?;
    known.wrote(location, hash(&content));
    let lines = content.split_inclusive(|byte| *byte == b'\n').count();
    let what = match (replaced, since) {
        (Replaced::New, Since::Changed) => "new; the one that you read had been removed",
        (Replaced::New, Since::Unknown | Since::Same) => "new",
        (Replaced::Old, _) => "replaced",
    };
    let (bytes, name, note) = (content.len(), location.name(), lasting.note());
    let text = format!("wrote {bytes} bytes, {lines} lines to {name} ({what}{kept}){note}");
    Ok(Told::ok(text).with(wrote(location, &content)))
}

/// Claims of a call that writes one file, with the probe if its content is known.
pub(crate) fn writes(workspace: &Workspace, location: &Location, content: Option<&[u8]>) -> Claims {
    let probe = content.and_then(|content| {
        // After a crash nobody could say of a very large file whether it is as it was, so nothing is promised.
        let before = workspace.hash(location).ok()?;
        let probe = Probe { path: location.name(), sha256: hash(content), before };
        Json::try_from(serde_json::to_string(&probe).ok()?.as_str()).ok()
    });
    let places = vec![location.place(Access::Write)];
    Claims { rerun: Rerun::Never, places, alone: false, argv: Vec::new(), probe }
}

/// Looks whether a file has the content that it was to have, or still the one it had.
pub(crate) async fn seen(workspace: Arc<Workspace>, probe: Json) -> Outcome {
    let looking = blocking(move || {
        let Ok(probe) = serde_json::from_str::<Probe>(probe.as_str()) else { return Ok(Outcome::Unknown) };
        let location = workspace.find(&probe.path)?;
        Ok(match (workspace.hash(&location), probe.before) {
            (Ok(Some(now)), _) if now == probe.sha256 => Outcome::Ok,
            (Ok(Some(now)), Some(before)) if now == before => Outcome::NeverBegan,
            (Ok(None), None) if workspace.look(&location).is_err() => Outcome::NeverBegan,
            (Ok(_) | Err(_), _) => Outcome::Unknown,
        })
    });
    looking.await.unwrap_or(Outcome::Unknown)
}

/// The fact that a file has this content now.
pub(crate) fn wrote(location: &Location, content: &[u8]) -> Fact {
    Fact::Wrote { path: Text::from(location.name()), hash: hash(content) }
}

/// A problem, and the fact that a file was not written.
pub(crate) fn not_written(location: &Location, problem: Problem) -> Told {
    Told::from(problem).with(Fact::NotWritten { path: Text::from(location.name()) })
}

/// The call was stopped before it wrote.
pub(crate) fn stopped(location: &Location) -> Told {
    let cause = format!("it was stopped before {} was written", location.shown());
    let problem = Problem::new("stopped", cause, "nothing was changed; call it again if it is still wanted");
    Told { outcome: Outcome::CutShort, ..not_written(location, problem) }
}

/// The hash of a content.
pub(crate) fn hash(content: &[u8]) -> Digest {
    Digest(Sha256::digest(content).into())
}

/// The content with the encoding mark and the line ends that the file has: the model saw neither, so what it
/// writes says nothing of them. Answers also with what was kept, for the result.
fn as_before(old: &[u8], content: &str) -> (Vec<u8>, &'static str) {
    let content = content.as_bytes().strip_prefix(MARK).unwrap_or(content.as_bytes());
    let ends = old.iter().filter(|byte| **byte == b'\n').count();
    let long_ends = old.windows(2).filter(|pair| pair == b"\r\n").count();
    let mut new = if old.starts_with(MARK) { MARK.to_vec() } else { Vec::new() };
    if ends == 0 || long_ends < ends || content.contains(&b'\r') {
        new.extend_from_slice(content);
        return (new, "");
    }
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                new.extend_from_slice(line);
                new.extend_from_slice(b"\r\n");
            }
            None => new.extend_from_slice(line),
        }
    }
    (new, ", CRLF line ends kept")
}
