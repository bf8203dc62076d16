//! What is shown of sessions, of their requests, and of recorded answers.

mod decoded;
mod following;
mod replay;
mod searched;
mod steps;
mod tools;
mod words;
mod written;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use petasos_core::entry::{FinishReason, Reply, ReplyOfTurn, TurnEnd, VerdictKind};
use petasos_core::id::{Seq, SessionId};
use petasos_core::session::Session;
use petasos_core::stop::{FailureKind, StopReason};
use petasos_core::text::Text;
use petasos_core::transcript::Item;
use petasos_core::turn::{Turn, made_calls};
use petasos_store::{Contents, Listing, StoreError};
use serde::Serialize;

pub use decoded::{Decoded, DecodedCall, DecodedEnd, DecodedError, DecodedUsage, Decoding};
pub use following::Following;
use following::Teller;
pub use replay::{
    CallReplayed, Difference, Differing, LeftOut, LeftOutWhy, PartOf, Place, Present, Replayed,
    RequestReplayed,
};
pub use searched::{Searched, SearchedEntry};
pub use steps::{StepLine, StepLog, StepTold, ToolOfStep, TurnTold};
pub use tools::{Asks, ToolState, ToolTold, lint_built_in, lint_written};
pub(crate) use written::written;
pub use written::{Same, WriteError, Written};

use crate::agent::Asking;
use crate::event::{EVENTS, Event, text_of_blocks};

/// The text that a turn answered; empty if it answered nothing. What a model says before its calls announces them, and
/// is no answer of a turn that was broken off behind it; a reply that was broken off itself is as much as there is.
pub(crate) fn reply_of(session: &Session, end: &TurnEnd) -> Text {
    let entries = match &end.reply {
        None => return Text::default(),
        Some(ReplyOfTurn::Text(text)) => return text.clone(),
        Some(ReplyOfTurn::Entries(entries)) => entries,
    };
    let open = session.turn().and_then(|turn| turn.told().step.reply.as_ref());
    let open = open.map(|open| (open.seq, &open.reply));
    let steps = session.transcript().items().into_iter().filter_map(|(_, item)| match item {
        Item::Step(step) => Some((step.reply_seq, &step.reply)),
        Item::Said(_) | Item::Note(_) => None,
    });
    let known: BTreeMap<Seq, &Arc<Reply>> = steps.chain(open).collect();
    let answers = |reply: &&&Arc<Reply>| {
        !is_broken_off(end.reason) || reply.finish == FinishReason::Cut || made_calls(reply).next().is_none()
    };
    let replies = entries.iter().filter_map(|seq| known.get(seq)).filter(answers);
    let texts = replies.map(|reply| text_of_blocks(&reply.blocks));
    texts.map(|text| text.to_string()).collect::<String>().into()
}

/// True for a turn that stopped wherever it was.
fn is_broken_off(reason: StopReason) -> bool {
    match reason {
        StopReason::Interrupted
        | StopReason::TimedOut
        | StopReason::NotSaved
        | StopReason::ModelFailed(_)
        | StopReason::InternalError => true,
        StopReason::Completed
        | StopReason::BudgetExhausted(_)
        | StopReason::ContextExhausted
        | StopReason::Stuck
        | StopReason::ToolFailed
        | StopReason::AwaitingApproval
        | StopReason::AwaitingAnswer
        | StopReason::Denied
        | StopReason::Refused
        | StopReason::Truncated => false,
    }
}

/// What the session itself can say of the end of a turn: what a guard found, or what came before silence.
pub(crate) fn why(session: &Session, end: &TurnEnd) -> Option<String> {
    if end.reason == StopReason::ModelFailed(FailureKind::Empty) {
        return last_result(session);
    }
    let told = session.turn().map(Turn::told).filter(|told| told.id == end.turn)?;
    told.finding().map(ToString::to_string)
}

/// The last tool that gave a result before the silence.
fn last_result(session: &Session) -> Option<String> {
    let mut items = session.transcript().items().into_iter().rev();
    items.find_map(|(_, item)| match item {
        Item::Step(step) => {
            let call = made_calls(&step.reply).last()?;
            Some(format!("the last result before that is of {}", call.name))
        }
        Item::Said(_) | Item::Note(_) => None,
    })
}

/// Arguments as a person reads them: each by its name, texts as they are and not as JSON writes them. What is no
/// JSON object stays as it is.
pub fn readable(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(arguments) else {
        return arguments.to_owned();
    };
    let line = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The calls of a session at rest that wait for a person.
pub(crate) fn asking(session: &Session) -> Vec<Asking> {
    let Some(open) = session.turn().and_then(|turn| turn.told().step.reply.as_ref()) else {
        return Vec::new();
    };
    let asks = |(place, call): (usize, &petasos_core::turn::OpenCall)| {
        let made = call.call.as_ref().filter(|made| made.verdict == VerdictKind::Ask)?;
        let waits = call.decision.is_none() && call.result.is_none();
        let model_own = open.made(place).map(|made| made.arguments.clone()).unwrap_or_default();
        let arguments = made.arguments.as_ref().map_or(model_own, |json| json.as_str().into());
        let (call, tool) = (open.call_id(place), made.tool.clone());
        waits.then_some(Asking { call, shown: made.shown, tool, arguments })
    };
    open.calls.iter().enumerate().filter_map(asks).collect()
}

/// All sessions of a home folder.
#[derive(Debug)]
pub struct Sessions {
    /// Those that can be read, by when something happened in them last; at the same time, by id.
    pub sessions: Vec<Listed>,
    /// Those that cannot, and why.
    pub unreadable: Vec<(SessionId, StoreError)>,
}

impl Sessions {
    pub(crate) fn of(listing: Listing) -> Self {
        let mut sessions: Vec<_> = listing.sessions.into_iter().map(Listed).collect();
        sessions.sort_by(|one, other| (one.0.last, one.id()).cmp(&(other.0.last, other.id())));
        Self { sessions, unreadable: listing.unreadable }
    }
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed(petasos_store::Listed);

#[derive(Serialize)]
struct ListedLine<'a> {
    v: u32,
    session: &'a SessionId,
    workspace: &'a str,
    title: &'a str,
    made: u64,
    last: u64,
    entries: u64,
    damaged: u64,
    tokens: u64,
    micro_usd: Option<u64>,
}

impl Listed {
    /// What the store tells of it.
    pub(crate) fn as_kept(&self) -> &petasos_store::Listed {
        &self.0
    }
}

impl From<petasos_store::Listed> for Listed {
    fn from(listed: petasos_store::Listed) -> Self {
        Self(listed)
    }
}

impl Listed {
    /// Which.
    pub fn id(&self) -> &SessionId {
        &self.0.start.id
    }

    /// The folder it works in.
    pub fn workspace(&self) -> &str {
        &self.0.start.workspace
    }

    /// True if it works in this folder.
    pub fn is_in(&self, folder: &Path) -> bool {
        Path::new(self.workspace()) == folder
    }

    /// Its title, else what was said first; empty if nothing was.
    pub fn title(&self) -> &str {
        self.0.title.as_deref().or(self.0.first.as_deref()).unwrap_or_default()
    }

    /// True if nothing was said in it: it was opened and left.
    pub fn is_blank(&self) -> bool {
        self.0.first.is_none()
    }

    /// How many entries it has.
    pub fn entries(&self) -> u64 {
        self.0.entries
    }

    /// The tokens that its requests were charged.
    pub fn tokens(&self) -> u64 {
        self.0.tokens
    }

    /// How many places in its log are damaged.
    pub fn damaged(&self) -> u64 {
        self.0.damaged
    }

    /// When something happened in it last.
    pub(crate) fn last(&self) -> petasos_core::time::Time {
        self.0.last
    }

    /// When something happened in it last, in local time.
    pub fn last_time(&self) -> String {
        let millis = i64::try_from(self.0.last.0).unwrap_or(i64::MAX);
        let at = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        jiff::ZonedDateTime::new(at, jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// As a line of JSON; times are milliseconds since 1970 UTC.
    pub fn line(&self) -> String {
        let line = ListedLine {
            v: EVENTS,
            session: self.id(),
            workspace: self.workspace(),
            title: self.title(),
            made: self.0.made.0,
            last: self.0.last.0,
            entries: self.0.entries,
            damaged: self.0.damaged,
            tokens: self.0.tokens,
            micro_usd: self.0.micro_usd,
        };
        // Plain data always becomes JSON; the fallback only keeps this free of panics.
        serde_json::to_string(&line).unwrap_or_default()
    }
}

/// What an entry says that is told as no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The entry.
    pub entry: Seq,
    /// How many events come before it.
    pub before: usize,
    /// What it says.
    pub text: String,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its entries, as they were told.
    pub events: Vec<Event>,
    /// What is no event, in plain words.
    pub words: Vec<Words>,
    /// What is damaged in its log.
    pub damage: Vec<String>,
}

impl Shown {
    pub(crate) fn of(session: &SessionId, contents: Contents) -> Self {
        let (mut teller, mut events, mut words) = (Teller::default(), Vec::new(), Vec::new());
        for (place, entry) in contents.entries.iter().enumerate() {
            let text = words::words(entry, contents.entries.get(place + 1));
            words.extend(text.map(|text| Words { entry: entry.seq, before: events.len(), text }));
            events.extend(teller.tell(session, entry));
        }
        let damage = contents.damage.into_iter().map(|damage| damage.why.to_string()).collect();
        Self { events, words, damage }
    }
}
