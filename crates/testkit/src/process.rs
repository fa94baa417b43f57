//! Runs programs that Cargo has built, and builds packages that are not part of the running test.

use std::env::{current_exe, var, var_os};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the command that runs `program`. If the environment variable `ZTEN_TEST_RUNNER` is set, its words,
/// separated by blanks, come before the program, such as an emulator of another machine and its options.
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

/// Returns the target folder of Cargo, which contains the folder of the profile (`debug` or `release`) with this program. For a
/// program in a subfolder of that folder, such as a test, returns the folder of the profile.
///
/// # Errors
/// Fails if the system does not know the path of this program.
pub fn target_folder() -> io::Result<PathBuf> {
    let program = current_exe()?;
    let folder = program.ancestors().nth(2);
    folder.map(Path::to_owned).ok_or_else(|| io::Error::other("no target folder"))
}

/// What Cargo is to build: a package, in the versions of its lock file, and the options of the build.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The path of the `Cargo.toml` of the package, or of its workspace.
    pub manifest: &'a Path,
    /// The name of the package.
    pub package: &'a str,
    /// The profile, which is also the name of the folder of the built files.
    pub profile: &'a str,
    /// The target triple, such as `wasm32-unknown-unknown`; `None` for this machine.
    pub target: Option<&'a str>,
    /// The features to build with, separated by commas.
    pub features: &'a str,
    /// The flags of the compiler, separated by the byte 0x1f; `None` for those in the environment.
    pub flags: Option<&'a str>,
    /// Further arguments that Cargo gets.
    pub arguments: &'a [&'a str],
}

impl<'a> Build<'a> {
    /// Describes a release build of `package`.
    pub fn released(manifest: &'a Path, package: &'a str) -> Self {
        let (profile, target, flags) = ("release", None, None);
        Self { manifest, package, profile, target, features: "", flags, arguments: &[] }
    }

    /// Builds the package with the target folder `folder`, and returns the folder of the built files.
    ///
    /// # Errors
    /// Cargo cannot build the package, and prints the reason.
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
