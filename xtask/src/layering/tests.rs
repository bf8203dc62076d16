//! The rules of layering on small graphs that are made up.

use std::collections::BTreeMap;

use super::check;
use super::graph::{Graph, Node};

/// `name: dependencies`, and `name +feature`; names of ours are those that the table could have.
fn graph(lines: &[&str]) -> Graph {
    let mut nodes = BTreeMap::<String, Node>::new();
    for line in lines {
        let (name, rest) = line.split_once(':').unwrap();
        let node = nodes.entry(name.to_owned()).or_default();
        node.ours = name.starts_with("petasos-") || name == "xtask";
        for word in rest.split_whitespace() {
            match word.strip_prefix('+') {
                Some(feature) => drop(node.features.insert(feature.to_owned())),
                None => drop(node.normal.insert(word.to_owned())),
            }
        }
    }
    let below: Vec<String> = nodes.values().flat_map(|node| node.normal.clone()).collect();
    for name in below {
        nodes.entry(name).or_default();
    }
    Graph::from_nodes(nodes)
}

#[track_caller]
fn check_graph(lines: &[&str], wanted: &[&str]) {
    let told: Vec<String> =
        check(&graph(lines)).iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect();
    assert_eq!(told, wanted);
}

#[test]
fn what_the_table_allows_is_green() {
    check_graph(
        &[
            "petasos-core: serde serde_json thiserror",
            "petasos-store: petasos-core sha2 rustix thiserror",
            "petasos-providers: petasos-core reqwest",
            "petasos-tools: petasos-core tokio",
            "petasos-runtime: petasos-core petasos-providers petasos-tools petasos-store tokio",
            "petasos-testkit: petasos-core petasos-store expect-test",
            "xtask: cargo_metadata anyhow",
            "reqwest: hyper tokio rustls",
            "serde_json: +std +raw_value",
        ],
        &[],
    );
}

#[test]
fn a_crate_uses_only_those_below_it() {
    check_graph(
        &["petasos-core: petasos-store", "petasos-store:"],
        &["petasos-core: may not use petasos-store; it may use none"],
    );
    check_graph(
        &["petasos-store: petasos-core petasos-testkit", "petasos-core:", "petasos-testkit:"],
        &["petasos-store: may not use petasos-testkit; it may use petasos-core"],
    );
}

#[test]
fn a_crate_of_ours_is_in_the_table() {
    check_graph(&["petasos-helpers:"], &["petasos-helpers: a crate of ours that is not in the table"]);
}

#[test]
fn core_has_three_crates_of_others() {
    check_graph(
        &["petasos-core: serde smallvec"],
        &["petasos-core: may not use smallvec; of others' crates it may use serde, serde_json, thiserror"],
    );
}

#[test]
fn a_heavy_crate_stays_in_its_layer() {
    check_graph(
        &["petasos-store: clap"],
        &[
            "petasos-store: may not use clap, which has its layer elsewhere",
            "petasos-store: must never have clap, and has it by petasos-store → clap",
        ],
    );
    check_graph(
        &["petasos-runtime: small", "small: smaller", "smaller: reqwest"],
        &["petasos-runtime: reaches reqwest by petasos-runtime → small → smaller → reqwest"],
    );
    check_graph(&["petasos-providers: reqwest", "reqwest: tokio tracing"], &[]);
}

#[test]
fn what_a_crate_must_never_have_is_seen_through_all_others() {
    check_graph(
        &["petasos-store: petasos-core rusqlite", "rusqlite: pool", "pool: tokio", "petasos-core:"],
        &["petasos-store: must never have tokio, and has it by petasos-store → rusqlite → pool → tokio"],
    );
    check_graph(
        &["petasos-core: serde_json", "serde_json: getrandom"],
        &["petasos-core: must never have getrandom, and has it by petasos-core → serde_json → getrandom"],
    );
}

#[test]
fn numbers_keep_their_meaning_and_tls_has_one_provider() {
    check_graph(
        &["serde_json: +std +arbitrary_precision"],
        &["serde_json: its feature arbitrary_precision is on, which changes what a number is in every crate"],
    );
    check_graph(&["rustls: aws-lc-rs"], &["aws-lc-rs: a second TLS provider; ring is the one"]);
}
