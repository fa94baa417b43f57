//! Heads of CBOR items.

/// Adds a head with the shortest argument.
pub(crate) fn head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let bytes = argument.to_be_bytes();
    let (info, skipped) = match argument {
        0..24 => (bytes.last().copied().unwrap_or_default(), 8),
        24..0x100 => (24, 7),
        0x100..0x1_0000 => (25, 6),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 0),
    };
    out.push(major << 5 | info);
    out.extend_from_slice(bytes.get(skipped..).unwrap_or_default());
}
