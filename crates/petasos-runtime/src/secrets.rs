//! What is hidden from whoever reads a result: the keys that this process was given, and those of the home folder.

use petasos_providers::{Place, catalog};
use petasos_tools::Mask;

use crate::config::{Environment, Settings};

/// Beginning of the names of our own variables, whose values are settings.
const OWN: &str = "PETASOS_";

/// The mask of all keys that are known: those in the variables that the catalog names and those that somebody named for
/// a model, and all that stands in the `.env` of the home folder (`kept`) but settings and addresses.
pub(crate) fn mask(environment: &Environment, settings: &Settings, kept: &[(String, String)]) -> Mask {
    let of_catalog = catalog().iter().flat_map(|row| match row.place {
        Place::Hosted { key_variables, .. } => key_variables,
        Place::Local { .. } => &[],
    });
    let models = std::iter::once(&settings.model).chain(&settings.fallback);
    let named = models.filter_map(|model| model.api_key_env.as_deref());
    let variables: Vec<&str> = of_catalog.copied().chain(named).collect();
    let set =
        variables.iter().filter_map(|name| Some(((*name).to_owned(), environment.get(name)?.to_owned())));
    let is_key = |name: &str, value: &str| variables.contains(&name) || !is_no_secret(name, value);
    let kept = kept.iter().filter(|(name, value)| is_key(name, value)).cloned();
    Mask::new(set.chain(kept))
}

/// True for what may stand among keys and is none: hidden, it would take words and paths out of every result.
fn is_no_secret(name: &str, value: &str) -> bool {
    let is_address = value.contains("://") && !value.contains(['@', '?', '#']);
    name.starts_with(OWN) || value.starts_with('/') || is_address
}
