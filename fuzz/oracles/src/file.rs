//! Files around what is to be tried.

/// A 1.x file of those blobs, which begin at byte 64, and that manifest.
pub fn file(blobs: &[u8], manifest: &[u8]) -> Vec<u8> {
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64, 0);
    file.extend(blobs);
    file.resize(file.len().next_multiple_of(64), 0);
    file.extend(manifest);
    file.extend((manifest.len() as u64).to_le_bytes());
    file.extend(b"ZTEN1000");
    file
}

/// A file without objects whose attribute `a` is that item, if it is one.
pub(crate) fn around(item: &[u8]) -> Vec<u8> {
    let head = b"\xa3\x67version\x651.2.0\x67objects\xa0\x6aattributes\xa1\x61a";
    file(&[], &[head, item].concat())
}
