//! Converting errors of the JSON parser `serde_json` to messages and offsets.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;

use crate::escape;
use crate::num::u64_from_usize;

/// The largest number of columns of a message of the JSON parser. Longer messages are cut, since they may quote much of the file.
const MESSAGE: usize = 200;

/// Returns the message of `serde_json`'s `error` without the line and column, in escaped form and cut to [`MESSAGE`] columns.
pub(super) fn message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    escape::cut(message.strip_suffix(&position).unwrap_or(&message), MESSAGE)
}

/// Returns the offset in `bytes`, the JSON text, of the byte that `serde_json` read last before `error`.
pub(super) fn offset(bytes: &[u8], error: &serde_json::Error) -> u64 {
    // Lines and columns are counted from 1.
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    u64_from_usize(before.saturating_add(error.column()).saturating_sub(1))
}
