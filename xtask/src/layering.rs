//! Who may use what: the table of crates, run over the graph as cargo resolves it.
//!
//! Only normal dependencies count: what a test uses is not linked into what people run. Core's sources are
//! read too, since the standard library is in no graph.

mod core_sources;
mod graph;
mod table;
#[cfg(test)]
mod tests;

use anyhow::Result;

use crate::report::{Finding, Outcome, settle};
use crate::workspace::{metadata, root};
use graph::Graph;
use table::{HEAVY, Row, SECOND_TLS, TABLE};

pub fn run() -> Result<Outcome> {
    let graph = Graph::of(&metadata()?)?;
    let mut found = check(&graph);
    found.extend(core_sources::check_folder(&root()?, "crates/petasos-core/src")?);
    settle(
        "layering",
        &format!("{} crates of ours in a graph of {}", graph.ours().len(), graph.len()),
        &found,
    )
}

fn check(graph: &Graph) -> Vec<Finding> {
    let mut found = features(graph);
    for name in graph.ours() {
        match TABLE.iter().find(|row| row.name == name) {
            Some(row) => {
                found.extend(direct(graph, row));
                found.extend(transitive(graph, row));
                found.extend(never(graph, row));
            }
            None => found.push(Finding::new(
                &name,
                "a crate of ours that is not in the table",
                "decide its layer: a row in xtask/src/layering/table.rs and in ARCHITECTURE.md",
            )),
        }
    }
    found
}

/// What a crate names in its own manifest.
fn direct(graph: &Graph, row: &Row) -> Vec<Finding> {
    let mut found = Vec::new();
    for dependency in graph.normal_of(row.name) {
        let problem = if graph.is_ours(dependency) {
            (!row.ours.contains(&dependency))
                .then(|| format!("may not use {dependency}; it may use {}", list(row.ours)))
        } else if row.only.is_some_and(|only| !only.contains(&dependency)) {
            Some(format!(
                "may not use {dependency}; of others' crates it may use {}",
                list(row.only.unwrap_or(&[]))
            ))
        } else if HEAVY.contains(&dependency) && !row.heavy.contains(&dependency) {
            Some(format!("may not use {dependency}, which has its layer elsewhere"))
        } else {
            None
        };
        found.extend(problem.map(|what| {
            Finding::new(
                row.name,
                what,
                "move the code to the layer that may, or draw the line anew in a decision record",
            )
        }));
    }
    found
}

/// A heavy crate that comes in through a small one. Crates of ours are checked by their own rows, and what
/// an allowed heavy crate brings along is its own matter.
fn transitive(graph: &Graph, row: &Row) -> Vec<Finding> {
    let stop = |name: &str| graph.is_ours(name) || row.heavy.contains(&name);
    let paths = graph.paths(row.name, stop);
    let hidden = paths.iter().filter(|path| path.len() > 2);
    hidden
        .filter_map(|path| {
            let last = path.last()?;
            (HEAVY.contains(&last.as_str()) && !stop(last)).then(|| {
                Finding::new(
                    row.name,
                    format!("reaches {last} by {}", path.join(" → ")),
                    "use a lighter crate, or switch off the feature that brings it in",
                )
            })
        })
        .collect()
}

/// What a crate must not even reach, by whatever way.
fn never(graph: &Graph, row: &Row) -> Vec<Finding> {
    let paths = graph.paths(row.name, |_| false);
    paths
        .iter()
        .filter_map(|path| {
            let last = path.last()?;
            row.never.contains(&last.as_str()).then(|| {
                Finding::new(
                    row.name,
                    format!("must never have {last}, and has it by {}", path.join(" → ")),
                    "take the dependency out; this line is not for moving",
                )
            })
        })
        .collect()
}

fn features(graph: &Graph) -> Vec<Finding> {
    let mut found = Vec::new();
    if graph.has_feature("serde_json", "arbitrary_precision") {
        found.push(Finding::new(
            "serde_json",
            "its feature arbitrary_precision is on, which changes what a number is in every crate",
            "find who wants it with `cargo tree -e features -i serde_json`, and go without",
        ));
    }
    for name in SECOND_TLS.iter().filter(|name| graph.has(name)) {
        found.push(Finding::new(
            *name,
            "a second TLS provider; ring is the one",
            format!("find who wants it with `cargo tree -i {name}`, and switch that feature off"),
        ));
    }
    found
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
