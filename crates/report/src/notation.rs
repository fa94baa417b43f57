//! Versions and digests as the manifest spells them.

use zten::{Component, Generation, Manifest, attributes::Value};

/// Returns the version of the zTensor format that the header of a file states, such as `1.2.0`. Returns `None` if the header states no
/// version: only headers of generation 1.x do.
pub fn version(manifest: &Manifest<impl AsRef<[u8]>>) -> Option<String> {
    let version = manifest.version()?;
    let last = version.patch.map_or_else(String::new, |patch| format!(".{patch}"));
    Some(format!("{}.{}{last}", version.major, version.minor))
}

/// Returns the text of the digest of `component` as the manifest of a zTensor file spells it. Returns `None` if the component has no
/// digest.
pub fn digest<'a>(component: &Component<'a>) -> Option<&'a str> {
    component.digest()?;
    let key = match component.generation() {
        Some(Generation::V0_1) => "checksum",
        _ => "digest",
    };
    match component.fields()?.item(key)?.value() {
        Value::Text(text) => text.as_str(),
        _ => None,
    }
}
