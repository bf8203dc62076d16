//! Tools that take what fits their schema and do nothing, for tests of what they are given.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use petasos_core::approval::{Approved, Proposal};
use petasos_core::bounded::Bounded;
use petasos_core::claims::{Claims, Rerun};
use petasos_core::entry::{CallForm, ModelCall};
use petasos_core::id::{CallId, Seq};
use petasos_core::text::{Json, Text};
use petasos_core::tool::ToolOutput;
use petasos_tools::{Context, Registry, Tool, ToolSpec};

use crate::say::trouble;

#[derive(Debug)]
struct Bench(ToolSpec);

impl Tool for Bench {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn claims(&self, _: &Json) -> Result<Claims, Bounded> {
        Ok(Claims { rerun: Rerun::Free, places: Vec::new(), alone: false, argv: Vec::new(), probe: None })
    }

    fn run<'a>(&'a self, _: &'a Approved, _: Context) -> BoxFuture<'a, ToolOutput> {
        unreachable!("these tests run nothing")
    }
}

/// A registry of tools by name and schema.
pub fn registry(tools: &[(&str, &str)]) -> Registry {
    Registry::new(tools.iter().map(|(name, parameters)| {
        let spec = ToolSpec {
            name: Text::from(*name),
            description: Text::from("does nothing"),
            parameters: Json::try_from(*parameters).unwrap(),
        };
        Arc::new(Bench(spec)) as Arc<dyn Tool>
    }))
}

/// The tools of the cases of group C.
pub fn tools() -> Registry {
    let write = r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#;
    let edit = r#"{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"}},"required":["path","old","new"]}"#;
    let view = r#"{"type":"object","properties":{"path":{"type":"string"},"range":{"type":"array","prefixItems":[{"type":"integer"},{"type":"integer"}]},"wrap":{"type":"boolean"},"limit":{"type":"integer"}},"required":["path"]}"#;
    let tags = r#"{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"meta":{"type":"object"}},"required":["tags"]}"#;
    let read = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#;
    registry(&[("read_file", read), ("write_file", write), ("edit", edit), ("view", view), ("tags", tags)])
}

pub fn propose(registry: &Registry, name: &str, arguments: &str) -> Result<Proposal, String> {
    let made = ModelCall {
        wire_id: None,
        name: Text::from(name),
        arguments: Text::from(arguments),
        form: CallForm::Native,
        complete: true,
    };
    let proposal = registry.propose(CallId { reply: Seq(3), place: 0 }, &made);
    proposal.map_err(|text| text.text().to_string())
}

/// The arguments that a call runs with, and what changed them.
pub fn taken(registry: &Registry, name: &str, arguments: &str) -> Result<(String, Vec<String>), String> {
    let proposal = propose(registry, name, arguments)?;
    let by = proposal.changed_by.iter().map(|by| by.strip_prefix("repair: ").unwrap().to_owned()).collect();
    Ok((proposal.arguments.as_str().to_owned(), by))
}

/// A call runs with just these arguments, changed by just these repairs.
#[track_caller]
pub fn runs(name: &str, written: &str, arguments: &str, repairs: &[&str]) {
    let repairs = repairs.iter().map(|repair| (*repair).to_owned()).collect();
    assert_eq!(taken(&tools(), name, written), Ok((arguments.to_owned(), repairs)), "{written}");
}

/// A call does not run, and the model reads this.
#[track_caller]
pub fn refused(name: &str, written: &str, error: &str, cause: &str, hint: &str) {
    let text = taken(&tools(), name, written).expect_err(written);
    let parts = trouble(&text);
    assert_eq!((&*parts["error"], &*parts["cause"], &*parts["hint"]), (error, cause, hint), "{written}");
}
