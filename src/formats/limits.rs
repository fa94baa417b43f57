//! Checks of headers of other formats against the limits of the caller.

use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::Limit;

use super::error::FormatError;

/// Checks that a header of `length` bytes does not exceed the limit `manifest` of the caller. `what` names the header in the error.
pub(super) fn check_length(length: u64, limits: &Limits, what: &str) -> Result<(), FormatError> {
    let most = limits.manifest();
    if length <= most {
        return Ok(());
    }
    let sentence = format_args!("{what} of {length} bytes exceeds the limit of {most}");
    Err(FormatError::violation(Limit::Manifest, sentence))
}

/// Checks that `rank`, a number of dimensions, does not exceed the limit `rank` of the caller. `whose` names the array or
/// shape that has the dimensions in the error.
pub(super) fn check_rank(rank: usize, limits: &Limits, whose: &str) -> Result<(), FormatError> {
    if u64_from_usize(rank) <= limits.rank().into() {
        return Ok(());
    }
    Err(too_many_dimensions(limits, whose))
}

/// Returns the error for an array or shape with more dimensions than the limit allows. `whose` names the array or shape in
/// the error.
pub(super) fn too_many_dimensions(limits: &Limits, whose: &str) -> FormatError {
    let most = limits.rank();
    FormatError::violation(Limit::Rank, format_args!("{whose} has more than {most} dimensions"))
}

/// Checks that `keys`, the number of keys of some metadata, does not exceed the limit `keys` of the caller. `whose` names
/// the metadata in the error.
pub(super) fn check_keys(keys: u64, limits: &Limits, whose: &str) -> Result<(), FormatError> {
    if keys <= limits.keys().into() {
        return Ok(());
    }
    Err(too_many_keys(keys, limits, whose))
}

/// Returns the error for metadata with `keys` keys, which are more than the limit allows. `whose` names the metadata in the error.
pub(super) fn too_many_keys(keys: u64, limits: &Limits, whose: &str) -> FormatError {
    let most = limits.keys();
    let sentence = format_args!("{whose} has {keys} keys, which exceeds the limit of {most}");
    FormatError::violation(Limit::Keys, sentence)
}
