//! The table of allowed system calls.

/// A system call that a confined process may make.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    constant: &'static str,
    pub(super) number: i64,
    pub(super) only: Only,
    why: &'static str,
}

/// The arguments with which a call is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Only {
    /// Any arguments.
    Any,
    /// An argument, by its index, that must equal a number.
    Argument(u8, u64),
    /// Anonymous memory that is not executable.
    OwnMemory,
    /// Memory that is not executable.
    NoCode,
    /// A first argument that is the id of this process.
    OwnProcess,
    /// A first argument other than standard output and standard error: they may be a terminal, from
    /// which a process could read what the user types.
    NotOutput,
}

impl Call {
    /// Returns the name of the system call, without `SYS_`.
    pub fn name(&self) -> &'static str {
        self.constant.trim_start_matches("SYS_")
    }

    /// Returns the allowed arguments, as `docs/sandbox.md` prints them.
    pub fn with(&self) -> &'static str {
        match (self.only, self.name()) {
            (Only::Any, _) => "any",
            (Only::OwnMemory, _) => "`MAP_ANONYMOUS`, no `PROT_EXEC`",
            (Only::NoCode, _) => "no `PROT_EXEC`",
            (Only::OwnProcess, _) => "to this process",
            (Only::NotOutput, _) => "not on descriptors 1 and 2",
            (Only::Argument(_, DONTNEED), "madvise") => "`MADV_DONTNEED`",
            (Only::Argument(..), "madvise") => "`MADV_HUGEPAGE`",
            (Only::Argument(..), "recvmsg") => "on descriptor 0",
            (Only::Argument(..), _) => "`F_GETFD`",
        }
    }

    /// Returns what the call is needed for.
    pub fn why(&self) -> &'static str {
        self.why
    }
}

/// `F_GETFD` of `fcntl`, which the standard library calls in debug builds before it closes a descriptor.
const GETFD: u64 = 1;

/// `MADV_DONTNEED` of `madvise`, which gives pages back.
const DONTNEED: u64 = 4;
/// `MADV_HUGEPAGE` of `madvise`, which the C library calls if `GLIBC_TUNABLES` asks for larger pages.
const HUGEPAGE: u64 = 14;

/// The call that fails with `EACCES` instead of killing the process: `openat`. The C library reads
/// `/proc/sys/vm/overcommit_memory` when a thread gives memory back, and `/sys/devices/system/cpu` before
/// it allocates memory for another thread.
pub(super) const REJECTED: i64 = libc::SYS_openat;

macro_rules! table {
    ($($constant:ident, $only:expr, $why:literal;)+) => {
        pub(super) const CALLS: &[Call] = &[$(Call {
            constant: stringify!($constant),
            number: libc::$constant,
            only: $only,
            why: $why,
        },)+];
    };
}

table! {
    SYS_read, Only::NotOutput, "reading what is open";
    SYS_pread64, Only::Any, "reading at a position";
    SYS_lseek, Only::Any, "reading and writing from a position on";
    SYS_write, Only::Any, "results and messages; what `convert` writes";
    SYS_close, Only::Any, "being done with a file";
    SYS_fcntl, Only::Argument(1, GETFD), "the standard library in debug builds, before it closes";
    SYS_brk, Only::Any, "memory";
    SYS_mmap, Only::OwnMemory, "memory";
    SYS_mremap, Only::Any, "memory that grows";
    SYS_munmap, Only::Any, "memory that is given back";
    SYS_mprotect, Only::NoCode, "memory that was reserved";
    SYS_madvise, Only::Argument(2, DONTNEED), "memory that is given back";
    SYS_madvise, Only::Argument(2, HUGEPAGE), "memory, where `GLIBC_TUNABLES` asks for larger pages";
    SYS_getrandom, Only::Any, "secrets of hash tables";
    SYS_futex, Only::Any, "threads that wait for one another";
    SYS_sched_yield, Only::Any, "threads that wait for one another";
    SYS_sched_getaffinity, Only::Any, "the allocator asks how many processors there are";
    SYS_clock_gettime, Only::Any, "progress, where the kernel lends no clock";
    SYS_restart_syscall, Only::Any, "a call that stopping the process has interrupted";
    SYS_rt_sigreturn, Only::Any, "the end of a signal's handler";
    SYS_rt_sigprocmask, Only::Any, "ending after a panic or when out of memory";
    SYS_sigaltstack, Only::Any, "the end";
    SYS_getpid, Only::Any, "ending when out of memory";
    SYS_gettid, Only::Any, "ending when out of memory, and what a panic says";
    SYS_tgkill, Only::OwnProcess, "ending when out of memory";
    SYS_exit, Only::Any, "the end";
    SYS_exit_group, Only::Any, "the end";
    SYS_recvmsg, Only::Argument(0, 0), "files, which the process that started it has opened";
    SYS_copy_file_range, Only::Any, "the data that `edit` and `patch` keep";
}
