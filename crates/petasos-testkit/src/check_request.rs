//! What every provider would take: a request body, checked rule by rule.
//!
//! The rules are those on which a provider answers 400, or on which some server does though others do not (P02), and
//! those of our own: the allow-list of keys (L03, I9) and the order of the parts (I8).

use std::collections::{BTreeMap, BTreeSet};

use petasos_core::request::Wire;
use serde_json::value::RawValue;

mod chat;
mod json;

use json::{Members, Node};

/// A request is smaller than this; the scripted server takes no more either.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// What is wrong with the body of a request; nothing if it is good.
///
/// # Panics
/// For a wire that has no rules here yet: a check that passes everything shows nothing.
pub fn check_request(wire: Wire, body: &[u8]) -> Vec<String> {
    let check = match wire {
        Wire::Chat => chat::check,
        Wire::Responses | Wire::Messages => panic!("no rules for requests of {wire:?}"),
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

/// What of the parts of a request is not at the start of the next one: nothing, if they are stable (I8). Parts are all
/// bytes up to the end of the last message.
pub fn check_prefix(previous: &[u8], next: &[u8]) -> Vec<String> {
    let parts = match parts(previous) {
        Ok(parts) => parts,
        Err(what) => return vec![format!("the request before: {what}")],
    };
    if let Err(what) = self::parts(next) {
        return vec![format!("the next request: {what}")];
    }
    let same = parts.iter().zip(next).take_while(|(one, other)| one == other).count();
    if same < parts.len() {
        let shown = |bytes: &[u8]| {
            let from = same.saturating_sub(40);
            String::from_utf8_lossy(&bytes[from..bytes.len().min(same + 40)]).into_owned()
        };
        return vec![format!(
            "{same} of {} bytes of the parts are the same; before: …{}…; next: …{}…",
            parts.len(),
            shown(previous),
            shown(next)
        )];
    }
    match next.get(same) {
        Some(b',' | b']') => Vec::new(),
        _ => vec!["the last message of the request before goes on in the next one".into()],
    }
}

/// The bytes before the bracket that closes the messages.
fn parts(body: &[u8]) -> Result<&[u8], String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let messages = members.get("messages").ok_or("it has no messages")?.get();
    let end = messages.as_ptr() as usize - text.as_ptr() as usize + messages.len();
    let inside = body[..end].strip_suffix(b"]").ok_or("its messages are no list")?;
    Ok(inside.trim_ascii_end())
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
