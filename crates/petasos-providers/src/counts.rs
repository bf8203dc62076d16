//! Tokens and money as the usage of a reply tells them, on the wires that OpenAI made.

use petasos_core::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::{known, number, object};

/// The numbers of one usage, each under whichever of its names a server has. Each may be missing, null or of another
/// type, which costs that number alone.
#[derive(Default, Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    completion_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    total_tokens: Option<&'a RawValue>,
    /// Moonshot.
    #[serde(borrow, default)]
    cached_tokens: Option<&'a RawValue>,
    /// DeepSeek.
    #[serde(borrow, default)]
    prompt_cache_hit_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_tokens_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    completion_tokens_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_tokens_details: Option<&'a RawValue>,
    /// OpenRouter.
    #[serde(borrow, default)]
    cost: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct InputDetails<'a> {
    #[serde(borrow, default)]
    cached_tokens: Option<&'a RawValue>,
    /// OpenRouter.
    #[serde(borrow, default)]
    cache_write_tokens: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct OutputDetails<'a> {
    #[serde(borrow, default)]
    reasoning_tokens: Option<&'a RawValue>,
}

/// What llama.cpp tells of a reply beside its usage, or in its place.
#[derive(Deserialize)]
struct Timings<'a> {
    /// Of the input, those that were read anew.
    #[serde(borrow, default)]
    prompt_n: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_n: Option<&'a RawValue>,
    #[serde(borrow, default)]
    predicted_n: Option<&'a RawValue>,
}

/// A usage: its tokens, and what it costs in the server's own words, as far as they can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) usage: Option<Usage>,
    pub(crate) micro_usd: Option<u64>,
}

impl Counts {
    /// Those of a `usage`.
    pub(crate) fn read(raw: &RawValue) -> Self {
        let Some(fields) = object::<Fields<'_>>(raw) else { return Self::default() };
        Self { usage: fields.usage(), micro_usd: fields.cost.and_then(|raw| micro_usd(raw.get())) }
    }

    /// Those of llama.cpp's `timings`. An older one does not say what came from its cache, and a part is not the
    /// whole.
    pub(crate) fn of_timings(raw: &RawValue) -> Self {
        let usage = || {
            let timings: Timings<'_> = object(raw)?;
            let cached = known(timings.cache_n)?;
            let input = known(timings.prompt_n)?.checked_add(cached)?;
            Some(Usage { input, output: known(timings.predicted_n)?, cached, ..Usage::default() })
        };
        Self { usage: usage(), micro_usd: None }
    }
}

impl Fields<'_> {
    /// Nothing unless input and output are both known: half of it would be taken for the whole, and unknown is not
    /// zero. Of what is a part of them, unknown is none.
    fn usage(&self) -> Option<Usage> {
        let total = known(self.total_tokens);
        // Some servers send both names, and a 0 under the one that is not of the wire.
        let either = |one, other| known(one).max(known(other));
        // No request has no input: a gateway that does not know it says 0.
        let input = either(self.prompt_tokens, self.input_tokens).filter(|input| *input > 0);
        let output = either(self.completion_tokens, self.output_tokens);
        let (input, output) = match (input, output) {
            (Some(input), Some(output)) => (input, output),
            (Some(input), None) => (input, total?.checked_sub(input)?),
            (None, Some(output)) => (total?.checked_sub(output)?, output),
            (None, None) => return None,
        };
        let details = self.prompt_tokens_details.or(self.input_tokens_details);
        let details: InputDetails<'_> = details.and_then(object).unwrap_or_default();
        let made = self.completion_tokens_details.or(self.output_tokens_details);
        let made: OutputDetails<'_> = made.and_then(object).unwrap_or_default();
        let reasoning = number(made.reasoning_tokens);
        // xAI counts reasoning beside the output, OpenAI inside it; the total tells which.
        let beside = input.checked_add(output).and_then(|sum| sum.checked_add(reasoning));
        let is_beside = reasoning > 0 && beside.is_some() && beside == total;
        let output = if is_beside { output.saturating_add(reasoning) } else { output };
        // One number under three names. A part is never more than the whole.
        let cached = [details.cached_tokens, self.cached_tokens, self.prompt_cache_hit_tokens];
        let cached = cached.into_iter().map(number).max().unwrap_or(0).min(input);
        let cache_written = number(details.cache_write_tokens).min(input.saturating_sub(cached));
        Some(Usage { input, output, cached, reasoning: reasoning.min(output), cache_written })
    }
}

/// Dollars in decimal digits, as millionths of one, rounded up: what is paid is not less than what is told. None of
/// what is no amount.
pub fn micro_usd(text: &str) -> Option<u64> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = [whole, part].concat();
    if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let places = i32::try_from(part.len()).ok()?;
    let shift = exponent.checked_sub(places)?.checked_add(6)?;
    let amount: u128 = all.parse().ok()?;
    let power = |by: u32| 10_u128.checked_pow(by);
    let micro = if shift >= 0 {
        if amount == 0 { 0 } else { amount.checked_mul(power(shift.unsigned_abs())?)? }
    } else {
        // Below any unit that a number of that many digits could reach, there is only what is rounded up.
        power(shift.unsigned_abs()).map_or(u128::from(amount > 0), |unit| amount.div_ceil(unit))
    };
    u64::try_from(micro).ok()
}
