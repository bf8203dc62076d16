//! I9: every text has its cap.

use petasos_core::bounded::Cap;
use petasos_core::entry::{Block, Body, Entry, ReplyOfTurn, RequestOutcome};
use petasos_core::turn::REPLY_CAP;

use crate::findings::{Findings, Invariant};

pub(super) fn judge(log: &[Entry], findings: &mut Findings) {
    for entry in log {
        let (text, cap) = match &entry.body {
            Body::ToolResult(result) => (&**result.text.text(), Cap::RESULT.0),
            Body::Partial(partial) => (&*partial.text, Cap::PARTIAL.0),
            Body::Note(note) => (&*note.text, Cap::REASON.0),
            Body::RequestEnd(end) => match &end.outcome {
                RequestOutcome::Failed { message, .. } => (&**message.text(), Cap::FAILURE.0),
                _ => continue,
            },
            Body::TurnEnd(end) => match &end.reply {
                Some(ReplyOfTurn::Text(text)) => (&**text, Cap::REASON.0),
                _ => continue,
            },
            Body::Reply(reply) => {
                let size: usize = reply.blocks.iter().map(size_of).sum();
                findings.check(size <= REPLY_CAP, Invariant::I9, || format!("a reply of {size} bytes"));
                continue;
            }
            _ => continue,
        };
        // Bytes first: most texts are short, and counting characters is slow.
        let fits = text.len() <= cap || text.chars().count() <= cap;
        findings.check(fits, Invariant::I9, || {
            format!("entry {}: {} of {cap} characters", entry.seq, text.chars().count())
        });
    }
}

fn size_of(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Reasoning(text) => text.len(),
        Block::Opaque(opaque) => opaque.raw.as_str().len(),
        Block::Call(call) => call.name.len() + call.arguments.len(),
    }
}
