//! I1, I2, I3, I10: what happens to each call of each reply.

use std::collections::BTreeMap;

use petasos_core::approval::Answer;
use petasos_core::claims::{Access, Claims, Place, PlaceKind, Rerun};
use petasos_core::entry::{Body, Call, Decision, Entry, ModelCall, ToolResult, ToolStart, VerdictKind};
use petasos_core::id::{CallId, Seq};
use petasos_core::request::Purpose;
use petasos_core::stop::StopReason;
use petasos_core::tool::Outcome;
use petasos_core::turn::made_calls;

use crate::findings::{Findings, Invariant};
use crate::model::Outside;

/// All that the log says of one call.
struct Trace<'a> {
    made: &'a ModelCall,
    purpose: Purpose,
    call: Option<&'a Call>,
    decisions: Vec<&'a Decision>,
    start: Option<&'a ToolStart>,
    /// It began in this run, not in one that is over.
    is_of_run: bool,
    result: Option<&'a ToolResult>,
}

impl<'a> Trace<'a> {
    fn new(made: &'a ModelCall, purpose: Purpose) -> Self {
        let decisions = Vec::new();
        Self { made, purpose, call: None, decisions, start: None, is_of_run: false, result: None }
    }
}

#[derive(Default)]
struct Reader<'a> {
    traces: BTreeMap<CallId, Trace<'a>>,
    purposes: BTreeMap<Seq, Purpose>,
    serial: bool,
    refuses: bool,
    running: bool,
}

pub(super) fn judge(log: &[Entry], outside: &Outside, findings: &mut Findings) {
    let mut reader = Reader::default();
    for entry in log {
        reader.read(entry, outside, findings);
    }
}

impl<'a> Reader<'a> {
    fn read(&mut self, entry: &'a Entry, outside: &Outside, findings: &mut Findings) {
        let seq = entry.seq;
        match &entry.body {
            Body::TurnStart(start) => {
                self.running = true;
                self.traces.values_mut().for_each(|trace| trace.is_of_run = false);
                self.serial = start.mode.serial;
                self.refuses = start.mode.on_ask == petasos_core::turn::OnAsk::Refuse;
                if super::turns::is_new(start) {
                    self.all_closed(seq, findings);
                }
            }
            Body::Open(_) => self.running = false,
            Body::Request(request) => {
                self.all_closed(seq, findings);
                self.purposes.insert(seq, request.purpose);
            }
            Body::Note(_) | Body::Leaf(_) => self.all_closed(seq, findings),
            Body::Reply(reply) => {
                self.all_closed(seq, findings);
                // Only the last reply has anything open; what is said of older ones is a fault.
                self.traces.clear();
                let purpose = self.purposes.get(&reply.request.0).copied().unwrap_or(Purpose::Step);
                for (place, made) in made_calls(reply).enumerate() {
                    let call = CallId { reply: seq, place: u16::try_from(place).unwrap() };
                    self.traces.insert(call, Trace::new(made, purpose));
                }
            }
            Body::Call(call) => {
                if let Some(trace) = self.open(call.call, seq, findings) {
                    trace.call = Some(call);
                }
            }
            Body::Decision(decision) => {
                if let Some(trace) = self.open(decision.call, seq, findings) {
                    let was_asked = trace
                        .call
                        .is_some_and(|call| call.verdict == VerdictKind::Ask && call.shown == decision.shown);
                    findings.check(was_asked, Invariant::I2, || format!("decision {seq} to no question"));
                    trace.decisions.push(decision);
                }
            }
            Body::ToolStart(start) => self.starts(seq, start, findings),
            Body::ToolResult(result) => self.settles(seq, result, outside, findings),
            // What an earlier run left open may be closed around its end, as long as it is.
            Body::TurnEnd(end) if std::mem::take(&mut self.running) => {
                self.turn_ends(seq, end.reason, findings);
            }
            _ => {}
        }
    }

    fn all_closed(&self, seq: Seq, findings: &mut Findings) {
        let open: Vec<_> = self.traces.iter().filter(|(_, trace)| trace.result.is_none()).collect();
        findings.check(open.is_empty(), Invariant::I1, || {
            format!(
                "at {seq} there is no result for {:?}",
                open.iter().map(|(call, _)| call).collect::<Vec<_>>()
            )
        });
    }

    /// The call, which must be one of the last reply's and have no result.
    fn open(&mut self, call: CallId, seq: Seq, findings: &mut Findings) -> Option<&mut Trace<'a>> {
        let trace = self.traces.get_mut(&call).filter(|trace| trace.result.is_none());
        findings
            .check(trace.is_some(), Invariant::I1, || format!("{seq} is about {call}, which is not open"));
        trace
    }

    fn starts(&mut self, seq: Seq, start: &'a ToolStart, findings: &mut Findings) {
        let id = start.call;
        let serial = self.serial;
        let claims = self.traces.get(&id).and_then(|trace| trace.call).map(|call| &call.claims);
        for (other, trace) in &self.traces {
            let is_earlier = other.place < id.place;
            let is_begun = trace.is_of_run;
            if *other == id || trace.result.is_some() || !(is_earlier || is_begun) {
                continue;
            }
            let Some((mine, theirs)) = claims.zip(trace.call.map(|call| &call.claims)) else { continue };
            let in_way = are_in_each_others_way(theirs, mine) || serial;
            findings.check(!in_way, Invariant::I10, || format!("{id} starts at {seq} beside {other}"));
        }
        let Some(trace) = self.open(id, seq, findings) else { return };
        let is_allowed = trace.call.is_some_and(|call| match call.verdict {
            VerdictKind::Allow => true,
            VerdictKind::Ask => trace.decisions.iter().any(|decision| {
                matches!(decision.answer, Answer::Yes { .. }) && decision.shown == call.shown
            }),
            VerdictKind::Deny | VerdictKind::Hardline | VerdictKind::Invalid => false,
        });
        let may_run = is_allowed && trace.made.complete && trace.purpose == Purpose::Step;
        findings.check(may_run, Invariant::I2, || format!("{id} starts at {seq}, and nobody allowed it"));
        let key = trace.call.and_then(|call| match &call.claims.rerun {
            Rerun::Keyed(key) => Some(key.clone()),
            _ => None,
        });
        let is_free = trace.call.is_none_or(|call| call.claims.rerun == Rerun::Free);
        let fits = trace.start.is_none() && !is_free && start.key == key;
        findings.check(fits, Invariant::I3, || format!("start {seq} of {id} does not fit its claims"));
        (trace.start, trace.is_of_run) = (Some(start), true);
    }

    fn settles(&mut self, seq: Seq, result: &'a ToolResult, outside: &Outside, findings: &mut Findings) {
        let id = result.call;
        let (running, refuses) = (self.running, self.refuses);
        let Some(trace) = self.open(id, seq, findings) else { return };
        let outcome = result.outcome;
        let began = outside.began.get(&id).copied().unwrap_or(0) > 0;
        let for_good = outside.for_good.contains(&id);
        let verdict = trace.call.map(|call| call.verdict);
        let is_free = trace.call.is_none_or(|call| call.claims.rerun == Rerun::Free);
        let is_answered = trace.decisions.iter().any(|decision| matches!(decision.answer, Answer::Text(_)));
        let saw_nothing = outside.probed.get(&id) == Some(&Outcome::NeverBegan);
        let fits = if outcome.began() {
            trace.start.is_some() || (is_free && began) || is_answered
        } else if outcome == Outcome::NeverBegan {
            trace.start.is_none() || !for_good || saw_nothing
        } else {
            trace.start.is_none()
        };
        findings.check(fits, Invariant::I3, || format!("{seq}: {id} is {outcome:?}, began: {began}"));
        // A call that changes nothing may have begun and leave no trace, when nobody heard its end.
        let is_hidden = !outcome.began() && for_good && !saw_nothing;
        findings.check(!is_hidden, Invariant::I3, || format!("{seq}: {id} began and is {outcome:?}"));
        if let Some(&said) = outside.said.get(&id) {
            let said = if said.began() { said } else { Outcome::Error };
            findings.check(said == outcome, Invariant::I3, || {
                format!("{seq}: {id} said {said:?}, not {outcome:?}")
            });
        }
        let runs_none = !trace.made.complete || trace.purpose != Purpose::Step;
        findings.check(!runs_none || outcome == Outcome::NeverBegan, Invariant::I3, || {
            format!("{seq}: {id} was never to run and is {outcome:?}")
        });
        if outcome == Outcome::Denied {
            let said_no = trace
                .decisions
                .iter()
                .any(|decision| matches!(decision.answer, Answer::No { .. } | Answer::NoAndStop));
            let why = match verdict {
                Some(VerdictKind::Deny | VerdictKind::Hardline) => true,
                Some(VerdictKind::Ask) => said_no || refuses || !running,
                Some(VerdictKind::Allow | VerdictKind::Invalid) | None => false,
            };
            findings.check(why, Invariant::I2, || format!("{seq}: {id} is denied, and nobody said no"));
        }
        trace.result = Some(result);
    }

    fn turn_ends(&self, seq: Seq, reason: StopReason, findings: &mut Findings) {
        let parked = matches!(reason, StopReason::AwaitingApproval | StopReason::AwaitingAnswer);
        if !parked {
            return self.all_closed(seq, findings);
        }
        let mut open = self.traces.values().filter(|trace| trace.result.is_none());
        let waits = open.any(|trace| trace.call.is_some_and(|call| call.verdict == VerdictKind::Ask));
        findings.check(waits, Invariant::I4, || format!("{reason:?} at {seq}, and nothing is asked"));
        let mut open = self.traces.values().filter(|trace| trace.result.is_none());
        let runs = open.any(|trace| trace.is_of_run);
        findings.check(!runs, Invariant::I4, || format!("{reason:?} at {seq}, and something runs"));
    }
}

/// One is alone, or they share a place that one of them writes (I10): the model's own reading, for a
/// fault in core's would else be in both.
pub(crate) fn are_in_each_others_way(one: &Claims, other: &Claims) -> bool {
    let shares = |mine: &Place, theirs: &Place| {
        let is_written = mine.access == Access::Write || theirs.access == Access::Write;
        is_written && mine.kind == theirs.kind && are_one_place(mine, theirs)
    };
    one.alone
        || other.alone
        || one.places.iter().any(|mine| other.places.iter().any(|theirs| shares(mine, theirs)))
}

fn are_one_place(mine: &Place, theirs: &Place) -> bool {
    if mine.kind != PlaceKind::Path {
        return mine.name == theirs.name;
    }
    let parts = |place: &Place| -> Vec<String> {
        place.name.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (mine, theirs) = (parts(mine), parts(theirs));
    mine.starts_with(&theirs) || theirs.starts_with(&mine)
}
