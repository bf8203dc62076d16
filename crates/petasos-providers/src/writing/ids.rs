//! Ids of calls as they are sent: the wire's own where they fit, else ours, and the same for ever.

use std::collections::BTreeSet;

use petasos_core::entry::ModelCall;
use petasos_core::id::Seq;
use petasos_core::text::Text;
use sha2::{Digest as _, Sha256};

use crate::quirks::Ids;
use crate::writing::{Rule, Rules};

/// The longest id that all servers without a rule of their own take (OpenAI; others take more).
const LONGEST: usize = 40;
/// The length of the ids that [`Ids::Nine`] asks for.
const NINE: usize = 9;

/// The ids that were sent, and how the next one is made.
#[derive(Clone, Debug)]
pub(crate) struct WireIds {
    form: Ids,
    rules: Rules,
    sent: BTreeSet<String>,
}

impl WireIds {
    pub(crate) fn new(form: Ids, rules: Rules) -> Self {
        Self { form, rules, sent: BTreeSet::new() }
    }

    /// The id that a call is sent with.
    ///
    /// A function of the calls before it, so the same for ever. An id in the shape of ours is never kept where
    /// that shape tells; so ours, made of a place that no other call has, is new.
    pub(crate) fn take(&mut self, call: &ModelCall, reply: Seq, place: usize) -> String {
        let fits = |id: &Text| !self.rules.hold(Rule::IdsFit) || self.fits(id);
        let is_new = |id: &Text| !self.rules.hold(Rule::IdsOnce) || !self.sent.contains(&**id);
        let kept = call.wire_id.as_ref().filter(|id| fits(id) && is_new(id));
        let id = kept.map_or_else(|| self.made(reply, place), Text::to_string);
        self.sent.insert(id.clone());
        id
    }

    fn fits(&self, id: &str) -> bool {
        match self.form {
            Ids::Any => {
                (1..=LONGEST).contains(&id.len())
                    && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
                    && !is_ours(id)
            }
            Ids::Nine => id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        }
    }

    fn made(&self, reply: Seq, place: usize) -> String {
        match self.form {
            Ids::Any => format!("call_{reply}_{place}"),
            // Nine characters hold no place of any size; a digest of it that was not sent yet does.
            Ids::Nine => (0..u32::MAX)
                .map(|again| nine(&format!("{reply} {place} {again}")))
                .find(|id| !self.sent.contains(id))
                .unwrap_or_default(),
        }
    }
}

fn nine(text: &str) -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let letter =
        |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).map_or('a', |byte| char::from(*byte));
    Sha256::digest(text.as_bytes()).into_iter().take(NINE).map(letter).collect()
}

/// True for `call_<digits>_<digits>`.
fn is_ours(id: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = id.strip_prefix("call_").and_then(|rest| rest.split_once('_'));
    numbers.is_some_and(|(reply, place)| digits(reply) && digits(place))
}
