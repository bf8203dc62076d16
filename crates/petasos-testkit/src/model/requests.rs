//! Every request ends in exactly one reply or `request_end`, or stands open at the end of the log.
//! Partials come while their request is open, without gaps, and are what the reply begins with.

use petasos_core::entry::{Block, Body, Entry};
use petasos_core::id::{RequestId, Seq};

use crate::findings::{Findings, Invariant};

pub(super) fn judge(log: &[Entry], findings: &mut Findings) {
    let mut open: Option<RequestId> = None;
    let mut kept = String::new();
    for Entry { seq, body, .. } in log {
        match body {
            Body::Request(_) => {
                findings.check(open.is_none(), Invariant::I11, || format!("request {seq} beside {open:?}"));
                open = Some(RequestId(*seq));
                kept.clear();
            }
            Body::Partial(partial) => {
                let fits = open == Some(partial.request) && partial.from == kept.chars().count() as u64;
                findings.check(fits, Invariant::I7, || format!("partial {seq} of {open:?}: {partial:?}"));
                kept.push_str(&partial.text);
            }
            Body::Reply(reply) => {
                ends(&mut open, reply.request, *seq, findings);
                let text: String = reply.blocks.iter().filter_map(text_of).collect();
                let fits = text.starts_with(&kept);
                findings.check(fits, Invariant::I7, || format!("reply {seq} does not begin with {kept:?}"));
            }
            Body::RequestEnd(end) => ends(&mut open, end.request, *seq, findings),
            Body::TurnEnd(_) => {
                findings.check(open.is_none(), Invariant::I4, || format!("turn_end {seq}, and {open:?}"));
            }
            _ => {}
        }
    }
}

fn ends(open: &mut Option<RequestId>, named: RequestId, seq: Seq, findings: &mut Findings) {
    let fits = *open == Some(named);
    findings.check(fits, Invariant::I11, || format!("entry {seq} ends {named:?}, open is {open:?}"));
    *open = None;
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(text),
        _ => None,
    }
}
