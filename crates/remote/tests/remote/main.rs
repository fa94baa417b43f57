//! Tests of remote files, which are read from HTTP servers in the process of the test.
#![expect(clippy::cast_possible_truncation, reason = "test data is small")]

mod errors;
mod hub;
mod memory;
mod requests;
mod siblings;

use std::ops::Range;
use std::time::Duration;

use zten_remote::{RemoteError, RemoteFile, TimeLimits};

/// Checks that the error `$error` matches the pattern `$pattern`.
macro_rules! rejected {
    ($error:expr, $pattern:pat) => {{
        let error = $error;
        assert!(matches!(error, $pattern), "{error:?}");
    }};
}
use rejected;

/// Returns time limits with short pauses, so that tests of repeated requests are fast.
fn limits() -> TimeLimits {
    TimeLimits {
        request: Duration::from_secs(20),
        pause: Duration::from_millis(1),
        ..TimeLimits::default()
    }
}

/// Returns content that is longer than the tail that is fetched when a file is opened.
fn content() -> Vec<u8> {
    (0..200_000_u32).map(|n| (n % 251) as u8).collect()
}

/// Returns the bytes of `range` of `file`, or the error of reading them.
fn read(file: &RemoteFile, range: Range<u64>) -> Result<Vec<u8>, RemoteError> {
    let mut bytes = Vec::new();
    file.read_with(range, |chunk| {
        bytes.extend_from_slice(chunk);
        Ok::<(), RemoteError>(())
    })?;
    Ok(bytes)
}
