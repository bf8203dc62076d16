//! The settings of a run, from all layers.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use petasos_core::bounded::Cap;
use petasos_core::budget::Limits;
use petasos_core::request::{Temperature, ToolMode, Wire};
use petasos_core::time::Span;
use petasos_core::turn::{Guards, OnAsk};
use petasos_providers::{Price, TimeoutsSet};
use petasos_store::Durability;
use petasos_tools::{CondenseRule, Options};
use serde::Deserialize;

use super::ConfigError;
use super::amount::Millionths;
use super::paths::{Environment, Places};
use super::raw::{Owner, Raw, RawCondense, RawDurability, RawGuards, RawModel, RawTimeouts};

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--base-url`.
    pub base_url: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--api-key-env`.
    pub api_key_env: Option<String>,
    /// `--api-mode`.
    pub api_mode: Option<Wire>,
    /// `--max-steps`.
    pub max_steps: Option<u32>,
    /// `--deterministic`.
    pub deterministic: bool,
}

impl Flags {
    /// True if they say anything of the model.
    pub fn names_a_model(&self) -> bool {
        let Self { base_url, model, api_key_env, api_mode, max_steps: _, deterministic: _ } = self;
        base_url.is_some() || model.is_some() || api_key_env.is_some() || api_mode.is_some()
    }
}

/// A model as somebody named it; what is missing comes from the catalog, or is asked of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNamed {
    /// A row of the catalog.
    pub provider: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Where it is served.
    pub base_url: Option<String>,
    /// The wire it speaks.
    pub api_mode: Option<Wire>,
    /// How it calls tools.
    pub tool_mode: Option<ToolMode>,
    /// The variable that holds the key.
    pub api_key_env: Option<String>,
    /// What is set for its requests.
    pub set: ModelSettings,
}

/// What a person sets for the requests to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// Tokens that it takes.
    pub window: Option<u64>,
    /// Output cap in tokens.
    pub max_output: Option<u64>,
    /// How much chance there is in the choice of words.
    pub temperature: Option<Temperature>,
    /// What it costs.
    pub price: Option<Price>,
}

impl ModelNamed {
    /// True if nothing is said of which it is.
    pub fn is_empty(&self) -> bool {
        *self == Self { set: self.set, ..Self::default() }
    }

    /// Where it is served: a base URL, or a row of the catalog.
    pub(crate) fn place(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.provider.as_deref())
    }

    /// False if both name a place, and not the same one.
    fn may_be_at(&self, other: &Self) -> bool {
        match (self.place(), other.place()) {
            (Some(own), Some(other)) => own == other,
            (None, _) | (_, None) => true,
        }
    }
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The model.
    pub model: ModelNamed,
    /// The models that are asked when it fails, in order.
    pub fallback: Vec<ModelNamed>,
    /// What a turn may use.
    pub limits: Limits,
    /// Calls run one after the other.
    pub serial: bool,
    /// The command of `run_tests`.
    pub run_tests: Option<String>,
    /// Most characters of a tool's result.
    pub result_cap: Cap,
    /// What is picked of JSON results.
    pub condense: Vec<CondenseRule>,
    /// Addresses of pages that are fetched though they are on this machine or near it.
    pub fetch_private: Vec<SocketAddr>,
    /// Tools that are left out.
    pub disabled: Vec<String>,
    /// What becomes of a call that asks, if a file says.
    pub on_ask: Option<OnAsk>,
    /// Time bounds of requests, where a file says.
    pub timeouts: TimeoutsSet,
    /// How long a command may take whose call does not say.
    pub tool_limit: Duration,
    /// What synced means.
    pub durability: Durability,
    /// What is kept of requests beside their hashes.
    pub record: Record,
    /// Whether guards watch over a turn.
    pub guards: Guards,
}

/// What is kept of requests beside their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// Nothing.
    #[default]
    None,
    /// The bytes of each new part, as a blob under its hash.
    Parts,
}

impl Default for Settings {
    /// What holds where nobody says anything.
    fn default() -> Self {
        Self {
            model: ModelNamed::default(),
            fallback: Vec::new(),
            limits: Limits { steps: Some(Limits::DEFAULT_STEPS), ..Limits::default() },
            serial: false,
            run_tests: None,
            result_cap: Cap::RESULT,
            condense: Vec::new(),
            fetch_private: Vec::new(),
            disabled: Vec::new(),
            on_ask: None,
            timeouts: TimeoutsSet::default(),
            tool_limit: Options::LIMIT,
            durability: Durability::Power,
            record: Record::None,
            guards: Guards::On,
        }
    }
}

impl Settings {
    /// Reads the layers and puts them over each other.
    ///
    /// # Errors
    /// [`ConfigError`]: which file, what in it, and what next.
    pub fn resolve(places: &Places, environment: &Environment, flags: &Flags) -> Result<Self, ConfigError> {
        let home = Raw::read(&places.home_file(), Owner::Person)?;
        let workspace = match places.workspace_file() {
            Some(path) => Raw::read(&path, Owner::Workspace)?,
            None => Raw::default(),
        };
        let from_flags = ModelNamed {
            name: flags.model.clone(),
            base_url: flags.base_url.clone(),
            api_mode: flags.api_mode,
            api_key_env: flags.api_key_env.clone(),
            ..ModelNamed::default()
        };
        let from_environment = model_of(environment)?;
        let from_workspace = ModelNamed { name: workspace.model.name, ..ModelNamed::default() };
        let chance = |raw: &RawModel| named(raw, flags.deterministic);
        let from_home = chance(&home.model)?;
        let mut model = over([&from_flags, &from_environment, &from_workspace, &from_home]);
        if from_home.name.is_some() && from_home.name != model.name {
            // It is that of another model.
            model.set.price = None;
        }
        if flags.deterministic {
            model.set.temperature = Some(Temperature(0));
        }
        let asked = first([flags.max_steps, steps_of(environment)?]);
        // A person's word for this run is above the workspace; only what is below is lowered by it.
        let steps = match asked {
            Some(steps) => Some(steps),
            None => lower(home.max_steps.or(Some(Limits::DEFAULT_STEPS)), workspace.max_steps),
        };
        if steps == Some(0) {
            let what = "a turn of no steps does nothing; `max_steps` is 1 at least";
            return Err(ConfigError::Setting(what.to_owned()));
        }
        let limits = Limits {
            steps,
            tokens: lower(home.limits.tokens, workspace.limits.tokens),
            micro_usd: lower(home.limits.usd, workspace.limits.usd).map(|amount| amount.0),
            time: lower(home.limits.time, workspace.limits.time).map(Span::seconds),
        };
        let mut disabled = home.tools.disabled.unwrap_or_default();
        disabled.extend(workspace.tools.disabled.unwrap_or_default());
        let tool_limit = seconds("tool", home.timeouts.tool)?.unwrap_or(Options::LIMIT);
        let timeouts = timeouts(&home.timeouts)?;
        Ok(Self {
            model,
            fallback: home.fallback.unwrap_or_default().iter().map(chance).collect::<Result<_, _>>()?,
            limits,
            serial: flags.deterministic || home.tools.serial.unwrap_or(false),
            run_tests: home.tools.run_tests,
            result_cap: result_cap(home.tools.result_chars)?,
            condense: rules(home.tools.condense.unwrap_or_default())?,
            fetch_private: addresses(home.tools.fetch_private.unwrap_or_default())?,
            disabled,
            on_ask: home.policy.on_ask,
            timeouts,
            tool_limit,
            durability: match home.durability {
                Some(RawDurability::Process) => Durability::Process,
                Some(RawDurability::Power) | None => Durability::Power,
            },
            record: home.record.unwrap_or_default(),
            guards: match first([workspace.guards, home.guards]) {
                Some(RawGuards::Off) => Guards::Off,
                Some(RawGuards::On) | None => Guards::On,
            },
        })
    }
}

/// The model that variables name.
fn model_of(environment: &Environment) -> Result<ModelNamed, ConfigError> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let api_mode = match environment.get("PETASOS_API_MODE") {
        None => None,
        Some(text) => Some(wire(text).ok_or_else(|| {
            let what = format!("PETASOS_API_MODE is {text:?}; it may be chat, responses or messages");
            ConfigError::Setting(what)
        })?),
    };
    Ok(ModelNamed {
        name: variable("PETASOS_MODEL"),
        base_url: variable("PETASOS_BASE_URL"),
        api_mode,
        api_key_env: variable("PETASOS_API_KEY_ENV"),
        ..ModelNamed::default()
    })
}

/// The fewest and the most characters that a result may be given. With fewer an error or the end of a page that says
/// how to go on would not fit; with more it would be more than is held in memory of an output.
const RESULT_CHARS: RangeInclusive<usize> = 2_000..=1_000_000;

/// The cap of results that a person set.
fn result_cap(characters: Option<usize>) -> Result<Cap, ConfigError> {
    match characters {
        None => Ok(Cap::RESULT),
        Some(characters) if RESULT_CHARS.contains(&characters) => Ok(Cap(characters)),
        Some(characters) => Err(ConfigError::Setting(format!(
            "`tools.result_chars` is {characters}, in the config.yaml of the home folder; write a number from {} to {}, \
             or leave it out for {}",
            RESULT_CHARS.start(),
            RESULT_CHARS.end(),
            Cap::RESULT.0
        ))),
    }
}

/// What is picked of results, as a person wrote it. Read at once, so that what is wrong is told before a session.
fn rules(written: Vec<RawCondense>) -> Result<Vec<CondenseRule>, ConfigError> {
    let read = (1..).zip(written).map(|(place, RawCondense { tool, only, pick })| {
        CondenseRule::new(tool, only, &pick).map_err(|error| {
            ConfigError::Setting(format!("rule {place} of `tools.condense` cannot be used: {error}"))
        })
    });
    read.collect()
}

/// Addresses with their ports, as a person lists them. A name may be another address tomorrow.
fn addresses(listed: Vec<String>) -> Result<Vec<SocketAddr>, ConfigError> {
    let read = listed.into_iter().map(|address| {
        address.trim().parse().map_err(|_| {
            ConfigError::Setting(format!(
                "`tools.fetch_private` holds {address:?}; write an address with its port, such as 127.0.0.1:8080 or \
                 [::1]:8080"
            ))
        })
    });
    read.collect()
}

/// A wait that a person set. None at all would fail everything before it is answered.
fn seconds(name: &str, seconds: Option<u64>) -> Result<Option<Duration>, ConfigError> {
    match seconds {
        Some(0) => Err(ConfigError::Setting(format!(
            "`timeouts.{name}` is 0, and nothing comes in no time; write seconds, 1 at least, or leave it out \
             for the usual wait"
        ))),
        seconds => Ok(seconds.map(Duration::from_secs)),
    }
}

/// The waits for requests that a person set.
fn timeouts(raw: &RawTimeouts) -> Result<TimeoutsSet, ConfigError> {
    Ok(TimeoutsSet {
        connect: seconds("connect", raw.connect)?,
        first_byte: seconds("first_byte", raw.first_byte)?,
        idle: seconds("idle", raw.idle)?,
        call: seconds("call", raw.call)?,
    })
}

fn named(raw: &RawModel, is_deterministic: bool) -> Result<ModelNamed, ConfigError> {
    let temperature = raw.temperature.map(temperature).transpose()?;
    let price = raw.price.map(|price| Price {
        input: price.input.0,
        cached: price.cached.unwrap_or(price.input).0,
        cache_written: price.cache_written.unwrap_or(price.input).0,
        output: price.output.0,
    });
    Ok(ModelNamed {
        provider: raw.provider.clone(),
        name: raw.name.clone(),
        base_url: raw.base_url.clone(),
        api_mode: raw.api_mode,
        tool_mode: raw.tool_mode,
        api_key_env: raw.api_key_env.clone(),
        set: ModelSettings {
            window: raw.window,
            max_output: raw.max_output,
            temperature: if is_deterministic { Some(Temperature(0)) } else { temperature },
            price,
        },
    })
}

/// A temperature as a file has it.
fn temperature(amount: Millionths) -> Result<Temperature, ConfigError> {
    let bad = || ConfigError::Setting("`model.temperature` is a number from 0 to 2, such as 0.7".to_owned());
    let thousandths = u16::try_from(amount.0.div_ceil(1_000)).ok().filter(|most| *most <= 2_000);
    thousandths.map(Temperature).ok_or_else(bad)
}

/// Layers over each other, the first on top. What a layer says of a model belongs to the place that it names: a key,
/// a name or a protocol that stands with one address never goes to another that a layer above it names.
fn over(layers: [&ModelNamed; 4]) -> ModelNamed {
    let mut model = ModelNamed::default();
    for layer in layers {
        if layer.may_be_at(&model) {
            let ModelNamed { provider, name, base_url, api_mode, tool_mode, api_key_env, set } =
                layer.clone();
            model = ModelNamed {
                provider: model.provider.or(provider),
                name: model.name.or(name),
                base_url: model.base_url.or(base_url),
                api_mode: model.api_mode.or(api_mode),
                tool_mode: model.tool_mode.or(tool_mode),
                api_key_env: model.api_key_env.or(api_key_env),
                set: if model.set == ModelSettings::default() { set } else { model.set },
            };
        }
    }
    model
}

fn first<T, const N: usize>(layers: [Option<T>; N]) -> Option<T> {
    layers.into_iter().flatten().next()
}

/// The lower of two limits; none is no limit.
fn lower<T: Ord>(own: Option<T>, other: Option<T>) -> Option<T> {
    match (own, other) {
        (Some(own), Some(other)) => Some(own.min(other)),
        (own, other) => own.or(other),
    }
}

fn steps_of(environment: &Environment) -> Result<Option<u32>, ConfigError> {
    let Some(text) = environment.get("PETASOS_MAX_STEPS") else { return Ok(None) };
    let bad = |_| {
        ConfigError::Setting(format!("PETASOS_MAX_STEPS is {text:?}; it is a number of steps, such as 90"))
    };
    text.parse().map(Some).map_err(bad)
}

/// A wire by the name that `--api-mode` has for it.
pub(crate) fn wire(text: &str) -> Option<Wire> {
    match text {
        "chat" => Some(Wire::Chat),
        "responses" => Some(Wire::Responses),
        "messages" => Some(Wire::Messages),
        _ => None,
    }
}
