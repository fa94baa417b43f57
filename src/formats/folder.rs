//! Finding the file to open in a folder that holds one model.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::escape;

use super::index;

/// The suffixes of the names of model files.
const SUFFIXES: [&str; 9] =
    [".zt", ".safetensors", ".gguf", ".npy", ".npz", ".pt", ".pth", ".ckpt", ".pth.tar"];
/// The suffix of a file that is a checkpoint if its name begins with one of [`CHECKPOINTS`]. Other files with this suffix
/// are optimizer states or arguments of a training run.
const BIN: &str = ".bin";
/// The prefixes of the names of `.bin` files that are checkpoints.
const CHECKPOINTS: [&str; 2] = ["pytorch_model", "adapter_model"];
/// The largest number of models in a folder whose names an error message lists.
const NAMED: usize = 8;
/// The largest number of entries of a folder in which a model is searched for, so that a huge folder takes bounded time and
/// memory.
const MOST: usize = 1 << 16;

/// Returns the path of the model in `folder`: the only index (`*.index.json`) of several files, or else the only model file.
/// The files of a split GGUF model count as one, the first of them, and `model.zt` with its shards, such as `model-a.zt`,
/// counts as `model.zt`. Hidden files do not count.
///
/// # Errors
/// The folder cannot be read; [`io::ErrorKind::IsADirectory`] with a sentence if the folder has several models, of which up to
/// eight are listed, no model, or too many entries to search.
pub fn find_model(folder: &Path) -> io::Result<PathBuf> {
    let (mut indexes, mut models) = (Vec::new(), Vec::new());
    for (number, entry) in fs::read_dir(folder)?.enumerate() {
        if number == MOST {
            return Err(unclear(format!(
                "is a folder with more than {MOST} entries: give the name of the model's file"
            )));
        }
        let name = entry?.file_name();
        let Some(kind) = name.to_str().and_then(kind) else { continue };
        // `metadata` follows links, because the files in the cache of a hub are links to its `blobs`.
        if !fs::metadata(folder.join(&name)).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        match kind {
            ModelFileKind::Index => indexes.push(name),
            ModelFileKind::Model => models.push(name),
        }
    }
    if let [only] = indexes.as_slice() {
        return Ok(folder.join(only));
    }
    let mut candidates = indexes;
    candidates.extend(models);
    candidates.sort_unstable();
    // Shards are named after their root, `model-a.zt` after `model.zt`, so the root has the shortest name.
    let shortest = candidates.iter().min_by_key(|name| name.len());
    let root = shortest.filter(|root| are_shards_of(root, &candidates));
    match (candidates.as_slice(), root) {
        ([only], _) | (_, Some(only)) => Ok(folder.join(only)),
        ([], _) => Err(unclear("is a folder without a model file".to_owned())),
        (several, None) => {
            let names: Vec<_> =
                several.iter().take(NAMED).map(|name| escape::path(Path::new(name))).collect();
            let more = if several.len() > NAMED { ", …" } else { "" };
            let (count, names) = (several.len(), names.join(", "));
            Err(unclear(format!("is a folder with {count} models: {names}{more}")))
        }
    }
}

/// Returns the error for a folder that does not hold exactly one model. `sentence` says why, and lacks its subject.
fn unclear(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, sentence)
}

/// What the name of a file announces.
enum ModelFileKind {
    /// An index, such as `model.safetensors.index.json`, which names the files of one model.
    Index,
    /// A file with tensors of a model.
    Model,
}

/// Returns what kind of model file the name `name` announces. Returns `None` for the names of hidden files, of files that
/// are no models, and of the second and later files of a split GGUF model.
fn kind(name: &str) -> Option<ModelFileKind> {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with('.') {
        return None;
    }
    if index::is_named_so(&lower) {
        return Some(ModelFileKind::Index);
    }
    let is_checkpoint =
        lower.ends_with(BIN) && CHECKPOINTS.iter().any(|checkpoint| lower.starts_with(checkpoint));
    if !is_checkpoint && !SUFFIXES.iter().any(|suffix| lower.ends_with(suffix)) {
        return None;
    }
    let split = lower.strip_suffix(".gguf").and_then(number_of_split);
    if split.is_some_and(|number| number != 1) { None } else { Some(ModelFileKind::Model) }
}

/// Returns the number of a file of a split GGUF model from the `stem` of its name: 2 for `model-00002-of-00003`. Returns
/// `None` for any other name.
fn number_of_split(stem: &str) -> Option<u32> {
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (_, number) = rest.rsplit_once('-')?;
    let is_number = |digits: &str| digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number(number) && is_number(count) { number.parse().ok() } else { None }
}

/// Returns whether `root` has the name of a zTensor file, and all other `candidates` have names of its shards, such as
/// `model-a.zt` for `model.zt`.
fn are_shards_of(root: &OsStr, candidates: &[OsString]) -> bool {
    let Some(stem) = root.to_str().and_then(|name| name.strip_suffix(".zt")) else { return false };
    let is_shard = |name: &str| {
        let end = name.strip_prefix(stem).and_then(|end| end.strip_suffix(".zt"));
        end.is_some_and(|end| end.starts_with('-'))
    };
    let mut others = candidates.iter().filter(|other| *other != root);
    others.all(|other| other.to_str().is_some_and(is_shard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn a_folder_with_one_index_or_one_model_is_that_model() {
        let cases: [(&[&str], Result<&str, &str>); 11] = [
            (&["config.json", "model.safetensors"], Ok("model.safetensors")),
            (
                &["a-00001-of-00002.safetensors", "a.safetensors.index.json", "b.safetensors"],
                Ok("a.safetensors.index.json"),
            ),
            (&["m-00002-of-00002.gguf", "m-00001-of-00002.gguf"], Ok("m-00001-of-00002.gguf")),
            (&["m.zt", "m-a.zt", "m-b.zt"], Ok("m.zt")),
            (&["pytorch_model.bin", "training_args.bin"], Ok("pytorch_model.bin")),
            (&["W.SafeTensors", ".hidden.pt"], Ok("W.SafeTensors")),
            (&[], Err("without a model file")),
            (&["README.md", "optimizer.bin"], Err("without a model file")),
            (&["a.gguf", "b.gguf"], Err("2 models: a.gguf, b.gguf")),
            (&["a.index.json", "b.index.json"], Err("2 models: a.index.json, b.index.json")),
            (&["a.zt", "b c.zt"], Err("2 models: a.zt, \"b c.zt\"")),
        ];
        for (names, wanted) in cases {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("folder.safetensors")).unwrap();
            for name in names {
                fs::write(folder.path().join(name), b"").unwrap();
            }
            match (find_model(folder.path()), wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, folder.path().join(wanted)),
                (Err(error), Err(wanted)) => {
                    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
                    assert!(error.to_string().ends_with(wanted), "{error}");
                }
                (found, wanted) => panic!("{names:?}: {found:?}, {wanted:?}"),
            }
        }
        let missing = find_model(Path::new("no such folder")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
