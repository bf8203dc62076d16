//! Models: whom a request goes to, how it is written for a wire, and how a reply is read from it.
//!
//! [`Provider`] and [`Encoder`] are the seam. An encoder is pure and makes the bytes of a message once;
//! a provider sends them and gives back a [`ReplyStream`]. What differs between vendors is data.

mod address;
mod answer;
mod anthropic;
mod brackets;
mod catalog;
mod classify;
mod counting;
mod counts;
mod endpoint;
mod error;
mod finish;
mod http;
mod lenient;
mod models;
mod network;
mod openai_chat;
mod openai_responses;
mod packing;
mod prices;
mod provider;
mod quirks;
mod reading;
mod remedy;
mod secret;
mod spoken;
mod sse;
mod tokens;
mod windows;
mod wire;
mod writing;
mod written;

pub use answer::{AnswerDecoder, Ended, Fed};
pub use catalog::{Place, Row, catalog, key_variables_of, row_of, wire_of};
pub use classify::{ErrorAnswer, WaitHeaders, classify, wait_asked};
pub use counts::micro_usd;
pub use endpoint::{Endpoint, Timeouts, TimeoutsSet};
pub use error::ProviderError;
pub use http::HttpProvider;
pub use prices::{Price, PriceRow, Range, Tariff, is_on_this_machine, prices, tariff_by, tariff_of};
pub use provider::{
    Body, Encoder, Outgoing, Provider, ReplyEvent, ReplyStream, Tail, Waits, encoder, encoder_knowing,
    encoder_without,
};
pub use quirks::{
    AfterResults, CostTold, Ids, MessagesKey, OutputCap, Quirks, ReasoningBack, StreamUsage, origin,
};
pub use secret::Secret;
pub use sse::{EVENT_CAP, EventTooLarge, SseEvent, SseReader};
pub use tokens::estimate;
pub use windows::{Looked, Runs};
pub use writing::{Rule, WireNames};
pub use written::{Asked, CallReading, written_call};
