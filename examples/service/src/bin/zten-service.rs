//! Checks files that clients upload over HTTP, each in its own confined process: `zten-service --help`.
//!
//! The exit status is 0 after SIGTERM or SIGINT, and 1 if the service cannot start.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return program::main();
    #[cfg(not(target_os = "linux"))]
    {
        eprintln!("zten-service: workers can be confined on Linux alone");
        ExitCode::FAILURE
    }
}

#[cfg(target_os = "linux")]
mod program {
    use std::error::Error;
    use std::io::{self, Write as _};
    use std::net::{SocketAddr, TcpListener};
    use std::process::ExitCode;
    use std::time::Duration;

    use clap::Parser;
    use tokio::signal::unix::{SignalKind, signal};
    use zten_service::http::{HttpFront, Quota, probe};
    use zten_service::{Service, Settings};

    /// The first argument that makes the program a worker.
    const WORKER: &str = "worker";

    const MEBIBYTE: u64 = 1 << 20;

    /// Check tensor files that clients upload over HTTP, each in its own confined process.
    #[derive(Parser)]
    #[command(version)]
    struct Arguments {
        /// Listen on this address and port.
        #[arg(long, default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        /// Reject files of more than this many MiB.
        #[arg(long, default_value_t = Quota::default().size / MEBIBYTE)]
        size: u64,
        /// Check up to this many files at the same time.
        #[arg(long, default_value_t = Quota::default().workers)]
        workers: usize,
        /// Receive or check up to this many files at the same time; each file is held in memory.
        #[arg(long, default_value_t = Quota::default().files)]
        files: usize,
        /// Let up to this many requests wait while --files files are received or checked.
        #[arg(long, default_value_t = Quota::default().queue)]
        queue: usize,
        /// Accept up to this many connections at the same time.
        #[arg(long, default_value_t = Quota::default().connections)]
        connections: usize,
        /// Limit the address space of a worker to this many MiB.
        #[arg(long, default_value_t = Settings::default().memory / MEBIBYTE)]
        memory: u64,
        /// Limit the upload of a file to this many seconds.
        #[arg(long, default_value_t = Quota::default().body.as_secs())]
        body: u64,
        /// Limit the check of a file to this many seconds.
        #[arg(long, default_value_t = Settings::default().time.as_secs())]
        time: u64,
    }

    impl Arguments {
        fn settings(&self) -> Settings {
            Settings {
                time: Duration::from_secs(self.time),
                memory: self.memory.saturating_mul(MEBIBYTE),
                ..Settings::default()
            }
        }

        fn quota(&self) -> Quota {
            Quota {
                size: self.size.saturating_mul(MEBIBYTE),
                files: self.files,
                queue: self.queue,
                workers: self.workers,
                connections: self.connections,
                body: Duration::from_secs(self.body),
                ..Quota::default()
            }
        }
    }

    pub(super) fn main() -> ExitCode {
        let mut arguments = std::env::args().skip(1);
        if arguments.next().as_deref() == Some(WORKER) {
            return zten_service::work(arguments);
        }
        match serve(&Arguments::parse()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(io::stderr(), "zten-service: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
        let service = Service::of_this_program(WORKER, arguments.settings());
        probe(&service)?;
        let listener = TcpListener::bind(arguments.listen)?;
        let address = listener.local_addr()?;
        Ok(HttpFront::new(service, arguments.quota()).serve(listener, told_to_stop(address))?)
    }

    /// Prints the `address` of the service, and returns after SIGTERM or SIGINT. If handlers cannot be installed, it never
    /// returns, and a signal ends the process.
    async fn told_to_stop(address: SocketAddr) {
        let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            return std::future::pending().await;
        };
        // The service runs even if standard output is closed.
        let _ = writeln!(io::stdout(), "listening on http://{address}");
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
