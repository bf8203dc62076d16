//! What a session tells: the only way out. `docs/format/events.md` is the page on it.

use std::sync::Arc;

use petasos_core::entry::{
    Block, Body, Cause, Charge, Content, Entry, FinishReason, Note, NoteSource, Speaker, VerdictKind, When,
};
use petasos_core::id::{CallId, Digest, RequestId, Seq, SessionId, TurnId};
use petasos_core::request::Purpose;
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::text::Text;
use petasos_core::time::{Span, Time};
use petasos_core::tool::{BlobName, Outcome};
use serde::Serialize;

use crate::result::{RunResult, UsageOfRun, status};

/// Version of the event format: `v` of each line.
pub(crate) const EVENTS: u32 = 1;

/// One line of `--json`. Those made from an entry carry its seq; they are told once it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Something was said and is on disk.
    Said {
        /// Its entry.
        entry: Seq,
        /// Who said it.
        from: Speaker,
        /// Its text.
        text: Text,
        /// When it enters.
        when: When,
    },
    /// A turn began, or goes on.
    TurnStart {
        /// Its entry.
        entry: Seq,
        /// The session.
        session: SessionId,
        /// The turn, by its first entry.
        turn: TurnId,
        /// Whether it goes on in a new run.
        continues: bool,
        /// Who serves.
        provider: Text,
        /// What answers.
        model: Text,
        /// Its step budget, if it has one.
        max_steps: Option<u32>,
    },
    /// A request to the model is about to be sent.
    StepStart {
        /// Its `request` entry.
        entry: Seq,
        /// Which step of the turn, from 1.
        step: u32,
        /// Which try, from 1.
        attempt: u32,
        /// What it is for.
        purpose: Purpose,
        /// Its size in tokens, estimated.
        tokens: u64,
    },
    /// A piece of a reply; provisional, a resumed turn may say it again.
    Delta {
        /// Of which request.
        request: RequestId,
        /// `text` or `reasoning`.
        kind: DeltaKind,
        /// The piece.
        text: Text,
    },
    /// The model answered.
    Reply {
        /// Its entry.
        entry: Seq,
        /// Its text.
        text: Text,
        /// The calls it makes, in order.
        calls: Vec<CallTold>,
        /// Why it ended.
        finish: FinishReason,
        /// Tokens, if the provider said.
        usage: Option<UsageOfRun>,
    },
    /// A call begins.
    ToolStart {
        /// Its `tool_start` entry; none for a call that changes nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry: Option<Seq>,
        /// Which call.
        call: CallId,
        /// The tool.
        tool: Text,
    },
    /// A call has its result.
    ToolResult {
        /// Its entry.
        entry: Seq,
        /// Which call.
        call: CallId,
        /// The tool, as the model named it.
        tool: Text,
        /// How it ended.
        outcome: Outcome,
        /// What the model reads.
        text: Text,
        /// Where the whole is, if that is a part.
        #[serde(skip_serializing_if = "Option::is_none")]
        blob: Option<BlobName>,
        /// How long it ran, in milliseconds.
        took: Span,
    },
    /// A call waits for a person.
    Asking {
        /// Its `call` entry.
        entry: Seq,
        /// Which call.
        call: CallId,
        /// The tool.
        tool: Text,
        /// Its arguments, as they would run.
        arguments: Text,
        /// `approval` or `answer`.
        wants: WantsTold,
        /// Over what is shown; an answer names it.
        shown: Digest,
    },
    /// The program added something for the model.
    Note {
        /// Its entry.
        entry: Seq,
        /// What made it.
        source: NoteTold,
        /// Its text.
        text: Text,
    },
    /// A request failed, and is made again or goes to the next target.
    Retrying {
        /// What failed.
        kind: FailureKind,
        /// What was said of it.
        message: Text,
        /// When it is made again; none if it goes to the next target.
        at: Option<Time>,
        /// How long that is off, in milliseconds.
        wait: Option<Span>,
    },
    /// Nothing was shown for a while, and something of a model is waited for.
    Waiting {
        /// For what.
        what: WaitedFor,
        /// How long nothing was shown, in seconds.
        seconds: u64,
        /// Who is asked.
        host: Text,
        /// What is to answer.
        model: Text,
        /// What ends the wait first, if nothing comes; none if nothing does.
        bound: Option<Bound>,
        /// How long that is off, in seconds.
        ends_in: Option<u64>,
    },
    /// The turn stopped.
    TurnEnd {
        /// Its entry; none if the log cannot be written.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry: Option<Seq>,
        /// Why.
        status: &'static str,
        /// Steps of the turn.
        steps: u32,
        /// Tokens of the turn.
        usage: UsageOfRun,
        /// Files that failed to be written and were not written since.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        not_written: Vec<Text>,
    },
    /// What came of the run: the last line.
    Result(Arc<RunResult>),
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitedFor {
    /// A reply, or more of it.
    Model,
    /// The time at which a request is made again.
    Retry,
    /// The turn of a request, where a provider said that there are too many.
    Gate,
}

/// What ends a wait. The first three are those of the settings under `timeouts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// That for the first piece of a reply.
    FirstByte,
    /// That between two pieces.
    Idle,
    /// That for the whole of a reply.
    Call,
    /// The request is made again.
    Retry,
}

impl Bound {
    /// The setting that says how long; none for a wait that is chosen or asked for.
    pub fn setting(self) -> Option<&'static str> {
        match self {
            Self::FirstByte => Some("timeouts.first_byte"),
            Self::Idle => Some("timeouts.idle"),
            Self::Call => Some("timeouts.call"),
            Self::Retry => None,
        }
    }
}

/// What made a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum NoteTold {
    /// The model reads it too.
    Model(NoteSource),
    /// It is for the person alone.
    Program(ProgramNote),
}

/// What the program tells the person alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramNote {
    /// The target read far less than it was sent.
    CutPrompt,
}

/// What kind of text a delta holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    /// For the person.
    Text,
    /// Reasoning.
    Reasoning,
}

/// What a call that asks wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WantsTold {
    /// Leave to run.
    #[default]
    Approval,
    /// An answer.
    Answer,
}

/// A call as the model made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallTold {
    /// Which call.
    pub call: CallId,
    /// The tool, as the model named it.
    pub name: Text,
    /// Its arguments as they came.
    pub arguments: Text,
}

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    #[serde(flatten)]
    event: &'a Event,
}

impl Event {
    /// The event as a line of `--json`, without its line end.
    ///
    /// # Errors
    /// None that is known: events are plain data.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Line { v: EVENTS, event: self })
    }
}

fn noted(entry: Seq, note: &Note) -> Event {
    Event::Note { entry, source: NoteTold::Model(note.source), text: note.text.clone() }
}

/// What an entry is told as; none for those that are told otherwise or not at all.
pub(crate) fn told(session: &SessionId, entry: &Entry, tools: &dyn Fn(CallId) -> ToolTold) -> Option<Event> {
    let seq = entry.seq;
    Some(match &entry.body {
        Body::Said(said) => {
            Event::Said { entry: seq, from: said.from, text: text_of(&said.content), when: said.when }
        }
        Body::TurnStart(start) => {
            let (turn, continues) = match start.cause {
                Cause::Continues { turn } => (turn, true),
                Cause::Said { .. } | Cause::Retry => (TurnId(seq), false),
            };
            Event::TurnStart {
                entry: seq,
                session: session.clone(),
                turn,
                continues,
                provider: start.target.provider.clone(),
                model: start.target.model.clone(),
                max_steps: start.limits.steps,
            }
        }
        Body::Request(request) => Event::StepStart {
            entry: seq,
            step: request.step,
            attempt: request.attempt,
            purpose: request.purpose,
            tokens: request.tokens,
        },
        Body::Reply(reply) => Event::Reply {
            entry: seq,
            text: text_of_blocks(&reply.blocks),
            calls: calls_of(seq, &reply.blocks),
            finish: reply.finish.clone(),
            usage: reported(&reply.usage, reply.micro_usd),
        },
        Body::ToolStart(start) => {
            Event::ToolStart { entry: Some(seq), call: start.call, tool: tools(start.call).tool }
        }
        Body::ToolResult(result) => Event::ToolResult {
            entry: seq,
            call: result.call,
            tool: tools(result.call).tool,
            outcome: result.outcome,
            text: result.text.text().clone(),
            blob: result.blob.clone(),
            took: result.took,
        },
        Body::Call(call) if call.verdict == VerdictKind::Ask => {
            let ToolTold { arguments, wants, .. } = tools(call.call);
            let arguments = call.arguments.as_ref().map_or(arguments, |json| json.as_str().into());
            Event::Asking {
                entry: seq,
                call: call.call,
                tool: call.tool.clone(),
                arguments,
                wants,
                shown: call.shown,
            }
        }
        Body::Note(note) => noted(seq, note),
        Body::TurnEnd(end) => Event::TurnEnd {
            entry: Some(seq),
            status: status(end.reason),
            steps: end.steps,
            usage: UsageOfRun::new(&end.usage, end.micro_usd),
            not_written: end.not_written.clone(),
        },
        Body::SessionStart(_)
        | Body::Open(_)
        | Body::Head(_)
        | Body::LimitAdded(_)
        | Body::Partial(_)
        | Body::RequestEnd(_)
        | Body::Call(_)
        | Body::Decision(_)
        | Body::Setting(_)
        | Body::Leaf(_)
        | Body::Unknown(_) => return None,
    })
}

/// What an event tells of a call beside its id.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolTold {
    /// The tool, as the model named it.
    pub(crate) tool: Text,
    /// The arguments as they came.
    pub(crate) arguments: Text,
    /// What it wants of a person.
    pub(crate) wants: WantsTold,
}

fn reported(charge: &Charge, micro_usd: Option<u64>) -> Option<UsageOfRun> {
    match charge {
        Charge::Reported(usage) => Some(UsageOfRun::new(usage, micro_usd)),
        Charge::Reserved(_) => None,
    }
}

/// The texts of what was said, a blob by its name.
pub(crate) fn text_of(content: &[Content]) -> Text {
    let pieces = content.iter().map(|piece| match piece {
        Content::Text(text) => text.to_string(),
        Content::Blob { hash, bytes, media } => format!("[{media}, {bytes} bytes, blob:{hash:.8}]"),
    });
    pieces.collect::<Vec<_>>().join("\n").into()
}

/// The text blocks of a reply.
pub(crate) fn text_of_blocks(blocks: &[Block]) -> Text {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(&**text),
        Block::Reasoning(_) | Block::Opaque(_) | Block::Call(_) => None,
    });
    texts.collect::<String>().into()
}

/// The calls of a reply, in order.
pub(crate) fn calls_of(reply: Seq, blocks: &[Block]) -> Vec<CallTold> {
    let made = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Reasoning(_) | Block::Opaque(_) => None,
    });
    made.zip(0..)
        .map(|(call, place)| CallTold {
            call: CallId { reply, place },
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        })
        .collect()
}

/// Why a turn stopped that never got to say so itself.
pub(crate) fn unsaved(reason: StopReason, steps: u32, usage: UsageOfRun) -> Event {
    Event::TurnEnd { entry: None, status: status(reason), steps, usage, not_written: Vec::new() }
}
