//! The copy of the tree in which faults are planted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What a build of core's tests reads.
const PARTS: [&str; 7] = ["Cargo.toml", "Cargo.lock", "clippy.toml", ".cargo", "crates", "docs", "xtask"];

/// Makes `to` equal to `from` in [`PARTS`]. A file that is already the same is not written, so that cargo
/// does not build it again; one that a broken-off run left wrong is set right.
pub fn refresh(from: &Path, to: &Path) -> Result<()> {
    let mut wanted = BTreeSet::new();
    for part in PARTS {
        if from.join(part).exists() {
            wanted.extend(files(from, Path::new(part))?);
        }
    }
    std::fs::create_dir_all(to).with_context(|| format!("{} cannot be made", to.display()))?;
    for stale in files(to, Path::new(""))?.difference(&wanted) {
        std::fs::remove_file(to.join(stale))?;
    }
    for path in &wanted {
        let (source, copy) = (from.join(path), to.join(path));
        let bytes = std::fs::read(&source).with_context(|| format!("{} cannot be read", source.display()))?;
        if std::fs::read(&copy).is_ok_and(|there| there == bytes) {
            continue;
        }
        if let Some(folder) = copy.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&copy, bytes).with_context(|| format!("{} cannot be written", copy.display()))?;
    }
    Ok(())
}

/// All files at or below `part`, as paths from `root`.
fn files(root: &Path, part: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![part.to_owned()];
    while let Some(path) = waiting.pop() {
        let whole = root.join(&path);
        if !whole.is_dir() {
            found.insert(path);
            continue;
        }
        for entry in whole.read_dir().with_context(|| format!("{} cannot be listed", whole.display()))? {
            let name = entry?.file_name();
            // A build inside of the tree is not a source.
            if name != "target" {
                waiting.push(path.join(name));
            }
        }
    }
    Ok(found)
}
