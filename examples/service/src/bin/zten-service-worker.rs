//! Checks the file on its standard input, and answers on the socket that is its standard output.
//!
//! `zten-service-worker MEMORY SECONDS CONTENT verdict|facts|content NAME`: the limits are bytes of address space, seconds of
//! processor time, and bytes of all decoded components. The exit status is 0 after an answer, and 3 if the worker cannot be
//! confined.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return zten_service::work(std::env::args().skip(1));
    #[cfg(not(target_os = "linux"))]
    return ExitCode::from(3);
}
