//! Stores of downloaded models, which name each file by the digest of its content: caches of the Hugging Face hub, and stores of
//! Ollama. `docs/stores.md` describes what is compared.

#[cfg(feature = "content")]
mod hashed;
mod manifest;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zten::finding::{Finding, Verdict};
use zten::rules::{Class, Row, Scope, Source, Texts};
pub use zten::source::is_hub_repository as is_repository;

use crate::digests::{Sha256, hex_digits, parse_hex, parse_sha256};

#[cfg(feature = "content")]
pub use hashed::Hashed;
pub use manifest::{MANIFEST, Manifest, check_blobs};

/// The name of the folder that holds the blobs of a store of downloaded models. Each blob is the content of one file.
pub const BLOBS: &str = "blobs";
/// The name of the folder, within the folder of a repository in a hub's cache, that has a folder for each downloaded revision.
pub const SNAPSHOTS: &str = "snapshots";
/// The name of the folder, within the folder of a repository in a hub's cache, that has a file for each branch or tag. The content
/// of the file is the commit that was downloaded.
pub const REFS: &str = "refs";
/// The name of the folder, within the folder of a repository in a hub's cache, that has an empty file for each file that a program
/// asked for and the hub does not have.
pub const NO_EXIST: &str = ".no_exist";
/// The name of the folder at the top of a hub's cache that has an empty lock file for each download that was ever begun.
pub const LOCKS: &str = ".locks";
/// The name of the folder of an Ollama store that has the manifests, which list the blobs of models.
pub const MANIFESTS: &str = "manifests";

/// The number of nested folders between the folder [`MANIFESTS`] of an Ollama store and a manifest: the path of a manifest is
/// `REGISTRY/NAMESPACE/MODEL/TAG`.
pub const MANIFEST_DEPTH: usize = 3;

/// The digest by which a store names a blob, or the digest that was computed from the content of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlobDigest {
    /// The SHA-256 of the content of the blob.
    Sha256(Sha256),
    /// A SHA-1. The hub names a small file by the SHA-1 that git computes: of `blob`, a space, the length in decimal, a zero byte,
    /// and the content. Some mirrors of the hub name it by the SHA-1 of the content alone.
    Sha1([u8; 20]),
}

impl BlobDigest {
    /// Parses `name`, the name of a blob in a cache of the hub: 64 hexadecimal digits in lower case of a SHA-256 for a file in
    /// large file storage, or 40 such digits of a SHA-1 for any other file. Returns `None` for a name of another form, which some
    /// other servers give to blobs.
    pub fn of_hub(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?;
        parse_sha256(name).map(Self::Sha256).or_else(|| parse_hex(name).map(Self::Sha1))
    }

    /// Parses `name`, the name of a blob in an Ollama store: `sha256-` and 64 hexadecimal digits in lower case. Returns `None` for
    /// any other name.
    pub fn of_ollama(name: &OsStr) -> Option<Self> {
        parse_sha256(name.to_str()?.strip_prefix("sha256-")?).map(Self::Sha256)
    }

    /// Returns the name of the digest's algorithm, for messages: `SHA-256` or `git's SHA-1`.
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "SHA-256",
            Self::Sha1(_) => "git's SHA-1",
        }
    }

    /// Returns the digest as text: two hexadecimal digits in lower case for each byte.
    fn hex(&self) -> String {
        match self {
            Self::Sha256(sum) => hex_digits(sum),
            Self::Sha1(sum) => hex_digits(sum),
        }
    }

    /// Compares this digest, which the name of a blob states, with `found`, the digest that was computed from the content of the
    /// blob. Returns the finding if they differ.
    pub fn compare(&self, found: &Self) -> Option<Finding> {
        if self == found {
            return None;
        }
        let (algorithm, found, wanted) = (self.algorithm(), found.hex(), self.hex());
        let sentence = format!(
            "{algorithm} of the content is {found}, but the name of the file says {wanted}"
        );
        Some(finding(&DIGEST, sentence))
    }
}

/// The role of a file in a store of downloaded models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The file is in no store, or it is in a store but its name states no digest.
    #[default]
    Outside,
    /// A blob: the name of the file states this digest of its content.
    Blob(BlobDigest),
    /// A blob that is not complete, because its client is still at work or was interrupted.
    Unfinished,
    /// A manifest of Ollama, which lists the blobs of a model.
    Manifest,
    /// A file in which the store records its own state, such as the revision of a branch. The file may be empty, even if it has the
    /// name of a tensor file.
    Record,
}

/// A kind of folder in a store of downloaded models, which decides what the names of its files mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// The folder [`BLOBS`] of a repository in a cache of the Hugging Face hub.
    HubBlobs,
    /// A folder in which a hub's cache records its own state, or a folder inside of one: [`REFS`] and [`NO_EXIST`] of a repository,
    /// and [`LOCKS`]. [`Folder::of`] does not recognize [`LOCKS`], because only a walk through the cache can tell it from other
    /// folders.
    HubRecords,
    /// The folder [`BLOBS`] of a store of Ollama.
    OllamaBlobs,
    /// The folder [`MANIFESTS`] of an Ollama store (0), or a folder inside of it. The number is the number of levels below
    /// [`MANIFESTS`].
    OllamaManifests(usize),
}

impl Folder {
    /// Returns the kind of the folder at the canonical path `real`. Returns `None` for a folder that is not in a store, for the
    /// snapshots of a hub's cache, whose files have their own names, and for folders more than [`MANIFEST_DEPTH`] levels below
    /// [`MANIFESTS`]. A store of Ollama is recognized by its folders [`BLOBS`] and [`MANIFESTS`], of which both must exist.
    pub fn of(real: &Path) -> Option<Self> {
        let name = real.file_name()?;
        let above = real.parent()?;
        if name == BLOBS {
            if above.file_name().is_some_and(is_repository) {
                return Some(Self::HubBlobs);
            }
            return above.join(MANIFESTS).is_dir().then_some(Self::OllamaBlobs);
        }
        let is_of_records = |folder: &Path| {
            let above = folder.parent().and_then(Path::file_name);
            (folder.ends_with(REFS) || folder.ends_with(NO_EXIST))
                && above.is_some_and(is_repository)
        };
        if real.ancestors().any(is_of_records) {
            return Some(Self::HubRecords);
        }
        let is_of_manifests = |folder: &Path| {
            folder.ends_with(MANIFESTS)
                && folder.parent().is_some_and(|above| above.join(BLOBS).is_dir())
        };
        let mut near = real.ancestors().take(MANIFEST_DEPTH.saturating_add(1));
        near.position(is_of_manifests).map(Self::OllamaManifests)
    }

    /// Returns the role in the store of the file called `name` in this folder.
    pub fn role(self, name: &OsStr) -> Role {
        let blob = |digest: Option<BlobDigest>, is_unfinished: fn(&OsStr) -> bool| match digest {
            Some(digest) => Role::Blob(digest),
            None if is_unfinished(name) => Role::Unfinished,
            None => Role::Outside,
        };
        match self {
            // The hub's client in Rust, and its client in Python until 2023, keep lock files beside the blobs.
            Self::HubBlobs if name.as_encoded_bytes().ends_with(b".lock") => Role::Record,
            Self::HubBlobs => blob(BlobDigest::of_hub(name), is_unfinished_of_hub),
            Self::OllamaBlobs => blob(BlobDigest::of_ollama(name), is_unfinished_of_ollama),
            Self::HubRecords => Role::Record,
            // A tag never begins with a dot. Files like `.DS_Store` are not of Ollama.
            Self::OllamaManifests(MANIFEST_DEPTH) if !is_hidden(name) => Role::Manifest,
            Self::OllamaManifests(_) => Role::Outside,
        }
    }
}

/// Returns the role in a store of the file at `path`, and the canonical path of the file. If `path` is a link in a snapshot of a
/// hub's cache, this is the path of the blob. Returns `None` unless the file is a blob whose name states its digest, or a manifest
/// of Ollama, and if the path cannot be resolved.
pub fn role_of(path: &Path) -> Option<(Role, PathBuf)> {
    let real = fs::canonicalize(path).ok()?;
    let role = Folder::of(real.parent()?)?.role(real.file_name()?);
    matches!(role, Role::Blob(_) | Role::Manifest).then_some((role, real))
}

/// Returns whether `name` is the name of a file that programs keep at the top of a hub's cache: a mark that tells backup programs
/// to skip the cache, and the versions of the cache of transformers and of diffusers.
pub fn is_record_of_cache(name: &OsStr) -> bool {
    ["CACHEDIR.TAG", "version.txt", "version_diffusers_cache.txt"].iter().any(|own| name == *own)
}

/// Returns whether `name` begins with a dot.
fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The suffixes of blobs in a cache of the hub whose download has not ended. The clients in Python and JavaScript write the first
/// one, the client in Rust the second, and llama.cpp the third.
const UNFINISHED_SUFFIXES: [&str; 3] = [".incomplete", ".part", ".downloadInProgress"];

/// Returns whether `name` has a suffix that marks a blob in a cache of the hub whose download has not ended.
fn is_unfinished_of_hub(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    UNFINISHED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Returns whether `name` is the name of a blob in a store of Ollama that is not complete. A download has the name
/// `sha256-DIGEST-partial` or `sha256-DIGEST-partial-NUMBER`, of which the digest is not checked. A blob of a model that is being
/// created has the name `sha256-NUMBER`, with at most ten digits.
fn is_unfinished_of_ollama(name: &OsStr) -> bool {
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("sha256-")) else {
        return false;
    };
    let is_of_download = rest
        .rsplit_once("-partial")
        .is_some_and(|(_, end)| end.is_empty() || end.strip_prefix('-').is_some_and(is_number));
    is_of_download || rest.len() <= 10 && is_number(rest)
}

/// Returns the finding about a blob whose download or creation has not ended. The verdict is "unsupported" and not "invalid",
/// because the bytes may be the beginning of a valid file.
pub fn unfinished() -> Finding {
    let verdict = Verdict::Unsupported;
    Finding { verdict, ..finding(&UNFINISHED, UNFINISHED.broken().to_owned()) }
}

/// Returns the finding that a manifest of `length` bytes is too long.
pub fn too_long(length: u64) -> Finding {
    let sentence = format!(
        "the manifest of Ollama has {length} bytes, which exceeds the maximum of {MANIFEST} bytes"
    );
    finding(&MANIFEST_FORM, sentence)
}

/// Returns the finding that a file breaks the rule `row`. `sentence` is its message.
fn finding(row: &'static Row, sentence: String) -> Finding {
    let mut finding = Finding::new(Verdict::Invalid, sentence);
    finding.row = Some(row);
    finding
}

/// Defines the rules of stores: for each the id, the class, the requirement, the short description of a violation, and the advice.
macro_rules! rows {
    ($($name:ident $id:literal $class:ident $holds:literal $broken:literal $advice:literal;)+) => {
        $(static $name: Row = Row::new($id, Class::$class, &Texts {
            holds: $holds,
            broken: $broken,
            source: Source::Policy("a store names files by the digests of their content"),
            scope: Scope::Other("all, in a store"),
            advice: $advice,
        });)+
        /// The rules about files in stores of downloaded models.
        pub static ROWS: &[&Row] = &[$(&$name),+];
    };
}

rows! {
    DIGEST "store-digest" Invalid
        "The content of a blob has the digest that is its name."
        "the content differs from the digest that is the name of the file"
        "The download of the file failed, or the file has changed since. Delete it, and download the model again.";
    MANIFEST_FORM "store-manifest" Invalid
        "A manifest of Ollama is a JSON object that lists blobs with SHA-256 digests and sizes."
        "the manifest does not list the blobs of a model"
        "Pull the model again with `ollama pull`, or create it again with `ollama create`.";
    MISSING "store-missing" Invalid
        "Each blob that a manifest of Ollama lists is in the store."
        "a blob of the manifest is missing"
        "Pull the model again with `ollama pull`, or create it again with `ollama create`.";
    LENGTH "store-size" Invalid
        "Each blob has the size that a manifest of Ollama gives it."
        "the size of a blob differs from the manifest"
        "Pull the model again with `ollama pull`, or create it again with `ollama create`.";
    UNFINISHED "store-unfinished" Unsupported
        "Each blob was downloaded or created to its end."
        "the download or creation of the file has not ended, so its content is not checked"
        "Download or create the model again, which completes the file, or delete the file.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_blobs() {
        let hub = |name: &str| Folder::HubBlobs.role(name.as_ref());
        let ollama = |name: &str| Folder::OllamaBlobs.role(name.as_ref());
        let [large, small] = ["0f".repeat(32), "0f".repeat(20)];
        let sha256 = Role::Blob(BlobDigest::Sha256([15; 32]));
        assert_eq!(hub(&large), sha256);
        assert_eq!(hub(&small), Role::Blob(BlobDigest::Sha1([15; 20])));
        assert_eq!(ollama(&format!("sha256-{large}")), sha256);
        for wrong in ["", "0f", &large[1..], &small[1..], &large.to_uppercase(), "x.incomplet"] {
            assert_eq!((hub(wrong), ollama(wrong)), (Role::Outside, Role::Outside), "{wrong}");
        }
        for wrong in
            [&large, &format!("sha256-{small}"), &format!("sha256:{large}"), "sha256-", "sha256-x"]
        {
            assert_eq!(ollama(wrong), Role::Outside, "{wrong}");
        }
        for end in [".incomplete", ".0a1b.incomplete", ".part", ".sync.part", ".downloadInProgress"]
        {
            for digest in [&large, &small] {
                assert_eq!(hub(&format!("{digest}{end}")), Role::Unfinished, "{end}");
                assert_eq!(ollama(&format!("sha256-{digest}{end}")), Role::Outside, "{end}");
            }
        }
        let lock = format!("{large}.lock");
        assert_eq!((hub(&lock), ollama(&lock)), (Role::Record, Role::Outside));
        for number in ["0", "4294967295"] {
            assert_eq!(ollama(&format!("sha256-{number}")), Role::Unfinished, "{number}");
            assert_eq!(hub(&format!("sha256-{number}")), Role::Outside, "{number}");
        }
        for end in ["-partial", "-partial-0", "-partial-17"] {
            assert_eq!(ollama(&format!("sha256-{large}{end}")), Role::Unfinished, "{end}");
        }
        for end in ["-partial-", "-partial-x", "-partials", "-partial-1-"] {
            assert_eq!(ollama(&format!("sha256-{large}{end}")), Role::Outside, "{end}");
        }
    }

    #[test]
    fn folders_of_stores() {
        let root = tempfile::tempdir().unwrap();
        let folder = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(&path).unwrap();
            Folder::of(&path)
        };
        for repository in ["models--a--b", "datasets--a--b", "spaces--a--b", "kernels--a--b"] {
            assert_eq!(folder(&format!("hub/{repository}/blobs")), Some(Folder::HubBlobs));
        }
        assert_eq!(folder("hub/models--a--b/refs/pr"), Some(Folder::HubRecords));
        assert_eq!(folder("hub/models--a--b/.no_exist/0123"), Some(Folder::HubRecords));
        for none in [
            "hub",
            "hub/blobs",
            "hub/.no_exist",
            "hub/refs",
            "hub/models--a--b",
            "hub/models--a--b/blobs/x",
        ] {
            assert_eq!(folder(none), None, "{none}");
        }
        assert_eq!(folder("hub/models--a--b/snapshots/0/blobs"), None);
        assert_eq!(folder("models/blobs"), None);
        for (depth, path) in ["", "host", "host/name", "host/name/model"].iter().enumerate() {
            let path = format!("models/manifests/{path}");
            assert_eq!(folder(&path), Some(Folder::OllamaManifests(depth)), "{path}");
        }
        assert_eq!(folder("models/manifests/host/name/model/deep"), None);
        assert_eq!(folder("models/blobs"), Some(Folder::OllamaBlobs));
        assert_eq!(folder("other/manifests/host/name/model"), None);
    }
}
