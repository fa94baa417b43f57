//! How much a process may take, and how many files it may have.

use std::io;

use rustix::process::{self, Resource, Rlimit, Signal};

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
        let Budget { memory, seconds, file } = self.budget;
        let memory = memory.map(|memory| memory.saturating_add(self.memory_in_use));
        lower(Resource::As, memory, 0)?;
        lower(Resource::Cpu, seconds, GRACE)?;
        lower(Resource::Fsize, file, 0)?;
        lower(Resource::Core, Some(0), 0)?;
        // Who sends a descriptor must be allowed as many as all of this user's processes are
        // sending.
        let files = (role != Role::Sends).then_some(0);
        lower(Resource::Nofile, files, 0)
    }
}

/// Lowers a limit for good, and never raises one.
fn lower(resource: Resource, to: Option<u64>, grace: u64) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let old = process::getrlimit(resource);
    let least = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
    let maximum = least(old.maximum, to.saturating_add(grace));
    Ok(process::setrlimit(resource, Rlimit { current: least(old.current, to), maximum })?)
}

/// Bytes of address space in use. Where the system does not tell, a limit is as much too high as
/// this is: no process that has just begun has more.
fn memory_in_use() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages: Option<u64> = pages.and_then(|text| text.split(' ').next()?.parse().ok());
    let size = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    pages.map_or(1 << 30, |pages| pages.saturating_mul(size))
}

pub(crate) fn allow_many_files() -> Option<u64> {
    let old = process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: old.maximum, maximum: old.maximum };
    match process::setrlimit(Resource::Nofile, raised) {
        Ok(()) => old.maximum,
        Err(_) => old.current,
    }
}

pub(crate) fn end_with_parent() {
    // Who cannot be told of it works on in vain: that is no harm.
    let _ = process::set_parent_process_death_signal(Some(Signal::KILL));
}
