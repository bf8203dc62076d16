//! Which model is asked, and where it is served.
//!
//! A target names its provider: a row of the catalog, or the base URL itself, so that a log alone tells where a
//! session goes on. A key goes to the provider that it belongs to and nowhere else.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use petasos_core::request::{Target, ToolMode, Wire};
use petasos_core::text::Text;
use petasos_core::turn::Failure;
use petasos_providers::{
    Endpoint, HttpProvider, Looked, Place, Provider, Row, Secret, Tariff, catalog, is_on_this_machine,
    key_variables_of, row_of, tariff_by, tariff_of, wire_of,
};

use crate::config::{ConfigError, Environment, ModelNamed, ModelSettings, Settings};
use crate::front::Front;
use crate::requests::{Known, Providers};

/// How long a local server may take to answer a probe (`formats.md`).
const PROBE: Duration = Duration::from_millis(300);

/// How long a server may take to list its models: it reads no prompt for that.
const LISTING: Duration = Duration::from_secs(30);

/// How a model is asked, where somebody says.
#[derive(Clone, Copy, Debug, Default)]
struct Forms {
    api_mode: Option<Wire>,
    tool_mode: Option<ToolMode>,
}

impl Forms {
    fn of(named: &ModelNamed) -> Self {
        Self { api_mode: named.api_mode, tool_mode: named.tool_mode }
    }
}

/// A model that was chosen, and the ones after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Whom to ask.
    pub target: Target,
    /// Whom to ask when that fails.
    pub fallback: Vec<Target>,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Named,
    Listed,
    Found,
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Named => "",
            How::Listed => ", the first that the server lists",
            How::Found => ", found on this machine",
        };
        write!(f, "model {} at {}{how}", self.target.model, self.target.provider)
    }
}

/// Chooses a model.
pub(crate) async fn choose(settings: &Settings, environment: &Environment) -> Result<Chosen, ConfigError> {
    let endpoints = Endpoints::new(settings, environment);
    let fallback = fallbacks(&endpoints)?;
    let named = &endpoints.own;
    let Some(provider) = named.place().map(str::to_owned) else {
        // A model that is named is not to be another one that happens to run here.
        let is_named = ModelNamed { tool_mode: None, ..named.clone() } != ModelNamed::default();
        if is_named {
            return Err(nowhere(named));
        }
        let target = find(&endpoints, environment, Forms::of(named)).await?;
        return Ok(Chosen { target, fallback, how: How::Found });
    };
    if let Some(model) = &named.name {
        let target = endpoints.target(&provider, model, Forms::of(named))?;
        return Ok(Chosen { target, fallback, how: How::Named });
    }
    let any = endpoints.target(&provider, "", Forms::of(named))?;
    let server = endpoints.serving(&any).map_err(ConfigError::Setting)?;
    let Ok(models) = tokio::time::timeout(LISTING, server.models()).await else {
        return Err(setting(&format!(
            "{provider} did not list its models in 30 s; name one with --model NAME"
        )));
    };
    let models = models.map_err(|failure| cannot_list(&provider, &failure))?;
    let Some(first) = models.into_iter().next() else {
        return Err(setting(&format!("{provider} lists no models; name one with --model NAME")));
    };
    Ok(Chosen { target: Target { model: first, ..any }, fallback, how: How::Listed })
}

/// The fallbacks; what is wrong with any of them is told at once.
fn fallbacks(endpoints: &Endpoints) -> Result<Vec<Target>, ConfigError> {
    let target = |named: &ModelNamed| {
        let Some(model) = &named.name else {
            return Err("it has no `name`; give it one".to_owned());
        };
        let Some(provider) = named.place() else {
            return Err(format!("{model} has neither `provider` nor `base_url`; give it one"));
        };
        endpoints.target(provider, model, Forms::of(named)).map_err(|error| error.to_string())
    };
    let (mut targets, mut wrong) = (Vec::new(), Vec::new());
    for (number, named) in (1..).zip(&endpoints.settings.fallback) {
        match target(named) {
            Ok(target) => targets.push(target),
            Err(why) => wrong.push(format!("fallback {number}: {why}")),
        }
    }
    if wrong.is_empty() { Ok(targets) } else { Err(ConfigError::Setting(wrong.join("\n"))) }
}

fn nowhere(named: &ModelNamed) -> ConfigError {
    let what = match &named.name {
        Some(name) => format!("the model {name} is named, but not where it is served"),
        None => "something is said of the model, but not where it is served".to_owned(),
    };
    setting(&format!(
        "{what}; add --base-url URL, export the key of a provider, or put `provider` under `model` in the \
         config.yaml of the home folder: one of {}",
        known()
    ))
}

fn known() -> String {
    catalog().iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

fn cannot_list(provider: &str, failure: &Failure) -> ConfigError {
    let Failure { message, .. } = failure;
    ConfigError::Setting(format!(
        "the models of {provider} cannot be listed: {message}; name one with --model NAME"
    ))
}

fn setting(what: &str) -> ConfigError {
    ConfigError::Setting(what.to_owned())
}

/// A key in the environment counts as a choice of its provider, where nothing else chooses one.
fn with_key_in_environment(named: &ModelNamed, environment: &Environment) -> ModelNamed {
    let mut named = named.clone();
    if named.place().is_none() {
        let holds_key = |row: &&Row| key_variables(row).iter().any(|key| environment.get(key).is_some());
        named.provider = catalog().iter().find(holds_key).map(|row| row.name.to_owned());
    }
    named
}

fn row(name: &str) -> Option<&'static Row> {
    catalog().iter().find(|row| row.name == name)
}

/// True if a query has something by a name that keys go by.
fn holds_key(base_url: &str) -> bool {
    let query = base_url.split_once('?').map_or("", |(_, query)| query).to_ascii_lowercase();
    let mut names = query.split(['&', ';']).map(|pair| pair.split('=').next().unwrap_or_default());
    names
        .any(|name| ["key", "token", "secret", "sig", "auth", "passw"].iter().any(|word| name.contains(word)))
}

/// A variable that is not set. What does not look like one may be the key itself, put in the wrong place.
fn not_set(variable: &str) -> String {
    let is_usual = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    if variable.starts_with(|letter: char| letter.is_ascii_uppercase()) && variable.chars().all(is_usual) {
        return format!(
            "the variable {variable}, which is to hold the key, is not set; export {variable}=…, or write it into \
             .env in the home folder"
        );
    }
    "the variable that is to hold the key is not set, and its name is not shown, for it may be the key; put the \
     key into a variable such as MY_API_KEY, and name that variable"
        .to_owned()
}

fn key_variables(row: &Row) -> &'static [&'static str] {
    match row.place {
        Place::Hosted { key_variables, .. } => key_variables,
        Place::Local { .. } => &[],
    }
}

/// Asks the servers that may run on this machine; each gets 300 ms, all at once.
async fn find(endpoints: &Endpoints, environment: &Environment, forms: Forms) -> Result<Target, ConfigError> {
    if environment.get("PETASOS_NO_PROBE").is_none() {
        let local = catalog().iter().filter(|row| matches!(row.place, Place::Local { .. }));
        let probes = local.map(|row| async move {
            let target = endpoints.target(row.name, "", forms).ok()?;
            let models = endpoints.serving(&target).ok()?;
            let models = tokio::time::timeout(PROBE, models.models()).await.ok()?.ok()?;
            Some(Target { model: models.into_iter().next()?, ..target })
        });
        let found = futures_util::future::join_all(probes).await;
        if let Some(target) = found.into_iter().flatten().next() {
            return Ok(target);
        }
    }
    Err(setting(NO_MODEL))
}

const NO_MODEL: &str = "\
no model is named, and none was found on this machine. The shortest ways to get one:
  1. a server on this machine, which is found by itself: llama-server -m MODEL.gguf, or ollama run NAME
  2. any other server: petasos run --base-url URL --model NAME \"…\"
  3. a key of a provider: export OPENAI_API_KEY=…, then petasos run --model NAME \"…\"
To watch it work without a model: petasos demo --scripted";

/// A target that stands for none: a session without a turn, and no model named.
pub(crate) fn unnamed() -> Target {
    Target {
        provider: Text::default(),
        model: Text::default(),
        wire: Wire::Chat,
        tool_mode: ToolMode::Native,
    }
}

/// Where requests go, by which protocol, and the variable of the key, if one is named.
type Way = (Text, Wire, Option<Text>);

/// The endpoints of targets, made when they are first asked for.
#[derive(Debug)]
pub(crate) struct Endpoints {
    settings: Settings,
    environment: Environment,
    /// The model that is named, with what a key in the environment chooses.
    own: ModelNamed,
    made: Mutex<HashMap<Way, Arc<dyn Provider>>>,
    /// The keys that were used so far. The place of one in it is all that is told of it.
    keys: Mutex<Vec<Secret>>,
    /// What servers told of their models, or did not.
    looked: Mutex<HashMap<(Text, Text), Looked>>,
}

impl Endpoints {
    pub(crate) fn new(settings: &Settings, environment: &Environment) -> Self {
        Self {
            settings: settings.clone(),
            environment: environment.clone(),
            own: with_key_in_environment(&settings.model, environment),
            made: Mutex::default(),
            keys: Mutex::default(),
            looked: Mutex::default(),
        }
    }

    /// A target at a provider: a row of the catalog by name, or a base URL.
    fn target(&self, provider: &str, model: &str, forms: Forms) -> Result<Target, ConfigError> {
        let wire = forms.api_mode.unwrap_or_else(|| wire_of(provider));
        let tool_mode = forms.tool_mode.unwrap_or(ToolMode::Native);
        if (tool_mode, wire) == (ToolMode::Constrained, Wire::Messages) {
            return Err(setting(
                "with `tool_mode: constrained` a reply follows a format, and the protocol `messages` has none that \
                 servers hold to; use `api_mode: chat` for the same server, or `tool_mode: text`",
            ));
        }
        let target = Target { provider: provider.into(), model: model.into(), wire, tool_mode };
        self.endpoint(&target).map_err(ConfigError::Setting)?;
        Ok(target)
    }

    fn endpoint(&self, target: &Target) -> Result<Endpoint, String> {
        let provider = &*target.provider;
        let base_url = match row(provider) {
            Some(row) => row.base_url(),
            // What cannot be an address is told by the provider's own check; a bare word may be a name.
            None if provider.contains([':', '/', '.']) => provider.to_owned(),
            None => {
                let known = known();
                return Err(format!(
                    "there is no provider {provider:?}; name one of {known}, or an address with --base-url URL"
                ));
            }
        };
        if holds_key(&base_url) {
            let why = "the query of the base URL seems to hold a key, and an address is shown and kept; \
                       put the key into a variable and name that with --api-key-env";
            return Err(why.to_owned());
        }
        let endpoint = Endpoint::new(provider, &base_url, target.wire).map_err(|error| error.to_string())?;
        let endpoint = endpoint.with_set(self.settings.timeouts);
        Ok(match self.key(target)? {
            Some(key) => endpoint.with_key(key),
            None => endpoint,
        })
    }

    /// The key for a target: from the variable that is named with it or with its place, else from those of its row in
    /// the catalog. A base URL that the catalog does not know gets a key only if its variable is named.
    fn key(&self, target: &Target) -> Result<Option<Secret>, String> {
        if let Some(variable) = self.key_variable(target) {
            return match self.environment.get(variable) {
                Some(key) => Ok(Some(Secret::new(key))),
                None => Err(not_set(variable)),
            };
        }
        let base_url = row(&target.provider).map_or_else(|| target.provider.to_string(), Row::base_url);
        let keys = key_variables_of(&base_url);
        Ok(keys.iter().find_map(|key| self.environment.get(key)).map(Secret::new))
    }

    /// The variable that is named for the key of a target: with it, else with another model of its place.
    fn key_variable(&self, target: &Target) -> Option<&str> {
        let of_place = || {
            self.named().find(|named| named.place() == Some(&*target.provider) && named.api_key_env.is_some())
        };
        let own = self.named_as(target).filter(|named| named.place().is_some());
        own.filter(|named| named.api_key_env.is_some()).or_else(of_place)?.api_key_env.as_deref()
    }
}

/// What is wrong with a money limit at a target whose price nobody knows (B01).
fn no_price(target: &Target) -> ConfigError {
    let Target { model, provider, .. } = target;
    let here = if is_on_this_machine(target) {
        "; what listens on this machine may be in front of a provider that is paid, unless its server says that it is \
         llama.cpp, Ollama, LM Studio or vLLM: `price: {input: 0, output: 0}` says that it costs nothing"
    } else {
        ""
    };
    ConfigError::Setting(format!(
        "money is limited, and the price of {model} at {provider} is not known; put \
         `price: {{input: …, output: …}}`, in dollars for a million tokens, under `model` (or its `fallback`) in the \
         config.yaml of the home folder, or take `limits.usd` out{here}"
    ))
}

/// Whether money that is limited can be counted at these targets. Servers on this machine are asked whether they run their
/// models themselves.
pub(crate) async fn check_prices(
    settings: &Settings,
    environment: &Environment,
    targets: impl IntoIterator<Item = &Target>,
) -> Result<(), ConfigError> {
    let endpoints = Endpoints::new(settings, environment);
    for target in targets {
        endpoints.look(target).await;
        if endpoints.known(target).tariff.is_none() {
            return Err(no_price(target));
        }
    }
    Ok(())
}

impl Endpoints {
    /// The models that are named: the one that is asked first, then the fallbacks.
    fn named(&self) -> impl Iterator<Item = &ModelNamed> {
        std::iter::once(&self.own).chain(&self.settings.fallback)
    }

    /// What a person says of a target: the model that is named just so, else one that differs in how it is asked, else
    /// what is said of its place, or of any, without a name.
    fn named_as(&self, target: &Target) -> Option<&ModelNamed> {
        let closeness = |named: &&ModelNamed| {
            let is_there = named.place().is_none_or(|place| place == &*target.provider);
            let is_named = named.name.as_deref().is_none_or(|name| name == &*target.model);
            let wire = named.api_mode.unwrap_or_else(|| wire_of(&target.provider));
            let tool_mode = named.tool_mode.unwrap_or(ToolMode::Native);
            let is_asked_so = (wire, tool_mode) == (target.wire, target.tool_mode);
            (is_there && is_named).then_some((named.name.is_some(), is_asked_so, named.place().is_some()))
        };
        // Of those that are as close, the one that is asked first.
        let mut all: Vec<_> = self.named().filter_map(|named| Some((closeness(&named)?, named))).collect();
        all.sort_by_key(|(closeness, _)| std::cmp::Reverse(*closeness));
        all.first().map(|(_, named)| *named)
    }

    /// What a person set for the requests to a target.
    fn set_for(&self, target: &Target) -> ModelSettings {
        self.named_as(target).map(|named| named.set).unwrap_or_default()
    }

    /// What a target's server told, if it was asked.
    fn looked(&self, target: &Target) -> Option<Looked> {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.get(&(target.provider.clone(), target.model.clone())).copied()
    }

    /// True if only its server knows something of a target that is of use.
    fn is_worth_a_look(&self, target: &Target) -> bool {
        let set = self.set_for(target);
        let has_price = set.price.is_some() || !is_on_this_machine(target);
        (set.window.is_none() || !has_price) && self.looked(target).is_none()
    }
}

impl Providers for Endpoints {
    fn look<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if !self.is_worth_a_look(target) || self.environment.get("PETASOS_NO_PROBE").is_some() {
                return;
            }
            // Why a target cannot be asked is told where its requests are.
            let Ok(server) = self.serving(target) else { return };
            let told = server.look(&target.model).await;
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            looked.insert((target.provider.clone(), target.model.clone()), told);
        })
    }

    fn known(&self, target: &Target) -> Known {
        let ModelSettings { window, max_output, temperature, price } = self.set_for(target);
        let Looked { window: window_told, runs } = self.looked(target).unwrap_or_default();
        let tariff =
            price.map(Tariff::Flat).or_else(|| tariff_of(target)).or_else(|| tariff_by(target, runs));
        // Those of the catalog refuse what is too long.
        let is_hosted = row_of(&target.provider).is_some_and(|row| matches!(row.place, Place::Hosted { .. }));
        let front = if is_hosted { Front::Kept } else { Front::MayBeCut };
        Known { window, window_told, max_output, temperature, tariff, front }
    }

    fn key_number(&self, target: &Target) -> Option<usize> {
        let key = self.key(target).ok()??;
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let known = keys.iter().position(|known| *known == key);
        Some(known.unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        }))
    }

    fn serving(&self, target: &Target) -> Result<Arc<dyn Provider>, String> {
        let key = (target.provider.clone(), target.wire, self.key_variable(target).map(Text::from));
        // What is in the map is whole whatever happened to who held it.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = made.get(&key) {
            return Ok(Arc::clone(provider));
        }
        let provider: Arc<dyn Provider> = Arc::new(HttpProvider::new(self.endpoint(target)?));
        made.insert(key, Arc::clone(&provider));
        Ok(provider)
    }
}
