//! The ordered set of tools that a session has.

use std::sync::Arc;

use petasos_core::approval::{Action, Proposal, Wants};
use petasos_core::bounded::{Bounded, Cap};
use petasos_core::entry::ModelCall;
use petasos_core::id::{CallId, Digest};
use petasos_core::text::{Json, NotJson, Text};
use petasos_core::tool::Trouble;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::fit::{Misfit, fit};
use crate::names::meant;
use crate::nearest::nearest;
use crate::output::Problem;
use crate::repair::{self, Repair, Repairs};
use crate::schema::signature;
use crate::tool::{Tool, ToolSpec};

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
        let mut repairs = Repairs::new();
        let tool = match self.get(&made.name) {
            Some(tool) => tool,
            None => {
                repairs.insert(Repair::Name);
                self.meant(&made.name).ok_or_else(|| self.unknown(&made.name))?
            }
        };
        let spec = tool.spec();
        // A finished call without arguments means none; text that cannot be read is never guessed.
        let text = if made.arguments.is_blank() { "{}" } else { &*made.arguments };
        let (arguments, more) = fitted(spec, text).map_err(|problem| problem.bounded())?;
        repairs.extend(more);
        let claims = tool.claims(&arguments)?;
        let shown = shown(&spec.name, &arguments);
        Ok(Proposal {
            call,
            tool: spec.name.clone(),
            arguments,
            changed_by: repairs.into_iter().map(|repair| Text::from(repair.name())).collect(),
            claims,
            shown,
            wants: Wants::Approval,
            at_least: Action::Allow,
        })
    }

    /// The tool whose name is written so.
    fn meant(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.get(meant(name, self.tools.iter().map(|tool| &*tool.spec().name))?)
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

/// The arguments as the tool takes them: the model's own bytes, unless something in them had to be repaired.
fn fitted(spec: &ToolSpec, text: &str) -> Result<(Json, Repairs), Problem> {
    let again = || format!("call {} again", signature(&spec.name, spec.parameters.as_str()));
    let (mut node, mut repairs) = repair::arguments(text).map_err(|unreadable| {
        Problem::new(unreadable.error, unreadable.cause, format!("{}; {}", unreadable.hint, again()))
    })?;
    let no_schema = |_| Problem::new("the tool is broken", "its schema cannot be read", "do it another way");
    let schema: serde_json::Value = serde_json::from_str(spec.parameters.as_str()).map_err(no_schema)?;
    let misfit = |Misfit(cause)| Problem::new("an argument does not fit", cause, again());
    repairs.extend(fit(&schema, &mut node).map_err(misfit)?);
    let json = if repairs.is_empty() { Json::try_from(text) } else { Json::try_from(node.json().as_str()) };
    let no_json = |error: NotJson| Problem::new("the arguments are no JSON", error.to_string(), again());
    Ok((json.map_err(no_json)?, repairs))
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
