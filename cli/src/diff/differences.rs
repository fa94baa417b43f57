//! What two files do not have in common.

use super::change::Change;

/// What the files do not have in common.
pub(super) struct Differences<'a> {
    /// Whether their own attributes differ.
    pub(super) attributes: bool,
    /// By name.
    pub(super) objects: Vec<(&'a str, Difference)>,
}

/// What has become of an object.
pub(super) enum Difference {
    Added,
    Removed,
    Changed(Vec<Change>),
}
