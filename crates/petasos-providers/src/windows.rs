//! How many tokens a server on one's own machine or network gives to a request: what it was started with, which its
//! model's name does not tell. Each kind of server is asked in its own words, and those that do not know them say nothing.

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
    pub(crate) read: fn(&str, &str) -> Option<u64>,
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

/// All of them; the first that is answered counts. What a model was trained for is no answer: servers give less.
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
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    object(serde_json::from_str::<&RawValue>(text).ok()?)
}

/// A window of nothing is none.
fn window(raw: Option<&RawValue>) -> Option<u64> {
    known(raw).filter(|tokens| *tokens > 0)
}

fn of_props(text: &str, _model: &str) -> Option<u64> {
    let slot: Slot<'_> = object(read::<Props<'_>>(text)?.default_generation_settings?)?;
    window(slot.n_ctx)
}

fn of_models(text: &str, model: &str) -> Option<u64> {
    window(card(text, model)?.max_model_len)
}

fn of_loaded(text: &str, model: &str) -> Option<u64> {
    window(card(text, model)?.loaded_context_length)
}

fn of_running(text: &str, model: &str) -> Option<u64> {
    window(card(text, model)?.context_length)
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

/// Of the lines of a model file, the one that sets the window.
fn of_file(text: &str, _model: &str) -> Option<u64> {
    let parameters = read::<File<'_>>(text)?.parameters.and_then(string)?;
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
    set.trim().parse().ok().filter(|tokens| *tokens > 0)
}
