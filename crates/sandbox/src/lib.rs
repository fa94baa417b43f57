//! Confines a process before it reads the first byte of an untrusted file. The process opens its files first, or receives their
//! descriptors over the socket that is its standard input. After the call of [`confine`], it may read and write the open files, use
//! memory, and exit.
//!
//! Confinement has four layers, so that a flaw in one is caught by another:
//!
//! - **Privileges**: no capabilities, also for root, and no terminal as standard input.
//! - **Landlock** takes all rights to files, TCP ports and other processes' sockets and signals.
//! - **seccomp** kills the process at the first system call that is not in [`calls()`], or has arguments that this table does not
//!   allow. `openat` fails with an error instead.
//! - **Limits** on address space, processor time, the size of files, the number of descriptors, and core dumps, which are off.
//!
//! Only Linux has these layers. On other systems the process is not confined, and the [`Report`] says so.
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

/// The resources that a confined process may use. A limit of `None` is not set. If the process already has a lower limit on a
/// resource, the lower limit stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The number of bytes of address space that the process may use in addition to what it uses when it is confined. Beyond this
    /// limit, allocations fail.
    pub memory: Option<u64>,
    /// The number of seconds of processor time that all threads of the process together may use. Beyond this limit, the signal
    /// `SIGXCPU` ends the process.
    pub seconds: Option<u64>,
    /// The largest size in bytes to which the process may write a file. Beyond this limit, the signal `SIGXFSZ` ends the process.
    pub file: Option<u64>,
    /// The largest number of file descriptors that the process may have open at a time.
    pub descriptors: u64,
}

/// The result of enabling one layer of the confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The kernel enforces the whole layer.
    Enforced,
    /// The kernel supports only a part of the layer, and enforces that part.
    Partly,
    /// The layer could not be enabled, for the reason in the text.
    Missing(String),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enforced => f.write_str("enforced"),
            Self::Partly => f.write_str("enforced in part, because the kernel lacks the rest"),
            Self::Missing(why) => write!(f, "missing: {why}"),
        }
    }
}

/// What [`confine`] achieved: for each layer of the confinement, whether it is enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The state of the layer that leaves the process no capabilities, and no terminal as standard input.
    pub privileges: Layer,
    /// The state of the layer that keeps the process from opening files, from using TCP ports, and from reaching other processes.
    pub landlock: Layer,
    /// The state of the layer that allows only the system calls in the table [`calls()`].
    pub seccomp: Layer,
    /// The state of the layer that limits address space, processor time, file sizes and the number of descriptors.
    pub limits: Layer,
}

impl Report {
    /// Checks that no layer of the confinement is missing.
    ///
    /// # Errors
    /// A text with the first missing layer and the reason. [`Layer::Partly`] is no error, because seccomp also denies the
    /// accesses for which the Landlock of an older kernel has no right.
    pub fn complete(&self) -> Result<(), String> {
        self.layers().iter().try_for_each(|(name, layer)| match layer {
            Layer::Missing(why) => Err(format!("{name} is not available: {why}")),
            Layer::Enforced | Layer::Partly => Ok(()),
        })
    }

    /// Returns all layers of the confinement, each with its name for messages.
    pub fn layers(&self) -> [(&'static str, &Layer); 4] {
        [
            ("privileges", &self.privileges),
            ("landlock", &self.landlock),
            ("seccomp", &self.seccomp),
            ("limits", &self.limits),
        ]
    }
}

/// Confines this process for the rest of its life: it loses its capabilities (privileges), cannot open files or use TCP ports
/// (Landlock), can make only the system calls of a table (seccomp), and has the limits of `budget`. If standard input is a
/// terminal, it is replaced by `/dev/null`. On systems other than Linux no layer exists, and the report says so.
///
/// Call this function when all files are open and none has been read, in a program that prints no backtraces (see
/// [`without_backtraces`]).
///
/// `threads` starts the threads that the process will need, and returns when they run: no thread can be started after confinement.
/// All layers hold for the threads that it starts. For threads that run before this call, only seccomp and the limits hold: they
/// keep their capabilities and their rights to files.
///
/// If one layer cannot be enabled, the others are still enforced, and [`Report::complete`] returns an error.
pub fn confine(budget: &Budget, threads: impl FnOnce()) -> Report {
    #[cfg(target_os = "linux")]
    {
        // This call reads the address space in use from `/proc`, which Landlock would deny.
        let limits = limits::Limits::new(budget);
        let privileges = privileges::restrict();
        let landlock = landlock::restrict();
        threads();
        // The limit on descriptors may allow no further one, so it comes after the layers that open files.
        let limits = limits.set();
        Report { privileges, landlock, seccomp: seccomp::restrict(), limits }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = budget;
        threads();
        let missing = || Layer::Missing("only Linux supports this layer".to_owned());
        let (privileges, landlock, limits) = (missing(), missing(), missing());
        Report { privileges, landlock, seccomp: seccomp::restrict(), limits }
    }
}

/// Raises this process's limit on open descriptors to its hard limit, and returns the resulting limit, which is the old one if
/// raising it fails. Returns `None` if the system does not tell the limit, and on systems other than Linux.
pub fn allow_many_files() -> Option<impl fmt::Display> {
    #[cfg(target_os = "linux")]
    return limits::allow_many_files();
    #[cfg(not(target_os = "linux"))]
    return None::<u64>;
}

/// Returns the number of bytes of address space that this process uses. [`confine`] adds this number to [`Budget::memory`]. Returns
/// 1 GiB if `/proc` does not tell the number, and 0 on systems other than Linux.
pub fn memory_in_use() -> u64 {
    #[cfg(target_os = "linux")]
    return limits::memory_in_use();
    #[cfg(not(target_os = "linux"))]
    return 0;
}

/// Sets the limits of the confined process with the id `child` to those of `budget`, except the limit on descriptors.
/// `budget.memory` is the limit on all of its address space here, including what it used when it was confined. A limit that is
/// `None` or cannot be set stays as it is. No limit becomes higher than that of this process.
pub fn raise(child: u32, budget: &Budget) {
    #[cfg(target_os = "linux")]
    limits::raise(child, budget);
    #[cfg(not(target_os = "linux"))]
    let _ = (child, budget);
}

/// Returns the processor time that all threads of the process with the id `child` have used, in clock ticks (100 a second on most
/// systems). Returns `None` if the system does not tell the time.
pub fn ticks_used(child: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return limits::ticks_used(child);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = child;
        None
    }
}

/// Returns the number of whole seconds of processor time that the process with the id `child` has used, or `None` if the system
/// does not tell the time.
pub fn seconds_used(child: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    return limits::seconds_used(child);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = child;
        None
    }
}

/// Executes this program again with `RUST_BACKTRACE=0` if the environment asks for backtraces. Call this function first in `main`,
/// because the program starts over.
///
/// To print a backtrace, the standard library asks for the current folder and opens the program's file.
/// In a confined process seccomp kills the process for these calls, so that a panic, or running out of
/// memory, would look like an attack. The standard library reads the variable when it prints the first
/// backtrace, and a program cannot change its own environment safely.
///
/// Returns if `RUST_BACKTRACE` is missing or `0`, on systems other than Linux, and if the program cannot be executed again, for
/// example because `/proc` is missing.
pub fn without_backtraces() {
    #[cfg(target_os = "linux")]
    if std::env::var_os(BACKTRACE).is_some_and(|wanted| wanted != "0") {
        use std::os::unix::process::CommandExt as _;
        let mut args = std::env::args_os();
        let mut again = std::process::Command::new("/proc/self/exe");
        if let Some(name) = args.next() {
            again.arg0(name);
        }
        // `exec` returns only if it fails.
        let _ = again.args(args).env(BACKTRACE, "0").exec();
    }
}

#[cfg(target_os = "linux")]
const BACKTRACE: &str = "RUST_BACKTRACE";

/// Asks the kernel to kill this process when the thread that started it ends, because nobody reads its results then. Does nothing
/// on systems other than Linux.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    limits::end_with_parent();
}
