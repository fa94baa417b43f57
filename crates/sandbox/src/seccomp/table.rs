//! The table of the system calls that a confined process may make, from which the filters and `docs/sandbox.md` are made.

/// A system call that a confined process may make, and the arguments that it may pass.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    constant: &'static str,
    pub(super) number: i64,
    pub(super) only: Only,
    why: &'static str,
}

/// The condition on the arguments of a system call under which the call is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Only {
    /// The call is allowed with any arguments.
    Any,
    /// The argument with this index, counted from 0, must equal this number.
    Argument(u8, u64),
    /// The call must map anonymous memory, and not a file, that is not executable (for `mmap`).
    OwnMemory,
    /// The call must not make memory executable (for `mprotect`).
    NoCode,
    /// The first argument must be the id of the confined process itself.
    OwnProcess,
    /// The first argument of the call, a descriptor, must not be standard output or standard error. These may be a terminal, from
    /// which a process could read what the user types.
    NotOutput,
}

impl Call {
    /// Returns the name of the system call, without `SYS_`.
    pub fn name(&self) -> &'static str {
        self.constant.trim_start_matches("SYS_")
    }

    /// Returns a phrase about the arguments with which the call is allowed, as the table in `docs/sandbox.md` prints it.
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

    /// Returns a phrase that says why the sandbox allows this system call: what a confined process does with it.
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

/// The number of the only system call that fails with the error `EACCES` instead of killing the process: `openat`. The C library
/// uses it to read `/proc/sys/vm/overcommit_memory` when a thread gives memory back, and `/sys/devices/system/cpu` before it
/// allocates memory for another thread, and it copes with the error.
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
    SYS_read, Only::NotOutput, "reading an open file";
    SYS_pread64, Only::Any, "reading at an offset";
    SYS_lseek, Only::Any, "reading and writing from an offset on";
    SYS_write, Only::Any, "writing results, messages and the output of `convert`";
    SYS_close, Only::Any, "closing a file";
    SYS_fcntl, Only::Argument(1, GETFD), "checking a file before it is closed, in debug builds of the standard library";
    SYS_brk, Only::Any, "allocating memory";
    SYS_mmap, Only::OwnMemory, "allocating memory";
    SYS_mremap, Only::Any, "growing memory";
    SYS_munmap, Only::Any, "freeing memory";
    SYS_mprotect, Only::NoCode, "using memory that was reserved";
    SYS_madvise, Only::Argument(2, DONTNEED), "freeing memory";
    SYS_madvise, Only::Argument(2, HUGEPAGE), "memory with larger pages, if `GLIBC_TUNABLES` asks for them";
    SYS_getrandom, Only::Any, "random seeds of hash tables";
    SYS_futex, Only::Any, "threads that wait for each other";
    SYS_sched_yield, Only::Any, "threads that wait for each other";
    SYS_sched_getaffinity, Only::Any, "the number of processors, for the allocator";
    SYS_clock_gettime, Only::Any, "the time for progress, if the kernel does not map its clock";
    SYS_restart_syscall, Only::Any, "continuing a call after the process was stopped";
    SYS_rt_sigreturn, Only::Any, "returning from a signal handler";
    SYS_rt_sigprocmask, Only::Any, "ending after a panic or when out of memory";
    SYS_sigaltstack, Only::Any, "ending a thread";
    SYS_getpid, Only::Any, "ending when out of memory";
    SYS_gettid, Only::Any, "ending when out of memory, and the message of a panic";
    SYS_tgkill, Only::OwnProcess, "ending when out of memory";
    SYS_exit, Only::Any, "ending a thread";
    SYS_exit_group, Only::Any, "ending the process";
    SYS_recvmsg, Only::Argument(0, 0), "receiving files that the parent process has opened";
    SYS_copy_file_range, Only::Any, "copying the data that `edit` and `patch` keep";
}
