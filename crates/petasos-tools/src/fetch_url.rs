//! `fetch_url`: the text of a page, as much as fits.

use petasos_core::claims::{Access, Claims, Place, PlaceKind};
use petasos_core::tool::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::fetch::{FetchOptions, Fetched, Fetcher, Readable, readable, target};
use crate::output::{MARKS, Problem, Shown, Source, Told, blob_path, blocking, keep, length_shown, whole};
use crate::page::{NoText, Page, Point, Size};
use crate::tool::Context;
use crate::typed::{TypedTool, reads};

/// Characters kept free for what is said below a page.
const FOOTER: usize = 400;
/// The least characters of a page.
const LEAST: usize = 100;
/// The most characters of a title that are shown.
const TITLE: usize = 200;

/// `fetch_url`.
#[derive(Debug)]
pub(crate) struct FetchUrl {
    fetcher: Fetcher,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The whole address, such as https://example.com/page.
    url: String,
    /// Line of its text to go on from; 1 if left out.
    // No text as read_file takes it: a small model that is held to its schema wrote a host into it.
    from: Option<u64>,
}

impl FetchUrl {
    pub(crate) fn new(options: FetchOptions) -> Self {
        Self { fetcher: Fetcher::new(options) }
    }
}

impl TypedTool for FetchUrl {
    const NAME: &'static str = "fetch_url";
    const DESCRIPTION: &'static str = "Get the text of a web page or of a text file on the web (http or https, public \
        addresses). Use it when you know the address. The first line gives address, status, type, bytes and the number of characters; then the text. \
        Not for files of the workspace: use read_file.";
    const EXAMPLE: &'static str = r#"{"url":"https://example.org/"}"#;
    type Arguments = Arguments;
    type Target = Url;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        Ok(reads(self.find(&arguments)?.1))
    }

    fn find(&self, arguments: &Arguments) -> Result<(Url, Vec<Place>), Problem> {
        let (url, name) = target(&arguments.url)?;
        Ok((url, vec![Place { kind: PlaceKind::Host, name, access: Access::Read }]))
    }

    async fn work(&self, arguments: Arguments, url: Url, context: &Context) -> Result<Told, Problem> {
        let mut stop = context.stop.clone();
        let work = async {
            let fetched = self.fetcher.fetch(url).await?;
            let read = blocking(move || readable(&fetched).map(|read| (fetched, read))).await?;
            told(read, arguments.from, context).await
        };
        tokio::select! {
            told = work => told,
            () = stop.raised() => {
                let problem = Problem::new("stopped", "the page was not whole yet", "call it again if it is still wanted");
                Ok(Told { outcome: Outcome::CutShort, ..Told::from(problem) })
            }
        }
    }
}

/// What is told of a page: its address, and its text from a line on.
async fn told(
    (fetched, read): (Fetched, Readable),
    from: Option<u64>,
    context: &Context,
) -> Result<Told, Problem> {
    let Fetched { url, status, bytes, is_cut, .. } = fetched;
    let Readable { title, text, kind } = read;
    let source = Source::Outside(url.host_str().unwrap_or_default().into());
    // Before it is kept, and before it is cut, so that no key is cut into two parts that nobody knows.
    let text = context.session.mask.hide(&text).into_owned();
    let characters = text.chars().count();
    let mut head = format!("[{url} · {status} · {kind} · {} bytes · {characters} characters]\n", bytes.len());
    if is_cut {
        head.push_str(&format!("[there is more: only the first {} bytes were read]\n", bytes.len()));
    }
    if !title.is_empty() {
        head.push_str(&format!("Title: {}\n", title.chars().take(TITLE).collect::<String>()));
    }
    let size = bytes.len() as u64;
    if text.trim().is_empty() {
        let why = if bytes.is_empty() {
            "the server sent nothing"
        } else {
            "it may need a browser that runs scripts"
        };
        let told = Told::empty(format!("{head}There is no text in it: {why}."));
        return Ok(Told { from: source, ..told });
    }
    let mut room = context.cap.0.saturating_sub(FOOTER + MARKS + head.chars().count()).max(FOOTER);
    let mut blob = None;
    if length_shown(&text, &context.session.mask) > room {
        let kept = keep(&*context.blobs, text.clone().into_bytes()).await;
        head.push_str(&format!("[{}]\n", whole(&kept)));
        blob = kept.ok();
    }
    let from = Point { line: from.unwrap_or(1).max(1), column: 1 };
    let plain = text.replace("\r\n", "\n");
    let text = loop {
        let shown = page(&plain, from, room).map_err(|lines| {
            let cause = format!("the text of {url} has {lines} lines");
            Problem::new("there is no such line", cause, format!("give from as 1 to {lines}"))
        })?;
        // What cannot be seen is shown, and takes more room then: a page that is cut in the middle says to go on behind
        // what was not seen.
        let length = length_shown(&format!("{head}{shown}"), &context.session.mask).saturating_add(MARKS);
        if length <= context.cap.0 || room <= LEAST {
            break shown;
        }
        room = (room.saturating_mul(context.cap.0) / length).min(room.saturating_sub(1)).max(LEAST);
    };
    // In a line that is longer than a page only what is kept can be gone on in.
    let text = match (&blob, text.rsplit_once("go on with from=\"")) {
        (Some(blob), Some((before, place))) => {
            format!("{before}go on with read_file, path=\"{}\" and from=\"{place}", blob_path(blob))
        }
        (Some(_) | None, _) => text,
    };
    let shown = Shown::Part { text: format!("{head}{text}"), bytes: size, blob };
    Ok(Told { outcome: Outcome::Ok, shown, facts: Vec::new(), from: source })
}

/// As much of a text from a point on as fits; the error is how many lines there are.
fn page(text: &str, from: Point, room: usize) -> Result<String, u64> {
    let mut page = Page::new(from, u64::MAX, room);
    page.whole(Size::Bytes(text.len() as u64));
    page.push(text.as_bytes(), text.len() as u64);
    page.end();
    page.text().map_err(|none| match none {
        NoText::Ended(lines) => lines,
        NoText::NotReached => 0,
    })
}
