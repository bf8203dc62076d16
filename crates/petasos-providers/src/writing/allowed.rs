//! Which fields of a block go back to where the block came from (L03).

use std::borrow::Cow;

use crate::lenient::Members;
use crate::writing::{Rule, Rules, json};

/// Of a block as its server sent it, the fields on this list, each value byte for byte as it came. What a server adds
/// for itself is no part of its requests, and strict ones refuse the whole request for it; so they do for a null.
pub(crate) fn allowed<'a>(raw: &'a str, fields: &[&str], rules: Rules) -> Cow<'a, str> {
    let Ok(members) = serde_json::from_str::<Members<'_>>(raw) else { return Cow::Borrowed(raw) };
    let is_allowed = |key: &str, value: &str| fields.contains(&key) && value != "null";
    if !rules.hold(Rule::ListedFieldsGoBack)
        || members.iter().all(|(key, value)| is_allowed(key, value.get()))
    {
        return Cow::Borrowed(raw);
    }
    let kept = members.iter().filter(|(key, value)| is_allowed(key, value.get()));
    let kept: Vec<String> = kept.map(|(key, value)| format!("{}:{}", json(key), value.get())).collect();
    Cow::Owned(format!("{{{}}}", kept.join(",")))
}
