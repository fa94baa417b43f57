//! The least work that reading a manifest can take: going from head to head without any check.

/// Counts the items in `bytes`, of which the first contains all others. Returns `None` for items of indefinite length, and if
/// `bytes` end before the last item.
pub(crate) fn items(mut bytes: &[u8]) -> Option<u64> {
    let (mut left, mut seen) = (1_u64, 0);
    while left > 0 {
        left -= 1;
        seen += 1;
        let (initial, rest) = bytes.split_first()?;
        let (argument, rest) = match initial & 31 {
            small @ 0..24 => (u64::from(small), rest),
            24 => rest.split_first().map(|(byte, rest)| (u64::from(*byte), rest))?,
            25 => {
                rest.split_first_chunk().map(|(n, rest)| (u16::from_be_bytes(*n).into(), rest))?
            }
            26 => {
                rest.split_first_chunk().map(|(n, rest)| (u32::from_be_bytes(*n).into(), rest))?
            }
            27 => rest.split_first_chunk().map(|(n, rest)| (u64::from_be_bytes(*n), rest))?,
            _ => return None,
        };
        bytes = match initial >> 5 {
            2 | 3 => rest.get(argument as usize..)?,
            _ => rest,
        };
        left += match initial >> 5 {
            4 => argument,
            5 => 2 * argument,
            6 => 1,
            _ => 0,
        };
    }
    Some(seen)
}
