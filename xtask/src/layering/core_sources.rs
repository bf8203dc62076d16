//! What core's sources may not name: the clock, luck, files, the network, other processes, and
//! `serde_json::Value`, which changes `1.50`, long integers and the order of keys.

use std::path::Path;

use anyhow::{Context, Result};

use crate::report::Finding;
use crate::rust_text::{Kind, Token, tokens};

/// Paths that are shut, with what begins with them, and why.
const SHUT: &[(&[&str], &str)] = &[
    (&["std", "fs"], "files are the shell's"),
    (&["std", "net"], "the network is the shell's"),
    (&["std", "process"], "processes are the shell's"),
    (&["std", "env"], "settings come in with inputs"),
    (&["std", "thread"], "core decides in one thread"),
    (&["std", "time", "Instant"], CLOCK),
    (&["std", "time", "SystemTime"], CLOCK),
    (&["std", "time", "UNIX_EPOCH"], CLOCK),
    (&["std", "time", "*"], CLOCK),
    (&["std", "hash", "RandomState"], LUCK),
    (&["std", "collections", "HashMap"], "its order is luck; use a BTreeMap"),
    (&["std", "collections", "HashSet"], "its order is luck; use a BTreeSet"),
    (&["std", "collections", "hash_map"], "its order is luck; use a BTreeMap"),
    (&["std", "collections", "hash_set"], "its order is luck; use a BTreeSet"),
    (&["std", "collections", "*"], "name the collection"),
    (&["std", "*"], "name the item"),
    (&["rand"], LUCK),
    (&["getrandom"], LUCK),
    (&["serde_json", "Value"], VALUE),
    (&["serde_json", "Map"], VALUE),
    (&["serde_json", "json"], VALUE),
    (&["serde_json", "to_value"], VALUE),
    (&["serde_json", "from_value"], VALUE),
    (&["serde_json", "value", "Value"], VALUE),
    (&["serde_json", "value", "*"], VALUE),
    (&["serde_json", "*"], "name the item"),
];

/// Modules that may not be named by themselves, as what they hold would then go by another path.
const NOT_BARE: &[&[&str]] =
    &[&["std"], &["std", "time"], &["std", "collections"], &["serde_json"], &["serde_json", "value"]];

const CLOCK: &str = "time comes in with inputs, as `Time`";
const LUCK: &str = "luck comes in with inputs";
const VALUE: &str = "JSON that we carry but do not read is a checked `Arc<str>`";

/// Reads all Rust files of a folder.
pub fn check_folder(root: &Path, folder: &str) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut waiting = vec![root.join(folder)];
    while let Some(path) = waiting.pop() {
        let inside = path.read_dir().with_context(|| format!("{} cannot be listed", path.display()))?;
        for entry in inside {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("{} cannot be read", path.display()))?;
                let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                found.extend(check(&shown, &text));
            }
        }
    }
    Ok(found)
}

pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (named, line) in paths(&tokens) {
        let reason = SHUT
            .iter()
            .find(|(shut, _)| named.len() > 1 && named.starts_with(shut))
            .map(|(_, reason)| *reason)
            .or_else(|| NOT_BARE.contains(&named.as_slice()).then_some("name the item, not its module"));
        if let Some(reason) = reason {
            found.push(Finding::new(
                format!("{path}:{line}"),
                format!("core names {}", named.join("::")),
                format!("{reason}; a new fact is a new input"),
            ));
        }
    }
    found
}

/// Every path of the text, with groups spread: `use a::{b, c::*}` is `a::b` and `a::c::*`.
fn paths<'a>(tokens: &[Token<'a>]) -> Vec<(Vec<&'a str>, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if token.kind == Kind::Word {
            at = path(tokens, at, &mut Vec::new(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads one path or tree of paths that begins at `at`; tells where it ends.
fn path<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    before: &mut Vec<&'a str>,
    found: &mut Vec<(Vec<&'a str>, usize)>,
) -> usize {
    let depth = before.len();
    while let Some(token) = tokens.get(at) {
        if token.is("{") && depth < before.len() {
            at = group(tokens, at + 1, before, found);
            break;
        }
        if token.kind != Kind::Word && !token.is("*") {
            break;
        }
        // `a::{self}` is `a`.
        if !token.is("self") {
            before.push(token.text);
        }
        at += 1;
        if !is_double_colon(tokens, at) {
            found.push((before.clone(), token.line));
            break;
        }
        at += 2;
    }
    before.truncate(depth);
    at
}

fn group<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    before: &mut Vec<&'a str>,
    found: &mut Vec<(Vec<&'a str>, usize)>,
) -> usize {
    while let Some(token) = tokens.get(at) {
        if token.is("}") {
            return at + 1;
        }
        let next = path(tokens, at, before, found);
        at = next.max(at + 1);
    }
    at
}

fn is_double_colon(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(tokens.get(at..at + 2), Some([one, other]) if one.is(":") && other.is(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, wanted: &[&str]) {
        let told: Vec<String> = check("a.rs", text).into_iter().map(|finding| finding.what).collect();
        let wanted: Vec<String> = wanted.iter().map(|path| format!("core names {path}")).collect();
        assert_eq!(told, wanted, "{text}");
    }

    #[test]
    fn the_shell_is_not_named() {
        check_text("use std::fs;", &["std::fs"]);
        check_text("use std::{fmt, fs::File, sync::Arc};", &["std::fs::File"]);
        check_text("use std::{fmt, time::{Duration, Instant}};", &["std::time::Instant"]);
        check_text("fn a() { ::std::thread::spawn(b) }", &["std::thread::spawn"]);
        check_text("let a = std::env::var(\"A\");", &["std::env::var"]);
        check_text("use std::net::*;", &["std::net::*"]);
        check_text("use rand::Rng;", &["rand::Rng"]);
        check_text("use std::collections::{BTreeMap, HashMap};", &["std::collections::HashMap"]);
    }

    #[test]
    fn a_module_is_not_named_to_go_around() {
        check_text("use std as s;", &["std"]);
        check_text("use std::time; fn a() -> time::Instant {}", &["std::time"]);
        check_text("use std::time::{self, Duration};", &["std::time"]);
        check_text("use std::*;", &["std::*"]);
    }

    #[test]
    fn json_is_not_read_into_values() {
        check_text("use serde_json::Value;", &["serde_json::Value"]);
        check_text("let a = serde_json::json!({});", &["serde_json::json"]);
        check_text("use serde_json::value::{RawValue, Value};", &["serde_json::value::Value"]);
        check_text("use serde_json::value::RawValue; serde_json::from_str::<A>(text)", &[]);
    }

    #[test]
    fn what_is_its_own_is_not_mistaken() {
        check_text("use std::fmt; use std::sync::Arc; use std::time::Duration;", &[]);
        check_text("// std::fs\n\"std::fs\"; crate::fs::read(); my::std::fs();", &[]);
        check_text("enum Value { A } fn fs(net: Value) { a.rand; }", &[]);
    }
}
