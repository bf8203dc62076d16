//! One text for all ways to write the same arguments: without blanks between them, keys in order,
//! strings escaped one way. Numbers keep their digits: `1.50` and `1.5` are two things here.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// How deep objects and lists are put in order. What is deeper is compared as it was written: each level is
/// read once more than the one around it.
const DEPTH: usize = 32;

/// The arguments in their one form; text that is no JSON without the blanks around it.
pub(crate) fn canonical(arguments: &str) -> String {
    let mut text = String::with_capacity(arguments.len());
    match serde_json::from_str::<&RawValue>(arguments) {
        Ok(value) => write(value, &mut text, DEPTH),
        Err(_) => text.push_str(arguments.trim()),
    }
    text
}

fn write(value: &RawValue, text: &mut String, depth: usize) {
    let raw = value.get();
    let is_written = depth > 0
        && match raw.as_bytes().first() {
            Some(b'{') => object(raw, text, depth),
            Some(b'[') => list(raw, text, depth),
            Some(b'"') => string(raw, text),
            Some(_) | None => false,
        };
    if !is_written {
        text.push_str(raw);
    }
}

fn object(raw: &str, text: &mut String, depth: usize) -> bool {
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw) else { return false };
    text.push('{');
    for (place, (key, value)) in members.iter().enumerate() {
        separate(place, text);
        quote(key, text);
        text.push(':');
        write(value, text, depth - 1);
    }
    text.push('}');
    true
}

fn list(raw: &str, text: &mut String, depth: usize) -> bool {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw) else { return false };
    text.push('[');
    for (place, item) in items.iter().enumerate() {
        separate(place, text);
        write(item, text, depth - 1);
    }
    text.push(']');
    true
}

fn string(raw: &str, text: &mut String) -> bool {
    // Half of a surrogate pair is JSON and no text: kept as it was written.
    let Ok(content) = serde_json::from_str::<String>(raw) else { return false };
    quote(&content, text);
    true
}

fn separate(place: usize, text: &mut String) {
    if place > 0 {
        text.push(',');
    }
}

fn quote(content: &str, text: &mut String) {
    // A string always becomes JSON; the fallback only keeps this free of panics.
    text.push_str(&serde_json::to_string(content).unwrap_or_default());
}
