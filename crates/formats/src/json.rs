//! Errors in JSON, and their places.

use zten::num::u64_from_usize;
use zten_report::escape;

/// Columns of a message of the JSON parser, which quotes the file.
const MESSAGE: usize = 200;

/// The message of the parser, without the place.
pub(super) fn message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    escape::cut(message.strip_suffix(&position).unwrap_or(&message), MESSAGE)
}

/// The byte that the parser read last.
pub(super) fn offset(bytes: &[u8], error: &serde_json::Error) -> u64 {
    // Lines and columns are counted from 1.
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    u64_from_usize(before.saturating_add(error.column()).saturating_sub(1))
}
