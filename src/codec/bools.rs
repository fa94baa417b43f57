//! Bools of 1.x.

use crate::error::{Error, ErrorKind};
use crate::num::u64_from_usize;

/// Validates bools of 1.x, which are 0 or 1: v1.1 II.4, v1.2 §2. `offset` is that of the first in the
/// file, if they are in the file; `rule` is broken by any other byte.
pub(crate) fn validate_bools(
    bytes: &[u8],
    offset: Option<u64>,
    rule: ErrorKind,
) -> Result<(), Error> {
    // Without a branch for each byte, as long as all is well.
    if bytes.iter().fold(0, |all, byte| all | byte) <= 1 {
        return Ok(());
    }
    let wrong = bytes.iter().enumerate().find(|(_, byte)| **byte > 1);
    wrong.map_or(Ok(()), |(at, byte)| {
        let error = match offset {
            Some(offset) => Error::new(rule, offset.saturating_add(u64_from_usize(at))),
            None => Error::nowhere(rule),
        };
        Err(error.found((*byte).into()))
    })
}
