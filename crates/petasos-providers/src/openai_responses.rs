//! The Responses wire: requests written, replies read. Pure; bytes in, bytes out.

mod decode;
mod encode;

pub(crate) use decode::ResponsesDecoder;
pub(crate) use encode::ResponsesEncoder;
