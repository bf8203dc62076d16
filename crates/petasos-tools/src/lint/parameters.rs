//! What is said of the arguments of a tool.

use serde_json::{Map, Value as Schema};

use super::{Fault, LONGEST_OF_PARAMETER, words};

/// Levels of arguments inside arguments that are looked at.
const DEEPEST: usize = 8;
/// What can stand in place of a type.
const TYPES: [&str; 7] = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"];
/// What tells the format of a text.
const FORMATS: [&str; 6] = ["enum", "const", "format", "pattern", "examples", "default"];
/// What tells the bounds of a number.
const BOUNDS: [&str; 7] =
    ["enum", "const", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "examples"];

/// What is wrong, each with the path of the parameter.
pub(super) fn faults(schema: &str) -> Vec<(String, Fault)> {
    let mut faults = Vec::new();
    match serde_json::from_str(schema) {
        Ok(Schema::Object(schema)) if is_of_type(&schema, "object") || schema.is_empty() => {
            properties(&schema, "", DEEPEST, &mut faults);
        }
        Ok(_) | Err(_) => faults.push(("parameters".to_owned(), Fault::NoObject)),
    }
    faults
}

fn properties(object: &Map<String, Schema>, at: &str, deep: usize, faults: &mut Vec<(String, Fault)>) {
    let known = object.get("properties").and_then(Schema::as_object);
    let required = object.get("required").and_then(Schema::as_array).map(Vec::as_slice).unwrap_or_default();
    for name in required.iter().filter_map(Schema::as_str) {
        if known.is_none_or(|known| !known.contains_key(name)) {
            faults.push((format!("{at}{name}"), Fault::NoSuchProperty));
        }
    }
    for (name, property) in known.into_iter().flatten() {
        parameter(property, &format!("{at}{name}"), deep, faults);
    }
}

fn parameter(schema: &Schema, at: &str, deep: usize, faults: &mut Vec<(String, Fault)>) {
    let mut found = |fault| faults.push((at.to_owned(), fault));
    let Some(schema) = schema.as_object() else { return found(Fault::NoType) };
    let said = schema.get("description").and_then(Schema::as_str).unwrap_or_default().trim();
    if !words::says_something(said) {
        found(Fault::NoMeaning);
    }
    if said.chars().nth(LONGEST_OF_PARAMETER).is_some() {
        found(Fault::TooLong(LONGEST_OF_PARAMETER));
    }
    if !has_one_of(schema, &TYPES) {
        return found(Fault::NoType);
    }
    if is_of_type(schema, "string") && !has_one_of(schema, &FORMATS) && !words::tells_format(said) {
        found(Fault::NoFormat);
    }
    let is_number = is_of_type(schema, "integer") || is_of_type(schema, "number");
    if is_number && !has_one_of(schema, &BOUNDS) && !words::tells_unit(said) {
        found(Fault::NoUnit);
    }
    inside(schema, at, deep, faults);
}

/// What stands in lists and objects.
fn inside(schema: &Map<String, Schema>, at: &str, deep: usize, faults: &mut Vec<(String, Fault)>) {
    let Some(deep) = deep.checked_sub(1) else { return };
    properties(schema, &format!("{at}."), deep, faults);
    let items = schema.get("items").and_then(Schema::as_object);
    if is_of_type(schema, "array") {
        match items {
            None => faults.push((format!("{at}[]"), Fault::NoType)),
            Some(items) if !has_one_of(items, &TYPES) => faults.push((format!("{at}[]"), Fault::NoType)),
            // What one of them is, the list says.
            Some(items) => inside(items, &format!("{at}[]"), deep, faults),
        }
    }
}

fn is_of_type(schema: &Map<String, Schema>, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Schema::String(name)) => name == wanted,
        Some(Schema::Array(names)) => names.iter().any(|name| name == wanted),
        _ => false,
    }
}

fn has_one_of(schema: &Map<String, Schema>, names: &[&str]) -> bool {
    names.iter().any(|name| schema.contains_key(*name))
}
