//! Running what Cargo has built, and having it build more.

use std::env::{current_exe, var, var_os};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program as a command: by way of `ZTEN_TEST_RUNNER`, if that is set, words with blanks between
/// them. So an emulator of another machine runs what its tests start, and not the tests alone.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let runner = var("ZTEN_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// The folder that Cargo builds into, of which this program is in a profile's folder.
///
/// # Errors
/// Fails if the system does not know the path of this program.
pub fn target_folder() -> io::Result<PathBuf> {
    let program = current_exe()?;
    let folder = program.ancestors().nth(2);
    folder.map(Path::to_owned).ok_or_else(|| io::Error::other("no target folder"))
}

/// A package to be built by Cargo, by what its lock file says.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The manifest of the package, or of its workspace.
    pub manifest: &'a Path,
    /// The package.
    pub package: &'a str,
    /// The profile, of which the folder has the name.
    pub profile: &'a str,
    /// The machine that it is for, if not this one.
    pub target: Option<&'a str>,
    /// Features, with commas between them.
    pub features: &'a str,
    /// The flags of the compiler, separated by 0x1f; those of the environment if none.
    pub flags: Option<&'a str>,
    /// More arguments of Cargo.
    pub arguments: &'a [&'a str],
}

impl<'a> Build<'a> {
    /// A package as it is released.
    pub fn released(manifest: &'a Path, package: &'a str) -> Self {
        let (profile, target, flags) = ("release", None, None);
        Self { manifest, package, profile, target, features: "", flags, arguments: &[] }
    }

    /// Builds it into a folder: where what it makes is put.
    ///
    /// # Errors
    /// Fails if Cargo, which says why, cannot build it.
    pub fn run(&self, folder: &Path) -> io::Result<PathBuf> {
        let mut cargo = Command::new(var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--quiet", "--locked", "--package", self.package])
            .args(self.arguments)
            .args(["--profile", self.profile, "--features", self.features, "--manifest-path"])
            .arg(self.manifest)
            .arg("--target-dir")
            .arg(folder);
        if let Some(target) = self.target {
            cargo.args(["--target", target]);
        }
        if let Some(flags) = self.flags {
            cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
        }
        if !cargo.status()?.success() {
            let target = self.target.unwrap_or("this machine");
            return Err(io::Error::other(format!("{} was not built for {target}", self.package)));
        }
        Ok(folder.join(self.target.unwrap_or_default()).join(self.profile))
    }
}
