//! Words of these tests: transcripts, targets, and a reply as core takes it in.

use std::sync::Arc;

use petasos_core::bounded::{Bounded, Cap};
use petasos_core::entry::{
    Block, CallForm, Charge, Content, FinishReason, Head, ModelCall, Reply, Said, Speaker, Timing,
    ToolResult, When,
};
use petasos_core::id::{CallId, Digest, RequestId, Seq};
use petasos_core::request::{Params, Target, ToolChoice, ToolMode, Wire};
use petasos_core::text::{Json, Text};
use petasos_core::time::Span;
use petasos_core::tool::Outcome;
use petasos_core::transcript::{ClosedStep, Item};
use petasos_core::turn::{Delta, Failure, ReplyEnd};
use petasos_core::usage::Usage;
use petasos_providers::{AnswerDecoder, Body, Ended, ReplyEvent, Tail, encoder};

/// All that a decoder made of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub deltas: Vec<Delta>,
    pub end: Result<ReplyEnd, Failure>,
    pub ended: Ended,
}

/// All that the decoder of a wire made of the bytes, fed in these pieces.
pub fn decode_on(wire: Wire, pieces: &[&[u8]]) -> Decoded {
    let mut decoder = AnswerDecoder::new(&target_on(wire), "models.example");
    for piece in pieces {
        decoder.feed(piece);
    }
    decoder.finish();
    let mut deltas = Vec::new();
    while let Some(event) = decoder.next_event() {
        let end = match event {
            ReplyEvent::Delta(delta) => {
                deltas.push(delta);
                continue;
            }
            ReplyEvent::Done(end) => Ok(end),
            ReplyEvent::Failed(failure) => Err(failure),
        };
        assert_eq!(decoder.next_event(), None, "nothing comes after the end");
        let ended = decoder.ended().expect("it has ended");
        assert_eq!(end.is_ok(), ended == Ended::Whole);
        return Decoded { deltas, end, ended };
    }
    panic!("no end after {deltas:?}");
}

/// The same on the chat wire.
pub fn decode(pieces: &[&[u8]]) -> (Vec<Delta>, Result<ReplyEnd, Failure>) {
    let Decoded { deltas, end, ended: _ } = decode_on(Wire::Chat, pieces);
    (deltas, end)
}

/// A reply in one line a block, as core puts it together: deltas that it refuses fail the test.
pub fn told(bytes: &[u8]) -> Vec<String> {
    told_on(Wire::Chat, bytes)
}

/// The same on another wire.
pub fn told_on(wire: Wire, bytes: &[u8]) -> Vec<String> {
    let Decoded { deltas, end, ended: _ } = decode_on(wire, &[bytes]);
    let mut lines: Vec<String> = blocks(&deltas).iter().map(line).collect();
    lines.push(match end {
        Ok(end) => format!("end: {:?}", end.finish),
        Err(failure) => format!("failed: {:?}", failure.kind),
    });
    lines
}

/// The blocks that these deltas make, put together by a real session.
pub fn blocks(deltas: &[Delta]) -> Vec<Block> {
    use petasos_core::entry::Body;
    use petasos_core::turn::{Effect, Input};
    use petasos_testkit::script::Script;
    use petasos_testkit::words::terms;

    let mut request = None;
    let mut script = Script::new(terms(2))
        .replies([petasos_testkit::script::nothing()])
        .say("go")
        .until_it_wants(|effect| matches!(effect, Effect::CallModel { .. }));
    while let Some(due) = script.take_due(|input| matches!(input, Input::ReplyEnded { .. })) {
        if let Input::ReplyEnded { request: of, .. } = due {
            request = Some(of);
        }
    }
    let request = request.expect("the model is asked");
    for delta in deltas {
        script = script.input(Input::Delta { request, delta: delta.clone() });
    }
    let end = ReplyEnd {
        finish: FinishReason::Stop,
        usage: None,
        micro_usd: None,
        timing: Timing::default(),
        model: None,
        window: None,
    };
    let ran = script.input(Input::ReplyEnded { request, end }).stop_here();
    let mut replies = ran.entries.iter().filter_map(|entry| match &entry.body {
        Body::Reply(reply) => Some(reply.blocks.clone()),
        _ => None,
    });
    replies.next_back().unwrap_or_default()
}

fn line(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("text: {text}"),
        Block::Reasoning(text) => format!("reasoning: {text}"),
        Block::Opaque(opaque) => format!("opaque: {}", opaque.raw.as_str()),
        Block::Call(call) => {
            let id = call.wire_id.as_ref().map_or("-", |id| id);
            let arguments = if call.arguments.is_empty() { "(nothing)" } else { &call.arguments };
            let whole = if call.complete { "" } else { " (not whole)" };
            format!("call {id}: {} {arguments}{whole}", call.name)
        }
    }
}

/// A target of the chat wire.
pub fn target() -> Target {
    target_on(Wire::Chat)
}

/// A target of a wire, at a provider that nobody knows.
pub fn target_on(wire: Wire) -> Target {
    Target { provider: "example".into(), model: "small".into(), wire, tool_mode: ToolMode::Native }
}

/// A head with this system text and these tools.
pub fn head(system: &str, tools: &str) -> Head {
    Head {
        system: system.into(),
        tools: Json::try_from(tools).unwrap(),
        toolset: "default".into(),
        reason: "new".into(),
        hash: Digest([0; 32]),
    }
}

/// Said by a person, now.
pub fn said(text: &str) -> Item {
    said_by(Speaker::Person, When::Now, text)
}

/// Said by somebody, at some time.
pub fn said_by(from: Speaker, when: When, text: &str) -> Item {
    let content = vec![Content::Text(text.into())];
    Item::Said(Arc::new(Said { from, content, notes: Vec::new(), when, withdraws: None }))
}

/// A whole call in the wire's own form.
pub fn call(wire_id: Option<&str>, name: &str, arguments: &str) -> Block {
    Block::Call(ModelCall {
        wire_id: wire_id.map(Text::from),
        name: name.into(),
        arguments: arguments.into(),
        form: CallForm::Native,
        complete: true,
    })
}

/// A step whose calls have these results.
pub fn step(seq: u64, blocks: Vec<Block>, results: &[&str]) -> Item {
    let reply = Reply {
        request: RequestId(Seq(seq - 1)),
        blocks,
        raw: None,
        finish: FinishReason::Stop,
        usage: Charge::Reported(Usage::default()),
        micro_usd: None,
        overrun: 0,
        timing: Timing::default(),
        model: None,
    };
    step_of(seq, reply, results)
}

/// A step with any reply.
pub fn step_of(seq: u64, reply: Reply, results: &[&str]) -> Item {
    let results = results.iter().zip(0..).map(|(text, place)| {
        Arc::new(ToolResult {
            call: CallId { reply: Seq(seq), place },
            outcome: Outcome::Ok,
            text: Bounded::new(text, Cap::RESULT, ""),
            bytes: text.len() as u64,
            blob: None,
            facts: Vec::new(),
            took: Span(0),
        })
    });
    Item::Step(ClosedStep {
        reply_seq: Seq(seq),
        target: None,
        reply: Arc::new(reply),
        changed: Vec::new(),
        results: results.collect(),
        last: Seq(seq + 10),
    })
}

/// The body of a request with these items, tools allowed.
pub fn body(head: &Head, items: &[Item]) -> Body {
    body_on(Wire::Chat, head, items)
}

/// The same on another wire.
pub fn body_on(wire: Wire, head: &Head, items: &[Item]) -> Body {
    let mut encoder = encoder(&target_on(wire), head);
    items.iter().for_each(|item| encoder.push(item));
    encoder.body(&Params { tool_choice: ToolChoice::Auto }, &Tail::default())
}

/// The messages of a request with these items, without a system text.
pub fn messages(items: &[Item]) -> serde_json::Value {
    let body: serde_json::Value = serde_json::from_slice(&body(&head("", "[]"), items).bytes).unwrap();
    body["messages"].clone()
}
