//! A log to look ahead in, and entries by their kind.

use petasos_core::entry::{
    Body, Call, Decision, Entry, Origin, Reply, Request, RequestEnd, Said, Setting, SettingSource,
    ToolResult, ToolStart, TurnEnd, TurnStart,
};
use petasos_core::id::Seq;
use petasos_core::stop::StopReason;
use petasos_core::time::Time;

/// A log, and how each of its runs ends.
#[derive(Debug)]
pub(super) struct Log<'a> {
    pub(super) entries: &'a [Entry],
    /// For each entry, why the run that it stands in stopped; none if its process ended before.
    ends: Vec<Option<StopReason>>,
}

impl<'a> Log<'a> {
    pub(super) fn new(entries: &'a [Entry]) -> Self {
        let mut ends = Vec::with_capacity(entries.len());
        let mut end = None;
        for entry in entries.iter().rev() {
            if matches!(entry.body, Body::Open(_)) {
                end = None;
            }
            end = turn_end(entry).map(|end| end.reason).or(end);
            ends.push(end);
        }
        ends.reverse();
        Self { entries, ends }
    }

    /// The first lines, as the process had them that read on behind them: in a file that was imported nothing was imported
    /// yet.
    pub(super) fn before(&self, at: usize) -> Vec<Entry> {
        let mut lines: Vec<Entry> = self.entries.iter().take(at).cloned().collect();
        let last = lines.last().map(|last| last.seq);
        if let Some(Entry { body: Body::SessionStart(start), .. }) = lines.first_mut()
            && let Origin::Import { seq, .. } = &start.origin
            && last <= *seq
        {
            start.origin = Origin::New;
        }
        lines
    }

    pub(super) fn get(&self, at: usize) -> Option<&'a Entry> {
        self.entries.get(at)
    }

    /// Why the run stopped that this entry stands in.
    pub(super) fn end(&self, at: usize) -> Option<StopReason> {
        self.ends.get(at).copied().flatten()
    }

    /// What comes from here on of the same process.
    pub(super) fn process(&self, at: usize) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let rest = self.entries.get(at..).unwrap_or_default();
        rest.iter().take_while(|entry| !matches!(entry.body, Body::Open(_)))
    }

    /// What comes from here on of the same run.
    pub(super) fn run(&self, at: usize) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let mut is_over = false;
        self.process(at).take_while(move |entry| {
            let was_over = is_over;
            is_over |= turn_end(entry).is_some();
            !was_over
        })
    }

    /// What comes from here on before the next request, or the end of the run.
    pub(super) fn step(&self, at: usize) -> impl Iterator<Item = &'a Entry> + use<'a> {
        self.run(at).take_while(|entry| request(entry).is_none())
    }

    /// When an entry was made.
    pub(super) fn at(&self, seq: Seq) -> Option<Time> {
        let place = self.entries.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        self.get(place).map(|entry| entry.at)
    }
}

/// True for an entry that core did not make behind the one before.
pub(super) fn is_foreign(entry: &Entry) -> bool {
    matches!(entry.body, Body::Open(_) | Body::Unknown(_))
}

macro_rules! by_kind {
    ($($name:ident: $variant:ident($body:ty);)*) => {$(
        pub(super) fn $name(entry: &Entry) -> Option<&$body> {
            if let Body::$variant(body) = &entry.body { Some(body) } else { None }
        }
    )*};
}

by_kind! {
    request: Request(Request);
    request_end: RequestEnd(RequestEnd);
    reply: Reply(Reply);
    call: Call(Call);
    decision: Decision(Decision);
    tool_start: ToolStart(ToolStart);
    tool_result: ToolResult(ToolResult);
    turn_start: TurnStart(TurnStart);
    turn_end: TurnEnd(TurnEnd);
    said: Said(Said);
}

/// A setting that a person made.
pub(super) fn set_by_person(entry: &Entry) -> Option<&Setting> {
    setting(entry).filter(|setting| setting.by == SettingSource::Person)
}

/// A setting that was learnt from a request.
pub(super) fn learnt(entry: &Entry) -> Option<&Setting> {
    setting(entry).filter(|setting| setting.by != SettingSource::Person)
}

fn setting(entry: &Entry) -> Option<&Setting> {
    if let Body::Setting(setting) = &entry.body { Some(setting) } else { None }
}
