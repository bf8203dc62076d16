//! The names of settings, as data.

/// A setting that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its name, with dots between its parts.
    pub name: &'static str,
    /// Whether a workspace file may hold it.
    pub workspace: Workspace,
}

/// What a workspace file may do to a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workspace {
    /// Nothing: it could run, connect or allow.
    Never,
    /// Lower it.
    Lower,
    /// Set it.
    Set,
}

const fn never(name: &'static str) -> Name {
    Name { name, workspace: Workspace::Never }
}

/// All names. `fallback` is a list of what stands under `model`.
pub const NAMES: &[Name] = &[
    never("model.provider"),
    Name { name: "model.name", workspace: Workspace::Set },
    never("model.base_url"),
    never("model.api_mode"),
    never("model.tool_mode"),
    never("model.api_key_env"),
    never("model.window"),
    never("model.max_output"),
    never("model.temperature"),
    never("model.price"),
    never("fallback"),
    Name { name: "max_steps", workspace: Workspace::Lower },
    Name { name: "max_turns", workspace: Workspace::Lower },
    Name { name: "max_iterations", workspace: Workspace::Lower },
    Name { name: "limits.tokens", workspace: Workspace::Lower },
    Name { name: "limits.usd", workspace: Workspace::Lower },
    Name { name: "limits.time", workspace: Workspace::Lower },
    never("tools.serial"),
    never("tools.run_tests"),
    never("tools.result_chars"),
    never("tools.condense"),
    never("tools.fetch_private"),
    Name { name: "tools.disabled", workspace: Workspace::Set },
    never("policy.on_ask"),
    never("timeouts.connect"),
    never("timeouts.first_byte"),
    never("timeouts.idle"),
    never("timeouts.call"),
    never("timeouts.tool"),
    never("durability"),
    never("record"),
    Name { name: "guards", workspace: Workspace::Set },
];

/// What is wrong with the names in a file; none if nothing is.
pub(super) fn complaint(file: &serde_json::Value, is_workspace: bool) -> Option<String> {
    let serde_json::Value::Object(groups) = file else { return None };
    groups.iter().find_map(|(group, value)| match value.as_object().filter(|_| !is_name(group)) {
        Some(entries) => entries.keys().find_map(|key| about(&format!("{group}.{key}"), is_workspace)),
        None => about(group, is_workspace),
    })
}

fn is_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.name == name)
}

fn about(name: &str, is_workspace: bool) -> Option<String> {
    let in_group = |known: &&Name| known.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    if let Some(Name { name: one, .. }) = NAMES.iter().find(in_group) {
        return Some(format!(
            "`{name}` is no setting but a group of them, and nothing stands in it; write one such as `{one}` into \
             it, or take it out"
        ));
    }
    match NAMES.iter().find(|known| known.name == name) {
        None => Some(match nearest(name) {
            Some(nearest) => format!("there is no setting `{name}`; the nearest is `{nearest}`"),
            None => format!("there is no setting `{name}`; docs/format/config.md lists all that there are"),
        }),
        Some(known) if is_workspace && known.workspace == Workspace::Never => Some(format!(
            "`{name}` may not stand in a workspace file, for files in a workspace are not trusted; \
             put it into the config.yaml of the home folder"
        )),
        Some(_) => None,
    }
}

/// The name that was likely meant. One that differs in more than a third of its letters was not: to name it would
/// lead astray.
fn nearest(name: &str) -> Option<&'static str> {
    let length = name.chars().count();
    let most = length / 3;
    // A name without its group is as good as the whole.
    let written = |known: &Name| {
        let last = known.name.rsplit('.').next().unwrap_or(known.name);
        [(known.name, known.name), (last, known.name)]
    };
    let near = NAMES.iter().flat_map(written).filter_map(|(written, known)| {
        // Names that differ more in length are no nearer, and one may be as long as its file.
        let differs = written.len().abs_diff(length) > most;
        let distance = (!differs).then(|| strsim::damerau_levenshtein(name, written))?;
        (distance <= most).then_some((distance, known))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}
