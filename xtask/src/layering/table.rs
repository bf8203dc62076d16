//! The table of crates and the direction of dependencies, as data.

/// What one crate of ours may use.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// Crates of ours that it may name in its manifest.
    pub ours: &'static [&'static str],
    /// Heavy crates of others that it may name.
    pub heavy: &'static [&'static str],
    /// If set, the only crates of others that it may name.
    pub only: Option<&'static [&'static str]>,
    /// What must not be found anywhere below it.
    pub never: &'static [&'static str],
}

/// Crates that pull in a runtime, a network, a database or a terminal, or that know something which only
/// one layer should. Crates that are in neither this list nor an `only` are free for all.
pub const HEAVY: &[&str] = &[
    "anyhow",
    "axum",
    "cargo_metadata",
    "clap",
    "crossterm",
    "expect-test",
    "html5gum",
    "hyper",
    "hyper-util",
    "jaq-core",
    "jaq-json",
    "jaq-std",
    "landlock",
    "ratatui",
    "reedline",
    "reqwest",
    "rmcp",
    "rusqlite",
    "rustls",
    "rustyline",
    "seccompiler",
    "sha2",
    "tempfile",
    "tokio",
    "tracing",
    "tree-sitter",
    "tree-sitter-bash",
    "grep-regex",
    "grep-searcher",
    "ignore",
    "proptest",
];

/// TLS is done by rustls with ring. Two providers in one process need a choice at run time, which somebody
/// will forget.
pub const SECOND_TLS: &[&str] = &["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"];

const CORE: &str = "petasos-core";
const PROVIDERS: &str = "petasos-providers";
const TOOLS: &str = "petasos-tools";
const STORE: &str = "petasos-store";
const RUNTIME: &str = "petasos-runtime";
const GATEWAY: &str = "petasos-gateway";
const MODELSERVER: &str = "petasos-modelserver";

pub const TABLE: &[Row] = &[
    Row {
        name: CORE,
        ours: &[],
        heavy: &[],
        only: Some(&["serde", "serde_json", "thiserror"]),
        // It gets time, luck and hashes with its inputs.
        never: &[
            "tokio",
            "reqwest",
            "hyper",
            "rusqlite",
            "sha2",
            "rand",
            "getrandom",
            "fastrand",
            "chrono",
            "time",
            "rustix",
        ],
    },
    Row {
        name: PROVIDERS,
        ours: &[CORE],
        heavy: &["reqwest", "tokio", "sha2", "rustls"],
        only: None,
        never: &["rusqlite", "clap", "axum"],
    },
    Row {
        name: TOOLS,
        ours: &[CORE],
        heavy: &[
            "tokio",
            "reqwest",
            "rmcp",
            "sha2",
            "landlock",
            "seccompiler",
            "tree-sitter",
            "tree-sitter-bash",
            "grep-regex",
            "grep-searcher",
            "ignore",
            "jaq-core",
            "jaq-json",
            "jaq-std",
            "rustls",
            "html5gum",
            "tempfile",
        ],
        only: None,
        never: &["rusqlite", "clap", "axum"],
    },
    Row {
        name: STORE,
        ours: &[CORE],
        heavy: &["rusqlite", "sha2"],
        only: None,
        // A store on a network is a crate of its own behind the same trait.
        never: &["tokio", "reqwest", "hyper", "clap", "axum"],
    },
    Row {
        name: RUNTIME,
        ours: &[CORE, PROVIDERS, TOOLS, STORE],
        heavy: &["tokio", "tracing", "sha2"],
        only: None,
        never: &["clap", "axum"],
    },
    Row {
        name: GATEWAY,
        ours: &[CORE, RUNTIME],
        heavy: &["axum", "reqwest", "tokio", "tracing"],
        only: None,
        never: &["clap"],
    },
    Row {
        name: "petasos-cli",
        ours: &[CORE, RUNTIME, GATEWAY, MODELSERVER],
        heavy: &["clap", "crossterm", "ratatui", "reedline", "rustyline", "anyhow", "tokio", "tracing"],
        only: None,
        never: &[],
    },
    Row {
        name: MODELSERVER,
        ours: &[CORE],
        heavy: &["hyper", "hyper-util", "axum", "tokio"],
        only: None,
        never: &["rusqlite", "clap", "reqwest"],
    },
    Row {
        name: "petasos-testkit",
        ours: &[CORE, PROVIDERS, TOOLS, STORE, RUNTIME, MODELSERVER],
        heavy: &["expect-test", "proptest", "tokio", "tempfile"],
        only: None,
        never: &[],
    },
    Row {
        name: "xtask",
        ours: &[],
        heavy: &["cargo_metadata", "anyhow"],
        only: None,
        never: &["tokio", "reqwest", "clap"],
    },
];
