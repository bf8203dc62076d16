//! Whether a server read all that it was sent.
//!
//! Some servers on people's own machines (Ollama, whose window is a setting of the server) drop the front of a prompt
//! that is too long, system text and tools first, and answer as if nothing were missing. Only the number of tokens that they
//! report tells.

use petasos_core::entry::{Body, Charge, Entry, SettingSource};
use petasos_core::request::Target;
use petasos_core::usage::Usage;

use crate::event::{Event, NoteTold, ProgramNote};

/// A smaller request fits any window.
const LEAST: u64 = 2_000;

/// What a target may do with the front of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// It keeps it, or refuses the request.
    #[default]
    Kept,
    /// Nobody knows.
    MayBeCut,
}

/// A request of which the tokens are known that its target read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) target: Target,
    /// Tokens, estimated.
    pub(crate) sent: u64,
    /// Tokens, as the target counted them.
    pub(crate) read: u64,
}

impl Counted {
    /// So many tokens, as the target counts them, in tokens as they are estimated here.
    pub(crate) fn estimated(&self, tokens: u64) -> u64 {
        let scaled = u128::from(tokens) * u128::from(self.sent) / u128::from(self.read.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// What is expected of a request that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    front: Front,
    /// Tokens, estimated.
    sent: u64,
    /// The same of an earlier request that is the beginning of this one, and what its target read of it.
    before: Option<(u64, u64)>,
    /// The window that the target seemed to have so far.
    seen: Option<u64>,
}

impl Expected {
    /// By how the target counted an earlier request, the beginning of this one.
    pub(crate) fn new(front: Front, sent: u64, before: Option<&Counted>) -> Self {
        Self { front, sent, before: before.map(|before| (before.sent, before.read)), seen: None }
    }

    /// With the window that the target seemed to have so far.
    pub(crate) fn with_seen(self, seen: Option<u64>) -> Self {
        Self { seen, ..self }
    }

    /// The window that the target seems to have, if that is news. Windows are powers of two, as often as not, and what
    /// is left of a prompt is cut at a message, so below its window; it is no smaller than what was read before.
    pub(crate) fn window(self, usage: Option<&Usage>) -> Option<u64> {
        let read = usage?.input;
        if let Some(most) = self.cut(read) {
            return most.checked_next_power_of_two();
        }
        self.seen.filter(|seen| read > *seen)?;
        read.checked_next_power_of_two()
    }

    /// The most that the target read, if it cut this request: half as much again was sent as before, and no more was
    /// read. An estimate says nothing by itself: there are texts (blanks) of which a tokenizer makes a tenth of it.
    /// Far less than before is no cut but another way to count: some servers leave out what they had in their cache.
    fn cut(self, read: u64) -> Option<u64> {
        let (sent, most) = self.before.filter(|_| self.front == Front::MayBeCut)?;
        let is_more = self.sent > LEAST && self.sent / 3 >= sent / 2;
        let is_no_more = read <= most && read >= most / 2;
        (is_more && is_no_more).then_some(most)
    }

    /// Whether so much is all of a request whose front was cut off.
    pub(crate) fn is_cut(self, read: u64) -> bool {
        self.cut(read).is_some()
    }
}

/// What is told of a reply whose request taught that its target has a small window: `before` is the entry before it, `sent`
/// what was sent and expected.
pub(crate) fn told(before: Option<&Entry>, reply: &Entry, sent: Option<(u64, Expected)>) -> Option<Event> {
    let (Body::Setting(setting), Body::Reply(reply)) = (&before?.body, &reply.body) else { return None };
    let (Charge::Reported(usage), SettingSource::Learnt { request }) = (&reply.usage, &setting.by) else {
        return None;
    };
    let window: u64 = setting.value.as_ref()?.parse().ok().filter(|_| *request == reply.request)?;
    let (read, (sent, expected)) = (usage.input, sent?);
    // It may have read more than it seemed to take.
    if !expected.is_cut(read) {
        return None;
    }
    let text = format!(
        "the server read {read} tokens of about {sent}: it cuts off the front of what it is sent, the task among it, and \
         seems to take about {window}. Give it more (num_ctx of Ollama, --ctx-size of llama.cpp), and say how many with \
         model.window"
    );
    let source = NoteTold::Program(ProgramNote::CutPrompt);
    Some(Event::Note { entry: before?.seq, source, text: text.into() })
}
