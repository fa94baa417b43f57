//! The layer of the confinement that takes two privileges which neither Landlock nor seccomp takes: the capabilities of the
//! process, and the terminal as its standard input.

use std::fs::File;
use std::io::{self, IsTerminal as _};

use rustix::stdio::dup2_stdin;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use crate::Layer;

/// Replaces standard input by `/dev/null` if it is a terminal, and then drops all capabilities of this thread and of the threads
/// that it starts later. If the first step fails, the capabilities stay.
pub(crate) fn restrict() -> Layer {
    match leave_terminal().and_then(|()| drop_capabilities()) {
        Ok(()) => Layer::Enforced,
        Err(error) => Layer::Missing(error.to_string()),
    }
}

/// Replaces standard input by `/dev/null` if it is a terminal, so that the process cannot read text that a user types for another
/// process.
fn leave_terminal() -> io::Result<()> {
    if io::stdin().is_terminal() { Ok(dup2_stdin(File::open("/dev/null")?)?) } else { Ok(()) }
}

fn drop_capabilities() -> io::Result<()> {
    // Shrinking the bounding set takes a capability (`CAP_SETPCAP`), so the set comes first. A process without that capability
    // may keep the set: it gains nothing by the set, because it executes no other program. The first error ends the loop: the
    // kernel knows no capability of that number or above.
    let all = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    let _ = all.map(remove_capability_from_bounding_set).find(Result::is_err);
    // The call fails on kernels before 4.3, which have no ambient set that could be cleared.
    let _ = clear_ambient_capability_set();
    let [effective, permitted, inheritable] = [CapabilitySet::empty(); 3];
    let none = CapabilitySets { effective, permitted, inheritable };
    set_capabilities(None, none)?;
    if capabilities(None)? == none { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
