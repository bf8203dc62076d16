//! I12, as far as guards bound what a turn may do (L10).

use petasos_core::entry::{Body, Entry, NoteSource};
use petasos_core::stop::StopReason;

use crate::findings::{Findings, Invariant};
use crate::row::Row;

pub(super) fn judge(log: &[Entry], findings: &mut Findings) {
    let mut row = Row::default();
    for entry in log {
        let seq = entry.seq;
        let (told, stuck, failed) = (row.should_tell(), row.is_stuck(), row.has_failed());
        let mut check =
            |holds, what: &str| findings.check(holds, Invariant::I12, || format!("{seq}: {what}"));
        match &entry.body {
            Body::ToolStart(start) => {
                check(!row.is_in_vain(start.call.place), "begins once more what leads nowhere");
            }
            Body::Request(request) if request.purpose == petasos_core::request::Purpose::Step => {
                check(!told, "asks the model, and does not tell it that it gets nowhere");
                check(!stuck, "asks the model of a turn that is stuck");
                check(!failed, "asks the model of a turn whose tool fails and fails");
            }
            Body::Note(note) if note.source == NoteSource::Guard => check(told, "tells it without a reason"),
            Body::TurnEnd(end) if end.reason == StopReason::Stuck => check(stuck, "is not stuck"),
            Body::TurnEnd(end) if end.reason == StopReason::ToolFailed => {
                check(failed, "no tool failed so often")
            }
            _ => {}
        }
        row.apply(entry);
    }
}
