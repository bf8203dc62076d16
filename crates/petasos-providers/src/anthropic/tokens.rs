//! The usage of a reply, as its events tell it.

use petasos_core::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::{known, number, object};

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_read_input_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_tokens_details: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    thinking_tokens: Option<&'a RawValue>,
}

/// Tokens as told so far. Each number is that of the whole reply up to its event, so the last one counts and
/// nothing is added up; a 0 behind another number is a server that did not know any more.
///
/// The input is told at the start or at the end; the output at the end alone, for what stands at the start (1 at
/// Anthropic) was put there before there was any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Not those that are in the two below.
    input: u64,
    cache_written: u64,
    cache_read: u64,
    /// None before the end.
    output: Option<u64>,
    thinking: u64,
}

impl Tokens {
    /// Takes in the usage at the start of a reply.
    pub(super) fn begin(&mut self, usage: &RawValue) {
        if let Some(fields) = object::<Fields<'_>>(usage) {
            self.take_input(&fields);
        }
    }

    /// Takes in the usage at its end.
    pub(super) fn end(&mut self, usage: &RawValue) {
        let Some(fields) = object::<Fields<'_>>(usage) else { return };
        self.take_input(&fields);
        let details = fields.output_tokens_details.and_then(object::<Details<'_>>);
        let thinking = details.map_or(0, |details| number(details.thinking_tokens));
        if thinking > 0 {
            self.thinking = thinking;
        }
        self.output = known(fields.output_tokens)
            .filter(|told| *told > 0)
            .or(self.output)
            .or(known(fields.output_tokens));
    }

    fn take_input(&mut self, fields: &Fields<'_>) {
        let input = [fields.input_tokens, fields.cache_creation_input_tokens, fields.cache_read_input_tokens];
        // The three are parts of one number, so they count together: an estimate at the start holds what turns
        // out to be from the cache.
        if input.iter().any(|raw| number(*raw) > 0) {
            let mine = [&mut self.input, &mut self.cache_written, &mut self.cache_read];
            for (mine, raw) in mine.into_iter().zip(input) {
                if raw.is_some() {
                    *mine = number(raw);
                }
            }
        }
    }

    /// What was used; nothing unless both sides were told, for unknown is not zero.
    pub(super) fn usage(self) -> Option<Usage> {
        let output = self.output?;
        let input = self.input.saturating_add(self.cache_written).saturating_add(self.cache_read);
        let reasoning = self.thinking.min(output);
        let (cached, cache_written) = (self.cache_read, self.cache_written);
        Some(Usage { input, output, cached, reasoning, cache_written })
    }
}
