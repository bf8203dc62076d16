//! The Messages wire: requests written, replies read. Pure; bytes in, bytes out.

mod decode;
mod encode;
mod event;
mod thinking;
mod tokens;

pub(crate) use decode::MessagesDecoder;
pub(crate) use encode::MessagesEncoder;
