//! Files around zstd frames.

fn text(out: &mut Vec<u8>, text: &str) {
    assert!(text.len() < 24);
    out.push(0x60 + u8::try_from(text.len()).unwrap());
    out.extend(text.as_bytes());
}

fn uint(out: &mut Vec<u8>, n: u64) {
    out.push(0x1b);
    out.extend(n.to_be_bytes());
}

/// A file of one object of unknown format with one zstd component; with `declared`, of 1.2.
pub(crate) fn packed(frame: &[u8], declared: Option<u64>) -> Vec<u8> {
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64, 0);
    file.extend(frame);
    let start = file.len();
    let out = &mut file;
    out.push(0xa2);
    text(out, "version");
    text(out, if declared.is_some() { "1.2.0" } else { "1.1.0" });
    text(out, "objects");
    out.extend([0xa1, 0x61, b'w', 0xa3]);
    text(out, "shape");
    out.push(0x80);
    text(out, "format");
    text(out, "x");
    text(out, "components");
    out.push(0xa1);
    text(out, "data");
    out.push(if declared.is_some() { 0xa5 } else { 0xa4 });
    text(out, "dtype");
    text(out, "u8");
    text(out, "offset");
    uint(out, 64);
    text(out, "length");
    uint(out, frame.len() as u64);
    text(out, "encoding");
    text(out, "zstd");
    if let Some(declared) = declared {
        text(out, "uncompressed_length");
        uint(out, declared);
    }
    let size = (file.len() - start) as u64;
    file.extend(size.to_le_bytes());
    file.extend(b"ZTEN1000");
    file
}
