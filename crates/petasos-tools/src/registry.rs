//! The ordered set of tools that a session has.

use std::sync::Arc;

use petasos_core::approval::{Action, Proposal, Wants};
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::entry::ModelCall;
use petasos_core::id::{CallId, Digest};
use petasos_core::text::Json;
use petasos_core::tool::Trouble;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::nearest::nearest;
use crate::tool::Tool;

/// The tools of a session, in the order in which the model sees them.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

#[derive(Serialize)]
struct SpecLine<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

impl Registry {
    /// A registry of these tools, in this order. Of two with one name the first is kept.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut registry = Self::default();
        for tool in tools {
            if registry.get(&tool.spec().name).is_none() {
                registry.tools.push(tool);
            }
        }
        registry
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| &*tool.spec().name == name)
    }

    /// The tools, in order.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// The specs as the head of a session holds them: a JSON array of `{name, description, parameters}`,
    /// the same bytes for the same tools.
    ///
    /// # Errors
    /// A schema that is no JSON, which [`Json`] rules out; given on, not hidden.
    pub fn head(&self) -> Result<Json, serde_json::Error> {
        let lines = self.tools.iter().map(|tool| {
            let spec = tool.spec();
            let parameters = serde_json::from_str(spec.parameters.as_str())?;
            Ok(SpecLine { name: &spec.name, description: &spec.description, parameters })
        });
        let lines = lines.collect::<Result<Vec<_>, serde_json::Error>>()?;
        Json::try_from(serde_json::to_string(&lines)?.as_str()).map_err(serde::ser::Error::custom)
    }

    /// A call of the model as it would run, with its claims. May block as long as a disk does.
    ///
    /// # Errors
    /// What the model reads of a call that cannot be understood.
    pub fn propose(&self, call: CallId, made: &ModelCall) -> Result<Proposal, Bounded> {
        let tool = self.get(&made.name).ok_or_else(|| self.unknown(&made.name))?;
        // A finished call without arguments means none; text that cannot be read is never guessed.
        let text = if made.arguments.is_blank() { "{}" } else { &*made.arguments };
        let arguments = Json::try_from(text).map_err(|error| unreadable(&made.name, &error.to_string()))?;
        let claims = tool.claims(&arguments)?;
        let shown = shown(&made.name, &arguments);
        Ok(Proposal {
            call,
            tool: made.name.clone(),
            arguments,
            changed_by: Vec::new(),
            claims,
            shown,
            wants: Wants::Approval,
            at_least: Action::Allow,
        })
    }

    fn unknown(&self, name: &str) -> Bounded {
        let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.spec().name).collect();
        let near = nearest(name, names.iter().copied());
        // First the one that is probably meant: a small model takes the first it reads.
        let meant = near.map(|near| format!("{near}, probably; else ")).unwrap_or_default();
        let hint = format!("call {meant}one of: {}", names.join(", "));
        trouble("there is no such tool", &format!("the call names {name:?}"), &hint)
    }
}

fn unreadable(tool: &str, cause: &str) -> Bounded {
    let hint = format!("call {tool} again with one JSON object that fits its parameters");
    trouble("the arguments are no JSON", cause, &hint)
}

/// An error as the model reads it: JSON, within the cap of a result.
pub fn trouble(error: &str, cause: &str, hint: &str) -> Bounded {
    Bounded::new(&Trouble { error, cause, hint }.json(), Cap::RESULT, "the rest is not kept")
}

/// Over what a person is shown of a call: the tool and its arguments.
fn shown(tool: &str, arguments: &Json) -> Digest {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash.update(arguments.as_str().as_bytes());
    Digest(hash.finalize().into())
}
