//! What models cost, as data: dated rows, each with its source. What is in no row has no known price, which is not
//! a price of nothing.

use petasos_core::request::Target;
use petasos_core::usage::Usage;

use crate::catalog::{Place, row_of};
use crate::windows::Runs;

/// What a million tokens cost, in millionths of a dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Of input that is read anew.
    pub input: u64,
    /// Of input from the provider's cache.
    pub cached: u64,
    /// Of input that is written to it.
    pub cache_written: u64,
    /// Of output, reasoning among it.
    pub output: u64,
}

/// The prices of a model, by the size of a request's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tariff {
    /// One for all.
    Flat(Price),
    /// The first that reaches as far counts; beyond the last one the price is not known.
    Ranges(&'static [Range]),
}

/// A price up to an input of so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The largest input.
    pub upto: u64,
    /// Its price.
    pub price: Price,
}

/// The tariff of models by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceRow {
    /// The row of the catalog that serves them.
    pub provider: &'static str,
    /// Its names; a date may stand behind each.
    pub models: &'static [&'static str],
    /// What they cost.
    pub ranges: &'static [Range],
    /// Where this is written.
    pub source: &'static str,
    /// When it was read: year and month.
    pub read: &'static str,
}

impl Price {
    /// Of what costs nothing.
    pub const FREE: Self = Self { input: 0, cached: 0, cache_written: 0, output: 0 };

    /// A usage in millionths of a dollar, rounded up; what is larger than any number is the largest one.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let Usage { input, output, cached, cache_written, reasoning: _ } = *usage;
        let anew = input.saturating_sub(cached).saturating_sub(cache_written);
        let parts = [
            (anew, self.input),
            (cached, self.cached),
            (cache_written, self.cache_written),
            (output, self.output),
        ];
        let sum = parts.into_iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(u128::from(price)))
        });
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl Tariff {
    /// A usage in millionths of a dollar, rounded up; none if it is larger than any price is known for.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        Some(self.price(usage.input)?.cost(usage))
    }

    /// The most that so many tokens can cost: none of the input comes from a cache, and all of it may be written to
    /// one.
    pub fn worst(&self, input: u64, output: u64) -> Option<u64> {
        let price = self.price(input)?;
        let price = Price { input: price.input.max(price.cache_written), ..price };
        Some(price.cost(&Usage { input, output, ..Usage::default() }))
    }

    fn price(&self, input: u64) -> Option<Price> {
        match self {
            Self::Flat(price) => Some(*price),
            Self::Ranges(ranges) => ranges.iter().find(|range| input <= range.upto).map(|range| range.price),
        }
    }
}

/// What a target costs, if the table tells it.
pub fn tariff_of(target: &Target) -> Option<Tariff> {
    let row = row_of(&target.provider)?;
    match row.place {
        Place::Hosted { .. } => PRICES
            .iter()
            .find(|price| {
                price.provider == row.name && price.models.iter().any(|known| is_of(&target.model, known))
            })
            .map(|price| Tariff::Ranges(price.ranges)),
        // What listens at an address of this machine may hand requests on to a provider that is paid.
        Place::Local { .. } => None,
    }
}

/// What a target costs by what its server told of itself: a model that runs on this machine costs nothing.
pub fn tariff_by(target: &Target, runs: Runs) -> Option<Tariff> {
    (runs == Runs::There && is_on_this_machine(target)).then_some(Tariff::Flat(Price::FREE))
}

/// True for a target that is asked at an address of this machine.
pub fn is_on_this_machine(target: &Target) -> bool {
    match row_of(&target.provider).map(|row| row.place) {
        Some(Place::Local { .. }) => true,
        Some(Place::Hosted { .. }) => false,
        None => crate::address::is_on_this_machine(&target.provider),
    }
}

/// All rows.
pub fn prices() -> &'static [PriceRow] {
    PRICES
}

/// True if a name is this one, or this one with a date behind it: another model of a family has another price.
fn is_of(model: &str, known: &str) -> bool {
    let Some(rest) = model.strip_prefix(known) else { return false };
    let is_date = |rest: &str| {
        rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            && rest.bytes().filter(u8::is_ascii_digit).count() >= 4
    };
    rest.is_empty() || rest.strip_prefix('-').is_some_and(is_date) || rest == "-latest"
}

const ANY: u64 = u64::MAX;

/// Dollars are written as millionths: `1_250_000` is $1.25.
const fn upto(upto: u64, input: u64, cached: u64, output: u64) -> Range {
    Range { upto, price: Price { input, cached, cache_written: input, output } }
}

/// The same where writing to the cache has a price of its own: 1.25 times that of input, for the 5 minutes that our
/// marks ask for.
const fn claude(input: u64, cached: u64, output: u64) -> Range {
    let range = upto(ANY, input, cached, output);
    Range { price: Price { cache_written: input / 4 * 5, ..range.price }, ..range }
}

const fn row(
    provider: &'static str,
    models: &'static [&'static str],
    ranges: &'static [Range],
    (source, read): (&'static str, &'static str),
) -> PriceRow {
    PriceRow { provider, models, ranges, source, read }
}

const OPENAI: (&str, &str) =
    ("openai.com/api/pricing, by benchlm.ai/blog/posts/openai-api-pricing", "2026-04");
const OPENAI_5_5: (&str, &str) = ("openai.com/api/pricing, by morphllm.com/openai-api-pricing", "2026-06");
const OPENAI_OLDER: (&str, &str) = (
    "openai.com/api/pricing, by deploybase.ai/articles/openai-pricing and github/docs \
     data/tables/copilot/models-and-pricing.yml",
    "2026-03",
);
const ANTHROPIC: (&str, &str) = ("platform.claude.com/docs/en/about-claude/pricing", "2026-10");
const ANTHROPIC_OLDER: (&str, &str) = ("docs.claude.com/en/docs/about-claude/pricing", "2025-11");
/// Half of it outside of the hours of most use: what is told and reserved is the upper bound.
const DEEPSEEK: (&str, &str) =
    ("api-docs.deepseek.com/quick_start/pricing, the price of peak hours", "2026-10");
const KIMI_K3: (&str, &str) = ("platform.kimi.ai/docs/pricing/chat-k3", "2026-07");
const KIMI_K3_1: (&str, &str) = ("docs.apiyi.com/en/api-capabilities/kimi-k3-1, as the vendor's", "2026-10");
const MISTRAL: (&str, &str) = ("docs.mistral.ai/models/model-cards/mistral-medium-3-5-26-04", "2026-04");
const GROQ: (&str, &str) = ("console.groq.com/docs/models", "2026-07");
const XAI_4_7: (&str, &str) =
    ("docs.x.ai/developers/grok-4-7, apidog.com/blog/how-to-use-grok-4-7-api", "2026-09");
const XAI_4_5: (&str, &str) = ("docs.x.ai/developers/grok-4-5", "2026-07");

const PRICES: &[PriceRow] = &[
    row("openai", &["gpt-5.5"], &[upto(272_000, 5_000_000, 500_000, 30_000_000)], OPENAI_5_5),
    row(
        "openai",
        &["gpt-5.4"],
        &[upto(272_000, 2_500_000, 250_000, 15_000_000), upto(ANY, 5_000_000, 500_000, 22_500_000)],
        OPENAI,
    ),
    row("openai", &["gpt-5.4-mini"], &[upto(ANY, 750_000, 75_000, 4_500_000)], OPENAI),
    row("openai", &["gpt-5.4-nano"], &[upto(ANY, 200_000, 20_000, 1_250_000)], OPENAI),
    row("openai", &["gpt-5.2"], &[upto(ANY, 1_750_000, 175_000, 14_000_000)], OPENAI),
    row("openai", &["gpt-5.1"], &[upto(ANY, 1_250_000, 125_000, 10_000_000)], OPENAI),
    row("openai", &["gpt-5-mini"], &[upto(ANY, 250_000, 25_000, 2_000_000)], OPENAI_OLDER),
    row("openai", &["gpt-4.1"], &[upto(ANY, 2_000_000, 500_000, 8_000_000)], OPENAI_OLDER),
    row("anthropic", &["claude-fable-5-1"], &[claude(10_000_000, 250_000, 50_000_000)], ANTHROPIC),
    row("anthropic", &["claude-fable-5"], &[claude(10_000_000, 1_000_000, 50_000_000)], ANTHROPIC),
    row(
        "anthropic",
        &["claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5"],
        &[claude(5_000_000, 500_000, 25_000_000)],
        ANTHROPIC,
    ),
    row("anthropic", &["claude-opus-4-1"], &[claude(15_000_000, 1_500_000, 75_000_000)], ANTHROPIC),
    row("anthropic", &["claude-haiku-4-5"], &[claude(1_000_000, 100_000, 5_000_000)], ANTHROPIC_OLDER),
    // Longer requests have another price, and are taken only with a header that is not sent.
    row(
        "anthropic",
        &["claude-sonnet-4-5", "claude-sonnet-4"],
        &[Range { upto: 200_000, ..claude(3_000_000, 300_000, 15_000_000) }],
        ANTHROPIC_OLDER,
    ),
    row(
        "deepseek",
        &["deepseek-flash", "deepseek-v4-flash"],
        &[upto(ANY, 300_000, 6_000, 1_200_000)],
        DEEPSEEK,
    ),
    row("deepseek", &["deepseek-v4-pro"], &[upto(ANY, 1_320_000, 44_000, 3_960_000)], DEEPSEEK),
    row("moonshot", &["kimi-k3"], &[upto(ANY, 3_000_000, 300_000, 15_000_000)], KIMI_K3),
    row("moonshot", &["kimi-k3.1-pro"], &[upto(ANY, 2_000_000, 200_000, 10_000_000)], KIMI_K3_1),
    // No price of cached input is told there, nor at Groq: it counts as any other.
    row(
        "mistral",
        &["mistral-medium-3.5", "mistral-medium-3-5"],
        &[upto(ANY, 1_500_000, 1_500_000, 7_500_000)],
        MISTRAL,
    ),
    row("groq", &["openai/gpt-oss-120b"], &[upto(ANY, 150_000, 150_000, 600_000)], GROQ),
    row(
        "xai",
        &["grok-4.7"],
        &[upto(199_999, 2_000_000, 500_000, 6_000_000), upto(ANY, 4_000_000, 1_000_000, 12_000_000)],
        XAI_4_7,
    ),
    row("xai", &["grok-4.5"], &[upto(199_999, 2_000_000, 500_000, 6_000_000)], XAI_4_5),
];
