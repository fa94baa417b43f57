//! Tests that read files from servers in the test process.
#![expect(clippy::cast_possible_truncation, reason = "what a test makes is small")]

mod errors;
mod hub;
mod memory;
mod requests;
mod siblings;

use std::time::Duration;

use zten_remote::TimeLimits;

/// Checks that an error matches a pattern.
macro_rules! rejected {
    ($error:expr, $pattern:pat) => {{
        let error = $error;
        assert!(matches!(error, $pattern), "{error:?}");
    }};
}
use rejected;

/// Returns short time limits.
fn limits() -> TimeLimits {
    TimeLimits {
        request: Duration::from_secs(20),
        pause: Duration::from_millis(1),
        ..TimeLimits::default()
    }
}
