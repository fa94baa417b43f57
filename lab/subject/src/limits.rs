//! What a reader may take of the machine.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes of address space.
pub const ADDRESSES: u64 = 4 << 30;
/// Seconds of the processor's time, which do not depend on what else runs.
pub const SECONDS: u64 = 10;
/// Bytes of stack: the usual default.
const STACK: u64 = 8 << 20;

/// Sets them for this process.
///
/// # Panics
/// If the system refuses one.
pub(crate) fn set() {
    set_one(Resource::As, ADDRESSES);
    set_one(Resource::Cpu, SECONDS);
    set_one(Resource::Stack, STACK);
    set_one(Resource::Core, 0);
}

fn set_one(resource: Resource, limit: u64) {
    let maximum = getrlimit(resource).maximum;
    let limit = maximum.map_or(limit, |maximum| maximum.min(limit));
    let new = Rlimit { current: Some(limit), maximum };
    setrlimit(resource, new).unwrap_or_else(|error| panic!("no limit on {resource:?}: {error}"));
}
