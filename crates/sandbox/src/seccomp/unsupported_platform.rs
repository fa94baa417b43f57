//! The items of `seccomp.rs` for platforms that have no filter of system calls: no call is listed, and the layer is reported as
//! missing.

use crate::Layer;

/// A system call that a confined process may make. This type has no value, because there is no filter for this platform.
#[derive(Clone, Copy, Debug)]
pub enum Call {}

impl Call {
    /// Returns the name of the system call.
    pub fn name(&self) -> &'static str {
        match *self {}
    }

    /// Returns a phrase about the arguments with which the call is allowed.
    pub fn with(&self) -> &'static str {
        match *self {}
    }

    /// Returns a phrase that says for what a confined process needs the call.
    pub fn why(&self) -> &'static str {
        match *self {}
    }
}

/// Returns no system call: there is no table for this platform.
pub fn calls() -> impl Iterator<Item = Call> {
    std::iter::empty()
}

pub(crate) fn restrict() -> Layer {
    Layer::Missing("zten has no seccomp filter for this platform".to_owned())
}
