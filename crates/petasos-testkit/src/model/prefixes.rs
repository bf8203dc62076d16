//! I8: the messages of a request begin with those of the one before it, or a break is named, and none
//! is named without cause.

use std::collections::{BTreeMap, BTreeSet};

use petasos_core::entry::{Body, Cause, Entry, Request, SettingSource, When};
use petasos_core::id::{RequestId, Seq};
use petasos_core::request::Break;
use petasos_core::turn::made_calls;

use crate::findings::{Findings, Invariant};

/// The messages on the way to the leaf, each by its last entry: the slow way.
#[derive(Default)]
struct Reader<'a> {
    path: Vec<Seq>,
    places: BTreeMap<Seq, Vec<Seq>>,
    /// What was said and waits, and whether for the next step.
    waiting: BTreeMap<Seq, bool>,
    /// The reply whose results are missing, and how many.
    open: Option<(Seq, usize)>,
    head: Option<Seq>,
    last: Option<(&'a Request, Vec<Seq>)>,
    leaf_moved: bool,
    /// The last request's reasoning was not taken, for the first time.
    drops_reasoning: bool,
    last_seq: Option<Seq>,
    /// The last entry that is a part of some message.
    content: Option<Seq>,
}

pub(super) fn judge(log: &[Entry], findings: &mut Findings) {
    let mut reader = Reader::default();
    for entry in log {
        reader.read(entry, findings);
    }
}

/// The messages on the way to the leaf, each by its last entry, and what waits.
pub fn path(log: &[Entry]) -> (Vec<Seq>, BTreeSet<Seq>) {
    let mut reader = Reader::default();
    let mut nobody = Findings::default();
    for entry in log {
        reader.read(entry, &mut nobody);
    }
    (reader.path, reader.waiting.into_keys().collect())
}

impl<'a> Reader<'a> {
    fn read(&mut self, entry: &'a Entry, findings: &mut Findings) {
        let seq = entry.seq;
        match &entry.body {
            Body::Head(_) => self.head = Some(seq),
            Body::Said(said) => {
                if let Some(withdrawn) = said.withdraws {
                    let was_there = self.waiting.remove(&withdrawn).is_some();
                    findings
                        .check(was_there, Invariant::I6, || format!("{seq} takes back what does not wait"));
                }
                if !said.content.is_empty() {
                    self.waiting.insert(seq, said.when == When::NextStep);
                }
            }
            Body::TurnStart(start) => {
                if let Cause::Said { said } = start.cause {
                    // What was said for a step before it is told before it.
                    let waited = self.waiting.remove(&said).is_some();
                    self.steers_enter(said);
                    findings.check(waited, Invariant::I7, || format!("turn {seq}: {said} does not wait"));
                    self.push(said, said);
                }
            }
            Body::Note(_) => {
                self.path.push(seq);
                self.content = Some(seq);
            }
            Body::Reply(reply) => {
                self.content = Some(seq);
                match made_calls(reply).count() {
                    0 => self.push(seq, seq),
                    calls => self.open = Some((seq, calls)),
                }
            }
            Body::ToolResult(result) => {
                self.content = Some(seq);
                if let Some((reply, missing)) = &mut self.open
                    && *reply == result.call.reply
                {
                    *missing -= 1;
                    if *missing == 0 {
                        self.open = None;
                        self.push(seq, seq);
                    }
                }
            }
            Body::Leaf(leaf) => {
                self.leaf_moved = true;
                self.path = match leaf.to {
                    None => Vec::new(),
                    Some(to) => {
                        let place = self.places.get(&to).cloned();
                        findings
                            .check(place.is_some(), Invariant::I6, || format!("leaf {seq} to no place {to}"));
                        place.unwrap_or_default()
                    }
                };
            }
            Body::Request(request) => {
                self.request(seq, request, findings);
                self.last_seq = Some(seq);
            }
            Body::Setting(setting) if &*setting.key == "send.reasoning_back" => {
                let learnt = self.last_seq.map(|seq| SettingSource::Learnt { request: RequestId(seq) });
                self.drops_reasoning |= learnt == Some(setting.by);
            }
            _ => {}
        }
    }

    fn push(&mut self, item: Seq, content: Seq) {
        self.content = self.content.max(Some(content));
        self.path.push(item);
        self.places.insert(item, self.path.clone());
    }

    fn steers_enter(&mut self, upto: Seq) {
        let steers = self.waiting.range(..=upto).filter(|(_, steer)| **steer);
        let steers: Vec<Seq> = steers.map(|(steer, _)| *steer).collect();
        for steer in steers {
            self.waiting.remove(&steer);
            self.push(steer, steer);
        }
    }

    fn request(&mut self, seq: Seq, request: &'a Request, findings: &mut Findings) {
        self.steers_enter(request.upto);
        let holds_all = request.upto < seq && self.content <= Some(request.upto);
        findings
            .check(holds_all, Invariant::I8, || format!("request {seq} goes up to {} only", request.upto));
        let is_head = self.head == Some(request.head);
        findings.check(is_head, Invariant::I8, || format!("request {seq} with head {}", request.head));
        if let Some((before, messages)) = &self.last {
            let mut breaks = BTreeSet::new();
            if before.head != request.head {
                breaks.insert(Break::Head);
            }
            if before.target != request.target {
                breaks.insert(Break::Target);
            } else if self.drops_reasoning {
                breaks.insert(Break::Reasoning);
            }
            if self.leaf_moved {
                breaks.insert(Break::Leaf);
            }
            let named: BTreeSet<Break> = request.breaks.iter().copied().collect();
            findings.check(breaks == named, Invariant::I8, || {
                format!("request {seq} names {named:?}, there are {breaks:?}")
            });
            let goes_on = self.leaf_moved || (self.path.starts_with(messages) && request.upto >= before.upto);
            findings.check(goes_on, Invariant::I8, || {
                format!("request {seq}: {:?} after {messages:?}", self.path)
            });
        } else {
            findings
                .check(request.breaks.is_empty(), Invariant::I8, || format!("request {seq} breaks nothing"));
        }
        self.last = Some((request, self.path.clone()));
        self.leaf_moved = false;
        self.drops_reasoning = false;
    }
}
