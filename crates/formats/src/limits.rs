//! What the limits of the command line allow a foreign file.

use zten::Limits;
use zten::rules::Limit;

use super::trouble::Trouble;
use zten_num::u64_from_usize;

/// Refuses a shape of more dimensions than the limits allow.
pub(super) fn validate_rank(rank: usize, limits: &Limits, whose: &str) -> Result<(), Trouble> {
    if u64_from_usize(rank) <= limits.rank().into() {
        return Ok(());
    }
    Err(Trouble::refused(
        Limit::Rank,
        format!("{whose} has more than {} dimensions", limits.rank()),
    ))
}

/// Refuses more keys than the limits allow.
pub(super) fn validate_keys(keys: u64, limits: &Limits, whose: &str) -> Result<(), Trouble> {
    if keys <= limits.keys().into() {
        return Ok(());
    }
    let most = limits.keys();
    Err(Trouble::refused(
        Limit::Keys,
        format!("{whose} has {keys} keys, beyond the limit of {most}"),
    ))
}
