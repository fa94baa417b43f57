//! Disagreements about files that `zten` writes, and that `ztensor` rejects or reads differently.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ciborium::Value;
use zten::DType;
use zten::element::StorageType;
use zten::write::{Checksum, Encoded, NewObject, WriteOptions, Writer};
use ztensor::{Error, Reader, TensorReader as _};

use super::Disagreement;
use crate::ours;

pub(super) const KNOWN: [Disagreement; 9] = [
    Disagreement {
        what: "complex dense objects: ztensor's reader of streams and of compressed data takes \
               product × width of the dtype for their size, and rejects them",
        right: "v1.2 §2 has product × ratio × width; read by component, the bytes are right",
        show: complex_dense,
    },
    Disagreement {
        what: "complex COO objects: ztensor's `read_coo` counts values by storage elements",
        right: "v1.2 §2: the ratio is 2; read by component, the bytes are right",
        show: complex_coo,
    },
    Disagreement {
        what: "a dense shape such as [2^40, 2^40, 0]: ztensor multiplies from the left, and \
               rejects an overflow that the 0 would have undone",
        right: "v1.2 §2 has the product of the shape, which is 0",
        show: overflow_before_zero,
    },
    Disagreement {
        what: "attributes with a simple value that has no name: ztensor rejects the file",
        right: "v1.2 §1 allows arbitrary metadata, and RFC 7049 §2.3 such values",
        show: simple_value,
    },
    Disagreement {
        what: "attributes with `undefined`: ztensor reads null",
        right: "RFC 7049 §2.3 has them as two values",
        show: undefined,
    },
    Disagreement {
        what: "attributes with a small number as a bignum: ztensor reads an integer",
        right: "both: RFC 7049 §2.4.2 leaves it to the application",
        show: small_bignum,
    },
    Disagreement {
        what: "a digest `crc32c:` without `0x`: ztensor never verifies it",
        right: "v1.2 §1 has `algorithm:hex`; zten reads both and writes the `0x` that ztensor wants",
        show: crc_without_prefix,
    },
    Disagreement {
        what: "raw components, mapped: ztensor does not verify their digest",
        right: "neither: v1.2 asks no reader to verify",
        show: mapped_unverified,
    },
    Disagreement {
        what: "an object without components: ztensor's `remove_tensors` rejects the file",
        right: "v1.2 §1 has `components` as a map and says nothing of its size",
        show: no_components,
    },
];

fn write(path: &Path, object: &NewObject<'_>, parts: &[(&str, &[u8])]) -> Result<()> {
    let mut writer = WriteOptions::default().checksum(Checksum::Crc32c).create(path)?;
    writer.add_object(object, parts)?;
    Ok(writer.finish()?)
}

fn complex_dense(path: &Path) -> Result<()> {
    let object = NewObject::dense("x", &[3], DType::Complex64);
    write(path, &object, &[("data", &[7; 24])])?;
    let stream = Reader::open(path)?;
    ensure!(matches!(stream.read("x", true), Err(Error::InvalidFileStructure(_))));
    ensure!(matches!(stream.read_as::<f32>("x"), Err(Error::InvalidFileStructure(_))));
    ensure!(stream.read_component_data("x", "data")?.as_slice() == [7; 24]);
    Ok(())
}

fn complex_coo(path: &Path) -> Result<()> {
    let object = NewObject::sparse_coo("x", &[3], DType::Complex64, 1);
    write(path, &object, &[("coords", &[0; 8]), ("values", &[7; 8])])?;
    let stream = Reader::open(path)?;
    ensure!(matches!(stream.read_coo::<f32>("x"), Err(Error::DataConversionError(_))));
    ensure!(stream.read_component_data("x", "values")?.as_slice() == [7; 8]);
    Ok(())
}

fn overflow_before_zero(path: &Path) -> Result<()> {
    write(path, &NewObject::dense("x", &[1 << 40, 1 << 40, 0], DType::U8), &[])?;
    let stream = Reader::open(path)?;
    ensure!(matches!(stream.read("x", true), Err(Error::InvalidFileStructure(_))));
    ensure!(stream.read_component_data("x", "data")?.as_slice().is_empty());
    Ok(())
}

/// Writes a file with one attribute `a`, whose value is the CBOR `value`.
fn with_attribute(path: &Path, value: &[u8]) -> Result<()> {
    let attributes = Encoded::from_cbor([b"\xa1\x61a", value].concat());
    let object = NewObject::dense("x", &[0], DType::U8).attributes(&attributes);
    write(path, &object, &[])
}

fn attribute(path: &Path) -> Result<Value> {
    let reader = Reader::open(path)?;
    let object = reader.get("x").context("the object")?;
    let attributes = object.attributes.as_ref().context("its attributes")?;
    attributes.get("a").cloned().context("the attribute")
}

fn simple_value(path: &Path) -> Result<()> {
    with_attribute(path, &[0xf8, 99])?;
    ensure!(matches!(Reader::open(path), Err(Error::CborDeserialize(_))));
    Ok(())
}

fn undefined(path: &Path) -> Result<()> {
    with_attribute(path, &[0xf7])?;
    ensure!(attribute(path)? == Value::Null);
    Ok(())
}

fn small_bignum(path: &Path) -> Result<()> {
    with_attribute(path, &[0xc2, 0x41, 5])?;
    ensure!(attribute(path)? == Value::Integer(5.into()));
    Ok(())
}

fn crc_without_prefix(path: &Path) -> Result<()> {
    write(path, &NewObject::dense("x", &[1], DType::U8), &[("data", &[7])])?;
    let file = fs::read(path)?;
    let at = file.windows(9).position(|text| text == b"crc32c:0x").context("a digest")?;
    // A text of 17 bytes is replaced by one of 15 bytes, so the manifest becomes 2 bytes shorter.
    let mut other = [&file[..at], b"crc32c:", &file[at + 9..]].concat();
    other[at - 1] -= 2;
    let size = other.len() - 16;
    other[size] -= 2;
    fs::write(path, &other)?;
    let content = crate::content::Content {
        objects: vec![crate::content::Object {
            name: "x".to_owned(),
            shape: vec![1],
            format: "dense".to_owned(),
            attributes: None,
            parts: vec![crate::content::Part {
                role: "data".to_owned(),
                storage: StorageType::U8,
                logical: None,
                bytes: vec![7],
            }],
            packed: false,
        }],
        attributes: None,
    };
    ours::compare(path, &content, Some(crate::content::Sum::Crc32c), false)?;
    other[64] ^= 1;
    fs::write(path, &other)?;
    ensure!(Reader::open(path)?.read("x", true)? == [6]);
    ensure!(ours::compare(path, &content, None, false).is_err());
    Ok(())
}

fn mapped_unverified(path: &Path) -> Result<()> {
    write(path, &NewObject::dense("x", &[1], DType::U8), &[("data", &[7])])?;
    let mut file = fs::read(path)?;
    file[64] ^= 1;
    fs::write(path, &file)?;
    ensure!(Reader::open_mmap(path)?.read_data("x")?.as_slice() == [6]);
    ensure!(Reader::open(path)?.read("x", true).is_err());
    Ok(())
}

fn no_components(path: &Path) -> Result<()> {
    let mut writer = Writer::create(path)?;
    writer.add_object(&NewObject::custom("x", &[], "mine", &[]), &[])?;
    writer.add_object(&NewObject::dense("y", &[0], DType::U8), &[])?;
    writer.finish()?;
    ensure!(Reader::open(path)?.get("x").is_some());
    ensure!(ztensor::remove_tensors(path, path.with_extension("out"), &["y"]).is_err());
    Ok(())
}
