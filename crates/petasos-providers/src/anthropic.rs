//! The Messages wire: requests written, replies read. Pure; bytes in, bytes out.

mod decode;
mod encode;

pub(crate) use decode::MessagesDecoder;
pub(crate) use encode::MessagesEncoder;
