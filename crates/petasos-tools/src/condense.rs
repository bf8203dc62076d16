//! Rules that pick fields of JSON results, so that a model reads what it needs of them.
//!
//! A rule names a tool and paths, as jq writes them. What is picked keeps its shape: objects with the fields that were
//! wanted, in their order, numbers and letters as they stand. It ends by its form: a result is gone through once for each
//! step of a path. What is left out is in the kept output, and the result says so.

mod path;
mod pick;

use std::sync::Arc;

use petasos_core::bounded::{Bounded, Cap};
use petasos_core::text::Json;
use petasos_core::tool::{BlobName, Outcome};
use serde_json::value::RawValue;

pub use path::PathError;

use crate::output::{Shown, Told, keep, whole};
use crate::tool::Context;
use path::Path;
use pick::pick;

/// Characters of a result that are held to pick from it: as much as a result may have in memory.
const MOST: Cap = Cap(1024 * 1024);
/// Lines before the JSON of a result that tell of it: an exit code, an address.
const HEAD_LINES: usize = 4;

/// What is picked of the results of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CondenseRule {
    tool: String,
    only: Option<String>,
    paths: Vec<Path>,
}

impl CondenseRule {
    /// A rule for the results of a tool whose arguments have a text with `only` in it, or for all of them.
    ///
    /// # Errors
    /// Which path is none, and where; or that there is no path.
    pub fn new(tool: String, only: Option<String>, paths: &[String]) -> Result<Self, PathError> {
        if paths.is_empty() {
            return Err(PathError::none());
        }
        let paths = paths.iter().map(|path| Path::read(path)).collect::<Result<_, _>>()?;
        Ok(Self { tool, only, paths })
    }

    /// The tool that it is for.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    fn fits(&self, tool: &str, arguments: &Json) -> bool {
        self.tool == tool && self.only.as_ref().is_none_or(|only| says(arguments.as_str(), only))
    }
}

/// True if a text of these arguments has another in it.
fn says(arguments: &str, wanted: &str) -> bool {
    fn has(value: &serde_json::Value, wanted: &str) -> bool {
        match value {
            serde_json::Value::String(text) => text.contains(wanted),
            serde_json::Value::Array(items) => items.iter().any(|item| has(item, wanted)),
            serde_json::Value::Object(fields) => fields.values().any(|field| has(field, wanted)),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
        }
    }
    serde_json::from_str(arguments).is_ok_and(|arguments| has(&arguments, wanted))
}

/// The rules of a session, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condense(Arc<[CondenseRule]>);

impl Condense {
    pub(crate) fn new(rules: Vec<CondenseRule>) -> Self {
        Self(rules.into())
    }

    /// The first rule for a call.
    pub(crate) fn rule(&self, tool: &str, arguments: &Json) -> Option<&CondenseRule> {
        self.0.iter().find(|rule| rule.fits(tool, arguments))
    }
}

/// What a tool is given whose result is to be picked from: room for the whole of it.
pub(crate) fn wide(context: &Context) -> Context {
    Context { cap: Cap(MOST.0.max(context.cap.0)), ..context.clone() }
}

/// What a tool said, with the fields that its rule wants; all of it where there are none.
pub(crate) async fn condensed(rule: &CondenseRule, told: Told, context: &Context) -> Told {
    let (text, bytes, blob) = match told.shown {
        Shown::All(text) => {
            let bytes = text.len() as u64;
            (text, bytes, None)
        }
        Shown::Part { text, bytes, blob } => (text, bytes, blob),
        Shown::Problem(_) => return told,
    };
    // Before it is kept or cut, so that no key is cut into two parts that nobody knows.
    let text = context.session.mask.hide(&text).into_owned();
    let found = if told.outcome == Outcome::Ok { find(rule, &text) } else { Found::NoJson };
    let shown = match found {
        Found::Picked(picked) => {
            let kept = kept(context, &text, blob).await;
            let text = format!("{picked}\n[fields picked by tools.condense; {}]", whole(&kept));
            Shown::Part { text: cut(&text, context.cap, &kept), bytes, blob: kept.ok() }
        }
        Found::Nothing(why) => fitted(context, format!("[tools.condense: {why}]\n{text}"), bytes, blob).await,
        Found::NoJson => fitted(context, text, bytes, blob).await,
    };
    Told { shown, ..told }
}

/// A text that may be longer than a result.
async fn fitted(context: &Context, text: String, bytes: u64, blob: Option<BlobName>) -> Shown {
    if text.chars().nth(context.cap.0).is_none() {
        return Shown::Part { text, bytes, blob };
    }
    let kept = kept(context, &text, blob).await;
    Shown::Part { text: cut(&text, context.cap, &kept), bytes, blob: kept.ok() }
}

async fn kept(context: &Context, text: &str, blob: Option<BlobName>) -> Result<BlobName, String> {
    match blob {
        Some(blob) => Ok(blob),
        None => keep(&*context.blobs, text.as_bytes().to_vec()).await,
    }
}

fn cut(text: &str, cap: Cap, kept: &Result<BlobName, String>) -> String {
    Bounded::new(text, cap, &whole(kept)).text().to_string()
}

/// What a rule finds in a result.
enum Found {
    /// The result, with the picked fields in the place of its JSON.
    Picked(String),
    /// Why there is none.
    Nothing(String),
    /// It is another kind of text.
    NoJson,
}

fn find(rule: &CondenseRule, text: &str) -> Found {
    let mut begins = 0;
    let mut broken = None;
    for line in text.split_inclusive('\n').take(HEAD_LINES + 1) {
        let from = text.get(begins..).unwrap_or_default();
        if line.trim_start().starts_with(['{', '[']) {
            match values(from) {
                Ok((values, rest)) => {
                    return picked(rule, text.get(..begins).unwrap_or_default(), &values, rest);
                }
                // A line in brackets may be one that tells of what follows.
                Err(error) if line.trim_start().starts_with('{') => {
                    broken = broken.or(Some(error));
                }
                Err(_) => {}
            }
        }
        begins += line.len();
    }
    match broken {
        Some(error) => Found::Nothing(format!("the result is no whole JSON ({error})")),
        None => Found::NoJson,
    }
}

/// The values that a text begins with, and what is behind them.
fn values(text: &str) -> Result<(Vec<&RawValue>, &str), serde_json::Error> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut values = Vec::new();
    let mut end = 0;
    loop {
        match stream.next() {
            Some(Ok(value)) => values.push(value),
            // What follows a value is told below it.
            Some(Err(error)) if values.is_empty() => return Err(error),
            Some(Err(_)) | None => return Ok((values, text.get(end..).unwrap_or_default())),
        }
        end = stream.byte_offset();
    }
}

fn picked(rule: &CondenseRule, head: &str, values: &[&RawValue], rest: &str) -> Found {
    let lines: Vec<String> = values.iter().filter_map(|value| pick(value, &rule.paths)).collect();
    if lines.is_empty() {
        let paths: Vec<&str> = rule.paths.iter().map(Path::as_str).collect();
        return Found::Nothing(format!("nothing in the result is at {}", paths.join(", ")));
    }
    let rest = rest.trim();
    let gap = if rest.is_empty() { "" } else { "\n" };
    Found::Picked(format!("{head}{}{gap}{rest}", lines.join("\n")))
}
