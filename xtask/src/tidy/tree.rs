//! Where files are and how long pages may be.

use super::File;
use crate::report::Finding;

/// A page that grows past its limit is no longer read before work.
const PAGES: [(&str, usize); 2] = [("ARCHITECTURE.md", 199), ("AGENTS.md", 40)];

pub fn check(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        found.extend(misplaced(&file.path));
    }
    for (page, limit) in PAGES {
        found.extend(page_length(files, page, limit));
    }
    found.extend(decisions(files));
    found
}

fn misplaced(path: &str) -> Option<Finding> {
    let parts: Vec<&str> = path.split('/').collect();
    let tests = parts.iter().position(|part| *part == "tests");
    let below_tests = tests.map(|at| &parts[at + 1..]);
    match (below_tests, parts.as_slice()) {
        (_, [.., "mod.rs"]) => Some(Finding::new(
            path,
            "a mod.rs, whose name says nothing in a list of files",
            "name the file after its module and put it beside the folder",
        )),
        (Some([_] | [_, "main.rs"]), _) if below_tests != Some(&["it", "main.rs"]) => Some(Finding::new(
            path,
            "a second test binary; each one is linked on its own",
            "make it a module of tests/it/main.rs",
        )),
        _ => None,
    }
}

fn page_length(files: &[File], page: &str, limit: usize) -> Option<Finding> {
    let Some(file) = files.iter().find(|file| file.path == page) else {
        return Some(Finding::new(page, "the page is not there", "write it"));
    };
    let lines = file.text.lines().count();
    (lines > limit).then(|| {
        Finding::new(page, format!("{lines} lines, at most {limit}"), "cut it, or move a part to docs/")
    })
}

/// Decision records are numbered from 0001 without gaps, so that one that is missing is seen.
fn decisions(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    let names = files.iter().filter_map(|file| file.path.strip_prefix("docs/decisions/"));
    for (wanted, name) in (1..).zip(names.filter(|name| name.ends_with(".md"))) {
        let prefix = format!("{wanted:04}-");
        if !name.starts_with(&prefix) {
            found.push(Finding::new(
                format!("docs/decisions/{name}"),
                format!("the next decision's name starts with {prefix}, this one does not"),
                "number decisions in order, without gaps or doubles",
            ));
            break;
        }
    }
    found
}
