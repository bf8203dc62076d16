//! Models: whom a request goes to, how it is written for a wire, and how a reply is read from it.
//!
//! [`Provider`] and [`Encoder`] are the seam. An encoder is pure and makes the bytes of a message once;
//! a provider sends them and gives back a [`ReplyStream`]. What differs between vendors is data.

mod provider;

pub use provider::{Body, Encoder, Provider, ReplyEvent, ReplyStream, Tail};
