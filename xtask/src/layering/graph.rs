//! The resolved graph, reduced to what the table asks of it: names, normal edges, features.
//!
//! Names stand for packages: two versions of a crate are one node, which has what either of them has.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata};

/// A crate and what is below it.
#[derive(Debug, Default)]
pub struct Node {
    pub ours: bool,
    pub normal: BTreeSet<String>,
    pub features: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub struct Graph {
    nodes: BTreeMap<String, Node>,
}

impl Graph {
    pub fn of(metadata: &Metadata) -> Result<Self> {
        let names: BTreeMap<_, _> =
            metadata.packages.iter().map(|package| (&package.id, package.name.to_string())).collect();
        let resolve = metadata.resolve.as_ref().context("cargo metadata resolved no graph")?;
        let mut nodes = BTreeMap::<String, Node>::new();
        for resolved in &resolve.nodes {
            let name = names.get(&resolved.id).context("a node of the graph has no package")?;
            let node = nodes.entry(name.clone()).or_default();
            node.ours |= metadata.workspace_members.contains(&resolved.id);
            node.features.extend(resolved.features.iter().map(ToString::to_string));
            for dependency in &resolved.deps {
                if dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal) {
                    node.normal.extend(names.get(&dependency.pkg).cloned());
                }
            }
        }
        Ok(Self { nodes })
    }

    #[cfg(test)]
    pub fn from_nodes(nodes: BTreeMap<String, Node>) -> Self {
        Self { nodes }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn ours(&self) -> Vec<String> {
        self.nodes.iter().filter(|(_, node)| node.ours).map(|(name, _)| name.clone()).collect()
    }

    pub fn is_ours(&self, name: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.ours)
    }

    pub fn has(&self, name: &str) -> bool {
        self.nodes.contains_key(name)
    }

    pub fn has_feature(&self, name: &str, feature: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.features.contains(feature))
    }

    pub fn normal_of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.nodes.get(name).into_iter().flat_map(|node| &node.normal).map(String::as_str)
    }

    /// A shortest path from `start` to everything below it. What is below a crate that `stop` names is not
    /// looked at; the crate itself is.
    pub fn paths(&self, start: &str, stop: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
        let mut seen = BTreeSet::from([start.to_owned()]);
        let mut waiting = VecDeque::from([vec![start.to_owned()]]);
        let mut found = Vec::new();
        while let Some(path) = waiting.pop_front() {
            let Some(last) = path.last() else { continue };
            if path.len() == 1 || !stop(last) {
                for next in self.normal_of(last).filter(|next| seen.insert((*next).to_owned())) {
                    waiting.push_back(path.iter().cloned().chain([next.to_owned()]).collect());
                }
            }
            if path.len() > 1 {
                found.push(path);
            }
        }
        found
    }
}
