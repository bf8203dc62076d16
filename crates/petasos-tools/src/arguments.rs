//! Typed arguments: their schema for the model, and what it reads of arguments that do not fit.

use petasos_core::text::{Json, NotJson, Text};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use crate::nearest::nearest;
use crate::output::Problem;
use crate::schema::signature;
use crate::tool::ToolSpec;

/// The spec of a tool with these arguments: its schema is one object without references, titles and
/// number formats, which cost tokens and which some providers refuse.
pub(crate) fn spec<T: JsonSchema>(name: &str, description: &str) -> Result<ToolSpec, NotJson> {
    let settings = SchemaSettings::default().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    Plain.transform(&mut schema);
    schema.remove("description");
    if schema.get("properties").is_none() {
        // OpenAI refuses a whole request for one tool without them.
        schema.insert("properties".to_owned(), serde_json::Map::new().into());
    }
    let parameters = Json::try_from(schema.as_value().to_string().as_str())?;
    Ok(ToolSpec { name: Text::from(name), description: Text::from(description), parameters })
}

/// Reads the arguments of a call.
pub(crate) fn read<T: DeserializeOwned>(spec: &ToolSpec, arguments: &Json) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_str(arguments.as_str());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        misfit(spec, &path, &error.into_inner().to_string())
    })
}

fn misfit(spec: &ToolSpec, path: &str, cause: &str) -> Problem {
    let tool = &spec.name;
    // The place in the text of the arguments says nothing to who did not write that text by hand.
    let cause = cause.rsplit_once(" at line ").map_or(cause, |(cause, _)| cause);
    let again = || format!("call {} again", signature(tool, spec.parameters.as_str()));
    let field = if path == "." { "the arguments" } else { path };
    let mut quoted = cause.split('`').skip(1).step_by(2);
    if cause.starts_with("unknown field") {
        let unknown = quoted.next().unwrap_or_default().to_owned();
        let known: Vec<&str> = quoted.collect();
        let do_this = match nearest(&unknown, known.iter().copied()) {
            Some(meant) => format!("use {meant:?} instead of {unknown:?}"),
            None => "leave it out".to_owned(),
        };
        let hint = format!("{do_this}; known here: {}", known.join(", "));
        return Problem::new(
            "unknown argument",
            format!("{tool} has no argument {unknown:?} (at {field})"),
            hint,
        );
    }
    if cause.starts_with("missing field") {
        let missing = quoted.next().unwrap_or_default();
        let inside = if path == "." { String::new() } else { format!(" of {path}") };
        let cause = format!("{tool} needs the argument {missing:?}{inside}");
        return Problem::new("argument missing", cause, format!("give {missing:?}; {}", again()));
    }
    Problem::new("an argument does not fit", format!("{field}: {cause}"), again())
}

/// Takes out of a schema what the model does not need.
#[derive(Clone, Debug)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        for keyword in ["title", "format", "minimum", "maximum"] {
            schema.remove(keyword);
        }
        if schema.get("default").is_some_and(serde_json::Value::is_null) {
            schema.remove("default");
        }
        // An optional argument may be null when it comes, but need not be told so.
        let types = schema.get("type").and_then(|types| types.as_array()).cloned();
        if let Some(mut types) = types {
            types.retain(|name| name != "null");
            let types = if types.len() == 1 { types.swap_remove(0) } else { types.into() };
            schema.insert("type".to_owned(), types);
        }
        transform_subschemas(self, schema);
    }
}
