//! Functions that write safetensors files, valid or not.

/// Returns a file with `header` and `data`.
pub fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}
