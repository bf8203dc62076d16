//! The chat-completions wire: requests written, replies read. Pure; bytes in, bytes out.

mod calls;
mod chunk;
mod decode;
mod encode;
mod said;
mod think;

pub use decode::{ChatDecoder, Fed};
pub use encode::ChatEncoder;
