//! `edit_file`: replaces exact pieces of a file, all of them or none.

use std::sync::Arc;

use petasos_core::claims::{Access, Claims, Place};
use petasos_core::text::Json;
use petasos_core::tool::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::edit::{Edited, End, apply};
use crate::encoding::Encoding;
use crate::mask::unwritten::{check_new, with_keys};
use crate::mask::{Mask, placeholder_in};
use crate::output::{Problem, Told, blocking};
use crate::seen::Since;
use crate::session::SessionState;
use crate::tool::Context;
use crate::typed::TypedTool;
use crate::workspace::{Content, Location, There, Workspace};
use crate::write_file::{Before, hash, not_written, seen, stopped, writes, wrote};

/// Larger files are not edited: all of one is held in memory.
const LARGEST: u64 = 16 * 1024 * 1024;

/// `edit_file`.
#[derive(Debug)]
pub(crate) struct EditFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Path such as src/main.rs.
    path: String,
    /// Made in order; if one fails, nothing is changed.
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// Text as it stands in the file, with enough around it to be there once.
    pub(crate) old: String,
    /// Text that stands there instead.
    pub(crate) new: String,
    /// Replace every place, not just one.
    pub(crate) all: Option<bool>,
}

impl TypedTool for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replace exact pieces of text in a file of the workspace; line ends, mode and \
        all else stay. Use it once you have read the file. For a new file or a whole rewrite use write_file.";
    const EXAMPLE: &'static str = r#"{"path":"notes.txt","edits":[{"old":"text","new":"more text"}]}"#;
    type Arguments = Arguments;
    type Target = Location;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        let (location, _) = self.find(&arguments)?;
        // What does not fit now may fit when an earlier call of the same reply is done.
        let Ok((old, _)) = self.workspace.bytes(&location, LARGEST) else {
            return Ok(writes(&location, None, Before::Unknown));
        };
        let before = Before::Content(hash(&old));
        let content = apply(old, &arguments.edits, None).ok().map(|edited| edited.content);
        Ok(writes(&location, content.as_deref(), before))
    }

    fn find(&self, arguments: &Arguments) -> Result<(Location, Vec<Place>), Problem> {
        let location = self.workspace.find(&arguments.path)?;
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
            Ok(match edit(&workspace, &session, &location, arguments.edits) {
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

fn edit(
    workspace: &Workspace,
    session: &SessionState,
    location: &Location,
    edits: Vec<Edit>,
) -> Result<Told, Problem> {
    let (old, stamp) = workspace.bytes(location, LARGEST)?;
    check_new(edits.iter().map(|edit| &*edit.new), &old)?;
    let edits = as_they_stand(edits, &old, &session.mask)?;
    let known = &session.seen;
    let now = Content { stamp: Some(stamp), hash: Some(hash(&old)) };
    let since = known.since(location, &now);
    let Edited { content, encoding, places, count, left, end } = apply(old, &edits, Some(&session.mask))?;
    let written = workspace.replace(location, &content, There::File(now))?;
    known.edited(location, since, hash(&content));
    let lines: Vec<String> = places.iter().map(u64::to_string).collect();
    let many = if count == 1 { "place" } else { "places" };
    let dots = if count > places.len() { ", …" } else { "" };
    let changed = match since {
        Since::Unknown | Since::Same => "",
        Since::Changed => {
            "; the file was changed by a command or another program since you read it: read it again before \
             you rely on the rest"
        }
    };
    let kept = match encoding {
        Encoding::Utf8(_) | Encoding::Bytes => String::new(),
        Encoding::Utf16(..) | Encoding::Gbk | Encoding::Gb18030 => format!("; {} kept", encoding.name()),
    };
    let end = match end {
        End::Same => "",
        End::Lost => "; the last line has no newline any more",
    };
    let left = match left {
        0 => String::new(),
        left => format!("; {left} more beside bytes that are no letter left as they are"),
    };
    let (name, lines, note) = (location.name(), lines.join(", "), written.note);
    let text =
        format!("edited {count} {many} in {name} (line {lines}{dots}){left}{kept}{end}{changed}{note}");
    Ok(Told::ok(text).with(wrote(location, &content)))
}

/// The edits with old texts as the file has them.
fn as_they_stand(mut edits: Vec<Edit>, now: &[u8], mask: &Mask) -> Result<Vec<Edit>, Problem> {
    if edits.iter().all(|edit| placeholder_in(&edit.old).is_none()) {
        return Ok(edits);
    }
    let read = Encoding::of(now).decode(now);
    let hidden = mask.hidden_in(read.text());
    for edit in &mut edits {
        edit.old = with_keys(&edit.old, read.text(), &hidden)?;
    }
    Ok(edits)
}
