//! The settings of a run, from all layers.

use std::time::Duration;

use petasos_core::bounded::Cap;
use petasos_core::budget::Limits;
use petasos_core::request::{ToolMode, Wire};
use petasos_core::time::Span;
use petasos_core::turn::{Guards, OnAsk};
use petasos_providers::TimeoutsSet;
use petasos_store::Durability;

use super::ConfigError;
use super::paths::{Environment, Places};
use super::raw::{Owner, Raw, RawDurability, RawGuards, RawModel, RawTimeouts};

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
}

impl Flags {
    /// True if they say anything of the model.
    pub fn names_a_model(&self) -> bool {
        let Self { base_url, model, api_key_env, api_mode, max_steps: _ } = self;
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
}

impl ModelNamed {
    /// True if nothing is said of it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
    /// Tokens that the model takes.
    pub window: Option<u64>,
    /// Output cap in tokens.
    pub max_output: Option<u64>,
    /// What a turn may use.
    pub limits: Limits,
    /// Calls run one after the other.
    pub serial: bool,
    /// The command of `run_tests`.
    pub run_tests: Option<String>,
    /// Most characters of a tool's result.
    pub result_cap: Cap,
    /// Tools that are left out.
    pub disabled: Vec<String>,
    /// What becomes of a call that asks, if a file says.
    pub on_ask: Option<OnAsk>,
    /// Time bounds of requests, where a file says.
    pub timeouts: TimeoutsSet,
    /// What synced means.
    pub durability: Durability,
    /// Whether guards watch over a turn.
    pub guards: Guards,
}

impl Default for Settings {
    /// What holds where nobody says anything.
    fn default() -> Self {
        Self {
            model: ModelNamed::default(),
            fallback: Vec::new(),
            window: None,
            max_output: None,
            limits: Limits { steps: Some(Limits::DEFAULT_STEPS), ..Limits::default() },
            serial: false,
            run_tests: None,
            result_cap: Cap::RESULT,
            disabled: Vec::new(),
            on_ask: None,
            timeouts: TimeoutsSet::default(),
            durability: Durability::Power,
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
        let variable = |name: &str| environment.get(name).map(str::to_owned);
        let api_mode = match environment.get("PETASOS_API_MODE") {
            None => None,
            Some(text) => Some(wire(text).ok_or_else(|| {
                let what = format!("PETASOS_API_MODE is {text:?}; it may be chat, responses or messages");
                ConfigError::Setting(what)
            })?),
        };
        let from_flags = ModelNamed {
            provider: None,
            name: flags.model.clone(),
            base_url: flags.base_url.clone(),
            api_mode: flags.api_mode,
            tool_mode: None,
            api_key_env: flags.api_key_env.clone(),
        };
        let from_environment = ModelNamed {
            provider: None,
            name: variable("PETASOS_MODEL"),
            base_url: variable("PETASOS_BASE_URL"),
            api_mode,
            tool_mode: None,
            api_key_env: variable("PETASOS_API_KEY_ENV"),
        };
        let from_workspace = ModelNamed { name: workspace.model.name, ..ModelNamed::default() };
        let from_home = named(&home.model);
        let model = over([&from_flags, &from_environment, &from_workspace, &from_home]);
        let sizes = if from_home.may_be_at(&model) { home.model } else { RawModel::default() };
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
            micro_usd: None,
            time: lower(home.limits.time, workspace.limits.time).map(Span::seconds),
        };
        let mut disabled = home.tools.disabled.unwrap_or_default();
        disabled.extend(workspace.tools.disabled.unwrap_or_default());
        let timeouts = timeouts(&home.timeouts)?;
        Ok(Self {
            model,
            fallback: home.fallback.unwrap_or_default().iter().map(named).collect(),
            window: sizes.window,
            max_output: sizes.max_output,
            limits,
            serial: home.tools.serial.unwrap_or(false),
            run_tests: home.tools.run_tests,
            result_cap: home.tools.result_chars.map_or(Cap::RESULT, Cap),
            disabled,
            on_ask: home.policy.on_ask,
            timeouts,
            durability: match home.durability {
                Some(RawDurability::Process) => Durability::Process,
                Some(RawDurability::Power) | None => Durability::Power,
            },
            guards: match first([workspace.guards, home.guards]) {
                Some(RawGuards::Off) => Guards::Off,
                Some(RawGuards::On) | None => Guards::On,
            },
        })
    }
}

/// The waits that a person set. None at all would fail every request before it is answered.
fn timeouts(raw: &RawTimeouts) -> Result<TimeoutsSet, ConfigError> {
    let seconds = |name: &str, seconds: Option<u64>| match seconds {
        Some(0) => Err(ConfigError::Setting(format!(
            "`timeouts.{name}` is 0, and nothing comes in no time; write seconds, 1 at least, or leave it out \
             for the usual wait"
        ))),
        seconds => Ok(seconds.map(Duration::from_secs)),
    };
    Ok(TimeoutsSet {
        connect: seconds("connect", raw.connect)?,
        first_byte: seconds("first_byte", raw.first_byte)?,
        idle: seconds("idle", raw.idle)?,
        call: seconds("call", raw.call)?,
    })
}

fn named(raw: &RawModel) -> ModelNamed {
    ModelNamed {
        provider: raw.provider.clone(),
        name: raw.name.clone(),
        base_url: raw.base_url.clone(),
        api_mode: raw.api_mode,
        tool_mode: raw.tool_mode,
        api_key_env: raw.api_key_env.clone(),
    }
}

/// Layers over each other, the first on top. What a layer says of a model belongs to the place that it names: a key,
/// a name or a protocol that stands with one address never goes to another that a layer above it names.
fn over(layers: [&ModelNamed; 4]) -> ModelNamed {
    let mut model = ModelNamed::default();
    for layer in layers {
        if layer.may_be_at(&model) {
            let ModelNamed { provider, name, base_url, api_mode, tool_mode, api_key_env } = layer.clone();
            model = ModelNamed {
                provider: model.provider.or(provider),
                name: model.name.or(name),
                base_url: model.base_url.or(base_url),
                api_mode: model.api_mode.or(api_mode),
                tool_mode: model.tool_mode.or(tool_mode),
                api_key_env: model.api_key_env.or(api_key_env),
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
