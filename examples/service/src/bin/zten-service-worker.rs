//! Checks one file, its standard input, and answers on the socket that is its standard output.
//!
//! `zten-service-worker MEMORY SECONDS CONTENT verdict|facts|content`: bytes of address space, seconds of
//! processor time, and bytes that all components may decode to. Ends 0 if it has answered, 3 if it
//! cannot be confined.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return zten_service::work(std::env::args().skip(1));
    #[cfg(not(target_os = "linux"))]
    return ExitCode::from(3);
}
