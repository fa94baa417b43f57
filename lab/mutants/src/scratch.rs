//! A copy of the repository, in which the code is mutated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The package that mutated code asks, as the two packages depend on it.
const DEPENDENCIES: [(&str, &str); 2] =
    [("Cargo.toml", "lab/mutants/switch"), ("crates/zstd/Cargo.toml", "../../lab/mutants/switch")];

/// A copy of the repository.
pub(crate) struct Scratch {
    repository: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Scratch {
    /// Copies what git knows, and what it would be told of, to that folder. What is there and the same
    /// stays as it is, so that Cargo need not build it again.
    pub(crate) fn copy(repository: &Path, folder: &Path) -> Result<Self> {
        let scratch = Self { repository: repository.to_owned(), folder: folder.to_owned() };
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(repository)
            .output()?;
        ensure!(output.status.success(), "git ls-files");
        let files = String::from_utf8(output.stdout)?;
        for file in files.split_terminator('\0') {
            let Ok(content) = fs::read(repository.join(file)) else { continue };
            let dependency = DEPENDENCIES.iter().find(|(manifest, _)| *manifest == file);
            match dependency {
                Some((_, path)) => scratch.write(file, &depending(content, path)?)?,
                None => scratch.write(file, &content)?,
            }
        }
        Ok(scratch)
    }

    /// A source as it is in the repository.
    pub(crate) fn source(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.repository.join(file)).with_context(|| file.to_owned())
    }

    /// Writes a file, unless it is there.
    pub(crate) fn write(&self, file: &str, content: &[u8]) -> Result<()> {
        let path = self.folder.join(file);
        if fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content).with_context(|| path.display().to_string())
    }
}

/// A package's manifest, with that dependency.
fn depending(manifest: Vec<u8>, path: &str) -> Result<Vec<u8>> {
    const TABLE: &str = "\n[dependencies]\n";
    let manifest = String::from_utf8(manifest)?;
    ensure!(manifest.contains(TABLE), "a manifest without dependencies");
    let with = format!("{TABLE}zten-switch = {{ path = \"{path}\" }}\n");
    Ok(manifest.replace(TABLE, &with).into_bytes())
}
