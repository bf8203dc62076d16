//! `read_file`: the text of a file or of a kept output, page by page.

use std::borrow::Cow;
use std::io::Read as _;
use std::sync::Arc;

use petasos_core::claims::{Access, Claims, Place, PlaceKind};
use petasos_core::text::Text;
use petasos_core::tool::Outcome;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::encoding::{Decoder, Encoding};
use crate::kind::binary;
use crate::output::{Problem, Shown, Told, blocking, length_shown};
use crate::page::{NoText, Numbers, Page, Point, Size};
use crate::seen::Since;
use crate::session::SessionState;
use crate::tool::{Context, Stop};
use crate::typed::{TypedTool, reads};
use crate::workspace::{Content, Hashed, Location, MOST_HASHED, Workspace};

/// Bytes that are read at once.
const PIECE: u64 = 64 * 1024;
/// Bytes read after a page only to count the lines of the whole.
const COUNTED: u64 = 64 * 1024 * 1024;
/// Bytes read before a page begins: as many as the largest kept output has.
const SKIPPED: u64 = 1024 * 1024 * 1024;
/// Characters of the smallest page.
const LEAST: usize = 40;
/// Characters kept free for what is said below a page.
const FOOTER: usize = 400;

/// `read_file`.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// In the workspace, or blob:1f2e3d4c.
    path: String,
    /// First line, from 1; "3:2001" begins inside line 3.
    #[serde(default)]
    from: Start,
    /// Most lines.
    lines: Option<u64>,
    /// Lines with numbers, not for edit_file.
    numbers: Option<bool>,
}

/// Where a page begins: a line, or a character of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Start(Point);

impl JsonSchema for Start {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Start")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Start;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a line number from 1, or text such as \"3:2001\"")
            }

            fn visit_unit<E>(self) -> Result<Start, E> {
                Ok(Start::default())
            }

            // 0 is what some models give for the beginning.
            fn visit_u64<E>(self, line: u64) -> Result<Start, E> {
                Ok(Start(Point { line: line.max(1), column: 1 }))
            }

            fn visit_f64<E: serde::de::Error>(self, line: f64) -> Result<Start, E> {
                let whole = format!("{line}");
                self.visit_str(&whole)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Start, E> {
                let (line, column) = text.split_once(':').unwrap_or((text, "1"));
                let number = |part: &str| part.trim().parse::<u64>().ok();
                match (number(line), number(column)) {
                    (Some(line), Some(column)) => {
                        Ok(Start(Point { line: line.max(1), column: column.max(1) }))
                    }
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        from.deserialize_any(Visitor)
    }
}

impl TypedTool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Read a text file of the workspace, or a kept output (blob:...). If there is \
        more, a last line in brackets says how to go on. Use it before edit_file. For folders use list_files, for \
        text search_files.";
    const EXAMPLE: &'static str = r#"{"path":"src/main.rs"}"#;
    type Arguments = Arguments;
    type Target = Target;

    fn claims(&self, arguments: Arguments) -> Result<Claims, Problem> {
        Ok(reads(self.find(&arguments)?.1))
    }

    fn find(&self, arguments: &Arguments) -> Result<(Target, Vec<Place>), Problem> {
        if let Some(blob) = arguments.path.strip_prefix("blob:") {
            let name = Text::from(&*arguments.path);
            let place = Place { kind: PlaceKind::Named, name, access: Access::Read };
            return Ok((Target::Blob(blob.to_owned()), vec![place]));
        }
        let location = self.workspace.find(&arguments.path)?;
        let place = location.place(Access::Read);
        Ok((Target::File(location), vec![place]))
    }

    async fn work(&self, arguments: Arguments, target: Target, context: &Context) -> Result<Told, Problem> {
        let numbers = if arguments.numbers.unwrap_or(false) { Numbers::Shown } else { Numbers::None };
        let lines = arguments.lines.unwrap_or(u64::MAX).max(1);
        let wanted = Wanted { from: arguments.from.0, lines, numbers };
        let mut room = Room::new(context);
        let location = match target {
            Target::File(location) => location,
            Target::Blob(name) => loop {
                let page = read_blob(context, &name, wanted.page(&room)).await?;
                let told = told(&arguments.path, page, &context.stop)?;
                if room.holds(&told) {
                    return Ok(told);
                }
            },
        };
        let (workspace, stop) = (Arc::clone(&self.workspace), context.stop.clone());
        let session = Arc::clone(&context.session);
        blocking(move || {
            loop {
                let mut page = wanted.page(&room);
                let now = read_file(&workspace, &location, &mut page, &stop)?;
                let since = session.seen.since(&location, &now);
                if since == Since::Changed && !page.is_whole() {
                    page.note("the file was changed since you read other parts of it; they may differ now");
                }
                let told = told(&location.shown(), page, &stop)?;
                if !room.holds(&told) {
                    continue;
                }
                if told.outcome != Outcome::CutShort {
                    session.seen.read(&location, now);
                }
                return Ok(told);
            }
        })
        .await
    }
}

/// What a path names.
pub(crate) enum Target {
    /// A file.
    File(Location),
    /// A kept output, by its name.
    Blob(String),
}

/// What a call asks for.
struct Wanted {
    from: Point,
    lines: u64,
    numbers: Numbers,
}

impl Wanted {
    fn page(&self, room: &Room) -> Page {
        Page::new(self.from, self.lines, room.characters).with(self.numbers).hidden_by(&room.session.mask)
    }
}

/// How many characters of a text a page may have. What is shown of them may be more: the notes below it, and
/// characters that are made visible.
struct Room {
    characters: usize,
    cap: usize,
    session: Arc<SessionState>,
}

impl Room {
    fn new(context: &Context) -> Self {
        let characters = context.cap.0.saturating_sub(FOOTER).max(FOOTER);
        Self { characters, cap: context.cap.0, session: Arc::clone(&context.session) }
    }

    /// True if the page is shown whole: in one that is cut a model reads on after what it did not see. Else there is
    /// less room for the next try.
    fn holds(&mut self, told: &Told) -> bool {
        let Shown::Part { text, .. } = &told.shown else { return true };
        let length = length_shown(text, &self.session.mask);
        if length <= self.cap || self.characters <= LEAST {
            return true;
        }
        // What grew grows less then, and what is below stays: both are tried for.
        let by_growth = self.characters.saturating_mul(self.cap) / length;
        let by_notes = self.characters.saturating_sub(length - self.cap);
        self.characters = by_growth.min(by_notes.max(self.characters / 4)).max(LEAST);
        false
    }
}

/// Reads as much of a file as a page needs, and answers with what the file is.
fn read_file(
    workspace: &Workspace,
    location: &Location,
    page: &mut Page,
    stop: &Stop,
) -> Result<Content, Problem> {
    // Its state from before: what is changed while it is read has changed since.
    let (mut file, stamp) = workspace.file(location)?;
    page.whole(Size::Bytes(stamp.bytes()));
    let (mut piece, mut hashed, mut letters) = (Vec::new(), Hashed::default(), Letters::Unknown);
    let mut nothing_but_ascii = false;
    loop {
        piece.clear();
        let read = file.by_ref().take(PIECE).read_to_end(&mut piece);
        read.map_err(|error| unread(&location.shown(), &error.to_string()))?;
        if page.is_at_start() && !piece.is_empty() {
            let encoding = Encoding::of(&piece);
            refuse_binary(&location.shown(), &piece, encoding, stamp.bytes())?;
            letters = Letters::of(encoding, page);
            let is_plain = piece.is_ascii() && piece.len() >= Encoding::BEGINNING;
            nothing_but_ascii = is_plain && !piece.contains(&0);
        } else if let (true, Some(first)) =
            (nothing_but_ascii, piece.iter().position(|byte| !byte.is_ascii()))
        {
            // The first letters by which it can be told, and as many after them as at a beginning.
            let read = file.by_ref().take(first as u64).read_to_end(&mut piece);
            read.map_err(|error| unread(&location.shown(), &error.to_string()))?;
            letters = Letters::of(Encoding::behind_ascii(piece.get(first..).unwrap_or_default()), page);
            nothing_but_ascii = false;
        }
        letters.push(&piece, page);
        // Only what can be hashed to its end is: it takes longer than to read it.
        if stamp.bytes() <= MOST_HASHED {
            hashed.push(&piece);
        }
        if piece.is_empty() {
            page.end();
            let hash = if stamp.bytes() <= MOST_HASHED { hashed.end() } else { None };
            return Ok(Content { stamp: Some(stamp), hash });
        }
        if has_enough(page) || stop.is_raised() {
            return Ok(Content { stamp: Some(stamp), hash: None });
        }
    }
}

/// How the letters of a file become those of a page.
enum Letters {
    /// It has none.
    Unknown,
    /// As they are, after so many bytes of a mark: lines end alike, and a page shows what is no UTF-8.
    Bytes { mark: usize },
    /// Read in their encoding.
    Read { decoder: Decoder, encoding: Encoding, told: bool },
}

impl Letters {
    fn of(encoding: Encoding, page: &mut Page) -> Self {
        match encoding {
            Encoding::Utf8(_) | Encoding::Bytes => Self::Bytes { mark: encoding.bom().len() },
            Encoding::Utf16(..) | Encoding::Gbk | Encoding::Gb18030 => {
                page.note(format!("{}; edit_file and write_file keep that", encoding.name()));
                Self::Read { decoder: encoding.decoder(), encoding, told: false }
            }
        }
    }

    /// Puts a piece on a page; an empty one is the end.
    fn push(&mut self, piece: &[u8], page: &mut Page) {
        let bytes = piece.len() as u64;
        match self {
            Self::Unknown => {}
            Self::Bytes { mark } => {
                page.push(piece.get(std::mem::take(mark)..).unwrap_or_default(), bytes);
            }
            Self::Read { decoder, encoding, told } => {
                let mut text = String::new();
                if piece.is_empty() {
                    decoder.end(&mut text)
                } else {
                    decoder.push(piece, &mut text)
                }
                page.push(text.as_bytes(), bytes);
                if decoder.is_flawed() && !std::mem::replace(told, true) {
                    let name = encoding.name();
                    page.note(format!(
                        "not all of it is {name}: other bytes are shown as \u{fffd}, edit_file keeps them"
                    ));
                }
            }
        }
    }
}

async fn read_blob(context: &Context, name: &str, mut page: Page) -> Result<Page, Problem> {
    let mut at = 0_u64;
    loop {
        let range = at..at.saturating_add(PIECE * 4);
        let read = context.blobs.read(name, range).await;
        let (bytes, size) = read.map_err(|error| unread(&format!("blob:{name}"), &error.to_string()))?;
        page.whole(Size::Bytes(size));
        at = at.saturating_add(bytes.len() as u64);
        page.push(&bytes, bytes.len() as u64);
        if bytes.is_empty() || at >= size {
            page.end();
            return Ok(page);
        }
        if has_enough(&page) || context.stop.is_raised() {
            return Ok(page);
        }
    }
}

fn has_enough(page: &Page) -> bool {
    page.counted() > COUNTED || page.skipped() > SKIPPED
}

fn told(shown: &str, page: Page, stop: &Stop) -> Result<Told, Problem> {
    let bytes = page.size();
    if bytes == 0 {
        return Ok(Told::empty(format!("{shown} is empty (0 bytes): there is nothing in it to read")));
    }
    let text = match page.text() {
        Ok(text) => text,
        Err(NoText::Ended(0)) => {
            let text = format!(
                "{shown} is empty but for a byte-order mark ({bytes} bytes): there is nothing in it to read"
            );
            return Ok(Told::empty(text));
        }
        Err(NoText::Ended(lines)) => {
            let cause = format!("{shown} has {lines} lines");
            return Err(Problem::new("there is no such line", cause, format!("give from as 1 to {lines}")));
        }
        Err(NoText::NotReached) if stop.is_raised() => {
            let cause = format!("it was stopped before the line was reached in {shown}");
            let problem = Problem::new("stopped", cause, "call it again if it is still wanted");
            return Ok(Told { outcome: Outcome::CutShort, ..Told::from(problem) });
        }
        Err(NoText::NotReached) => {
            let cause = format!("the line is not in the first {SKIPPED} bytes of {shown}");
            let hint = "give a smaller from, or use run_command (tail, or dd with skip)";
            return Err(Problem::new("too far", cause, hint));
        }
    };
    let shown = Shown::Part { text, bytes, blob: None };
    Ok(Told { shown, ..Told::ok("") })
}

fn unread(path: &str, why: &str) -> Problem {
    Problem::new("not read", format!("{path}: {why}"), "check the name; list_files shows what is there")
}

fn refuse_binary(shown: &str, piece: &[u8], encoding: Encoding, bytes: u64) -> Result<(), Problem> {
    let Some(kind) = binary(piece, encoding) else { return Ok(()) };
    let hint = "look at it with a program for its kind by run_command (file, strings, xxd | head)";
    Err(Problem::new("not shown", format!("{shown} is {kind}, {bytes} bytes"), hint))
}
