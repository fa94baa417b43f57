//! Limits on the resources that a process may use, and on the number of its open files.

use std::io;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{SysconfVar, sysconf};

use crate::{Budget, Layer};

/// The limits that a process is about to set for itself: its budget, and the number of bytes of address space that it used when
/// confinement began.
pub(crate) struct Limits {
    budget: Budget,
    memory_in_use: u64,
}

impl Limits {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self { budget: *budget, memory_in_use: memory_in_use() }
    }

    pub(crate) fn set(&self) -> Layer {
        match self.try_set() {
            Ok(()) => Layer::Enforced,
            Err(error) => Layer::Missing(error.to_string()),
        }
    }

    fn try_set(&self) -> io::Result<()> {
        let Budget { memory, seconds, file, descriptors } = self.budget;
        let memory = memory.map(|memory| memory.saturating_add(self.memory_in_use));
        // The parent raises these limits between jobs, so the hard limits stay. The process cannot raise its own soft
        // limits: seccomp denies `prlimit64`.
        lower_soft(Resource::RLIMIT_AS, memory)?;
        lower_soft(Resource::RLIMIT_CPU, seconds)?;
        lower_soft(Resource::RLIMIT_FSIZE, file)?;
        lower(Resource::RLIMIT_CORE, 0)?;
        lower(Resource::RLIMIT_NOFILE, descriptors)
    }
}

/// Lowers the soft and the hard limit on `resource` of this process to `to`. A limit that is lower already stays.
fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let (soft, hard) = getrlimit(resource)?;
    let new = limit(to);
    Ok(setrlimit(resource, soft.min(new), hard.min(new))?)
}

/// Converts a limit to the type of the system. On 32-bit machines a number that does not fit becomes "no limit": the
/// process could not use more anyway.
fn limit(to: u64) -> rlim_t {
    rlim_t::try_from(to).unwrap_or(RLIM_INFINITY)
}

/// Lowers the soft limit on `resource` of this process to `to`, or does nothing if `to` is `None`. The hard limit stays, up to
/// which the parent process may raise the soft limit again.
fn lower_soft(resource: Resource, to: Option<u64>) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let (soft, hard) = getrlimit(resource)?;
    Ok(setrlimit(resource, soft.min(limit(to)), hard)?)
}

/// Sets the limits of the process with the id `child` on address space, processor time and file sizes to those of `budget`, but not
/// above the limits of this process.
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::useless_conversion, reason = "limits have 32 bits on other machines")
)]
pub(crate) fn raise(child: u32, budget: &Budget) {
    use rustix::process::{Pid, Resource as Limited, Rlimit, prlimit};

    let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) else { return };
    let limits = [
        (Resource::RLIMIT_AS, Limited::As, budget.memory),
        (Resource::RLIMIT_CPU, Limited::Cpu, budget.seconds),
        (Resource::RLIMIT_FSIZE, Limited::Fsize, budget.file),
    ];
    for (own, limited, to) in limits {
        let (Some(to), Ok((soft, hard))) = (to, getrlimit(own)) else { continue };
        let current = Some(to.min(u64::from(soft)));
        let maximum = (hard != RLIM_INFINITY).then(|| u64::from(hard));
        // If the limit cannot be raised, the child keeps the lower limit, and ends when it reaches it.
        let _ = prlimit(Some(child), limited, Rlimit { current, maximum });
    }
}

/// Returns the number of whole seconds of processor time that the process with the id `child` has used, or `None` if `/proc` does
/// not tell.
pub(crate) fn seconds_used(child: u32) -> Option<u64> {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten()?;
    ticks_used(child)?.checked_div(u64::try_from(ticks).ok()?)
}

/// Returns the processor time of the process with the id `child` in user and system mode together, in clock ticks, from
/// `/proc/PID/stat`. Returns `None` if the file cannot be read.
pub(crate) fn ticks_used(child: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
    // The name of the program may hold any character, so the fields are counted from the last
    // parenthesis. `utime` and `stime` are fields 14 and 15.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let [user, system] = [fields.nth(11)?, fields.next()?].map(str::parse::<u64>);
    user.ok()?.checked_add(system.ok()?)
}

/// Returns the number of bytes of address space that this process uses, or 1 GiB if `/proc` does not tell. A process that has just
/// started uses less than 1 GiB, so a limit that is computed from this number is too high by at most 1 GiB.
pub(crate) fn memory_in_use() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages: Option<u64> = pages.and_then(|text| text.split(' ').next()?.parse().ok());
    let size = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096);
    pages.map_or(1 << 30, |pages| pages.saturating_mul(size))
}

/// Raises the soft limit on descriptors to the hard limit, and returns the resulting soft limit.
pub(crate) fn allow_many_files() -> Option<rlim_t> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    Some(raised.map_or(soft, |()| hard))
}

pub(crate) fn end_with_parent() {
    // If the signal cannot be set, the process finishes work that nobody reads, which does no harm.
    let _ = set_pdeathsig(Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A child process that is killed when the value is dropped.
    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn child(program: &str) -> Ended {
        Ended(Command::new("sh").args(["-c", program]).spawn().unwrap())
    }

    #[test]
    fn limits_of_a_child_are_set() {
        let child = child("exec sleep 100");
        let id = child.0.id();
        let budget =
            Budget { memory: Some(1 << 30), seconds: Some(1234), file: None, descriptors: 0 };
        raise(id, &budget);
        let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
        for line in ["Max cpu time              1234 ", "Max address space         1073741824 "] {
            assert!(limits.contains(line), "{limits}");
        }
    }

    #[test]
    fn processor_time_of_a_child_is_known() {
        let (busy, idle) = (child("while :; do :; done"), child("exec sleep 100"));
        while seconds_used(busy.0.id()).unwrap() < 1 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(seconds_used(idle.0.id()), Some(0));
        assert_eq!(seconds_used(u32::MAX), None);
    }
}
