//! Creates files around the input of an oracle.

use zten_corpus::cbor::raw;
use zten_corpus::file::File;

/// Returns a 1.x file with these `blobs`, which begin at offset 64, and this `manifest`.
pub fn file(blobs: &[u8], manifest: &[u8]) -> Vec<u8> {
    let end = 64 + blobs.len().next_multiple_of(64);
    File::v1(raw(manifest)).blob(64, blobs).start(end).build("").bytes
}

/// Returns a file without objects whose attribute `a` is `item`. The item may be invalid.
pub(crate) fn around(item: &[u8]) -> Vec<u8> {
    let head = b"\xa3\x67version\x651.2.0\x67objects\xa0\x6aattributes\xa1\x61a";
    file(&[], &[head, item].concat())
}
