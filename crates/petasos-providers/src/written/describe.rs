//! What a model is told of tools that it is to call in text: words for its system text, and response formats.

use std::borrow::Cow;
use std::collections::BTreeMap;

use petasos_core::entry::Head;
use petasos_core::request::ToolChoice;
use petasos_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::writing::{Rules, ToolSpec, json, tool_specs};

/// What stands for a tool where the model answers; another, where a tool has this name.
const ANSWERS: &[&str] = &["answer", "final_answer", "answer_to_the_user"];

/// The schemas that replies have to follow, as JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Formats(Option<Schemas>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Schemas {
    calls_and_answer: String,
    answer: String,
}

impl Formats {
    /// The one for a request; none where the model is asked in another way.
    pub(crate) fn of(&self, choice: ToolChoice) -> Option<&str> {
        let schemas = self.0.as_ref()?;
        Some(match choice {
            ToolChoice::Auto => &schemas.calls_and_answer,
            ToolChoice::Forbidden => &schemas.answer,
        })
    }

    /// Those for the tools of a head.
    ///
    /// Calls and the answer have one shape: a small model that may choose between two takes the shorter one, and
    /// answers by guessing (decision 0014 has the figures).
    pub(super) fn new(head: &Head, answer: &str) -> Self {
        let text = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],\
                    \"additionalProperties\":false}";
        let answer = object(answer, text);
        let mut all: Vec<String> = tool_specs(head)
            .iter()
            .map(|spec| object(&spec.name, spec.parameters(Rules::ALL).get()))
            .collect();
        all.push(answer.clone());
        Self(Some(Schemas { calls_and_answer: format!("{{\"anyOf\":[{}]}}", all.join(",")), answer }))
    }
}

/// The schema of an object that names a tool and holds what it is asked with.
fn object(name: &str, arguments: &str) -> String {
    format!(
        "{{\"type\":\"object\",\"properties\":{{\"name\":{{\"const\":{}}},\"arguments\":{arguments}}},\
         \"required\":[\"name\",\"arguments\"],\"additionalProperties\":false}}",
        json(&name)
    )
}

/// What stands for a tool where the model answers.
pub(super) fn answer_name(head: &Head) -> &'static str {
    let specs = tool_specs(head);
    let is_free = |name: &&&str| specs.iter().all(|spec| *spec.name != ***name);
    ANSWERS.iter().find(is_free).or(ANSWERS.last()).copied().unwrap_or_default()
}

/// The names of the tools of a head.
pub(super) fn tool_names(head: &Head) -> Vec<Text> {
    tool_specs(head).iter().map(|spec| (&*spec.name).into()).collect()
}

/// The system text of a head with its tools described, for replies that follow a format. What arguments there are the
/// format says; here they are named.
pub(super) fn constrained_system(head: &Head, answer: &str) -> Text {
    let specs = tool_specs(head);
    let tools: Vec<String> = specs.iter().map(described).collect();
    format!(
        "{}\n# Tools\n\nEach reply is one JSON object that calls a tool: \
         {{\"name\": \"NAME\", \"arguments\": {{...}}}}. First call the tool that the user names or that fits the task. \
         Its result comes next. Then answer with the tool {answer}: \
         {{\"name\": \"{answer}\", \"arguments\": {{\"text\": \"...\"}}}}.\n\n{}\n\
         - {answer}(text: string): Tells the user the answer. For use after the results, or when no tool fits.\n",
        head.system,
        tools.join("\n")
    )
    .into()
}

/// The system text of a head with its tools described, and how they are called in text.
pub(super) fn text_system(head: &Head) -> Text {
    let specs = tool_specs(head);
    let tools: Vec<String> = specs.iter().map(whole).collect();
    format!(
        "{}\n# Tools\n\nTo call a tool, reply with its name and arguments as one JSON object between marks, at the \
         start of a line:\n<tool_call>\n{{\"name\": \"NAME\", \"arguments\": {{...}}}}\n</tool_call>\n\
         Its result comes next. Write nothing behind the call. When you know what the user asked, answer without a \
         call.\n\n{}\n",
        head.system,
        tools.join("\n")
    )
    .into()
}

#[derive(Deserialize)]
struct Parameters<'a> {
    #[serde(borrow, default)]
    properties: BTreeMap<Cow<'a, str>, &'a RawValue>,
    #[serde(borrow, default)]
    required: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Property<'a> {
    #[serde(borrow, default, rename = "type")]
    type_: Option<&'a RawValue>,
}

/// A tool in one line: `- read_file(path: string, lines?: integer): Reads a file`.
fn described(spec: &ToolSpec<'_>) -> String {
    let schema = spec.parameters(Rules::ALL);
    let parameters: Option<Parameters<'_>> = serde_json::from_str(schema.get()).ok();
    let parameters = parameters.iter().flat_map(|parameters| {
        parameters.properties.iter().map(|(name, property)| {
            let mark = if parameters.required.contains(name) { "" } else { "?" };
            format!("{name}{mark}: {}", type_name(property))
        })
    });
    let parameters: Vec<String> = parameters.collect();
    format!("- {}({}): {}", spec.name, parameters.join(", "), spec.description(Rules::ALL))
}

fn type_name(property: &RawValue) -> String {
    let type_ = serde_json::from_str::<Property<'_>>(property.get()).ok().and_then(|property| property.type_);
    let Some(type_) = type_ else { return String::from("any") };
    let one: Result<String, _> = serde_json::from_str(type_.get());
    let several: Result<Vec<String>, _> = serde_json::from_str(type_.get());
    one.or(several.map(|several| several.join("|"))).unwrap_or_else(|_| String::from("any"))
}

/// A tool as one JSON object.
fn whole(spec: &ToolSpec<'_>) -> String {
    format!(
        "{{\"name\": {}, \"description\": {}, \"parameters\": {}}}",
        json(&spec.name),
        json(&spec.description(Rules::ALL)),
        spec.parameters(Rules::ALL)
    )
}
