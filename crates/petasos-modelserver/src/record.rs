//! What a server was asked.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::HeaderName;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::ModelServerError;

/// What stands for a secret.
const MASK: &str = "***";

/// Headers whose values are secrets.
const SECRET_HEADERS: &[&str] =
    &["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];

/// Parts of a query whose values are secrets.
const SECRET_PARAMETERS: &[&str] = &["key", "api_key", "api-key", "access_token"];

/// One request as it came. Secrets are masked here too, so that a test's output has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it was whole, in milliseconds since 1970 UTC.
    pub at: u64,
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, in the order of arrival as far as a name does not stand twice.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body; none of one that was too large.
    pub body: Bytes,
    /// What it was answered with.
    pub answered: Answered,
}

/// What a request was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// This reply of the script, counted from 0, with its fault if it has one.
    Reply(usize),
    /// An error: the script has no reply left.
    NothingLeft,
    /// The names of the models.
    Models,
    /// An error: it is no request of a wire that is spoken.
    Refused,
}

/// A line of the record file.
#[derive(Serialize)]
struct Line<'a> {
    at: u64,
    path: &'a str,
    headers: BTreeMap<&'a str, String>,
    body: Box<RawValue>,
}

/// The file that requests are written to as they come.
#[derive(Debug)]
pub(crate) struct RecordFile(Mutex<File>);

impl RecordFile {
    pub fn open(path: &Path) -> Result<Self, ModelServerError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let wrong = |source| ModelServerError::Record { path: path.to_owned(), source };
        file.map(|file| Self(Mutex::new(file))).map_err(wrong)
    }

    /// Appends one whole line.
    pub fn append(&self, request: &Recorded) -> std::io::Result<()> {
        let mut line = line(request)?;
        line.push('\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes())
    }
}

fn line(request: &Recorded) -> Result<String, serde_json::Error> {
    let mut headers: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in &request.headers {
        let values = headers.entry(name).or_default();
        if !values.is_empty() {
            values.push_str(", ");
        }
        values.push_str(value);
    }
    let body = raw_body(&request.body)?;
    serde_json::to_string(&Line { at: request.at, path: &request.path, headers, body })
}

/// JSON as it stands, anything else as a JSON text. A line break in JSON is a blank, but not in JSON lines.
fn raw_body(body: &[u8]) -> Result<Box<RawValue>, serde_json::Error> {
    let text = String::from_utf8_lossy(body);
    if std::str::from_utf8(body).is_ok() && serde_json::from_str::<&RawValue>(&text).is_ok() {
        return RawValue::from_string(text.trim().replace(['\n', '\r'], " "));
    }
    RawValue::from_string(serde_json::to_string(&text)?)
}

/// Headers with secrets masked.
pub(crate) fn masked_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = |name: &HeaderName, value: &[u8]| {
        if SECRET_HEADERS.contains(&name.as_str()) {
            MASK.into()
        } else {
            String::from_utf8_lossy(value).into_owned()
        }
    };
    headers.iter().map(|(name, value)| (name.to_string(), shown(name, value.as_bytes()))).collect()
}

/// Path and query with secrets masked.
pub(crate) fn masked_path(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let mask = |part: &str| match part.split_once('=') {
        Some((name, _)) if SECRET_PARAMETERS.contains(&name) => format!("{name}={MASK}"),
        Some(_) | None => part.to_owned(),
    };
    let query: Vec<String> = query.split('&').map(mask).collect();
    format!("{path}?{}", query.join("&"))
}
