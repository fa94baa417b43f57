//! Writes files for readers that are not written in Rust, with a list of their content. The list comes from what was to be written,
//! not from reading the files.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use ciborium::Value;
use fastrand::Rng;
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};

use crate::content::{Attributes, Object, Part, Sum};
use crate::generate::{self, Taste};
use crate::ours::{self, Manner};

/// Writes `count` files `NAME.zt`, and `files.json`.
pub(crate) fn run(folder: &Path, count: u64, seed: u64) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut files = Map::new();
    for at in 0..count {
        let name = format!("{at:03}.zt");
        let mut rng = Rng::with_seed(seed * 1_000_000 + 900_000 + at);
        let mut file = one(&folder.join(&name), usize::try_from(at)?, &mut rng)
            .with_context(|| format!("{name} of seed {seed}"))?;
        file["seed"] = seed.into();
        files.insert(name, file);
    }
    fs::write(folder.join("files.json"), serde_json::to_vec(&files)?)?;
    Ok(())
}

fn one(path: &Path, at: usize, rng: &mut Rng) -> Result<serde_json::Value> {
    // Half of the files use only features that old readers should support.
    let taste = if at.is_multiple_of(2) { Taste::OldPython } else { Taste::Python };
    let content = generate::content(rng, taste);
    let canonical = at.is_multiple_of(5);
    let manner = Manner { sum: Sum::ALL[at % 3], canonical };
    let (first, later) = content.objects.split_at(rng.usize(..=content.objects.len()));
    if canonical || rng.bool() {
        ours::create(path, &content, manner, rng)?;
    } else {
        let start = crate::content::Content {
            attributes: content.attributes.clone(),
            objects: first.to_vec(),
        };
        ours::create(path, &start, manner, rng)?;
        ours::append(path, later, manner, rng)?;
    }
    let digest = if canonical { Sum::Sha256 } else { manner.sum };
    Ok(json!({
        "attributes": attributes(content.attributes.as_ref()),
        "digest": digest.prefix(),
        "objects": content.objects.iter().map(object).collect::<Vec<_>>(),
    }))
}

fn object(object: &Object) -> serde_json::Value {
    json!({
        "name": object.name,
        "shape": object.shape,
        "format": object.format,
        "attributes": attributes(object.attributes.as_ref()),
        "components": object.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn part(part: &Part) -> serde_json::Value {
    json!({
        "role": part.role,
        "dtype": part.storage.name(),
        "type": part.logical,
        "bytes": part.bytes.len(),
        "sha256": hex(&Sha256::digest(&part.bytes)),
    })
}

fn attributes(attributes: Option<&Attributes>) -> serde_json::Value {
    attributes.map_or(serde_json::Value::Null, |all| {
        all.iter().map(|(key, item)| (key.clone(), value(item))).collect()
    })
}

/// Returns a value with its type, which JSON alone would lose: numbers as text, floats as their bits.
fn value(item: &Value) -> serde_json::Value {
    match item {
        Value::Integer(number) => json!({ "int": i128::from(*number).to_string() }),
        Value::Float(float) if float.is_nan() => json!({ "float": "nan" }),
        Value::Float(float) => json!({ "float": hex(&float.to_be_bytes()) }),
        Value::Bytes(bytes) => json!({ "bytes": hex(bytes) }),
        Value::Text(text) => json!({ "text": text }),
        Value::Bool(bool) => json!({ "bool": bool }),
        Value::Array(items) => json!({ "array": items.iter().map(value).collect::<Vec<_>>() }),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, item)| [value(key), value(item)]);
            json!({ "map": entries.collect::<Vec<_>>() })
        }
        _ => json!("null"),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
