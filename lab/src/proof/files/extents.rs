//! Components that differ only in the positions of their blobs.

use zten_corpus::base::{component, dense_object, v1};

/// The arrangement of the blobs.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Descending,
    Shuffled,
    /// Each blob is within the previous one.
    Nested,
    /// Descending, except for two blobs at the end of the file, which are compared last.
    LastOverlaps,
    Empty,
    EmptyAlike,
}

/// The number of bytes that an object takes in the manifest.
const OBJECT: usize = 66;
/// The number of bytes that a blob takes in the file, including padding.
const BLOB: usize = 64;

/// Returns a file of objects with a blob each: of one byte, unless `kind` says otherwise.
pub(super) fn blobs(size: usize, kind: Kind) -> Vec<u8> {
    let each = if matches!(kind, Kind::EmptyAlike) { OBJECT } else { OBJECT + BLOB };
    let count = super::count(size, each);
    let mut extents: Vec<(usize, usize)> = match kind {
        Kind::Nested => (1..=count / 2).map(|n| (n * BLOB, (count - 2 * n) * BLOB + 1)).collect(),
        Kind::Empty => (1..=count).rev().map(|n| (n * BLOB, 0)).collect(),
        Kind::EmptyAlike => vec![(BLOB, 0); count],
        _ => (1..=count).rev().map(|n| (n * BLOB, 1)).collect(),
    };
    match kind {
        Kind::Shuffled => extents = zten_testkit::generate::shuffled(extents),
        Kind::LastOverlaps => extents[1].1 = BLOB + 1,
        _ => {}
    }
    let objects = extents.iter().enumerate().map(|(n, (offset, length))| {
        let data = component("u8", *offset as u64, *length as u64);
        (format!("{n:08}"), dense_object(&[*length as u64], data))
    });
    v1("1.2.0", objects).start(count * BLOB + 2 * BLOB).build("").bytes
}
