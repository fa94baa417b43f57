//! Opening files, and looking up objects.

use std::fs;
use std::path::Path;

use crate::contestant::serve;
use anyhow::{Context as _, Result, bail};
use serde::Deserialize as _;
use zten::Archive;
use zten_lab::readers::{safetensors, ztensor, ztensor_2};
use zten_testkit::generate::{self, File, shuffled};

use crate::workers::walk;

/// Returns the manifest of a file, which the footer locates.
fn manifest(file: &[u8]) -> Result<&[u8]> {
    let old = file.starts_with(b"ZTEN0001");
    let footer = if old { 8 } else { 16 };
    let rest = file.len().checked_sub(footer).context("no footer")?;
    let (rest, footer) = file.split_at(rest);
    let size = u64::from_le_bytes(*footer.first_chunk().context("no footer")?);
    let start = rest.len().checked_sub(size as usize).context("no manifest")?;
    Ok(rest.split_at(start).1)
}

/// Opens a file that is in memory.
pub(crate) fn open(reader: &str, file: &[u8]) -> Result<()> {
    match reader {
        "zten" => serve(|| Archive::from_bytes(file).expect("a valid file")),
        "ztensor 1.2.3" => serve(|| ztensor::open(file).expect("a valid file")),
        "safetensors" => serve(|| safetensors::open(file).expect("a valid file")),
        "bare walk" => {
            let manifest = manifest(file)?;
            serve(|| walk::items(manifest).expect("valid CBOR"));
        }
        "minicbor, skipping" => {
            let manifest = manifest(file)?;
            serve(|| minicbor::Decoder::new(manifest).skip().expect("valid CBOR"));
        }
        "serde_cbor_2, ignoring" => {
            let manifest = manifest(file)?;
            serve(|| {
                let mut from = serde_cbor_2::Deserializer::from_slice(manifest);
                serde::de::IgnoredAny::deserialize(&mut from).expect("valid CBOR")
            });
        }
        _ => bail!("{reader} opens nothing"),
    }
    Ok(())
}

/// Opens a file of generation 2, which zten has in memory and its peer maps.
pub(crate) fn open_v2(reader: &str, path: &Path) -> Result<()> {
    match reader {
        "zten" => return open(reader, &fs::read(path)?),
        "ztensor 2.1.1" => serve(|| ztensor_2::open(path).expect("a valid file")),
        _ => bail!("{reader} opens nothing"),
    }
    Ok(())
}

/// Looks up each object by its name, in random order, and reads its bytes.
pub(crate) fn look_up(reader: &str, file: &[u8]) -> Result<()> {
    match reader {
        "zten" => {
            let archive = Archive::from_bytes(file)?;
            let names = shuffled(archive.names().map(str::to_owned).collect());
            serve(|| {
                let bytes =
                    |name: &String| Some(archive.get(name)?.dense().ok()?.bytes().ok()?.len());
                names.iter().map(bytes).sum::<Option<usize>>().expect("all are there")
            });
        }
        "safetensors" => {
            let tensors = safetensors::deserialize(file)?;
            let names = shuffled(tensors.names().into_iter().map(str::to_owned).collect());
            serve(|| {
                let bytes = |name: &String| Some(tensors.tensor(name).ok()?.data().len());
                names.iter().map(bytes).sum::<Option<usize>>().expect("all are there")
            });
        }
        _ => bail!("{reader} looks up nothing"),
    }
    Ok(())
}

type Make = fn() -> File;

/// The manifests that are made to be expensive, and the ordinary manifest with which they are compared.
pub(crate) const HOSTILE: &[(&str, Make)] = &[
    ("ordinary", || generate::dense(&generate::names(100_000), true, false)),
    ("names shuffled, blobs too", || {
        generate::dense(&shuffled(generate::names(100_000)), true, true)
    }),
    ("one name for all", || generate::same_names(300_000)),
    ("one blob for all", || generate::same_blobs(300_000)),
    ("objects as small as can be", || generate::smallest(300_000, true, false)),
    ("attributes out of order", || generate::attributes(4096, 100)),
    ("arrays in arrays", || generate::nested(1_000_000)),
];

/// Opens one of these manifests, or rejects it.
pub(crate) fn hostile(reader: &str, case: &str) -> Result<()> {
    let (_, make) = HOSTILE.iter().find(|(name, _)| *name == case).context("no such case")?;
    let file = make();
    match reader {
        "zten" => serve(|| file.open().is_ok()),
        _ => bail!("{reader} opens nothing"),
    }
    Ok(())
}
