//! Checks files that come over HTTP, each in a confined process of its own: `zten-service --help`.
//!
//! Ends 0 when it was told to, by SIGTERM or SIGINT, and 1 if it cannot begin.

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

    /// Checks tensor files that come over HTTP, each in a confined process of its own.
    #[derive(Parser)]
    #[command(version)]
    struct Arguments {
        /// Address and port to listen on.
        #[arg(long, default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        /// MiB that a file may have.
        #[arg(long, default_value_t = Quota::default().size / MEBIBYTE)]
        size: u64,
        /// Files that are checked at a time.
        #[arg(long, default_value_t = Quota::default().workers)]
        workers: usize,
        /// Files that are taken or checked at a time: each takes as much memory as it has bytes.
        #[arg(long, default_value_t = Quota::default().files)]
        files: usize,
        /// Requests that wait for a place while there are so many files.
        #[arg(long, default_value_t = Quota::default().queue)]
        queue: usize,
        /// Connections at a time.
        #[arg(long, default_value_t = Quota::default().connections)]
        connections: usize,
        /// MiB of address space for a worker.
        #[arg(long, default_value_t = Settings::default().memory / MEBIBYTE)]
        memory: u64,
        /// Seconds for a file to come.
        #[arg(long, default_value_t = Quota::default().body.as_secs())]
        body: u64,
        /// Seconds for checking a file.
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

    /// Says where the service listens, and is done when a signal has come. Where none can be waited
    /// for, signals end the process.
    async fn told_to_stop(address: SocketAddr) {
        let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            return std::future::pending().await;
        };
        // It serves, whether or not anyone reads that.
        let _ = writeln!(io::stdout(), "listening on http://{address}");
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
