//! `write_file`: gives a file its whole content, at once or not at all.

use std::borrow::Cow;
use std::sync::Arc;

use petasos_core::claims::{Access, Claims, Place, Rerun};
use petasos_core::id::Digest;
use petasos_core::text::{Json, Text};
use petasos_core::tool::{Fact, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::edit::{Ends, LOST, Uniform, would_lose};
use crate::encoding::{Bom, Encoding};
use crate::mask::unwritten::check_new;
use crate::output::{Problem, Told, blocking};
use crate::seen::{Seen, Since};
use crate::signs;
use crate::tool::Context;
use crate::typed::TypedTool;
use crate::workspace::{Content, Location, Replaced, There, Workspace, Written};

/// `write_file`.
#[derive(Debug)]
pub(crate) struct WriteFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path such as src/main.rs; folders on the way are made.
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
    const DESCRIPTION: &'static str = "Write a whole text file of the workspace, all of it or nothing. Use it for a new \
        file or a full rewrite. To change a part of a file use edit_file.";
    const EXAMPLE: &'static str = r#"{"path":"notes.txt","content":"text\n"}"#;
    type Arguments = Arguments;
    type Target = Location;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        let (location, _) = self.find(&arguments)?;
        let old = self.workspace.old(&location);
        let before = match old.there {
            There::Nothing => Before::Nothing,
            There::File(Content { hash: Some(hash), .. }) => Before::Content(hash),
            There::File(Content { hash: None, .. }) => Before::Unknown,
        };
        let content = as_before(&old.beginning, &arguments.content).ok().map(|(content, _)| content);
        Ok(writes(&location, content.as_deref(), before))
    }

    fn find(&self, arguments: &Arguments) -> Result<(Location, Vec<Place>), Problem> {
        let location = file_at(&self.workspace, &arguments.path)?;
        let place = location.place(Access::Write);
        Ok((location, vec![place]))
    }

    async fn work(
        &self,
        arguments: Arguments,
        location: Location,
        context: &Context,
    ) -> Result<Told, Problem> {
        let (workspace, stop) = (Arc::clone(&self.workspace), context.stop.clone());
        let session = Arc::clone(&context.session);
        blocking(move || {
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

/// The file that a path means; a path that can only mean a folder is none.
fn file_at(workspace: &Workspace, path: &str) -> Result<Location, Problem> {
    if path.ends_with('/') {
        let hint = "give the path of a file in it; folders on the way are made by themselves";
        return Err(Problem::new("a folder, not a file", format!("{path:?} names a folder"), hint));
    }
    workspace.find(path)
}

fn write(workspace: &Workspace, known: &Seen, location: &Location, content: &str) -> Result<Told, Problem> {
    let lines = content.split_inclusive('\n').count();
    let old = workspace.old(location);
    let since = match old.there {
        There::Nothing => known.gone(location),
        There::File(now) => known.since(location, &now),
    };
    // What is gone cannot be lost any more.
    if since == Since::Changed && matches!(old.there, There::File(_)) {
        let cause =
            format!("{} was changed by a command or another program after you read it", location.shown());
        let hint = "nothing was written; read it again with read_file, then write it with both changes, or change \
                    a part of it with edit_file";
        return Err(Problem::new("changed since it was read", cause, hint));
    }
    check_new([content], &old.beginning)?;
    let (content, kept) = as_before(&old.beginning, content)?;
    let Written { replaced, note } = workspace.replace(location, &content, old.there)?;
    known.wrote(location, hash(&content));
    let what = match (replaced, since) {
        (Replaced::New, Since::Changed) => "new; the one that you read had been removed",
        (Replaced::New, Since::Unknown | Since::Same) => "new",
        (Replaced::Old, _) => "replaced",
    };
    let (bytes, name) = (content.len(), location.name());
    let text = format!("wrote {bytes} bytes, {lines} lines to {name} ({what}{kept}){note}");
    Ok(Told::ok(text).with(wrote(location, &content)))
}

/// What a file had before it is written, as far as can be said after a crash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Before {
    /// It is not there.
    Nothing,
    /// This content.
    Content(Digest),
    /// Too large to be looked through, or not to be read.
    Unknown,
}

/// Claims of a call that writes one file, with the probe if its content is known.
pub(crate) fn writes(location: &Location, content: Option<&[u8]>, before: Before) -> Claims {
    let before = match before {
        Before::Nothing => Some(None),
        Before::Content(hash) => Some(Some(hash)),
        // After a crash nobody could say whether it is as it was, so nothing is promised.
        Before::Unknown => None,
    };
    let probe = content.zip(before).and_then(|(content, before)| {
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

/// The content with the encoding, its mark and the line ends that the file has: the model saw none of them, so what
/// it writes says nothing of them. Answers also with what was kept and what was not, for the result.
fn as_before(old: &[u8], content: &str) -> Result<(Vec<u8>, String), Problem> {
    let told = Encoding::of(old);
    let mut kept = String::new();
    let (mark, content) = match content.strip_prefix('\u{feff}') {
        Some(rest) => (Bom::There, rest),
        None => (Bom::None, content),
    };
    // Of what is wholly written anew, nothing has to be kept that nobody can read; what was nothing has nothing to keep.
    let encoding = if told == Encoding::Bytes {
        Encoding::Utf8(Bom::None)
    } else if old.is_empty() {
        Encoding::Utf8(mark)
    } else {
        told
    };
    if content.contains(LOST) && told.decode(old).is_flawed() {
        return Err(would_lose("the content"));
    }
    // Most texts have no such sign, and are not compared with the file.
    if content.contains("\\u{") || content.contains('\u{2400}') {
        signs::check(content, told.decode(old).text(), "the content")?;
    }
    let (given, ends) = with_ends(old, told, content);
    kept.push_str(ends);
    if told == Encoding::Bytes {
        kept.push_str(", UTF-8 now: its encoding was unknown");
    } else if !matches!(encoding, Encoding::Utf8(_)) {
        kept.push_str(&format!(", {} kept", encoding.name()));
    }
    if mark == Bom::There && encoding.bom().is_empty() {
        kept.push_str(", without the byte-order mark that was given: it had none");
    }
    let written = encoding.encode(&given).map_err(|error| {
        let hint = "use other letters, or remove the file with run_command first to have it written as UTF-8; nothing was \
                    changed";
        Problem::new("a letter cannot be written", format!("{error}, which the file is written in"), hint)
    })?;
    Ok(([encoding.bom(), &*written].concat(), kept))
}

/// The content with the line ends that most lines of a file have, unless it has a CR of its own, and what is said of
/// them.
fn with_ends<'a>(old: &[u8], encoding: Encoding, content: &'a str) -> (Cow<'a, str>, &'static str) {
    let (before, uniform) = match encoding {
        // In all others the byte of a newline is that and nothing else.
        Encoding::Utf16(..) => Ends::count(encoding.decode(old).text().as_bytes()),
        Encoding::Utf8(_) | Encoding::Gbk | Encoding::Gb18030 | Encoding::Bytes => Ends::count(old),
    };
    if content.contains('\r') {
        let is_other = (before, Ends::of(content)) == (Ends::Short, Ends::Long);
        return (Cow::Borrowed(content), if is_other { ", its lines end with CRLF now" } else { "" });
    }
    let short = || Cow::Borrowed(content);
    match (before, uniform) {
        (Ends::Long, _) if !content.contains('\n') => (short(), ""),
        (Ends::Long, Uniform::Yes) => (Cow::Owned(content.replace('\n', "\r\n")), ", CRLF line ends kept"),
        (Ends::Long, Uniform::No) => {
            (Cow::Owned(content.replace('\n', "\r\n")), ", all lines end with CRLF now, as most did")
        }
        (Ends::Short, Uniform::No) => (short(), ", all lines end with LF now, as most did"),
        (Ends::Short, Uniform::Yes) | (Ends::None, _) => (short(), ""),
    }
}
