//! What every provider would take: a request body, checked rule by rule.
//!
//! The rules are those on which a provider answers 400, or on which some server does though others do not (P02), and
//! those of our own: the allow-list of keys (L03, I9) and the order of the parts (I8).

use std::collections::BTreeSet;

use petasos_core::request::Wire;

mod body;
mod chat;
mod content;
mod json;
mod messages;
mod pairs;
mod prefix;
mod responses;
mod tools;

use json::{Members, Node};
use prefix::{MARK, Parts};

/// A request is smaller than this; the scripted server takes no more either.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// What is wrong with the body of a request; nothing if it is good.
pub fn check_request(wire: Wire, body: &[u8]) -> Vec<String> {
    let check = match wire {
        Wire::Chat => chat::check,
        Wire::Responses => responses::check,
        Wire::Messages => messages::check,
    };
    if body.len() >= LARGEST_BODY {
        return vec![format!("the body has {} bytes, less than {LARGEST_BODY} are taken", body.len())];
    }
    let mut found = Findings::default();
    match serde_json::from_slice::<Node>(body) {
        Err(error) => found.add(format!("no JSON: {error}")),
        Ok(Node::Object(members)) => check(&members, &mut found),
        Ok(_) => found.add("the body is no object"),
    }
    found.0
}

/// What of the parts of a request is not at the start of the next one: nothing, if they are stable (I8).
///
/// Parts are all bytes up to the end of the last message's content. What a user says stays open: what is said next may
/// be joined into the same message, so that the bytes before only grow. Cache marks are no parts, nor is a message that
/// only asks the model to go on.
pub fn check_prefix(wire: Wire, previous: &[u8], next: &[u8]) -> Vec<String> {
    let previous = String::from_utf8_lossy(previous).replace(MARK, "");
    let next = String::from_utf8_lossy(next).replace(MARK, "");
    let parts = match Parts::of(wire, &previous) {
        Ok(parts) => parts,
        Err(what) => return vec![format!("the request before: {what}")],
    };
    if let Err(what) = Parts::of(wire, &next) {
        return vec![format!("the next request: {what}")];
    }
    if let Some(behind) = next.strip_prefix(parts.bytes) {
        let goes_on = "the last message of the request before goes on in the next one";
        return if parts.go_on(behind) { vec![goes_on.into()] } else { Vec::new() };
    }
    let (bytes, next) = (parts.bytes.as_bytes(), next.as_bytes());
    let same = bytes.iter().zip(next).take_while(|(one, other)| one == other).count();
    let shown = |bytes: &[u8]| {
        let from = same.saturating_sub(40);
        String::from_utf8_lossy(&bytes[from..bytes.len().min(same + 40)]).into_owned()
    };
    let (before, after) = (shown(previous.as_bytes()), shown(next));
    let all = bytes.len();
    vec![format!("{same} of {all} bytes of the parts are the same; before: …{before}…; next: …{after}…")]
}

/// What is wrong with the headers of a request, whose names are in lower case; nothing if they are good.
pub fn check_headers(wire: Wire, headers: &[(String, String)]) -> Vec<String> {
    match wire {
        Wire::Chat | Wire::Responses => Vec::new(),
        Wire::Messages => {
            let version = headers.iter().find(|(name, _)| name == "anthropic-version");
            let version = version.map(|(_, value)| value.as_str()).unwrap_or_default();
            if is_date(version) {
                return Vec::new();
            }
            vec![format!("anthropic-version is {version:?}, and has to be a date")]
        }
    }
}

/// `2023-06-01` and the like.
fn is_date(text: &str) -> bool {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(b"0000-00-00".iter().copied())
}

/// Complaints, in the order in which they were met.
#[derive(Debug, Default)]
struct Findings(Vec<String>);

impl Findings {
    fn add(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    /// Keys that are not among `allowed`, or stand twice.
    fn keys(&mut self, place: &str, members: &Members, allowed: &[&str]) {
        let mut seen = BTreeSet::new();
        for (key, _) in members {
            if !allowed.contains(&key.as_str()) {
                self.add(format!("{place}: key {key:?} is not on the list"));
            }
            if !seen.insert(key) {
                self.add(format!("{place}: key {key:?} stands twice"));
            }
        }
    }

    /// Arguments of a call: a text that holds an object.
    fn arguments(&mut self, place: &str, arguments: Option<&str>) {
        let arguments = arguments.and_then(|text| serde_json::from_str::<Node>(text).ok());
        if !matches!(arguments, Some(Node::Object(_))) {
            self.add(format!("{place}: its arguments are no text that holds a JSON object"));
        }
    }

    /// A name that every provider takes.
    fn name(&mut self, place: &str, name: &str) {
        if !fits(name, 64) {
            self.add(format!("{place}: the name {name:?} is not 1 to 64 of [a-zA-Z0-9_-]"));
        }
    }
}

/// 1 to `most` letters, digits, underscores and hyphens.
fn fits(text: &str, most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=most).contains(&text.len()) && text.bytes().all(plain)
}
