//! Providers that are known, as data. A provider on a known wire is a row here and nothing else.
//!
//! The rows are a table in Rust and no file: the compiler checks them, nothing is parsed at start, and no
//! crate is needed for it.

use petasos_core::request::Wire;

use crate::address::Address;
use crate::quirks::{
    AfterResults, CostTold, Ids, MessagesKey, OutputCap, Quirks, ReasoningBack, StreamUsage,
};

/// A provider that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is called in config and targets.
    pub name: &'static str,
    /// Where it is.
    pub place: Place,
    /// The wires it speaks at that place, the best first.
    pub wires: &'static [Wire],
    /// What differs there from the usual ways of a wire.
    pub quirks: Quirks,
    /// Where this is written.
    pub source: &'static str,
    /// When the row was written: year and month.
    pub written: &'static str,
}

/// Where a provider is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this URL, for whoever has a key.
    Hosted {
        /// The base URL.
        base_url: &'static str,
        /// Further hosts of the same provider, each as a base URL, where the same holds.
        others: &'static [&'static str],
        /// The variables that its key stands in, the first one set counts.
        key_variables: &'static [&'static str],
    },
    /// On this machine, at this port unless its person chose another: what a probe looks for.
    Local {
        /// The port.
        port: u16,
    },
}

/// The rows, in the order in which they are looked at.
const ROWS: &[Row] = &[
    hosted("openai", "https://api.openai.com/v1", &["OPENAI_API_KEY"], &[Wire::Responses, Wire::Chat])
        .with(Quirks {
            output_cap: OutputCap::MaxCompletionTokens,
            // The reasoning models; the others answer 400 to a request for sealed reasoning.
            sealed_reasoning: &["o1", "o3", "o4", "gpt-5", "codex"],
            unsealed: &["gpt-5-chat"],
            thinks_long: &["o1", "o3", "o4", "gpt-5", "codex"],
            ..Quirks::USUAL
        })
        .from(
            "platform.openai.com/docs/api-reference, platform.openai.com/docs/guides/reasoning; \
             github.com/openai/openai-python waits 600 s",
        ),
    hosted("anthropic", "https://api.anthropic.com/v1", &["ANTHROPIC_API_KEY"], &[Wire::Messages])
        .with(Quirks { messages_key: MessagesKey::OwnHeader, ..Quirks::USUAL })
        .from("docs.claude.com/en/api/overview"),
    hosted("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], CHAT)
        .with(Quirks {
            thinks_long: &[
                "openai/o1",
                "openai/o3",
                "openai/o4",
                "openai/gpt-5",
                "deepseek/deepseek-r1",
                "moonshotai/kimi-k2-thinking",
            ],
            cost_told: CostTold::InUsage,
            ..Quirks::USUAL
        })
        .from(
            "openrouter.ai/docs/quickstart, openrouter.ai/docs/use-cases/usage-accounting; the models are those of \
             the other rows",
        ),
    hosted("deepseek", "https://api.deepseek.com", &["DEEPSEEK_API_KEY"], CHAT)
        .with(Quirks {
            reasoning: ReasoningBack::Always,
            thinks_long: &["deepseek-reasoner"],
            ..Quirks::USUAL
        })
        .from(
            "api-docs.deepseek.com/guides/thinking_mode; api-docs.deepseek.com/quick_start/rate_limit: it closes \
             a request that has not begun after 10 minutes",
        ),
    hosted("moonshot", "https://api.moonshot.ai/v1", &["MOONSHOT_API_KEY"], CHAT)
        .also_at(&["https://api.moonshot.cn/v1"])
        .with(Quirks {
            reasoning: ReasoningBack::Always,
            thinks_long: &["kimi-k2-thinking"],
            ..Quirks::USUAL
        })
        .from("platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model"),
    hosted("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], CHAT)
        .with(Quirks {
            ids: Ids::Nine,
            after_results: AfterResults::Assistant,
            stream_usage: StreamUsage::Told,
            ..Quirks::USUAL
        })
        .from("docs.mistral.ai/api, github.com/mistralai/mistral-common"),
    hosted("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], CHAT)
        .from("console.groq.com/docs/openai"),
    hosted("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], CHAT).from("docs.x.ai/docs/api-reference"),
    hosted("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"], CHAT)
        .from("docs.together.ai/docs/openai-api-compatibility"),
    local("llama.cpp", 8080, ALL)
        .with(TEMPLATES)
        .from("github.com/ggml-org/llama.cpp, tools/server/README.md, models/templates"),
    local("ollama", 11434, ALL).from("github.com/ollama/ollama, docs/api"),
    local("lmstudio", 1234, ALL).with(TEMPLATES).from("lmstudio.ai/docs/developer"),
    local("vllm", 8000, ALL)
        .with(TEMPLATES)
        .from("docs.vllm.ai, serving/openai_compatible_server; huggingface.co, mistralai chat templates"),
];

/// Servers that write prompts by the model's own template: those of Mistral's models refuse other ids than these,
/// and no template minds them.
const TEMPLATES: Quirks = Quirks { ids: Ids::Nine, ..Quirks::USUAL };

const CHAT: &[Wire] = &[Wire::Chat];
const ALL: &[Wire] = &[Wire::Chat, Wire::Responses, Wire::Messages];

/// All rows.
pub fn catalog() -> &'static [Row] {
    ROWS
}

/// The row of a provider: by its name, or by an address whose host and port are those of the row, however it is
/// spelt and whatever its path. For a server on this machine any name of the machine will do.
pub fn row_of(provider: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == provider).or_else(|| {
        let address = Address::read(provider)?;
        ROWS.iter().find(|row| row.is_at(&address))
    })
}

/// The variables whose keys may go to this address: those of the row that it belongs to, and over `https` alone.
pub fn key_variables_of(base_url: &str) -> &'static [&'static str] {
    let Some(address) = Address::read(base_url) else { return &[] };
    let row = ROWS.iter().find(|row| row.is_at(&address));
    match row.map(|row| row.place) {
        Some(Place::Hosted { key_variables, .. }) if address.is_sealed() => key_variables,
        Some(Place::Hosted { .. } | Place::Local { .. }) | None => &[],
    }
}

/// The wire that a provider is asked on where nobody says: what the path of its address tells, for who gives the
/// whole path of requests has chosen; else the first of its row; else chat completions, which nearly all servers
/// speak.
pub fn wire_of(provider: &str) -> Wire {
    let by_path = Address::read(provider)
        .and_then(|address| PATHS.iter().find(|(end, _)| address.last_word() == *end).map(|(_, wire)| *wire));
    by_path.or_else(|| row_of(provider).map(Row::wire)).unwrap_or(Wire::Chat)
}

/// What stands last in the path of a base URL, a `v1` behind it aside: how providers of several wires tell them
/// apart (DeepSeek, Moonshot, z.ai and MiniMax serve Messages under `/anthropic`), and what requests go to, where
/// somebody gave that whole.
const PATHS: &[(&str, Wire)] = &[
    ("anthropic", Wire::Messages),
    ("messages", Wire::Messages),
    ("responses", Wire::Responses),
    ("completions", Wire::Chat),
];

impl Row {
    /// The base URL of its requests.
    pub fn base_url(&self) -> String {
        match self.place {
            Place::Hosted { base_url, .. } => base_url.to_owned(),
            // An address and no name: a name may mean IPv6, where most of these do not listen.
            Place::Local { port } => format!("http://127.0.0.1:{port}/v1"),
        }
    }

    /// True if this address is one of its own.
    fn is_at(&self, address: &Address) -> bool {
        match self.place {
            Place::Hosted { base_url, others, .. } => {
                std::iter::once(&base_url).chain(others).any(|url| address.is_host_of(url))
            }
            Place::Local { port } => address.is_local_port(port),
        }
    }

    /// The best of its wires.
    pub fn wire(&self) -> Wire {
        self.wires.first().copied().unwrap_or(Wire::Chat)
    }

    const fn also_at(self, others: &'static [&'static str]) -> Self {
        let place = match self.place {
            Place::Hosted { base_url, key_variables, .. } => {
                Place::Hosted { base_url, others, key_variables }
            }
            Place::Local { port } => Place::Local { port },
        };
        Self { place, ..self }
    }

    const fn with(self, quirks: Quirks) -> Self {
        Self { quirks, ..self }
    }

    const fn from(self, source: &'static str) -> Self {
        Self { source, ..self }
    }
}

const fn hosted(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    wires: &'static [Wire],
) -> Row {
    let place = Place::Hosted { base_url, others: &[], key_variables };
    Row { name, place, wires, quirks: Quirks::USUAL, source: "", written: "2026-11" }
}

const fn local(name: &'static str, port: u16, wires: &'static [Wire]) -> Row {
    let place = Place::Local { port };
    Row { name, place, wires, quirks: Quirks::USUAL, source: "", written: "2026-11" }
}
