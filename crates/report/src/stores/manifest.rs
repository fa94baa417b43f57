//! Manifests of Ollama: JSON that lists the blobs of a model with their digests and sizes.

use std::collections::HashSet;
use std::io;

use serde::Deserialize;
use zten::escape::quoted;
use zten::finding::{Finding, counted};
use zten::num::u64_from_usize;

use super::{LENGTH, MANIFEST_FORM, MISSING, finding};
use crate::digests::{Sha256, hex, parse_sha256};
use crate::size::human;

/// The largest length in bytes of the manifest of an Ollama model, a JSON file that lists the blobs of the model. A longer manifest
/// is reported and not read. The manifest of a model that has a blob for each tensor takes about 200 bytes for each tensor.
pub const MANIFEST: u64 = 4 << 20;

/// The largest number of missing blobs that a finding names.
const NAMED: usize = 8;

/// The entry of a blob in the manifest of an Ollama model: its digest, and its size in bytes.
#[derive(Debug, Deserialize)]
struct Layer {
    digest: String,
    size: u64,
}

/// The fields of the JSON of a manifest that are used. Serde rejects a field that occurs twice, which is wanted: programs disagree
/// on which of two equal fields counts.
#[derive(Debug, Deserialize)]
struct Fields {
    config: Option<Layer>,
    /// The blobs of the model's layers. Ollama writes `null` for a model without layers, such as a model that runs on a server. If
    /// the field is missing, the text is not a manifest.
    #[serde(deserialize_with = "Option::deserialize")]
    layers: Option<Vec<Layer>>,
}

/// The blobs that the manifest of an Ollama model lists: the digest and the size in bytes of each, first that of the configuration.
/// An entry with an empty digest is left out. A pair of the same digest and size is kept once.
#[derive(Debug)]
pub struct Manifest(Vec<(Sha256, u64)>);

impl Manifest {
    /// Parses `text`, the JSON of a manifest of Ollama.
    ///
    /// # Errors
    /// The finding that `text` is not such JSON, or that the digest of a blob is not `sha256:` or `sha256-` followed by 64
    /// hexadecimal digits in lower case.
    pub fn parse(text: &[u8]) -> Result<Self, Box<Finding>> {
        let bad = |sentence: String| Box::new(finding(&MANIFEST_FORM, sentence));
        let fields: Fields = serde_json::from_slice(text).map_err(|error| {
            // The text of the parser's error may quote the file at any length, so it is not part of the message.
            let what = if error.is_data() { "blobs with digests and sizes" } else { "JSON" };
            let (line, column) = (error.line(), error.column());
            bad(format!(
                "this is not a manifest of Ollama: expected {what} in line {line}, column {column}"
            ))
        })?;
        let (mut blobs, mut seen) = (Vec::new(), HashSet::new());
        let layers = fields.layers.into_iter().flatten();
        // Ollama writes an empty digest for a model without a configuration.
        let layers =
            fields.config.into_iter().chain(layers).filter(|layer| !layer.digest.is_empty());
        for Layer { digest, size } in layers {
            let hex = digest.strip_prefix("sha256").and_then(|rest| rest.strip_prefix([':', '-']));
            let sha256 = hex.and_then(parse_sha256).ok_or_else(|| {
                let digest = quoted(&digest);
                bad(format!(
                    "digest {digest} of a blob is not a SHA-256: expected sha256: and 64 hexadecimal digits in lower case"
                ))
            })?;
            if seen.insert((sha256, size)) {
                blobs.push((sha256, size));
            }
        }
        Ok(Self(blobs))
    }

    /// Returns a phrase about the manifest with the number of its blobs, for messages: "a manifest of Ollama, which lists 2 blobs".
    pub fn summary(&self) -> String {
        format!(
            "a manifest of Ollama, which lists {}",
            counted(u64_from_usize(self.0.len()), "blob")
        )
    }
}

/// Compares the blobs that `manifest` lists with those in the store. `length` returns the length in bytes of a blob in the store,
/// or `None` if the store does not have the blob. Returns the finding that blobs are missing, or, if none are, the finding about
/// the first blob whose length differs from the manifest. Returns `None` if all blobs agree.
///
/// # Errors
/// An error of `length`.
pub fn check_blobs(
    manifest: &Manifest,
    mut length: impl FnMut(&Sha256) -> io::Result<Option<u64>>,
) -> io::Result<Option<Finding>> {
    let (mut missing, mut sizes) = (Vec::new(), None);
    let mut count = 0_usize;
    for (sha256, size) in &manifest.0 {
        match length(sha256)? {
            Some(found) if found == *size => {}
            Some(found) => {
                let sentence = format!(
                    "blob sha256-{} has {}, but the manifest says {size}",
                    hex(sha256),
                    counted(found, "byte")
                );
                sizes = sizes.or(Some(finding(&LENGTH, sentence)));
            }
            None => {
                count = count.saturating_add(1);
                if missing.len() < NAMED {
                    missing.push(format!("sha256-{} ({})", hex(sha256), human(*size)));
                }
            }
        }
    }
    if missing.is_empty() {
        return Ok(sizes);
    }
    let more = if missing.len() < count { ", …" } else { "" };
    let (blobs, are) = if count == 1 { ("blob", "is") } else { ("blobs", "are") };
    let sentence =
        format!("{count} {blobs} of the model {are} missing: {}{more}", missing.join(", "));
    Ok(Some(finding(&MISSING, sentence)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";

    fn layer(digest: &str, size: u64) -> String {
        format!(r#"{{"mediaType":"x","digest":"sha256:{digest}","size":{size},"from":"y"}}"#)
    }

    fn manifest(config: &str, layers: &[String]) -> String {
        let layers = layers.join(",");
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layers}]}}"#)
    }

    #[test]
    fn manifests_list_blobs() {
        let text = manifest(&layer(ONE, 3), &[layer(TWO, 4), layer(TWO, 4)]);
        let parsed = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.0, [([0x11; 32], 3), ([0x22; 32], 4)]);
        assert_eq!(parsed.summary(), "a manifest of Ollama, which lists 2 blobs");
        assert!(Manifest::parse(br#"{"layers":[]}"#).unwrap().0.is_empty());
        assert!(Manifest::parse(br#"{"layers":[],"config":null}"#).unwrap().0.is_empty());
        // For a model without layers, Ollama writes `null`, and for a model without a configuration an empty digest. Both
        // are valid.
        let null = manifest(&layer(ONE, 3), &[]).replace("[]", "null");
        assert_eq!(Manifest::parse(null.as_bytes()).unwrap().0, [([0x11; 32], 3)]);
        let absent = manifest(r#"{"mediaType":"","digest":"","size":0}"#, &[layer(TWO, 4)]);
        assert_eq!(Manifest::parse(absent.as_bytes()).unwrap().0, [([0x22; 32], 4)]);
        // Ollama keeps the digest of a blob as its client gave it.
        let dashed = absent.replace("sha256:", "sha256-");
        assert_eq!(Manifest::parse(dashed.as_bytes()).unwrap().0, [([0x22; 32], 4)]);
        let wrong = [
            String::new(),
            "[]".to_owned(),
            "{}".to_owned(),
            r#"{"layers":{}}"#.to_owned(),
            r#"{"layers":[],"layers":[]}"#.to_owned(),
            r#"{"layers":[{"digest":1,"size":1}]}"#.to_owned(),
            "[".repeat(100_000),
            format!(r#"{{"x":{}"#, "[".repeat(100_000)),
            text.clone() + "x",
            text.replace(":4", ":-4"),
            text.replace(":4", ":4.5"),
            text.replace(&TWO[1..], &ONE[2..]),
            text.replace("sha256:2", "sha512:2"),
            text.replace("sha256:2", "2"),
            text.replace("sha256:2", "sha2562"),
            text.replace("sha256:22", "sha256:2/"),
            text.replace("sha256:22", "sha256:AA"),
        ];
        for text in wrong {
            let found = Manifest::parse(text.as_bytes()).unwrap_err();
            assert_eq!(found.row.unwrap().id(), "store-manifest");
            assert!(found.sentence.len() < 300, "{}", found.sentence);
        }
    }

    #[test]
    fn missing_blobs_come_before_sizes() {
        let check = |lengths: [Option<u64>; 2]| {
            let text = manifest(&layer(ONE, 3), &[layer(TWO, 4)]);
            let mut lengths = lengths.into_iter();
            let found = check_blobs(&Manifest::parse(text.as_bytes()).unwrap(), |_| {
                Ok(lengths.next().unwrap())
            });
            found.unwrap().map(|found| (found.row.unwrap().id(), found.sentence))
        };
        assert_eq!(check([Some(3), Some(4)]), None);
        let (rule, sentence) = check([Some(2), None]).unwrap();
        assert_eq!(rule, "store-missing");
        assert_eq!(sentence, format!("1 blob of the model is missing: sha256-{TWO} (4 B)"));
        let (rule, sentence) = check([Some(2), Some(5)]).unwrap();
        assert_eq!(rule, "store-size");
        assert_eq!(sentence, format!("blob sha256-{ONE} has 2 bytes, but the manifest says 3"));
        let (_, sentence) = check([None, None]).unwrap();
        assert!(sentence.starts_with("2 blobs of the model are missing: "), "{sentence}");
    }
}
