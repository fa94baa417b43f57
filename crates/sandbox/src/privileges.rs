//! Privileges beside reading and writing files: capabilities, and the terminal that a process was started from.

use std::fs::File;
use std::io::{self, IsTerminal as _};

use rustix::stdio::dup2_stdin;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use crate::Layer;

/// Drops all capabilities of this thread, and of those that it starts from now on, and puts `/dev/null` in the place of
/// standard input where that is a terminal.
pub(crate) fn restrict() -> Layer {
    match leave_terminal().and_then(|()| drop_capabilities()) {
        Ok(()) => Layer::Enforced,
        Err(error) => Layer::Missing(error.to_string()),
    }
}

/// Replaces a terminal as standard input: text that someone types is for another process.
fn leave_terminal() -> io::Result<()> {
    if io::stdin().is_terminal() { Ok(dup2_stdin(File::open("/dev/null")?)?) } else { Ok(()) }
}

fn drop_capabilities() -> io::Result<()> {
    // It takes a capability to shrink the bounding set, so that comes first. A process without that one gains nothing by the
    // set: it executes no other program. The set ends where the kernel knows no further capability.
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    let _ = all.map(remove_capability_from_bounding_set).find(Result::is_err);
    // An old kernel has no such set.
    let _ = clear_ambient_capability_set();
    let [effective, permitted, inheritable] = [CapabilitySet::empty(); 3];
    let none = CapabilitySets { effective, permitted, inheritable };
    set_capabilities(None, none)?;
    if capabilities(None)? == none { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
