//! What a list shows of a session, folded from its entries one after the other.

use petasos_core::entry::{Body, Charge, Content, Entry, LeafReason, SessionStart};
use petasos_core::text::Text;
use petasos_core::time::Time;

use crate::store::Contents;

/// Characters of what was said first that a list shows.
const FIRST: usize = 200;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its first line.
    pub start: SessionStart,
    /// Its title: the last setting of that name.
    pub title: Option<Text>,
    /// How what was said first begins: its first 200 characters.
    pub first: Option<Text>,
    /// When it was made.
    pub made: Time,
    /// When something happened in it last: the latest time of an entry, but for those of openings. Who only looked
    /// in has said nothing.
    pub last: Time,
    /// How many entries it has.
    pub entries: u64,
    /// How many places in its log are damaged.
    pub damaged: u64,
    /// What its requests were charged; of a fork, those that it made itself.
    pub tokens: u64,
    /// What they cost in millionths of a dollar; none if that is not known of one of them.
    pub micro_usd: Option<u64>,
}

impl Listed {
    /// What a list shows of a log; none if it does not begin with a session's first line.
    pub(crate) fn of(contents: &Contents) -> Option<Self> {
        let (first, rest) = contents.entries.split_first()?;
        let mut listed = Self::begin(first)?;
        for entry in rest {
            listed.take(entry);
        }
        listed.damaged = contents.damage.len() as u64;
        Some(listed)
    }

    /// What a list shows of a log of one line; none if that is not a session's first line.
    pub(crate) fn begin(first: &Entry) -> Option<Self> {
        let Body::SessionStart(start) = &first.body else { return None };
        Some(Self {
            start: start.clone(),
            title: None,
            first: None,
            made: first.at,
            last: first.at,
            entries: 1,
            damaged: 0,
            tokens: 0,
            micro_usd: Some(0),
        })
    }

    /// Takes the next entry in.
    pub(crate) fn take(&mut self, entry: &Entry) {
        self.entries = self.entries.saturating_add(1);
        if !matches!(entry.body, Body::Open(_)) {
            self.last = self.last.max(entry.at);
        }
        match &entry.body {
            Body::Setting(setting) if &*setting.key == "title" => self.title.clone_from(&setting.value),
            Body::Said(said) if self.first.is_none() => self.first = beginning(&said.content),
            Body::Reply(reply) => self.charge(&reply.usage, reply.micro_usd),
            Body::RequestEnd(end) => self.charge(&end.usage, end.micro_usd),
            // What the lines before it cost stays the other's.
            Body::Leaf(leaf) if leaf.why == LeafReason::Fork => (self.tokens, self.micro_usd) = (0, Some(0)),
            Body::Leaf(_) => {}
            Body::Setting(_)
            | Body::Said(_)
            | Body::SessionStart(_)
            | Body::Open(_)
            | Body::Head(_)
            | Body::TurnStart(_)
            | Body::LimitAdded(_)
            | Body::Note(_)
            | Body::Request(_)
            | Body::Partial(_)
            | Body::Call(_)
            | Body::Decision(_)
            | Body::ToolStart(_)
            | Body::ToolResult(_)
            | Body::TurnEnd(_)
            | Body::Unknown(_) => {}
        }
    }

    fn charge(&mut self, charge: &Charge, micro_usd: Option<u64>) {
        let tokens = match charge {
            Charge::Reported(usage) => usage.total(),
            Charge::Reserved(tokens) => *tokens,
        };
        self.tokens = self.tokens.saturating_add(tokens);
        self.micro_usd = self.micro_usd.zip(micro_usd).map(|(sum, more)| sum.saturating_add(more));
    }
}

fn beginning(content: &[Content]) -> Option<Text> {
    content.iter().find_map(|piece| match piece {
        Content::Text(text) => Some(text.chars().take(FIRST).collect::<String>().into()),
        Content::Blob { .. } => None,
    })
}
