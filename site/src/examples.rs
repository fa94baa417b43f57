//! Files that break a rule, and what the command prints about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::Result;

/// A line of `corpus/index.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub file: String,
    pub rule: Option<String>,
    pub options: Option<String>,
    pub neighbor: Option<String>,
    #[serde(default)]
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct Index {
    files: Vec<Entry>,
}

/// What the page about a rule shows: a command about a file that breaks the rule, and a command about a valid file.
#[derive(Debug, Default)]
pub(crate) struct Example {
    /// The content of a file that the commands need, with its name.
    pub written: Option<(&'static str, &'static str)>,
    /// The command about the file that breaks the rule, and what the command prints.
    pub broken: Session,
    /// The command about a valid file that differs little from the broken one, and what the command prints. `None` if there is no
    /// such file.
    pub valid: Option<Session>,
    /// The paths in the repository of the files of the corpus that both commands use; none if the commands are those of an
    /// [`Asked`].
    pub files: Vec<String>,
}

/// A command line and what the command prints.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The command line without the name of the command.
    pub arguments: String,
    /// Standard output, then standard error.
    pub printed: String,
}

/// The example of a rule that no single file of the corpus can break: a text file to write first, and the arguments of the command
/// that breaks the rule and of the command that does not.
struct Asked {
    rule: &'static str,
    /// The name and content of a text file.
    written: (&'static str, &'static str),
    broken: &'static str,
    /// The arguments of a command that does not break the rule. `None` if a valid file needs more than one command.
    valid: Option<&'static str>,
}

/// A safetensors file without tensors.
const EMPTY: &[u8] = b"\x08\0\0\0\0\0\0\0{}      ";

/// The examples of rules that are checked only if the caller asks for them, or in folders.
const ASKED: [Asked; 7] = [
    Asked {
        rule: "policy-format",
        written: ("policy.toml", "allow-formats = [\"safetensors\"]\n"),
        broken: "check --policy policy.toml corpus/v2/accept/dense.zt",
        valid: Some("check --policy policy.toml corpus/other/safetensors/accept/types.safetensors"),
    },
    Asked {
        rule: "policy-dtype",
        written: ("policy.toml", "allow-dtypes = [\"f32\"]\n"),
        broken: "check --policy policy.toml corpus/other/safetensors/accept/types.safetensors",
        valid: Some("check --policy policy.toml corpus/v2/accept/dense.zt"),
    },
    Asked {
        rule: "policy-size",
        written: ("policy.toml", "max-tensors = 10\n"),
        broken: "check --policy policy.toml corpus/other/safetensors/accept/types.safetensors",
        valid: Some("check --policy policy.toml corpus/v2/accept/dense.zt"),
    },
    Asked {
        rule: "policy-digest",
        written: ("policy.toml", "require-digests = [\"sha256\"]\n"),
        broken: "check --policy policy.toml corpus/v2/accept/dense.zt",
        valid: Some("check --policy policy.toml corpus/accept/1.2.3/sha256.zt"),
    },
    Asked {
        rule: "policy-compression",
        written: ("policy.toml", "forbid-compression = true\n"),
        broken: "check --policy policy.toml corpus/accept/1.2.3/zstd.zt",
        valid: Some("check --policy policy.toml corpus/v2/accept/dense.zt"),
    },
    Asked {
        rule: "policy-store",
        written: ("policy.toml", "require-store-digest = true\n"),
        broken: "check --policy policy.toml corpus/v2/accept/dense.zt",
        valid: None,
    },
    Asked {
        rule: "program-file",
        written: ("folder/modeling.py", "import os\n"),
        broken: "check -r folder",
        valid: Some("check corpus/v2/accept/dense.zt"),
    },
];

/// The corpus, and the command that checks its files.
pub(crate) struct Examples {
    entries: Vec<Entry>,
    root: PathBuf,
    command: PathBuf,
}

impl Examples {
    /// Reads the index of the corpus of the repository at `root`. `command` is the path of `zten`.
    ///
    /// # Errors
    /// Fails if the index or one of the paths cannot be read.
    pub(crate) fn new(root: &Path, command: &Path) -> Result<Self> {
        let index = fs::read_to_string(root.join("corpus/index.json"));
        let index = index.map_err(|error| format!("corpus/index.json cannot be read: {error}"))?;
        let index: Index = serde_json::from_str(&index)?;
        let command = command.canonicalize();
        let command = command.map_err(|error| format!("the command: {error}"))?;
        Ok(Self { entries: index.files, root: root.canonicalize()?, command })
    }

    /// Returns the number of files of the corpus that break the rule `id`, or have a note by it.
    pub(crate) fn count(&self, id: &str) -> usize {
        self.entries.iter().filter(|entry| entry.is_about(id)).count()
    }

    /// Returns the files of reference writers that break the rule `id`: the release of the writer, and the path of the file.
    pub(crate) fn of_reference_writers(&self, id: &str) -> Vec<(&str, &str)> {
        let start = format!("reject/interop/{id}--");
        let files = self.entries.iter().map(|entry| entry.file.as_str());
        files
            .filter_map(|file| Some((file.strip_prefix(&start)?.split_once('-')?.0, file)))
            .collect()
    }

    /// Returns the example for the rule `id`: the smallest file that breaks the rule without an option, else with one, else a
    /// file with a note by the rule. Returns `None` if there is none.
    ///
    /// # Errors
    /// Fails if the command cannot be run, or does not print what the index says.
    pub(crate) fn example(&self, id: &str) -> Result<Option<Example>> {
        if let Some(asked) = ASKED.iter().find(|asked| asked.rule == id) {
            return self.asked(asked).map(Some);
        }
        let mut entries = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.is_about(id)) {
            let size = fs::metadata(self.root.join("corpus").join(&entry.file))?.len();
            let is_note = entry.rule.is_none();
            entries.push(((is_note, entry.options.is_some(), size, &*entry.file), entry));
        }
        let Some((_, entry)) = entries.into_iter().min_by_key(|(key, _)| *key) else {
            return Ok(None);
        };
        let option = entry.options.as_deref().map(option).unwrap_or_default();
        let check = |file: &str| self.session(&format!("check {option}corpus/{file}"), &self.root);
        let broken = check(&entry.file)?;
        if !broken.printed.contains(&format!("rule {id}, ")) {
            let Session { arguments, printed } = broken;
            return Err(format!("zten {arguments} does not name the rule {id}:\n{printed}").into());
        }
        let valid = entry.neighbor.as_deref().map(check).transpose()?;
        let files = [Some(&entry.file), entry.neighbor.as_ref()];
        let files = files.into_iter().flatten().map(|file| format!("corpus/{file}")).collect();
        Ok(Some(Example { written: None, broken, valid, files }))
    }

    /// Runs the commands of `asked` in a folder with the file that they need.
    fn asked(&self, asked: &Asked) -> Result<Example> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(asked.written.0);
        fs::create_dir_all(path.parent().ok_or("the path of the file has no folder")?)?;
        fs::write(path, asked.written.1)?;
        if asked.rule == "program-file" {
            // The rule `program-file` is about files that lie next to weights, so the folder must contain weights.
            fs::write(folder.path().join("folder/model.safetensors"), EMPTY)?;
        }
        // The command does not follow links that it finds in a folder, but follows those in a path that it is given.
        #[cfg(unix)]
        std::os::unix::fs::symlink(self.root.join("corpus"), folder.path().join("corpus"))?;
        let broken = self.session(asked.broken, folder.path())?;
        if !broken.printed.contains(&format!("rule {}, ", asked.rule)) {
            return Err(format!("zten {}:\n{}", broken.arguments, broken.printed).into());
        }
        let valid = asked.valid.map(|valid| self.session(valid, folder.path())).transpose()?;
        Ok(Example { written: Some(asked.written), broken, valid, files: Vec::new() })
    }

    /// Runs the command with `arguments`, which are separated by spaces, in `folder`.
    fn session(&self, arguments: &str, folder: &Path) -> Result<Session> {
        let output =
            Command::new(&self.command).args(arguments.split(' ')).current_dir(folder).output()?;
        let mut printed = String::from_utf8(output.stdout)?;
        printed.push_str(&String::from_utf8(output.stderr)?);
        if output.status.code().is_none_or(|code| code == 2) || printed.is_empty() {
            return Err(format!("zten {arguments}: {}\n{printed}", output.status).into());
        }
        Ok(Session { arguments: arguments.to_owned(), printed })
    }
}

impl Entry {
    /// Returns whether the file breaks the rule `id`, or has a note by it.
    fn is_about(&self, id: &str) -> bool {
        self.rule.as_deref() == Some(id) || self.notes.iter().any(|note| note == id)
    }
}

/// Returns the option of the command for `options` of the index, with a space behind it.
fn option(options: &str) -> String {
    match options.split_once('=') {
        Some(("canonical", _)) | None => "--canonical ".to_owned(),
        Some((name, value)) => format!("--{name}={} ", value.replace(':', "=")),
    }
}
