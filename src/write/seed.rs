//! What a file that is appended to holds already.

use super::root::Root;
use super::shard_list::ShardList;
use crate::cbor::{Output, UNLIMITED, key, map_head, pass, span};
use crate::error::Error;
use crate::format::Encoding;
use crate::format::v1::RootKey;
use crate::limits::Limits;
use crate::manifest::ManifestRef;
use crate::rules::{Limit, Rule};

/// The fields of a manifest's root, and the entries of its `objects`.
pub(super) fn taken_apart(manifest: ManifestRef<'_>) -> Result<(Root, Output), Error> {
    if manifest.dialect().writing.is_some_and(|writing| writing.deterministic) {
        return sorted(manifest);
    }
    let (mut root, mut objects) = (Root::default(), Output::default());
    for (name, item) in manifest.fields().into_iter().flatten() {
        match RootKey::named(name.as_bytes()) {
            Some(RootKey::version) => root.version.raw(item.as_bytes())?,
            Some(RootKey::attributes) => {
                root.attributes.insert(Output::default()).raw(item.as_bytes())?;
            }
            Some(RootKey::objects) => objects.raw(entries(item.as_bytes())?)?,
            None => {
                root.others.text(name)?;
                root.others.raw(item.as_bytes())?;
                root.count = root.count.saturating_add(1);
            }
        }
    }
    Ok((root, objects))
}

/// The same of a root of 2, whose keys are sorted, and need not be text.
fn sorted(manifest: ManifestRef<'_>) -> Result<(Root, Output), Error> {
    use crate::format::v2::RootKey;

    let (mut root, mut objects) = (Root::default(), Output::default());
    let (mut shards_key, mut attributes_key) = (Output::default(), Output::default());
    RootKey::shards.write(&mut shards_key)?;
    RootKey::attributes.write(&mut attributes_key)?;
    let head = map_head(Rule::RootType, UNLIMITED, manifest.as_bytes());
    let (mut input, mut left) = head.map_err(internal)?;
    let mut begun = false;
    while left.next(input) {
        let (own, value) = split(input)?;
        let (item, rest) = split(value)?;
        match key(input).ok().and_then(|(_, name)| RootKey::named(name)) {
            Some(RootKey::objects) => {
                begun = true;
                objects.raw(entries(item)?)?;
            }
            Some(RootKey::attributes) => root.attributes.insert(Output::default()).raw(item)?,
            Some(RootKey::shards) => {
                root.shards = ShardList::from_table(manifest.shards(), entries(item)?)?;
            }
            None => {
                let others = match begun {
                    false if own < shards_key.as_bytes() => &mut root.first,
                    false => &mut root.before,
                    true if own < attributes_key.as_bytes() => &mut root.others,
                    true => &mut root.after,
                };
                others.raw(own)?;
                others.raw(item)?;
                root.count = root.count.saturating_add(1);
            }
        }
        input = rest;
    }
    Ok((root, objects))
}

/// What is in a map: its entries, without head and break.
fn entries(map: &[u8]) -> Result<&[u8], Error> {
    let head = map_head(Rule::ObjectsType, UNLIMITED, map);
    let (first, mut entries) = head.map_err(internal)?;
    let mut rest = first;
    while entries.next(rest) {
        let (value, _) = key(rest).map_err(internal)?;
        rest = pass(value).ok_or(Error::internal())?;
    }
    span(first, rest).map_err(internal)
}

/// The item at `input`, and what is left after it.
fn split(input: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let rest = pass(input).ok_or(Error::internal())?;
    Ok((span(input, rest).map_err(internal)?, rest))
}

/// The manifest has been read before.
fn internal<F>(_: F) -> Error {
    Error::internal()
}

/// What a byte of zstd decodes to at most: a block of four bytes is 128 KiB at most.
const MOST: u64 = (128 << 10) / 4;

/// Bytes that the compressed components of a file decode to, or more, but no more than its
/// readers allow it.
///
/// # Errors
/// `limit-decoded`, `limit-decoded-total` where they allow less.
pub(super) fn decoded(manifest: ManifestRef<'_>, limits: &Limits) -> Result<u64, Error> {
    let (mut said, mut unsaid) = (0_u64, 0_u64);
    let components = manifest.objects().flat_map(|object| object.components());
    for component in components.filter(|component| is_compressed(component.encoding())) {
        let Some(bytes) = component.decoded_length() else {
            let most = component.extent().length().saturating_mul(MOST).min(limits.decoded());
            unsaid = unsaid.saturating_add(most);
            continue;
        };
        if bytes > limits.decoded() {
            return Err(Error::nowhere(Limit::Decoded).found(bytes).at(component.place()));
        }
        said = said.saturating_add(bytes);
    }
    let bytes = manifest.all_bytes();
    let allowed = limits.decoded_total(bytes);
    if said > allowed {
        return Err(Error::nowhere(Limit::DecodedTotal).found(said));
    }
    Ok(said.saturating_add(unsaid).min(allowed))
}

/// Whether components of that encoding are decoded.
fn is_compressed(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Zstd | Encoding::ZstdSeekable)
}
