//! The chat-completions wire: requests written, replies read. Pure; bytes in, bytes out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

mod calls;
mod chunk;
mod decode;
mod encode;
mod think;

pub(crate) use decode::ChatDecoder;
pub(crate) use encode::ChatEncoder;

/// Reasoning as it goes back to servers that want it: the raw of an opaque block.
#[derive(Serialize, Deserialize)]
struct Echo<'a> {
    #[serde(borrow)]
    reasoning_content: Cow<'a, str>,
}
