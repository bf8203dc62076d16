//! The tools as a person sees them: which are on and why not, what a call touches, and what a model is told of each.

use petasos_core::approval::{Grants, Proposal, Verdict, judge};
use petasos_core::claims::{Access, Claims, Rerun};
use petasos_core::entry::{CallForm, ModelCall};
use petasos_core::id::{CallId, Seq};
use petasos_core::text::{Json, Text};
use petasos_tools::{Finding, NoSpecs, Registry, ToolSpec, lint_all, specs};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::config::ConfigError;
use crate::setup::{Commands, Setup, policy};

/// A tool, and how it stands in this workspace under these settings.
#[derive(Clone, Debug)]
pub struct ToolTold {
    /// Its name.
    pub name: Text,
    /// Whether a model gets it.
    pub state: ToolState,
    /// What the model is told of it.
    pub description: Text,
    /// JSON Schema of its arguments.
    pub parameters: Json,
    /// Arguments of a usual call.
    pub example: Text,
    /// What that call touches.
    pub claims: Option<Claims>,
    /// Whether a person is asked before that call.
    pub asks: Asks,
}

/// Whether a model gets a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// It does.
    On,
    /// `tools.disabled` names it.
    Disabled,
    /// It runs a command that nobody has set: `tools.run_tests`.
    NoCommand,
}

/// Whether a person is asked before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Yes, unless it was allowed beforehand.
    Yes,
    /// No.
    No,
    /// It does not run, whatever a person says.
    Refused,
}

/// A tool as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    on: bool,
    why_not: Option<&'a str>,
    description: &'a str,
    parameters: &'a RawValue,
    example: &'a RawValue,
    claims: Option<&'a Claims>,
    asks: Asks,
}

impl ToolTold {
    /// As a line of JSON.
    pub fn line(&self) -> String {
        let raw = |text: &str| serde_json::from_str::<Box<RawValue>>(text).ok();
        let (Some(parameters), Some(example)) = (raw(self.parameters.as_str()), raw(&self.example)) else {
            return String::new();
        };
        let line = Line {
            name: &self.name,
            on: self.state == ToolState::On,
            why_not: Some(self.state.why_not()).filter(|why| !why.is_empty()),
            description: &self.description,
            parameters: &parameters,
            example: &example,
            claims: self.claims.as_ref(),
            asks: self.asks,
        };
        // Texts and JSON alone: they always become JSON.
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// What the usual call touches, in words.
    pub fn touches(&self) -> String {
        let Some(claims) = &self.claims else { return "depends on its arguments".to_owned() };
        let rerun = match claims.rerun {
            Rerun::Free => "changes nothing",
            Rerun::Keyed(_) => "is done once however often it is sent",
            Rerun::Never => "changes something",
            Rerun::Child(_) => "is a session of its own",
        };
        let places = claims.places.iter().map(|place| {
            let done = match place.access {
                Access::Read => "reads",
                Access::Write => "writes",
            };
            format!("{done} {}", if place.name.is_empty() { "the workspace" } else { &*place.name })
        });
        let alone = claims.alone.then(|| "runs alone".to_owned());
        let asks = match self.asks {
            Asks::Yes => Some("asks first".to_owned()),
            Asks::No => None,
            Asks::Refused => Some("is refused".to_owned()),
        };
        let all = std::iter::once(rerun.to_owned()).chain(places).chain(alone).chain(asks);
        all.collect::<Vec<_>>().join(", ")
    }
}

impl ToolState {
    /// Why a model does not get it; empty if it does.
    pub fn why_not(self) -> &'static str {
        match self {
            Self::On => "",
            Self::Disabled => "tools.disabled names it",
            Self::NoCommand => "tools.run_tests names no command",
        }
    }
}

impl Setup {
    /// All tools, in the order in which a model sees them.
    ///
    /// # Errors
    /// A workspace that cannot be opened, or a setting that names no tool.
    pub fn tools(&self) -> Result<Vec<ToolTold>, ConfigError> {
        let set = self.settings.run_tests.clone();
        let has_command = set.is_some();
        let tools = self.all_tools(set.or_else(|| Some(String::new())))?;
        let registry = Registry::new(tools);
        let told = registry.tools().iter().map(|tool| {
            let spec = tool.spec();
            let state = if self.settings.disabled.iter().any(|disabled| **disabled == *spec.name) {
                ToolState::Disabled
            } else if &*spec.name == "run_tests" && !has_command {
                ToolState::NoCommand
            } else {
                ToolState::On
            };
            let example = Text::from(tool.example());
            let proposal = proposal(&registry, spec, &example);
            let claims = proposal.as_ref().map(|proposal| Claims { probe: None, ..proposal.claims.clone() });
            ToolTold {
                name: spec.name.clone(),
                state,
                description: spec.description.clone(),
                parameters: spec.parameters.clone(),
                example,
                claims,
                asks: proposal.map_or(Asks::No, asks),
            }
        });
        Ok(told.collect())
    }
}

fn proposal(registry: &Registry, spec: &ToolSpec, example: &Text) -> Option<Proposal> {
    let call = ModelCall {
        wire_id: None,
        name: spec.name.clone(),
        arguments: example.clone(),
        form: CallForm::Native,
        complete: true,
    };
    registry.propose(CallId { reply: Seq(0), place: 0 }, &call).ok()
}

fn asks(proposal: Proposal) -> Asks {
    match judge(&policy(Commands::Asked), &Grants::default(), proposal).verdict {
        Verdict::Allow(_) => Asks::No,
        Verdict::Ask(_) => Asks::Yes,
        Verdict::Deny { .. } | Verdict::Invalid(_) => Asks::Refused,
    }
}

/// What is wrong with the faces of these tools.
pub fn lint_built_in(tools: &[ToolTold]) -> Vec<Finding> {
    let specs = tools.iter().map(|tool| ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    });
    lint_all(&specs.collect::<Vec<_>>())
}

/// How many tools there are in a text, as people write them in files, and what is wrong with their faces.
///
/// # Errors
/// [`NoSpecs`], if there are none.
pub fn lint_written(text: &str) -> Result<(usize, Vec<Finding>), NoSpecs> {
    let specs = specs(text)?;
    Ok((specs.len(), lint_all(&specs)))
}
