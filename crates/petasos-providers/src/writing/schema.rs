//! Schemas of arguments as all servers take them: of an object, and no choice at the top. Anthropic and OpenAI refuse
//! others, and with them the whole request.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::lenient::{Members, string};
use crate::writing::{Rule, Rules, json};

/// What a server refuses at the top of a schema: choices of schemas.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// The same, without schemas of their own: what they rule out is seen when the tool is called.
const LIMITS: [&str; 2] = ["enum", "not"];
/// What is written anew where a schema is widened.
const WRITTEN: [&str; 3] = ["type", "properties", "required"];

/// The schema of a tool's arguments: as it is, if it is one of an object. A choice at the top becomes one object
/// with the properties of all; what a model sends is looked at with the whole schema by whoever runs the tool.
pub(crate) fn schema_of_object(parameters: &RawValue, rules: Rules) -> Cow<'_, RawValue> {
    if !rules.hold(Rule::SchemasAreOfObjects) {
        return Cow::Borrowed(parameters);
    }
    let members: Members<'_> = serde_json::from_str(parameters.get()).unwrap_or_default();
    let is_object = members.get("type").is_some_and(|of| string(of).as_deref() == Some("object"));
    if is_object && !CHOICES.iter().chain(&LIMITS).any(|key| members.get(key).is_some()) {
        return Cow::Borrowed(parameters);
    }
    match RawValue::from_string(widened(&members)) {
        Ok(schema) => Cow::Owned(schema),
        Err(_) => Cow::Borrowed(parameters),
    }
}

fn widened(members: &Members<'_>) -> String {
    let mut wide = Wide::default();
    wide.add(members, Required::Kept);
    let mut is_open = false;
    for choice in CHOICES {
        let branches: Vec<&RawValue> =
            members.get(choice).and_then(|all| serde_json::from_str(all.get()).ok()).unwrap_or_default();
        let required = if choice == "allOf" { Required::Kept } else { Required::Dropped };
        for branch in branches {
            let branch = resolved(members, branch);
            // What such a branch allows is not seen here, so nothing may be shut out.
            is_open |= branch.get("properties").is_none();
            wide.add(&branch, required);
        }
    }
    let mut fields = vec![String::from("\"type\":\"object\"")];
    for (key, value) in members.iter() {
        let is_shut_out = is_open && key == "additionalProperties";
        let is_left_out = CHOICES.iter().chain(&LIMITS).chain(&WRITTEN).any(|known| key == known);
        if !is_shut_out && !is_left_out {
            fields.push(field(key, value.get()));
        }
    }
    if !wide.properties.is_empty() {
        let properties: Vec<String> =
            wide.properties.iter().map(|(name, schemas)| field(name, &any_of(schemas))).collect();
        fields.push(format!("\"properties\":{{{}}}", properties.join(",")));
    }
    if !wide.required.is_empty() {
        fields.push(field("required", &json(&wide.required)));
    }
    format!("{{{}}}", fields.join(","))
}

fn field(key: &str, value: &str) -> String {
    format!("{}:{value}", json(&key))
}

fn any_of(schemas: &[&str]) -> String {
    match schemas {
        [schema] => (*schema).to_owned(),
        schemas => format!("{{\"anyOf\":[{}]}}", schemas.join(",")),
    }
}

/// Whether a property that a branch requires is required at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Required {
    Kept,
    Dropped,
}

/// One object for all branches.
#[derive(Default)]
struct Wide<'a> {
    /// Each with the schemas that it has in some branch.
    properties: Vec<(String, Vec<&'a str>)>,
    required: Vec<String>,
}

impl<'a> Wide<'a> {
    fn add(&mut self, schema: &Members<'a>, required: Required) {
        let of = schema.get("properties").and_then(|of| serde_json::from_str(of.get()).ok());
        let of: Members<'a> = of.unwrap_or_default();
        for (name, schema) in of {
            match self.properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, schemas)) if schemas.contains(&schema.get()) => {}
                Some((_, schemas)) => schemas.push(schema.get()),
                None => self.properties.push((name, vec![schema.get()])),
            }
        }
        let names = schema.get("required").filter(|_| required == Required::Kept);
        let names: Vec<String> =
            names.and_then(|names| serde_json::from_str(names.get()).ok()).unwrap_or_default();
        for name in names {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }
}

/// A branch, or the definition of ours that it names.
fn resolved<'a>(schema: &Members<'a>, branch: &'a RawValue) -> Members<'a> {
    let read = |raw: &'a RawValue| -> Members<'a> { serde_json::from_str(raw.get()).unwrap_or_default() };
    let branch = read(branch);
    let Some(name) = branch.get("$ref").and_then(string) else { return branch };
    let named = ["$defs", "definitions"].into_iter().find_map(|key| {
        let name = name.strip_prefix(&format!("#/{key}/"))?;
        read(schema.get(key)?).get(name)
    });
    named.map_or(branch, read)
}
