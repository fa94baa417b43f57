//! What the limits of the command line allow a foreign file.

use zten::Limits;
use zten::rules::Limit;

use super::trouble::Trouble;
use zten::num::u64_from_usize;

/// Refuses a shape of more dimensions than the limits allow.
pub(super) fn validate_rank(rank: usize, limits: &Limits, whose: &str) -> Result<(), Trouble> {
    if u64_from_usize(rank) <= limits.rank().into() {
        return Ok(());
    }
    Err(too_many_dimensions(limits, whose))
}

/// The error for a shape of more dimensions than the limits allow.
pub(super) fn too_many_dimensions(limits: &Limits, whose: &str) -> Trouble {
    let most = limits.rank();
    Trouble::refused(Limit::Rank, format_args!("{whose} has more than {most} dimensions"))
}

/// Refuses more keys than the limits allow.
pub(super) fn validate_keys(keys: u64, limits: &Limits, whose: &str) -> Result<(), Trouble> {
    if keys <= limits.keys().into() {
        return Ok(());
    }
    Err(too_many_keys(keys, limits, whose))
}

/// The error for more keys than the limits allow.
pub(super) fn too_many_keys(keys: u64, limits: &Limits, whose: &str) -> Trouble {
    let most = limits.keys();
    let sentence = format_args!("{whose} has {keys} keys, beyond the limit of {most}");
    Trouble::refused(Limit::Keys, sentence)
}
