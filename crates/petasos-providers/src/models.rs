//! The list of models as servers write it.

use petasos_core::stop::FailureKind;
use petasos_core::text::Text;
use petasos_core::turn::Failure;
use serde::Deserialize;

use crate::classify::{Reported, classify_reported, sample};
use crate::secret::Secret;

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    data: Option<Vec<Model>>,
    #[serde(default)]
    models: Option<Vec<Model>>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    id: Option<Text>,
    #[serde(default)]
    name: Option<Text>,
}

/// The names in a list of models, in its order. What is told of a body that is none is told without the key.
pub(crate) fn read(host: &str, body: &[u8], key: Option<&Secret>) -> Result<Vec<Text>, Failure> {
    let body = String::from_utf8_lossy(body);
    let body = body.trim_start_matches('\u{feff}').trim();
    let models = if body.starts_with('[') {
        // Together sends the bare list.
        serde_json::from_str(body).ok()
    } else {
        serde_json::from_str::<List>(body).ok().and_then(|list| list.data.or(list.models))
    };
    if let Some(models) = models {
        let models: Vec<Model> = models;
        return Ok(models.into_iter().filter_map(|model| model.id.or(model.name)).collect());
    }
    if let Some(reported) = Reported::read(body) {
        return Err(classify_reported(host, &reported.without_key(key)));
    }
    // Taken out before anything is cut: half a key would not be found.
    let body = key.map_or_else(|| body.to_owned(), |key| key.hidden_in(body));
    let message = format!(
        "{host} sent {}, not a list of models; is the base URL right? it usually ends in /v1",
        sample(&body, "")
    );
    Err(Failure {
        kind: FailureKind::BadRequest,
        status: None,
        message: message.into(),
        retry_after: None,
        remedy: None,
        usage: None,
        micro_usd: None,
    })
}
