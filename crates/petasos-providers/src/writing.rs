//! What all wires need to write a request: parts that are made once, ids that every server takes, and what is
//! said of an item where a wire has no field for it.

mod allowed;
mod ids;
mod names;
mod parts;
mod reply;
mod rules;
mod said;
mod schema;

pub(crate) use allowed::allowed;
pub(crate) use ids::WireIds;
pub use names::WireNames;
pub(crate) use parts::{Marks, Parts, escaped, json};
pub(crate) use reply::{SentCall, ToolSpec, calls, result, text_blocks, tool_specs, visible_text};
pub use rules::Rule;
pub(crate) use rules::Rules;
pub(crate) use said::{CONTINUE, NOT_SHOWN, note, said};
pub(crate) use schema::schema_of_object;
