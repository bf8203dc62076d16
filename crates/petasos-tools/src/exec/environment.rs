//! The environment of a command: what it gets of ours, each name with its reason, and what is set for it.

use std::ffi::OsString;

/// What commands get of our environment: no name that could hold a key.
const PASSED: [&str; 7] = ["PATH", "HOME", "LANG", "TZ", "USER", "SHELL", "TMPDIR"];
/// What they get so that nothing waits for a person.
const SET: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
];

/// The environment of commands.
pub(super) fn of_commands() -> Vec<(OsString, OsString)> {
    let passed = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        PASSED.contains(&&*name) || name.starts_with("LC_")
    });
    passed.chain(SET.map(|(name, value)| (name.into(), value.into()))).collect()
}
