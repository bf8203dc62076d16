//! What of an answer is text, and in which letters.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use super::client::{Fetched, not_shown};
use super::html;
use crate::output::Problem;

/// Bytes of a page in which its own word on its letters is looked for (html.spec.whatwg.org, 13.2.3.2).
const LOOKED: usize = 1024;
/// Bytes in which a NUL tells that something is no text.
const BINARY: usize = 8 * 1024;

/// Bytes by which letters are guessed.
const GUESSED: usize = 64 * 1024;

/// The text of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Readable {
    /// Its title; empty if it has none.
    pub(crate) title: String,
    /// Its text.
    pub(crate) text: String,
    /// What it is, as a reader is told: the content type, and the letters if they are not UTF-8.
    pub(crate) kind: String,
}

/// True if a content type may be that of text. One that says nothing may.
pub(super) fn may_be_text(media: &str) -> bool {
    let media = essence(media);
    let is_known = media.starts_with("text/")
        || ["+json", "+xml", "+yaml"].iter().any(|end| media.ends_with(end))
        || TEXTS.contains(&&*media);
    is_known || media.is_empty() || media == "application/octet-stream"
}

/// Texts that do not say so in their name.
const TEXTS: [&str; 14] = [
    "application/json",
    "application/xml",
    "application/xhtml+xml",
    "application/javascript",
    "application/ecmascript",
    "application/x-javascript",
    "application/x-ndjson",
    "application/jsonl",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/x-sh",
    "application/x-www-form-urlencoded",
];

/// The text of an answer.
pub(crate) fn readable(fetched: &Fetched) -> Result<Readable, Problem> {
    let Fetched { url, media, bytes, .. } = fetched;
    let (encoding, mark) = letters(media, bytes);
    let is_wide = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    let essence = essence(media);
    let told = if essence.is_empty() { "of unknown type" } else { &*essence };
    if !is_wide && bytes.iter().take(BINARY).any(|byte| *byte == 0) {
        return Err(not_shown(url, told, &format!("{} bytes that are no text", bytes.len())));
    }
    let (text, _) = encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default());
    let kind = if encoding == UTF_8 { told.to_owned() } else { format!("{told} in {}", encoding.name()) };
    let is_html = match &*essence {
        "text/html" | "application/xhtml+xml" => true,
        "" | "application/octet-stream" | "text/plain" => looks_like_html(&text, &essence),
        _ => false,
    };
    if is_html {
        let html::Page { title, text } = html::read(&text, url);
        return Ok(Readable { title, text, kind });
    }
    Ok(Readable { title: String::new(), text: text.into_owned(), kind })
}

/// A content type without its parameters.
fn essence(media: &str) -> Cow<'_, str> {
    let essence = media.split(';').next().unwrap_or_default().trim();
    if essence.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(essence.to_ascii_lowercase())
    } else {
        Cow::Borrowed(essence)
    }
}

/// The letters of an answer: by its mark, by its header, by its own word, else UTF-8 if it
/// can be that, else by how often letters are met. And the length
/// of the mark.
fn letters(media: &str, bytes: &[u8]) -> (&'static Encoding, usize) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return (encoding, mark);
    }
    let header = media.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    // Some old names stand for letters that nobody reads any more; they say as little as none.
    let known = |label: &[u8]| Encoding::for_label_no_replacement(label);
    let has_own_word = matches!(&*essence(media), "" | "text/html" | "application/octet-stream")
        || essence(media).ends_with("xml");
    let own = || own_word(bytes).filter(|_| has_own_word);
    let encoding = match header.and_then(|label| known(label.as_bytes())).or_else(own) {
        Some(encoding) => encoding,
        None if is_utf8(bytes) => UTF_8,
        None => guessed(bytes),
    };
    (encoding, 0)
}

/// What browsers take a page for whose letters nobody tells.
fn guessed(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    // What comes before the first letter beyond ASCII says nothing, and half a letter at the end nothing either.
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let told = bytes.get(first..).unwrap_or_default();
    detector.feed(told.get(..GUESSED).unwrap_or(told), told.len() <= GUESSED);
    detector.guess(None, Utf8Detection::Deny)
}

/// True if bytes are UTF-8: a letter that is cut at the end is no fault, and of other faults there are fewer than
/// letters beyond ASCII, which hardly come about by chance.
fn is_utf8(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) if error.error_len().is_none() => true,
        Err(_) => {
            let (letters, faults) = bytes.utf8_chunks().fold((0, 0), |(letters, faults), chunk| {
                let beyond = chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
                (letters + beyond, faults + usize::from(!chunk.invalid().is_empty()))
            });
            faults < letters
        }
    }
}

/// What a page says of its letters: `<meta charset=…>`, `<meta … content="…charset=…">`, `<?xml … encoding="…"?>`.
fn own_word(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(bytes.get(..LOOKED).unwrap_or(bytes)).to_ascii_lowercase();
    let word = if head.trim_start().starts_with("<?xml") { "encoding" } else { "charset" };
    let is_page = head.contains("<meta") || word == "encoding";
    let (_, behind) = is_page.then(|| head.split_once(word)).flatten()?;
    let value = behind.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label =
        value.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-_:.".contains(letter)).next()?;
    let named = Encoding::for_label_no_replacement(label.as_bytes())?;
    // A page whose bytes could be read up to its word on them is not in wide letters, whatever it says.
    let is_wide = named == encoding_rs::UTF_16LE || named == encoding_rs::UTF_16BE;
    Some(if is_wide { UTF_8 } else { named })
}

/// True for a page that is sent without its type.
fn looks_like_html(text: &str, essence: &str) -> bool {
    let begin: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
    // One that is sent as plain text is meant to be read as it stands.
    essence != "text/plain" && (begin.starts_with("<!doctype html") || begin.starts_with("<html"))
}
