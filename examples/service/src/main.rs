//! Checks files that clients upload over HTTP, each in its own confined process: `zten-service --help`.
//!
//! The exit status is 0 after SIGTERM or SIGINT, 1 if the service cannot start, and 2 if its arguments are invalid.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return program::main();
    #[cfg(not(target_os = "linux"))]
    {
        eprintln!("zten-service runs only on Linux, because it confines its workers");
        ExitCode::FAILURE
    }
}

#[cfg(target_os = "linux")]
mod program {
    use std::error::Error;
    use std::io::{self, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::path::PathBuf;
    use std::process::ExitCode;
    use std::time::Duration;

    use clap::Parser;
    use clap::builder::{PathBufValueParser, TypedValueParser as _};
    use tokio::signal::unix::{SignalKind, signal};
    use zten_report::policy::{self, Policy};
    use zten_service::http::{HttpFront, Quota};
    use zten_service::{CHECK, Service, Settings};
    use zten_worker::Budget;

    const MEBIBYTE: u64 = 1 << 20;

    /// Reads a policy. The service tolerates no unknown class in a checkpoint, and uploads lie in no store, so a policy that names
    /// classes or requires a store is an error.
    fn read_policy(path: PathBuf) -> Result<Box<Policy>, String> {
        let policy = policy::read(path)?;
        if policy.allows_globals() {
            return Err("the service does not support `allow-globals` in a policy".to_owned());
        }
        if policy.requires_store_digest() {
            return Err(
                "the service does not support `require-store-digest` in a policy".to_owned()
            );
        }
        Ok(policy)
    }

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
        #[arg(long, default_value_t = Settings::default().workers)]
        workers: usize,
        /// Receive or check up to this many files at the same time; each file takes its size of the disk.
        #[arg(long, default_value_t = Quota::default().files)]
        files: usize,
        /// Let up to this many requests wait while --files files are received or checked.
        #[arg(long, default_value_t = Quota::default().queue)]
        queue: usize,
        /// Accept up to this many connections at the same time.
        #[arg(long, default_value_t = Quota::default().connections)]
        connections: usize,
        /// Limit the address space of a worker to this many MiB.
        #[arg(long, default_value_t = Settings::default().budget.memory / MEBIBYTE)]
        memory: u64,
        /// Limit the upload of a file to this many seconds, and what it takes at --rate.
        #[arg(long, default_value_t = Quota::default().body.as_secs())]
        body: u64,
        /// Expect at least this many KiB per second of a client.
        #[arg(long, default_value_t = Quota::default().rate / 1024)]
        rate: u64,
        /// Limit the check of a file to this many seconds, and one for each 16 MiB.
        #[arg(long, default_value_t = Settings::default().budget.deadline.as_secs())]
        time: u64,
        /// Require of files what this policy says: docs/policy.md.
        #[arg(long, value_name = "FILE",
              value_parser = PathBufValueParser::new().try_map(read_policy))]
        policy: Option<Box<Policy>>,
        /// Receive files in this folder, in which they have no name.
        #[arg(long, value_name = "DIR", default_value_os_t = Quota::default().spool)]
        spool: PathBuf,
        /// Write no line for each request to standard error.
        #[arg(long)]
        quiet: bool,
    }

    impl Arguments {
        fn settings(&self) -> Settings {
            let time = Duration::from_secs(self.time);
            let memory = self.memory.saturating_mul(MEBIBYTE);
            let default = Settings::default();
            // A worker has one thread, so an honest worker cannot use more processor time than the time limit.
            let budget = Budget { memory, processor_time: time, deadline: time, ..default.budget };
            Settings {
                workers: self.workers,
                queue: self.files,
                budget,
                policy: self.policy.clone(),
                ..default
            }
        }

        fn quota(&self) -> Quota {
            Quota {
                size: self.size.saturating_mul(MEBIBYTE),
                files: self.files,
                queue: self.queue,
                connections: self.connections,
                body: Duration::from_secs(self.body),
                rate: self.rate.saturating_mul(1024),
                spool: self.spool.clone(),
                ..Quota::default()
            }
        }
    }

    pub(super) fn main() -> ExitCode {
        // This call comes first, because it never returns in a worker.
        zten_worker::init(&[&CHECK]);
        match serve(&Arguments::parse()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(io::stderr(), "zten-service: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn serve(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
        let service = Service::start(arguments.settings())?;
        // A spool folder that cannot be written to would make receiving the first file fail, so it is tried at the
        // start.
        tempfile::tempfile_in(&arguments.spool)
            .map_err(|error| format!("--spool {}: {error}", arguments.spool.display()))?;
        let log: Box<dyn Write + Send> =
            if arguments.quiet { Box::new(io::sink()) } else { Box::new(io::stderr()) };
        let listener = TcpListener::bind(arguments.listen)?;
        let address = listener.local_addr()?;
        let front = HttpFront::new(service, arguments.quota(), log);
        Ok(front.serve(listener, told_to_stop(address))?)
    }

    /// Prints the `address` of the service, and returns after SIGTERM or SIGINT. If handlers cannot be installed, it prints nothing
    /// and never returns, and a signal ends the process.
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
