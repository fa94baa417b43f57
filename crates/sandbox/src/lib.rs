//! Confines a process before it looks at the first byte of an untrusted
//! file: files are opened first, then [`confine`] leaves reading and writing what is open, memory,
//! and the end.
//!
//! Four layers, each of which would do much by itself:
//!
//! - **Privileges**: no capabilities, also for root, and no terminal as standard input.
//! - **Landlock** takes all rights to files, TCP ports and other processes' sockets and signals.
//! - **seccomp** kills the process at the first system call that is not in [`calls()`].
//! - **Limits** on address space, processor time, the size of files, and no descriptor more.
//!
//! Only Linux has them. Elsewhere nothing is confined, and the [`Report`] says so.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod seccomp;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
#[path = "seccomp/unsupported_platform.rs"]
mod seccomp;

use std::fmt;

pub use seccomp::{Call, calls};

/// The work of a confined process beside reading, and writing to what is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Seals a memory file, and sends it over the socket that is its standard output.
    Sends,
    /// Receives files over the socket that is its standard input.
    Receives,
}

impl Role {
    /// All.
    pub const ALL: [Self; 2] = [Self::Sends, Self::Receives];
}

/// The resources that a confined process may use. A limit that the process is under already stays if it
/// is lower. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of address space, beyond those that are in use when the process is confined. More
    /// cannot be had: the allocator says so.
    pub memory: Option<u64>,
    /// Seconds of processor time, of all threads together. Who takes more is ended by `SIGXCPU`.
    pub seconds: Option<u64>,
    /// Bytes of any file that is written. Who writes beyond is ended by `SIGXFSZ`.
    pub file: Option<u64>,
    /// Descriptors that [`Role::Receives`] may have at a time. [`Role::Sends`] keeps the limit that it
    /// has.
    pub descriptors: u64,
}

/// The state of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The layer is enforced.
    Enforced,
    /// The kernel does not have all of it: what it has is enforced.
    Partly,
    /// The layer is missing, for this reason.
    Missing(String),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enforced => f.write_str("enforced"),
            Self::Partly => f.write_str("enforced as far as the kernel knows it"),
            Self::Missing(why) => write!(f, "not there: {why}"),
        }
    }
}

/// The result of [`confine`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// No capabilities, and no terminal as standard input.
    pub privileges: Layer,
    /// No rights to files, ports and other processes.
    pub landlock: Layer,
    /// No system calls but a few.
    pub seccomp: Layer,
    /// The limits.
    pub limits: Layer,
}

impl Report {
    /// Returns whether the process is confined.
    ///
    /// # Errors
    /// A layer that is missing, and why. A layer that an older kernel has in part is there: what
    /// Landlock lacks there, seccomp denies too.
    pub fn complete(&self) -> Result<(), String> {
        self.layers().iter().try_for_each(|(name, layer)| match layer {
            Layer::Missing(why) => Err(format!("{name} is not available: {why}")),
            Layer::Enforced | Layer::Partly => Ok(()),
        })
    }

    /// Returns the layers, each with its name.
    pub fn layers(&self) -> [(&'static str, &Layer); 4] {
        [
            ("privileges", &self.privileges),
            ("landlock", &self.landlock),
            ("seccomp", &self.seccomp),
            ("limits", &self.limits),
        ]
    }
}

/// Confines this process, for good. Call it when all files are open and none has been read, in a
/// program that prints no backtraces: [`without_backtraces`]. A terminal is no longer standard input then, but `/dev/null`.
///
/// `threads` starts the threads that the process will need, and returns when they run: no other
/// can be started later. Threads that run before this call keep capabilities and what Landlock would take; seccomp
/// and the limits hold for all.
///
/// A layer that is missing does not keep the rest from being enforced; [`Report::complete`] tells.
pub fn confine(role: Role, budget: &Budget, threads: impl FnOnce()) -> Report {
    #[cfg(target_os = "linux")]
    {
        // What is in use is read from a file.
        let limits = limits::Limits::new(budget);
        let privileges = privileges::restrict();
        let landlock = landlock::restrict();
        threads();
        // No descriptor can be had from here on.
        let limits = limits.set(role);
        Report { privileges, landlock, seccomp: seccomp::restrict(role), limits }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = budget;
        threads();
        let missing = || Layer::Missing("only Linux has it".to_owned());
        let (privileges, landlock, limits) = (missing(), missing(), missing());
        Report { privileges, landlock, seccomp: seccomp::restrict(role), limits }
    }
}

/// Raises the number of descriptors that the process may have as far as it may, and returns it.
pub fn allow_many_files() -> Option<impl fmt::Display> {
    #[cfg(target_os = "linux")]
    return limits::allow_many_files();
    #[cfg(not(target_os = "linux"))]
    return None::<u64>;
}

/// Returns the bytes of address space that this process uses, which [`confine`] adds to its budget.
pub fn memory_in_use() -> u64 {
    #[cfg(target_os = "linux")]
    return limits::memory_in_use();
    #[cfg(not(target_os = "linux"))]
    return 0;
}

/// Raises the limits of a child that was confined as [`Role::Receives`] to that budget, of which `memory` is all of its address
/// space. What cannot be raised stays.
pub fn raise(child: u32, budget: &Budget) {
    #[cfg(target_os = "linux")]
    limits::raise(child, budget);
    #[cfg(not(target_os = "linux"))]
    let _ = (child, budget);
}

/// Returns the processor time that a child has used, if the system says: the clock ticks of all its threads, 100 a second on most
/// systems.
pub fn ticks_used(child: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return limits::ticks_used(child);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = child;
        None
    }
}

/// Returns the seconds of processor time that a child has used, if the system says.
pub fn seconds_used(child: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return limits::seconds_used(child);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = child;
        None
    }
}

/// Begins this program anew if it is to print backtraces (`RUST_BACKTRACE`), so that it prints none.
/// Call it first of all in `main`: what has been done so far is done again.
///
/// A backtrace asks for the current folder and looks for the program's file. A process that may not is
/// killed for that: a panic, or running out of memory, would end as if someone had taken it over. The
/// standard library looks at the environment when it has the first one to print, and no program can
/// change its own safely.
///
/// The program goes on if it cannot be begun anew, because there is no `/proc`.
pub fn without_backtraces() {
    #[cfg(target_os = "linux")]
    if std::env::var_os(BACKTRACE).is_some_and(|wanted| wanted != "0") {
        use std::os::unix::process::CommandExt as _;
        let mut args = std::env::args_os();
        let mut again = std::process::Command::new("/proc/self/exe");
        if let Some(name) = args.next() {
            again.arg0(name);
        }
        // It returns only if it fails.
        let _ = again.args(args).env(BACKTRACE, "0").exec();
    }
}

#[cfg(target_os = "linux")]
const BACKTRACE: &str = "RUST_BACKTRACE";

/// Ends this process when the thread that started it ends: its results have no reader any more.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    limits::end_with_parent();
}
