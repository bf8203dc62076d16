//! The environment of a command: what it gets of ours, each name with its reason, and what is set for it.
//!
//! Names are allowed, not forbidden: nobody can list all names that hold a key. And a name that is allowed passes no value that
//! is a known secret or has the shape of a key.

use std::ffi::OsString;

use crate::mask::Mask;

/// What commands get of our environment, and why.
const PASSED: &[(&str, &str)] = &[
    ("PATH", "where programs are"),
    ("HOME", "where settings of programs are"),
    ("USER", "who it is, for programs that do not ask the system"),
    ("LOGNAME", "the same under its older name"),
    ("SHELL", "what programs begin that want a shell"),
    ("TMPDIR", "where there is room"),
    ("LANG", "letters and messages as the person has them"),
    ("TZ", "the time of the person"),
    ("XDG_CONFIG_HOME", "settings that are not below HOME"),
    ("XDG_CACHE_HOME", "what was fetched before is not fetched again"),
    ("XDG_DATA_HOME", "programs that a person installed"),
    ("XDG_STATE_HOME", "what programs keep between runs"),
    ("RUSTUP_HOME", "Rust that is not below HOME"),
    ("RUSTUP_TOOLCHAIN", "the Rust that was chosen"),
    ("CARGO_HOME", "crates that are not below HOME"),
    ("CARGO_TARGET_DIR", "what was built is not built again"),
    ("GOPATH", "Go modules that are not below HOME"),
    ("GOROOT", "Go that is not where it looks"),
    ("JAVA_HOME", "which Java builds"),
    ("VIRTUAL_ENV", "the Python environment that was entered"),
    ("CONDA_PREFIX", "the same of conda"),
    ("PYENV_ROOT", "Pythons that are not below HOME"),
    ("NVM_DIR", "Nodes that are not below HOME"),
    ("LD_LIBRARY_PATH", "libraries that are not where the system looks"),
    ("PKG_CONFIG_PATH", "libraries to build against"),
    ("NIX_PATH", "where nix looks"),
    ("NIX_SSL_CERT_FILE", "whom nix trusts"),
    ("SSL_CERT_FILE", "whom connections trust, behind a firewall of one's own"),
    ("SSL_CERT_DIR", "the same"),
    ("http_proxy", "the only way out of some networks; not with a password in it"),
    ("https_proxy", "the same"),
    ("HTTP_PROXY", "the same"),
    ("HTTPS_PROXY", "the same"),
    ("no_proxy", "whom to reach without it"),
    ("NO_PROXY", "the same"),
];

/// What they get so that nothing waits for a person, and output is for no terminal.
const SET: [(&str, &str); 12] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
];

/// The environment of commands.
pub(super) fn of_commands(mask: &Mask) -> Vec<(OsString, OsString)> {
    let passed = std::env::vars_os()
        .filter(|(name, value)| passes(&name.to_string_lossy(), &value.to_string_lossy(), mask));
    passed.chain(SET.map(|(name, value)| (name.into(), value.into()))).collect()
}

fn passes(name: &str, value: &str, mask: &Mask) -> bool {
    let is_known = name.starts_with("LC_") || PASSED.iter().any(|(known, _)| *known == name);
    // Of a proxy, what stands before the `@` is a name and a password.
    let has_password = name.to_ascii_lowercase().ends_with("_proxy") && value.contains('@');
    is_known && !has_password && !mask.holds(value)
}

#[cfg(test)]
mod tests {
    use super::{PASSED, passes};
    use crate::mask::Mask;

    #[test]
    fn case_g12_a_key_under_an_allowed_name_is_left_out() {
        let mask = Mask::new([("OPENAI_API_KEY".to_owned(), "a-key-that-nobody-knows".to_owned())]);
        let check = |name: &str, value: &str, wanted: bool| {
            assert_eq!(passes(name, value, &mask), wanted, "{name}={value}")
        };
        check("LANG", "C.UTF-8", true);
        check("LC_ALL", "C.UTF-8", true);
        check("CARGO_HOME", "/opt/cargo", true);
        check("LANG", "a-key-that-nobody-knows", false);
        check("TMPDIR", "/tmp/a-key-that-nobody-knows", false);
        check("XDG_CACHE_HOME", &format!("{}_{}", "ghp", "q7Zk2LmX9vB4nR8tY1wE5uI3oP6aS0dF2gHj"), false);
        check("https_proxy", "http://proxy:3128", true);
        check("https_proxy", "http://me:word@proxy:3128", false);
        check("HTTP_PROXY", "http://me@proxy:3128", false);
        check("OPENAI_BASE_URL", "http://127.0.0.1", false);
        check("SSH_AUTH_SOCK", "/tmp/agent", false);
    }

    #[test]
    fn t04_each_name_of_the_environment_stands_once_and_has_a_reason() {
        for (place, (name, why)) in PASSED.iter().enumerate() {
            assert!(!why.is_empty(), "{name}");
            assert!(PASSED.iter().skip(place + 1).all(|(other, _)| other != name), "{name}");
            let lower = name.to_ascii_lowercase();
            assert!(
                !["key", "token", "secret", "pass", "auth"].iter().any(|word| lower.contains(word)),
                "{name}"
            );
        }
    }
}
