//! Providers that are known, as data. A provider on a known wire is a row here and nothing else.
//!
//! The rows are a table in Rust and no file: the compiler checks them, nothing is parsed at start, and no
//! crate is needed for it.

use petasos_core::request::Wire;

/// A provider that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is called in config and targets.
    pub name: &'static str,
    /// Where it is.
    pub place: Place,
    /// The wires it speaks at that place, the best first.
    pub wires: &'static [Wire],
    /// What the cap of a reply's tokens is called in its chat requests.
    pub output_cap: &'static str,
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
        .capped_by("max_completion_tokens")
        .from("platform.openai.com/docs/api-reference"),
    hosted("anthropic", "https://api.anthropic.com/v1", &["ANTHROPIC_API_KEY"], &[Wire::Messages])
        .from("docs.claude.com/en/api/overview"),
    hosted("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], CHAT)
        .from("openrouter.ai/docs/quickstart"),
    hosted("deepseek", "https://api.deepseek.com", &["DEEPSEEK_API_KEY"], CHAT).from("api-docs.deepseek.com"),
    hosted("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], CHAT).from("docs.mistral.ai/api"),
    hosted("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], CHAT)
        .from("console.groq.com/docs/openai"),
    hosted("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], CHAT).from("docs.x.ai/docs/api-reference"),
    hosted("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"], CHAT)
        .from("docs.together.ai/docs/openai-api-compatibility"),
    local("llama.cpp", 8080).from("github.com/ggml-org/llama.cpp, tools/server/README.md"),
    local("ollama", 11434).from("github.com/ollama/ollama, docs/openai.md"),
    local("lmstudio", 1234).from("lmstudio.ai/docs/developer/openai-compat"),
    local("vllm", 8000).from("docs.vllm.ai, serving/openai_compatible_server"),
];

/// What nearly all servers call the cap of a reply's tokens; OpenAI's newer models refuse it.
const OUTPUT_CAP: &str = "max_tokens";

const CHAT: &[Wire] = &[Wire::Chat];

/// The wires that this build can write and read.
pub fn spoken_wires() -> &'static [Wire] {
    CHAT
}

/// All rows.
pub fn catalog() -> &'static [Row] {
    ROWS
}

/// What the cap of a reply's tokens is called at this provider: a row by its name, or a base URL.
pub(crate) fn output_cap(provider: &str) -> &'static str {
    let address = provider.trim().trim_end_matches('/');
    let is_row = |row: &&Row| row.name == provider || row.base_url().trim_end_matches('/') == address;
    ROWS.iter().find(is_row).map_or(OUTPUT_CAP, |row| row.output_cap)
}

impl Row {
    /// The base URL of its requests.
    pub fn base_url(&self) -> String {
        match self.place {
            Place::Hosted { base_url, .. } => base_url.to_owned(),
            // An address and no name: a name may mean IPv6, where most of these do not listen.
            Place::Local { port } => format!("http://127.0.0.1:{port}/v1"),
        }
    }

    /// The best of its wires that this build speaks; none if it speaks none of them.
    pub fn spoken_wire(&self) -> Option<Wire> {
        self.wires.iter().copied().find(|wire| spoken_wires().contains(wire))
    }

    const fn capped_by(self, output_cap: &'static str) -> Self {
        Self { output_cap, ..self }
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
    let place = Place::Hosted { base_url, key_variables };
    Row { name, place, wires, output_cap: OUTPUT_CAP, source: "", written: "2026-11" }
}

const fn local(name: &'static str, port: u16) -> Row {
    let place = Place::Local { port };
    Row { name, place, wires: CHAT, output_cap: OUTPUT_CAP, source: "", written: "2026-11" }
}
