//! What the bodies of all wires have in common: an allow-list of keys, and the order of the parts.

use std::ops::RangeInclusive;

use super::Findings;
use super::json::{Members, Node, find, number, text, truth};

/// Where a key of a body stands. What changes from request to request stands behind the content, else it would break
/// the prefix; what a provider caches on stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    First,
    Before,
    Content,
    After,
    Either,
}

/// The keys of a body, the content of which has this name.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    pub all: &'static [(&'static str, Place)],
    pub content: &'static str,
}

/// The keys that stand in a body, their order, and the model.
pub fn check_keys(body: &Members, keys: Keys, found: &mut Findings) {
    let allowed: Vec<&str> = keys.all.iter().map(|(key, _)| *key).collect();
    found.keys("body", body, &allowed);
    order(body, keys, found);
    if text(body, "model").is_none_or(|model| model.trim().is_empty()) {
        found.add("body: no model is named");
    }
}

fn order(body: &Members, keys: Keys, found: &mut Findings) {
    let place =
        |key: &str| keys.all.iter().find(|(name, _)| *name == key).map_or(Place::Either, |(_, place)| *place);
    let content = body.iter().position(|(key, _)| key == keys.content).unwrap_or(body.len());
    for (at, (key, _)) in body.iter().enumerate() {
        let (right, wanted) = match place(key) {
            Place::First => (at == 0, "first"),
            Place::Before => (at < content, "before"),
            Place::After => (at > content, "behind"),
            Place::Content | Place::Either => (true, ""),
        };
        match wanted {
            _ if right => {}
            "first" => found.add(format!("body: {key} does not stand first")),
            _ => found.add(format!("body: {key} does not stand {wanted} the {}", keys.content)),
        }
    }
}

/// The number under a key, if the key is there, is one of these.
pub fn check_range(body: &Members, key: &str, range: RangeInclusive<f64>, found: &mut Findings) {
    if find(body, key).is_some() && !number(body, key).is_some_and(|number| range.contains(&number)) {
        let (least, most) = (range.start(), range.end());
        let wanted =
            if most.is_finite() { format!("{least} to {most}") } else { format!("at least {least}") };
        found.add(format!("body: {key} is not {wanted}"));
    }
}

/// The count under a key, if the key is there, is a whole number of at least so many.
pub fn check_count(body: &Members, key: &str, least: f64, found: &mut Findings) {
    let fits = |count: f64| count >= least && count.fract() == 0.0;
    if find(body, key).is_some() && !number(body, key).is_some_and(fits) {
        found.add(format!("body: {key} is no whole number of at least {least}"));
    }
}

/// What is under these keys, if they are there, is true or false.
pub fn check_truths(body: &Members, keys: &[&str], found: &mut Findings) {
    for key in keys.iter().filter(|key| find(body, key).is_some() && truth(body, key).is_none()) {
        found.add(format!("body: {key} is neither true nor false"));
    }
}

/// What is under a key of a body and has to be a list with something in it.
pub fn listed<'a>(body: &'a Members, key: &str) -> Option<&'a [Node]> {
    match find(body, key) {
        Some(Node::List(items)) if !items.is_empty() => Some(items),
        _ => None,
    }
}
