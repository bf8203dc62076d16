//! Where the workspace is, and cargo as it is called from here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The folder of the root Cargo.toml. `cargo run` tells where xtask's own manifest is at run time; what
/// was true when xtask was compiled may be another clone that shares the target folder.
pub fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set; start xtask as `cargo xtask`")?;
    let root = Path::new(&manifest).parent().context("xtask's folder has no parent")?;
    Ok(root.to_owned())
}

/// A cargo of the toolchain that runs us, in the workspace's root.
pub fn cargo() -> Result<Command> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root()?);
    Ok(command)
}

/// The dependency graph as cargo resolves it, with the lock as it stands.
pub fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .manifest_path(root()?.join("Cargo.toml"))
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .context("cargo metadata gave no graph; if Cargo.lock is behind, run `cargo metadata` and commit it")
}

/// Runs a command that prints for itself; a bad end is an error that names it.
pub fn must_pass(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command.status().with_context(|| format!("{shown} could not be started"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}; its own words are above");
    }
    Ok(())
}

/// Whether a program of this name can be started.
pub fn has_program(name: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|folder| folder.join(name).is_file())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
