//! Whether a server read all that it was sent.
//!
//! Some servers on people's own machines (Ollama, whose window is a setting of the server) drop the front of a prompt
//! that is too long, system text and tools first, and answer as if nothing were missing. Only the number of tokens that they
//! report tells.

use petasos_core::entry::{Body, Charge, Entry, SettingSource};
use petasos_core::request::Target;
use petasos_core::usage::Usage;

use crate::event::{Event, NoteTold, ProgramNote};

/// A smaller request fits any window, and the estimate of one may be wrong by more than its half.
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

/// What is expected of a request that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    front: Front,
    /// Tokens that the target would count, as far as can be known.
    tokens: u64,
}

impl Expected {
    /// By the estimate, and by how the target counted an earlier request: an estimate that is wrong for its words is
    /// wrong for the next request too.
    pub(crate) fn new(front: Front, sent: u64, before: Option<&Counted>) -> Self {
        let tokens = match before {
            Some(before) if before.sent > 0 => {
                let scaled = u128::from(sent) * u128::from(before.read) / u128::from(before.sent);
                sent.min(u64::try_from(scaled).unwrap_or(u64::MAX))
            }
            Some(_) | None => sent,
        };
        Self { front, tokens }
    }

    /// The window that the target seems to have, if it read less than half of what it was sent: the next power of two,
    /// for windows are such numbers, and what is left of a prompt is cut at a message, so below its window.
    pub(crate) fn window(self, usage: Option<&Usage>) -> Option<u64> {
        let read = usage?.input;
        let is_cut = self.tokens > LEAST && read > 0 && read.saturating_mul(2) < self.tokens;
        match self.front {
            Front::MayBeCut if is_cut => read.checked_next_power_of_two(),
            Front::MayBeCut | Front::Kept => None,
        }
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
    let (read, (sent, _)) = (usage.input, sent?);
    let text = format!(
        "the server read {read} tokens of about {sent}: it cuts off the front of what it is sent, the task among it, and \
         seems to take about {window}. Give it more (num_ctx of Ollama, --ctx-size of llama.cpp), and say how many with \
         model.window"
    );
    let source = NoteTold::Program(ProgramNote::CutPrompt);
    Some(Event::Note { entry: before?.seq, source, text: text.into() })
}
