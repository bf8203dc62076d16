//! What the tools of all wires have in common.

use std::collections::BTreeSet;

use super::Findings;
use super::body::listed;
use super::json::{Members, Node, find, text, truth};

/// What a value can be.
const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];

/// What OpenAI and Anthropic refuse at the top of a schema.
const CHOICES: &[&str] = &["oneOf", "allOf", "anyOf", "enum", "not"];

/// No vendor takes more.
const MOST_TOOLS: usize = 128;

/// The tools of a body by their names; what is peculiar to the wire is looked at by `each`, which says where name,
/// description and schema stand.
pub fn check_tools<'a>(
    body: &'a Members,
    schema: &str,
    mut each: impl FnMut(&str, &'a Members, &mut Findings) -> Option<&'a Members>,
    found: &mut Findings,
) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    if find(body, "tools").is_none() {
        return names;
    }
    let Some(tools) = listed(body, "tools") else {
        found.add("tools: no list with something in it; leave the key out");
        return names;
    };
    if tools.len() > MOST_TOOLS {
        found.add(format!("tools: {} of them, at most {MOST_TOOLS}", tools.len()));
    }
    for (at, tool) in tools.iter().enumerate() {
        let place = format!("tools[{at}]");
        let Some(tool) = tool.object() else {
            found.add(format!("{place}: no object"));
            continue;
        };
        let Some(face) = each(&place, tool, found) else { continue };
        let name = text(face, "name").unwrap_or_default();
        found.name(&place, name);
        if !names.insert(name) {
            found.add(format!("{place}: the name {name:?} stands twice"));
        }
        if text(face, "description").is_none_or(|text| text.trim().is_empty()) {
            found.add(format!("{place}: no description"));
        }
        let of = find(face, schema);
        if of.and_then(Node::object).and_then(|schema| text(schema, "type")) != Some("object") {
            let verb = if schema.ends_with('s') { "are" } else { "is" };
            found.add(format!("{place}: its {schema} {verb} no schema of an object"));
        }
        let Some(of) = of else { continue };
        for (key, _) in of.object().into_iter().flatten().filter(|(key, _)| CHOICES.contains(&key.as_str())) {
            found.add(format!("{place}: {key} at the top of its {schema}"));
        }
        check_types(&place, of, found);
        if truth(face, "strict") == Some(true) {
            check_strict(&place, of, found);
        }
    }
    names
}

/// The schemas inside of one.
fn inner(schema: &Members) -> impl Iterator<Item = &Node> {
    let named = ["properties", "$defs", "definitions"].into_iter().filter_map(|key| find(schema, key));
    let named = named.filter_map(Node::object).flatten().map(|(_, schema)| schema);
    let listed = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| listed(schema, key)).flatten();
    named.chain(find(schema, "items")).chain(listed)
}

/// A schema names no type that there is not.
fn check_types(place: &str, schema: &Node, found: &mut Findings) {
    let Some(schema) = schema.object() else { return };
    let is_known = |of: &Node| of.text().is_some_and(|of| TYPES.contains(&of));
    let known = match find(schema, "type") {
        None => true,
        Some(Node::List(types)) => !types.is_empty() && types.iter().all(is_known),
        Some(of) => is_known(of),
    };
    if !known {
        found.add(format!("{place}: a type of its schema is none of {}", TYPES.join(", ")));
    }
    inner(schema).for_each(|inner| check_types(place, inner, found));
}

/// A schema that is held to strictly closes each object and requires each property.
fn check_strict(place: &str, schema: &Node, found: &mut Findings) {
    let Some(schema) = schema.object() else { return };
    let properties = find(schema, "properties").and_then(Node::object);
    if properties.is_some() || text(schema, "type") == Some("object") {
        if truth(schema, "additionalProperties") != Some(false) {
            found.add(format!("{place}: it is strict, and an object of its schema is open"));
        }
        let required = listed(schema, "required").unwrap_or_default();
        for (name, _) in properties.into_iter().flatten() {
            if !required.iter().any(|one| one.text() == Some(name)) {
                found.add(format!("{place}: it is strict, and {name:?} of its schema is not required"));
            }
        }
    }
    inner(schema).for_each(|inner| check_strict(place, inner, found));
}

/// What may not be said where there are no tools.
pub fn check_without_tools(body: &Members, keys: &[&str], found: &mut Findings) {
    if find(body, "tools").is_none() {
        for key in keys.iter().filter(|key| find(body, key).is_some()) {
            found.add(format!("body: {key} without tools"));
        }
    }
}

/// The format of a reply: a schema with a name, on chat completions inside an object of its own.
pub fn check_format(place: &str, format: &Node, inside: Option<&str>, found: &mut Findings) {
    let Some(format) = format.object() else {
        found.add(format!("{place}: no object"));
        return;
    };
    if text(format, "type") != Some("json_schema") {
        found.add(format!("{place}: its type is not json_schema"));
    }
    let named = match inside {
        None => {
            found.keys(place, format, &["type", "name", "schema"]);
            format
        }
        Some(key) => {
            found.keys(place, format, &["type", key]);
            match find(format, key).and_then(Node::object) {
                Some(named) => {
                    found.keys(place, named, &["name", "schema"]);
                    named
                }
                None => {
                    found.add(format!("{place}: no {key}"));
                    return;
                }
            }
        }
    };
    found.name(place, text(named, "name").unwrap_or_default());
    match find(named, "schema") {
        Some(schema @ Node::Object(_)) => check_types(place, schema, found),
        _ => found.add(format!("{place}: no schema")),
    }
}
