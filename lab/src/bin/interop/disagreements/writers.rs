//! Disagreements about files that `ztensor` writes, and that `zten` rejects by default.

use std::path::Path;

use anyhow::{Result, ensure};
use zten::{Error, OpenOptions, Tolerance, verify::Verifier};
use ztensor::{Checksum, Compression, DType, Format, Writer};

use super::Disagreement;

pub(super) const KNOWN: [Disagreement; 6] = [
    Disagreement {
        what: "bools other than 0 and 1: ztensor writes them, zten rejects them",
        right: "zten: v1.2 §2 has the two bytes",
        show: bools,
    },
    Disagreement {
        what: "CSR whose indptr does not fit: ztensor writes it, zten rejects it",
        right: "zten: v1.2 §3 has rows + 1 of them",
        show: indptr,
    },
    Disagreement {
        what: "indices that are not u64: ztensor writes them, zten reads them if told to",
        right: "zten: v1.2 §3 has a MUST",
        show: narrow_indices,
    },
    Disagreement {
        what: "quantized_group without zeros: ztensor writes it, zten reads it if told to",
        right: "zten: v1.1 III.4 requires them, and v1.2 §3 lists them",
        show: no_zeros,
    },
    Disagreement {
        what: "a dense object of another size than its shape says, by `add_object`: ztensor \
               writes it, zten rejects it",
        right: "zten: v1.2 §2",
        show: size,
    },
    Disagreement {
        what: "a known logical type on another dtype: ztensor writes it, zten rejects it",
        right: "zten: the tables of v1.2 §2",
        show: dtype,
    },
];

type Parts<'a> = [(&'a str, DType, Option<&'a str>, &'a [u8])];

/// Has `ztensor` write a file with one object of these parts to `path`. Returns the rule by which zten rejects the file, or `None`
/// if it does not.
fn rejected(
    path: &Path,
    shape: &[u64],
    format: Format,
    parts: &Parts<'_>,
    options: &OpenOptions,
) -> Result<Option<&'static str>> {
    let mut writer = Writer::create(path)?;
    let (raw, none) = (Compression::Raw, Checksum::None);
    writer.add_object("x", shape.to_vec(), format, parts, None, raw, none)?;
    writer.finish()?;
    let file = std::fs::read(path)?;
    let validate = || -> Result<(), Error> {
        let archive = options.from_bytes(&file)?;
        let mut verifier = Verifier::new(archive.manifest());
        archive.tensors().try_for_each(|tensor| verifier.object(&tensor, |_, _| ()))
    };
    Ok(validate().err().and_then(|error| error.rule()))
}

fn bools(path: &Path) -> Result<()> {
    let parts: &Parts<'_> = &[("data", DType::Bool, None, &[0, 2])];
    let rule = rejected(path, &[2], Format::Dense, parts, &OpenOptions::default())?;
    ensure!(rule == Some("bool-value"), "{rule:?}");
    Ok(())
}

fn indptr(path: &Path) -> Result<()> {
    let parts: &Parts<'_> = &[
        ("values", DType::U8, None, &[]),
        ("indices", DType::U64, None, &[]),
        ("indptr", DType::U64, None, &[0; 16]),
    ];
    let rule = rejected(path, &[3, 3], Format::SparseCsr, parts, &OpenOptions::default())?;
    ensure!(rule == Some("csr-indptr-size"), "{rule:?}");
    Ok(())
}

fn narrow_indices(path: &Path) -> Result<()> {
    let parts: &Parts<'_> = &[
        ("values", DType::U8, None, &[7]),
        ("indices", DType::I32, None, &[1, 0, 0, 0]),
        ("indptr", DType::I32, None, &[0, 0, 0, 0, 1, 0, 0, 0]),
    ];
    let rule = rejected(path, &[1, 3], Format::SparseCsr, parts, &OpenOptions::default())?;
    ensure!(rule == Some("index-dtype"), "{rule:?}");
    let told = OpenOptions::default().tolerate(Tolerance::NarrowIndices);
    let rule = rejected(path, &[1, 3], Format::SparseCsr, parts, &told)?;
    ensure!(rule.is_none(), "{rule:?}");
    Ok(())
}

fn no_zeros(path: &Path) -> Result<()> {
    let parts: &Parts<'_> =
        &[("packed_weight", DType::I32, None, &[0; 4]), ("scales", DType::F16, None, &[0; 2])];
    let rule = rejected(path, &[8, 1], Format::QuantizedGroup, parts, &OpenOptions::default())?;
    ensure!(rule == Some("quantized-zeros"), "{rule:?}");
    let told = OpenOptions::default().tolerate(Tolerance::MissingZeros);
    let rule = rejected(path, &[8, 1], Format::QuantizedGroup, parts, &told)?;
    ensure!(rule.is_none(), "{rule:?}");
    Ok(())
}

fn size(path: &Path) -> Result<()> {
    let parts: &Parts<'_> = &[("data", DType::F32, None, &[0; 8])];
    let rule = rejected(path, &[3], Format::Dense, parts, &OpenOptions::default())?;
    ensure!(rule == Some("dense-size"), "{rule:?}");
    Ok(())
}

fn dtype(path: &Path) -> Result<()> {
    let parts: &Parts<'_> = &[("data", DType::F32, Some("f8_e5m2"), &[0; 4])];
    let rule = rejected(path, &[1], Format::Dense, parts, &OpenOptions::default())?;
    ensure!(rule.is_some(), "accepted");
    Ok(())
}
