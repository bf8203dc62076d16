//! Config files as they stand.

use std::path::Path;

use petasos_core::request::{ToolMode, Wire};
use petasos_core::turn::OnAsk;
use serde::Deserialize;

use super::amount::Millionths;
use super::names::complaint;
use super::resolve::Record;
use super::{ConfigError, paths};

/// What a file says; a name that is not there says nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) model: RawModel,
    pub(super) fallback: Option<Vec<RawModel>>,
    #[serde(alias = "max_turns", alias = "max_iterations")]
    pub(super) max_steps: Option<u32>,
    pub(super) limits: RawLimits,
    pub(super) tools: RawTools,
    pub(super) policy: RawPolicy,
    pub(super) timeouts: RawTimeouts,
    pub(super) durability: Option<RawDurability>,
    pub(super) record: Option<Record>,
    pub(super) guards: Option<RawGuards>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawModel {
    pub(super) provider: Option<String>,
    pub(super) name: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) api_mode: Option<Wire>,
    pub(super) tool_mode: Option<ToolMode>,
    pub(super) api_key_env: Option<String>,
    pub(super) window: Option<u64>,
    pub(super) max_output: Option<u64>,
    pub(super) temperature: Option<Millionths>,
    pub(super) price: Option<RawPrice>,
}

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPrice {
    pub(super) input: Millionths,
    pub(super) cached: Option<Millionths>,
    pub(super) cache_written: Option<Millionths>,
    pub(super) output: Millionths,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) tokens: Option<u64>,
    pub(super) usd: Option<Millionths>,
    /// Seconds.
    pub(super) time: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTools {
    pub(super) serial: Option<bool>,
    pub(super) run_tests: Option<String>,
    pub(super) result_chars: Option<usize>,
    pub(super) condense: Option<Vec<RawCondense>>,
    pub(super) fetch_private: Option<Vec<String>>,
    pub(super) disabled: Option<Vec<String>>,
}

/// What is picked of the results of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCondense {
    pub(super) tool: String,
    #[serde(rename = "match")]
    pub(super) only: Option<String>,
    pub(super) pick: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPolicy {
    pub(super) on_ask: Option<OnAsk>,
}

/// Seconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTimeouts {
    pub(super) connect: Option<u64>,
    pub(super) first_byte: Option<u64>,
    pub(super) idle: Option<u64>,
    pub(super) call: Option<u64>,
    pub(super) tool: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawDurability {
    Power,
    Process,
}

/// `on` and `off` are truth values to some who write YAML, and to some who read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawGuards {
    #[serde(alias = "true")]
    On,
    #[serde(alias = "false")]
    Off,
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Person,
    Workspace,
}

impl Raw {
    /// Reads a file; one that is not there says nothing.
    pub(super) fn read(path: &Path, owner: Owner) -> Result<Self, ConfigError> {
        let Some(text) = paths::read(path)? else { return Ok(Self::default()) };
        let bad = |what: String| ConfigError::Bad { path: path.to_owned(), what };
        // Comments alone are an empty document, which is no map.
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(Self::default());
        }
        let unread = |error: serde_saphyr::Error| {
            let what = without_keys(&error.without_snippet().to_string(), &text);
            bad(format!("{what}; see docs/format/config.md"))
        };
        let names: serde_json::Value = serde_saphyr::from_str(&text).map_err(unread)?;
        if let Some(what) = complaint(&names, owner == Owner::Workspace) {
            return Err(bad(what));
        }
        serde_saphyr::from_str(&text).map_err(unread)
    }
}

/// Shorter than this is no key.
const KEY_LENGTH: usize = 12;

/// What a parser says of a text, without those words of the text that may be a key: some put it into the file itself.
fn without_keys(what: &str, text: &str) -> String {
    let in_word =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '+' | '/');
    let may_be_key =
        |word: &str| word.len() >= KEY_LENGTH && word.contains(|letter: char| letter.is_ascii_digit());
    let mut shown = String::new();
    for piece in what.split_inclusive(|letter| !in_word(letter)) {
        let word = piece.trim_end_matches(|letter| !in_word(letter));
        if may_be_key(word) && text.contains(word) {
            shown.push('…');
            shown.extend(piece.strip_prefix(word));
        } else {
            shown.push_str(piece);
        }
    }
    shown
}
