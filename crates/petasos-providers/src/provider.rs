//! The seam: who serves a model, and how a request to it is written.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use petasos_core::entry::Head;
use petasos_core::id::Digest;
use petasos_core::learnt::Learnt;
pub use petasos_core::request::Tail;
use petasos_core::request::{Params, Target, ToolMode, Wire};
use petasos_core::text::Text;
use petasos_core::transcript::Item;
use petasos_core::turn::{Delta, Failure, ReplyEnd};

use crate::anthropic::MessagesEncoder;
use crate::endpoint::Timeouts;
use crate::openai_chat::ChatEncoder;
use crate::openai_responses::ResponsesEncoder;
use crate::windows::Looked;
use crate::writing::{Rule, Rules};
use crate::written::{CallReading, Formats, Manner, WrittenEncoder};

/// Who serves models.
///
/// Shared by all sessions of a process that use it; every method may be called at the same time.
pub trait Provider: fmt::Debug + Send + Sync {
    /// An encoder for the requests of one session to `target`, with `head` in front, that goes by what was learnt of
    /// the target. Pure.
    fn encoder(&self, target: &Target, head: &Head, learnt: &Learnt) -> Box<dyn Encoder>;

    /// Where a target is asked and how long it is waited for, for whoever tells a person; none if it is not known.
    fn waits(&self, _target: &Target) -> Option<Waits> {
        None
    }

    /// Sends a body that one of its encoders made, and gives back the reply as it comes. Nothing is sent
    /// before the stream is polled.
    fn call(&self, target: &Target, body: Outgoing) -> ReplyStream;

    /// The names of the models it serves, in its own order.
    ///
    /// # Errors
    /// As a request would fail; dropping the future ends the wait.
    fn models(&self) -> BoxFuture<'_, Result<Vec<Text>, Failure>>;

    /// What the server itself tells of this model; nothing if it does not, or is not asked: only servers on this machine
    /// and in a network of one's own are. It is waited for a second at most.
    fn look<'a>(&'a self, _model: &'a str) -> BoxFuture<'a, Looked> {
        Box::pin(std::future::ready(Looked::default()))
    }
}

/// Where a target is asked, and how long it is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The host, with its port if that is not the usual one.
    pub host: Text,
    /// How long for what.
    pub timeouts: Timeouts,
}

/// A reply as it comes. Yields deltas in order and ends with exactly one `Done` or `Failed`; never
/// panics, never ends without either. Dropping it closes the connection.
pub type ReplyStream = Pin<Box<dyn Stream<Item = ReplyEvent> + Send>>;

/// A piece of a reply, or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyEvent {
    /// A piece.
    Delta(Delta),
    /// The reply is whole, or as whole as it gets: its finish reason tells.
    Done(ReplyEnd),
    /// There is no reply.
    Failed(Failure),
}

/// Writes the requests of a session to one target under one head.
///
/// The parts of a body are, in this order: parameters, tools, system text, then each item pushed (I8).
/// They are made once; a body costs what is new and one copy. The same items give the same bytes in every
/// process. A reply's kept fields, reasoning of others, and anything that the wire's allow-list does not
/// name never get in (L03).
pub trait Encoder: fmt::Debug + Send {
    /// Takes in the next item on the way to the leaf.
    fn push(&mut self, item: &Item);

    /// The body of a request with everything pushed so far. The tail belongs to this body alone.
    fn body(&self, params: &Params, tail: &Tail) -> Body;

    /// The bytes of a part, counted from 0, without cache marks: what its hash in [`Body::parts`] is over. None behind
    /// the last.
    fn part(&self, place: usize) -> Option<&[u8]>;
}

/// A request body, measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// What is sent.
    pub bytes: Bytes,
    /// SHA-256 of each part, in order.
    pub parts: Vec<Digest>,
    /// SHA-256 over the bytes of all parts.
    pub prefix: Digest,
    /// SHA-256 over the whole body.
    pub body: Digest,
    /// Its size in tokens, estimated.
    pub tokens: u64,
    /// How the calls of its answer are read.
    pub calls: CallReading,
}

/// A body on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// What is sent.
    pub bytes: Bytes,
    /// How the calls of its answer are read.
    pub calls: CallReading,
}

/// Calls in the answer are read in the wire's own form.
impl From<Bytes> for Outgoing {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, calls: CallReading::Native }
    }
}

impl From<&'static str> for Outgoing {
    fn from(text: &'static str) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&Body> for Outgoing {
    fn from(body: &Body) -> Self {
        Self { bytes: body.bytes.clone(), calls: body.calls.clone() }
    }
}

/// An encoder for one session's requests to this target under this head. Pure. `head.tools` is an array of objects
/// with `name`, `description` and `parameters`; anything else counts as no tools.
pub fn encoder(target: &Target, head: &Head) -> Box<dyn Encoder> {
    encoder_knowing(target, head, &Learnt::default())
}

/// The same for a target of which something was learnt.
pub fn encoder_knowing(target: &Target, head: &Head, learnt: &Learnt) -> Box<dyn Encoder> {
    encoder_with(target, head, learnt, Rules::ALL)
}

/// The same with one rule switched off: for tests that show that the rule is needed.
pub fn encoder_without(rule: Rule, target: &Target, head: &Head) -> Box<dyn Encoder> {
    encoder_with(target, head, &Learnt::default(), Rules::without(rule))
}

fn encoder_with(target: &Target, head: &Head, learnt: &Learnt, rules: Rules) -> Box<dyn Encoder> {
    let on_wire = |head: &Head, formats: Formats| -> Box<dyn Encoder> {
        match target.wire {
            Wire::Chat => Box::new(ChatEncoder::new(target, head, learnt, rules).with_formats(formats)),
            Wire::Responses => {
                Box::new(ResponsesEncoder::new(target, head, learnt, rules).with_formats(formats))
            }
            // There is no response format on this wire; what is asked for in words may still come.
            Wire::Messages => Box::new(MessagesEncoder::new(target, head, learnt, rules)),
        }
    };
    match target.tool_mode {
        ToolMode::Native => on_wire(head, Formats::default()),
        ToolMode::Constrained => Box::new(WrittenEncoder::new(head, rules, Manner::Constrained, on_wire)),
        ToolMode::Text => Box::new(WrittenEncoder::new(head, rules, Manner::Text, on_wire)),
    }
}
