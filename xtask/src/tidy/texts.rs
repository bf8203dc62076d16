//! What holds for every text: clean ends of lines, no names of hosts and machines.

use super::File;
use crate::report::Finding;

/// Hosts of package registries, in pieces so that this file does not name one. A text that names them
/// would tie a build to a network that a mirror or a closed machine does not have.
const HOSTS: [[&str; 2]; 4] =
    [["crates", ".io"], ["pypi", ".org"], ["registry.npmjs", ".org"], ["deb.debian", ".org"]];

/// Folders of one machine, in pieces for the same reason; the last one is followed by a person's name.
const FOLDERS: [[&str; 2]; 3] = [["/wo", "rk/"], ["/ro", "ot/"], ["/ho", "me/"]];

pub fn check(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    // In a diff a blank line of context is a blank: those of the planted faults are files of others.
    let diff = file.path.ends_with(".patch");
    let locked = file.path.ends_with("Cargo.lock");
    for (line, text) in (1..).zip(file.text.lines()) {
        let mut add = |what: String, next| found.push(Finding::new(file.at(line), what, next));
        if !diff && text.ends_with(char::is_whitespace) {
            add("whitespace at the end of the line".into(), "delete it; `cargo fmt` does so in Rust");
        }
        if file.is_rust() && text.contains('\t') {
            add("a tab".into(), "write four spaces, or \\t in a literal");
        }
        if let Some(host) = registry(text).filter(|_| !locked) {
            add(format!("names the package registry {host}"), "say which package, not where it comes from");
        }
        if let Some(path) = machine_path(text) {
            add(format!("names {path}, a folder of one machine"), "use a path from the root of the tree");
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let line = file.text.lines().count();
        found.push(Finding::new(file.at(line), "no newline at the end of the file", "end the last line"));
    }
    found
}

fn registry(line: &str) -> Option<String> {
    HOSTS.iter().map(|pieces| pieces.concat()).find(|host| line.contains(host.as_str()))
}

/// An absolute path into a folder that only this machine has. `src/work/x` and `$HOME/work/x` are not.
fn machine_path(line: &str) -> Option<String> {
    for (place, pieces) in FOLDERS.iter().enumerate() {
        let folder = pieces.concat();
        for (at, _) in line.match_indices(&folder) {
            let before = line[..at].chars().next_back();
            let after = line[at + folder.len()..].chars().next();
            let absolute = !before
                .is_some_and(|char| char.is_alphanumeric() || matches!(char, '_' | '.' | '-' | '~' | '}'));
            let named = place + 1 < FOLDERS.len() || after.is_some_and(char::is_alphanumeric);
            if absolute && named {
                return Some(folder);
            }
        }
    }
    None
}
