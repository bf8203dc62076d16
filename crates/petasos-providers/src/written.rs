//! Calls that a model writes as text, for models that do badly with the wire's own form: as JSON under a response
//! format (*constrained*), or in markup that is asked for in words (*text*).
//!
//! No wire knows of it. The encoder of a wire gets a head without tools and a transcript without calls
//! ([`WrittenEncoder`]); what its decoder makes of an answer passes a [`Reader`], which finds the calls in the text.
//! Blocks are never edited: a reply keeps the calls that were read from it and the text that it was.

use std::sync::Arc;

use petasos_core::text::Text;

mod constrained;
mod describe;
mod encode;
mod found;
mod opening;
mod quoted;
mod reader;
mod scan;
mod text;

pub(crate) use describe::Formats;
pub(crate) use encode::{Manner, WrittenEncoder};
pub(crate) use reader::Reader;
pub use text::written_call;

/// How the calls of an answer are read. It goes with the body that is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallReading {
    /// In the wire's own form.
    #[default]
    Native,
    /// The text is a row of JSON objects, each a call or the answer.
    Constrained(Arc<Asked>),
    /// A call is marked in the text, or is all of it.
    Text(Arc<Asked>),
}

/// What a model was asked for that writes its calls as text: nothing else is taken for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The names of the tools that were described to it.
    tools: Vec<Text>,
    /// What stands for a tool where it answers (constrained).
    answer: Text,
    /// What users said and tools gave: what stands there is quoted, and never a call.
    said: Vec<Text>,
}

impl Asked {
    fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| **tool == *name)
    }
}
