//! The limits on the resources that a process may use, and on the files that it may have open.

use std::io;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{SysconfVar, sysconf};

use crate::{Budget, Layer, Role};

/// Seconds between the signal that can be told from others and the end.
const GRACE: u64 = 5;

/// Limits that are yet to be set.
pub(crate) struct Limits {
    budget: Budget,
    memory_in_use: u64,
}

impl Limits {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self { budget: *budget, memory_in_use: memory_in_use() }
    }

    pub(crate) fn set(&self, role: Role) -> Layer {
        match self.try_set(role) {
            Ok(()) => Layer::Enforced,
            Err(error) => Layer::Missing(error.to_string()),
        }
    }

    fn try_set(&self, role: Role) -> io::Result<()> {
        let Budget { memory, seconds, file, descriptors } = self.budget;
        let memory = memory.map(|memory| memory.saturating_add(self.memory_in_use));
        // Limits that another process may raise keep their upper bound, which this one cannot use.
        let lower_or_raise = |resource, to: Option<u64>, grace| match role {
            Role::Receives => lower_soft(resource, to),
            Role::Sends => lower(resource, to, grace),
        };
        lower_or_raise(Resource::RLIMIT_AS, memory, 0)?;
        lower_or_raise(Resource::RLIMIT_CPU, seconds, GRACE)?;
        lower_or_raise(Resource::RLIMIT_FSIZE, file, 0)?;
        lower(Resource::RLIMIT_CORE, Some(0), 0)?;
        let files = match role {
            // Who sends a descriptor must be allowed as many as all of this user's processes are
            // sending.
            Role::Sends => None,
            Role::Receives => Some(descriptors),
        };
        lower(Resource::RLIMIT_NOFILE, files, 0)
    }
}

/// Lowers a limit for good, and never raises one.
fn lower(resource: Resource, to: Option<u64>, grace: u64) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let (soft, hard) = getrlimit(resource)?;
    // On 32-bit machines, what cannot be said is no limit. Nothing is above that number.
    let new = |limit: u64| rlim_t::try_from(limit).unwrap_or(RLIM_INFINITY);
    Ok(setrlimit(resource, soft.min(new(to)), hard.min(new(to.saturating_add(grace))))?)
}

/// Lowers a limit that this process's parent may raise again.
fn lower_soft(resource: Resource, to: Option<u64>) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let (soft, hard) = getrlimit(resource)?;
    Ok(setrlimit(resource, soft.min(rlim_t::try_from(to).unwrap_or(RLIM_INFINITY)), hard)?)
}

/// Raises the limits of a child to a budget, but not above this process's own.
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
        // It keeps a lower limit, and ends when it reaches that.
        let _ = prlimit(Some(child), limited, Rlimit { current, maximum });
    }
}

/// Seconds of processor time that a child has used.
pub(crate) fn seconds_used(child: u32) -> Option<u64> {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten()?;
    ticks_used(child)?.checked_div(u64::try_from(ticks).ok()?)
}

pub(crate) fn ticks_used(child: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
    // The name of the program, which may have any character, ends at the last parenthesis.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let [user, system] = [fields.nth(11)?, fields.next()?].map(str::parse::<u64>);
    user.ok()?.checked_add(system.ok()?)
}

/// Bytes of address space in use. Where the system does not tell, a limit is as much too high as
/// this is: no process that has just begun has more.
pub(crate) fn memory_in_use() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages: Option<u64> = pages.and_then(|text| text.split(' ').next()?.parse().ok());
    let size = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096);
    pages.map_or(1 << 30, |pages| pages.saturating_mul(size))
}

pub(crate) fn allow_many_files() -> Option<rlim_t> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    Some(raised.map_or(soft, |()| hard))
}

pub(crate) fn end_with_parent() {
    // A process that cannot be notified works on in vain: that is no harm.
    let _ = set_pdeathsig(Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A child that is ended.
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
