//! What differs at a provider from the usual ways of its wire, as data: a row of the catalog says it, and the
//! encoders and decoders ask. What nobody has written down stays as usual.

use petasos_core::learnt::{CapName, Learnt, Parameter};
use petasos_core::request::Target;
use petasos_core::text::Text;

use crate::catalog::row_of;
use crate::spoken::wire_name;

/// What differs at a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// What the cap of a reply's tokens is called in its chat requests.
    pub output_cap: OutputCap,
    /// What of its own reasoning it wants back in chat requests.
    pub reasoning: ReasoningBack,
    /// Which ids of calls it takes.
    pub ids: Ids,
    /// What may stand behind results in chat requests.
    pub after_results: AfterResults,
    /// How the names of those models begin that give their reasoning in a sealed form if they are asked for it
    /// (Responses); others refuse a request that asks.
    pub sealed_reasoning: &'static [&'static str],
    /// How the names of those among them begin that refuse it all the same.
    pub unsealed: &'static [&'static str],
    /// How the names of those models begin that may think for minutes before their first word: they are waited for
    /// longer.
    pub thinks_long: &'static [&'static str],
    /// How it is brought to tell the usage of a streamed chat reply.
    pub stream_usage: StreamUsage,
    /// Which headers the key of a Messages request goes into.
    pub messages_key: MessagesKey,
    /// Where it tells what a reply costs.
    pub cost_told: CostTold,
}

/// What the cap of a reply's tokens is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputCap {
    /// `max_tokens`: nearly everywhere.
    MaxTokens,
    /// `max_completion_tokens`: OpenAI, whose newer models refuse the other.
    MaxCompletionTokens,
}

/// What of its own reasoning a server wants back as `reasoning_content`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningBack {
    /// Nothing: the field is not sent.
    Nothing,
    /// Every message of the assistant's has the field; it is empty where the reasoning is another's, or none.
    Always,
}

/// Which ids of calls a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// 1 to 40 of `[A-Za-z0-9_-]`: what all take.
    Any,
    /// Exactly 9 of `[A-Za-z0-9]`.
    Nine,
}

/// What may stand behind results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterResults {
    /// Anything.
    Anything,
    /// Only the assistant.
    Assistant,
}

/// How a server is brought to tell the usage of a streamed chat reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamUsage {
    /// By `stream_options`.
    Asked,
    /// It tells by itself, and takes no request that asks.
    Told,
}

/// Which headers the key of a Messages request goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagesKey {
    /// `x-api-key`, the wire's own, and `Authorization: Bearer`, which vLLM and others read whatever the wire.
    BothHeaders,
    /// `x-api-key` alone: at Anthropic the other header is for tokens of another kind.
    OwnHeader,
}

/// Where a server tells what a reply costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostTold {
    /// It does not.
    Nowhere,
    /// `cost` of its usage, in dollars.
    InUsage,
}

impl Quirks {
    /// The usual ways.
    pub const USUAL: Self = Self {
        output_cap: OutputCap::MaxTokens,
        reasoning: ReasoningBack::Nothing,
        ids: Ids::Any,
        after_results: AfterResults::Anything,
        sealed_reasoning: &[],
        unsealed: &[],
        thinks_long: &[],
        stream_usage: StreamUsage::Asked,
        messages_key: MessagesKey::BothHeaders,
        cost_told: CostTold::Nowhere,
    };

    /// These, and what was learnt since.
    #[must_use]
    pub(crate) fn adapted(self, learnt: &Learnt) -> Self {
        let output_cap = match (self.output_cap, learnt.cap_name) {
            (usual, CapName::Usual) => usual,
            (OutputCap::MaxTokens, CapName::Other) => OutputCap::MaxCompletionTokens,
            (OutputCap::MaxCompletionTokens, CapName::Other) => OutputCap::MaxTokens,
        };
        let asks = learnt.sends(Parameter::StreamOptions);
        let stream_usage = if asks { self.stream_usage } else { StreamUsage::Told };
        let gives_back = learnt.sends(Parameter::ReasoningBack);
        let reasoning = if gives_back { self.reasoning } else { ReasoningBack::Nothing };
        Self { output_cap, stream_usage, reasoning, ..self }
    }

    /// True if a model may think for minutes before its first word.
    pub(crate) fn is_slow(&self, model: &str) -> bool {
        let model = model.to_ascii_lowercase();
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        begins(self.thinks_long) && !begins(self.unsealed)
    }

    /// Those of a provider: a row by its name, or by its base URL.
    pub fn of(provider: &str) -> Self {
        row_of(provider).map_or(Self::USUAL, |row| row.quirks)
    }
}

/// Where a reply came from, as it is written on what only its origin understands: provider, wire and model. A
/// sealed reasoning may not be read by another model of the same provider.
pub fn origin(target: &Target) -> Text {
    let wire = wire_name(target.wire);
    format!("{} {wire} {}", target.provider, target.model).into()
}
