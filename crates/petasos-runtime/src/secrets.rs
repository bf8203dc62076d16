//! What is hidden from whoever reads a result: the keys that this process was given, and those of the home folder.

use petasos_providers::{Place, catalog};
use petasos_tools::{Mask, Origin, is_secret};

use crate::config::{Environment, Settings};

/// Beginning of the names of our own variables, whose values are settings.
const OWN: &str = "PETASOS_";

/// The mask of all keys that are known: those in the variables that the catalog names and those that somebody named for
/// a model, what is one of all that stands in the `.env` of the home folder (`kept`), and of all variables.
pub(crate) fn mask(environment: &Environment, settings: &Settings, kept: &[(String, String)]) -> Mask {
    let of_catalog = catalog().iter().flat_map(|row| match row.place {
        Place::Hosted { key_variables, .. } => key_variables,
        Place::Local { .. } => &[],
    });
    let models = std::iter::once(&settings.model).chain(&settings.fallback);
    let named = models.filter_map(|model| model.api_key_env.as_deref());
    let variables: Vec<&str> = of_catalog.copied().chain(named).collect();
    let is_key = |origin: Origin, name: &str, value: &str| {
        let origin = if variables.contains(&name) { Origin::Named } else { origin };
        (origin == Origin::Named || !name.starts_with(OWN)) && is_secret(origin, name, value)
    };
    // Those that were named come first: a value has the name that it is known by.
    let set = variables.iter().filter_map(|name| Some((*name, environment.get(name)?)));
    let kept = kept.iter().map(|(name, value)| (Origin::File, &**name, &**value));
    let others = environment.all().map(|(name, value)| (Origin::Process, name, value));
    let set = set.map(|(name, value)| (Origin::Named, name, value));
    let keys = set.chain(kept).chain(others).filter(|(origin, name, value)| is_key(*origin, name, value));
    Mask::new(keys.map(|(_, name, value)| (name.to_owned(), value.to_owned())))
}
