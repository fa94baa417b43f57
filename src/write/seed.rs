//! What a file that is appended to holds already.

use nom::Parser as _;

use crate::cbor::{Output, UNLIMITED, key, map_head, skip};
use crate::error::{Error, OutOfMemory};
use crate::format::Encoding;
use crate::format::frame::FOOTER_V1;
use crate::format::v1::RootKey;
use crate::limits::Limits;
use crate::limits::format::DEPTH_CAP;
use crate::manifest::ManifestRef;
use crate::num::{Assured as _, impossible, u64_from_usize};
use crate::rules::{Limit, Rule};

/// The fields of the root beside `objects`, as CBOR.
#[derive(Debug, Default)]
pub(super) struct Root {
    pub(super) version: Output,
    pub(super) attributes: Option<Output>,
    /// Keys and values that the file had before, and how many.
    pub(super) others: Output,
    pub(super) count: u64,
}

/// The fields of a manifest's root, and the entries of its `objects`.
pub(super) fn taken_apart(manifest: ManifestRef<'_>) -> Result<(Root, Output), OutOfMemory> {
    let (mut root, mut objects) = (Root::default(), Output::default());
    for (name, item) in manifest.fields().into_iter().flatten() {
        match RootKey::named(name.as_bytes()) {
            Some(RootKey::version) => root.version.raw(item.as_bytes())?,
            Some(RootKey::attributes) => {
                root.attributes.insert(Output::default()).raw(item.as_bytes())?;
            }
            Some(RootKey::objects) => objects.raw(entries(item.as_bytes()))?,
            None => {
                root.others.text(name)?;
                root.others.raw(item.as_bytes())?;
                root.count = root.count.saturating_add(1);
            }
        }
    }
    Ok((root, objects))
}

/// What is in a map: its entries, without head and break.
fn entries(map: &[u8]) -> &[u8] {
    let head = map_head(Rule::ObjectsType, UNLIMITED).parse(map);
    let Ok((first, mut entries)) = head else {
        impossible();
        return &[];
    };
    let mut rest = first;
    while entries.next(rest) {
        let value = key(rest).map(|(value, _)| value).assured();
        rest = skip(value, 0, DEPTH_CAP).map(|(rest, ())| rest).assured();
    }
    first.get(..first.len().saturating_sub(rest.len())).assured()
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
    for component in components.filter(|component| component.encoding() == Encoding::Zstd) {
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
    let length = manifest.extent().end.saturating_add(u64_from_usize(FOOTER_V1));
    let allowed = limits.decoded_total(length);
    if said > allowed {
        return Err(Error::nowhere(Limit::DecodedTotal).found(said));
    }
    Ok(said.saturating_add(unsaid).min(allowed))
}
