//! Specs of tools as people have them in files: in the shapes of the common services, alone or in a list.

use petasos_core::text::{Json, Text};
use serde_json::{Map, Value as Written};

use crate::tool::ToolSpec;

/// Where a list of tools may stand in a larger object: a request, a manifest, an answer to `tools/list`.
const LISTS: [&str; 5] = ["tools", "functions", "functionDeclarations", "function_declarations", "result"];
/// Where the schema of the arguments may stand.
const SCHEMAS: [&str; 4] = ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"];
/// Lists in objects in lists that are followed.
const DEEPEST: usize = 6;

/// Why there are no specs in a text.
#[derive(Debug, thiserror::Error)]
pub enum NoSpecs {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    NoJson(serde_json::Error),
    /// It is JSON, and neither a tool nor a list of them.
    #[error("{at} is no tool: {why}; a tool is {{\"name\":…,\"description\":…,\"parameters\":{{…}}}}")]
    NoTool {
        /// Where it stands, such as `tools[2]`; `the file` for all of it.
        at: String,
        /// What is missing or wrong.
        why: &'static str,
    },
    /// It is a list with nothing in it.
    #[error("there is no tool in it")]
    Empty,
}

/// Reads the specs in a text: ours, those of chat completions, responses, messages, Gemini and MCP; one, a list, or an
/// object that holds a list.
///
/// # Errors
/// [`NoSpecs`].
pub fn specs(text: &str) -> Result<Vec<ToolSpec>, NoSpecs> {
    let written = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(NoSpecs::NoJson)?;
    let mut specs = Vec::new();
    read(&written, "", DEEPEST, &mut specs)?;
    if specs.is_empty() { Err(NoSpecs::Empty) } else { Ok(specs) }
}

fn read(written: &Written, at: &str, deep: usize, specs: &mut Vec<ToolSpec>) -> Result<(), NoSpecs> {
    let no_tool = |why| {
        let at = if at.is_empty() { "the file".to_owned() } else { at.to_owned() };
        NoSpecs::NoTool { at, why }
    };
    let Some(deep) = deep.checked_sub(1) else { return Err(no_tool("it stands too deep in lists")) };
    match written {
        Written::Array(list) => {
            for (place, one) in list.iter().enumerate() {
                read(one, &format!("{at}[{place}]"), deep, specs)?;
            }
            Ok(())
        }
        Written::Object(object) => {
            let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
            if let Some((name, list)) = LISTS.iter().find_map(|name| Some((*name, object.get(*name)?))) {
                return read(list, &below(name), deep, specs);
            }
            if let Some(function) = object.get("function").filter(|function| function.is_object()) {
                return read(function, &below("function"), deep, specs);
            }
            specs.push(one(object).map_err(no_tool)?);
            Ok(())
        }
        Written::Null | Written::Bool(_) | Written::Number(_) | Written::String(_) => {
            Err(no_tool("it is no object"))
        }
    }
}

fn one(object: &Map<String, Written>) -> Result<ToolSpec, &'static str> {
    let Some(name) = object.get("name").and_then(Written::as_str) else {
        return Err(if object.contains_key("name") { "its name is no text" } else { "it has no name" });
    };
    let description = match object.get("description") {
        None | Some(Written::Null) => "",
        Some(said) => said.as_str().ok_or("its description is no text")?,
    };
    // A tool without arguments may have no schema.
    let schema = SCHEMAS.iter().find_map(|name| object.get(*name)).filter(|schema| !schema.is_null());
    let schema = schema.map_or_else(|| "{}".to_owned(), Written::to_string);
    let parameters = Json::try_from(schema.as_str()).map_err(|_| "its schema cannot be read")?;
    Ok(ToolSpec { name: Text::from(name), description: Text::from(description), parameters })
}
