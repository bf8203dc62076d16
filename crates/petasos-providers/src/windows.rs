//! What a server on one's own machine or network tells of itself: how many tokens it gives to a request, which is what it
//! was started with and not what its model's name tells, and whether the model runs there. Each kind of server is asked in
//! its own words, and those that do not know them say nothing.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::{known, object, string};

/// A question that one kind of server answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// Where it is put.
    pub(crate) place: Place,
    /// The path there.
    pub(crate) path: &'static [&'static str],
    /// How it is put.
    pub(crate) manner: Manner,
    /// What the answer says of the model of that name.
    pub(crate) read: fn(&str, &str) -> Looked,
}

/// What a server tells of itself and of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The tokens that it gives to a request.
    pub window: Option<u64>,
    /// Where the model runs.
    pub runs: Runs,
}

/// Where a model runs that a server answers for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runs {
    /// Nobody knows: a proxy in front of a paid provider has no address of its own either.
    #[default]
    Unknown,
    /// There: it is one of the servers that people run models with themselves, by words that only those know.
    There,
    /// Somewhere else, where requests are handed on to (Ollama's cloud models).
    Elsewhere,
}

impl Looked {
    /// Of an answer that only a server of this kind gives, with the window that it tells.
    fn there(window: Option<u64>) -> Self {
        Self { window, runs: Runs::There }
    }

    /// All that was told: the first window, and the word on where it runs that says most.
    pub(crate) fn all(told: impl IntoIterator<Item = Self>) -> Self {
        told.into_iter().fold(Self::default(), |all, one| Self {
            window: all.window.or(one.window),
            runs: all.runs.max(one.runs),
        })
    }
}

/// Where a question is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Below the base URL.
    Base,
    /// Below the root of the server.
    Root,
}

/// How a question is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `GET`.
    Plain,
    /// `POST`, with the name of the model.
    Named,
}

/// All of them; of windows the first that is told counts. What a model was trained for is no answer: servers give less.
pub(crate) const QUESTIONS: &[Question] = &[
    // llama.cpp, tools/server/README.md: the window of a slot.
    Question { place: Place::Root, path: &["props"], manner: Manner::Plain, read: of_props },
    // vLLM, `max_model_len` of its model cards.
    Question { place: Place::Base, path: &["models"], manner: Manner::Plain, read: of_models },
    // LM Studio, lmstudio.ai/docs/developer/rest/endpoints.
    Question { place: Place::Root, path: &["api", "v0", "models"], manner: Manner::Plain, read: of_loaded },
    // Ollama, docs/api.md: a model that is loaded.
    Question { place: Place::Root, path: &["api", "ps"], manner: Manner::Plain, read: of_running },
    // Ollama, docs/api.md: what its model file sets.
    Question { place: Place::Root, path: &["api", "show"], manner: Manner::Named, read: of_file },
];

#[derive(Deserialize)]
struct Props<'a> {
    #[serde(borrow, default)]
    default_generation_settings: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Slot<'a> {
    #[serde(borrow, default)]
    n_ctx: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    models: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Card<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_model_len: Option<&'a RawValue>,
    #[serde(borrow, default)]
    loaded_context_length: Option<&'a RawValue>,
    #[serde(borrow, default)]
    context_length: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    remote_host: Option<&'a RawValue>,
    #[serde(borrow, default)]
    remote_model: Option<&'a RawValue>,
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    object(serde_json::from_str::<&RawValue>(text).ok()?)
}

/// A window of nothing is none.
fn window(raw: Option<&RawValue>) -> Option<u64> {
    known(raw).filter(|tokens| *tokens > 0)
}

fn of_props(text: &str, _model: &str) -> Looked {
    let slot = read::<Props<'_>>(text).and_then(|props| props.default_generation_settings);
    let slot = slot.and_then(object::<Slot<'_>>);
    slot.map_or_else(Looked::default, |slot| Looked::there(window(slot.n_ctx)))
}

fn of_models(text: &str, model: &str) -> Looked {
    // Many servers list models; only this one tells so of them.
    let told = card(text, model).and_then(|card| window(card.max_model_len));
    told.map_or_else(Looked::default, |window| Looked::there(Some(window)))
}

fn of_loaded(text: &str, model: &str) -> Looked {
    card(text, model).map_or_else(Looked::default, |card| Looked::there(window(card.loaded_context_length)))
}

fn of_running(text: &str, model: &str) -> Looked {
    card(text, model).map_or_else(Looked::default, |card| Looked::there(window(card.context_length)))
}

/// The card of a model in a list. Ollama adds a tag to names that have none.
fn card<'a>(text: &'a str, model: &str) -> Option<Card<'a>> {
    let list: List<'_> = read(text)?;
    let cards: Vec<&RawValue> = serde_json::from_str(list.data.or(list.models)?.get()).ok()?;
    let is_meant = |card: &Card<'_>| {
        let name = card.id.or(card.name).and_then(string);
        name.is_some_and(|name| name == model || name.strip_suffix(":latest") == Some(model))
    };
    cards.into_iter().filter_map(object).find(is_meant)
}

/// Of the lines of a model file, the one that sets the window; and whether the model is one of the cloud.
fn of_file(text: &str, _model: &str) -> Looked {
    let Some(file) = read::<File<'_>>(text) else { return Looked::default() };
    let parameters = file.parameters.and_then(string);
    let set = parameters.as_deref().and_then(|parameters| {
        let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
        set.trim().parse().ok().filter(|tokens| *tokens > 0)
    });
    let is_remote = |raw: Option<&RawValue>| raw.and_then(string).is_some_and(|host| !host.is_empty());
    let runs = if is_remote(file.remote_host) || is_remote(file.remote_model) {
        Runs::Elsewhere
    } else if file.model_info.is_some() {
        Runs::There
    } else {
        Runs::Unknown
    };
    Looked { window: set, runs }
}
