//! Files around zstd frames.

use zten_corpus::base::{object, v1, zstd_component};

/// A file of one object `w` of unknown format with one zstd component; with `declared`, of 1.2.
pub fn packed(frame: &[u8], declared: Option<u64>) -> Vec<u8> {
    let component = zstd_component("u8", 64, frame.len() as u64, declared.unwrap_or_default());
    let version = if declared.is_some() { "1.2.0" } else { "1.1.0" };
    let file =
        v1(version, vec![("w", object(&[], "x", vec![("data", component)]))]).blob(64, frame);
    let file = if declared.is_some() { file } else { file.without("w:data/uncompressed_length") };
    file.build("").bytes
}
